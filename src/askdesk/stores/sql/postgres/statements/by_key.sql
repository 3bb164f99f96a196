SELECT record FROM askdesk.asks WHERE askdesk.digest(project, key) = askdesk.digest($1, $2)
