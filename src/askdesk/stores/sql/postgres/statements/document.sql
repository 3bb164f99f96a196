SELECT name, value, version FROM askdesk.shelf WHERE askdesk.digest(name) = askdesk.digest($1)
