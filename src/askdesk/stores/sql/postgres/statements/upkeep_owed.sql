SELECT name FROM askdesk.shelf WHERE starts_with(name, $1)
