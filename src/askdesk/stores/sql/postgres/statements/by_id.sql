SELECT record, settlement, deadline FROM askdesk.asks WHERE askdesk.digest(id) = askdesk.digest($1)
