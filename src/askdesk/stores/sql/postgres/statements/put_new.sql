INSERT INTO askdesk.shelf (version, name, value) VALUES (nextval('askdesk.versions'), $1, $2)
ON CONFLICT DO NOTHING
RETURNING version
