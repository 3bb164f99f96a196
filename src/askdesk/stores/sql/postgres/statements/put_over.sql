UPDATE askdesk.shelf SET version = nextval('askdesk.versions'), value = $2
WHERE askdesk.digest(name) = askdesk.digest($1) AND version = $3
RETURNING version
