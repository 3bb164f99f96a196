DELETE FROM askdesk.shelf WHERE askdesk.digest(name) = askdesk.digest($1) AND askdesk.durable()
