DELETE FROM askdesk.shelf WHERE askdesk.digest(name) = askdesk.digest($1) AND version = $2 AND askdesk.durable() RETURNING version
