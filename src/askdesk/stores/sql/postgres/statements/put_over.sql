UPDATE askdesk.shelf SET version = nextval('askdesk.versions'::regclass), value = $2
WHERE askdesk.digest(name) = askdesk.digest($1) AND version = $3 AND askdesk.durable()
RETURNING version
