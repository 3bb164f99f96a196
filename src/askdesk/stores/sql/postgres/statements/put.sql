INSERT INTO askdesk.shelf (version, name, value) VALUES (nextval('askdesk.versions'), $1, $2)
ON CONFLICT (askdesk.digest(name)) DO UPDATE SET version = excluded.version, value = excluded.value
RETURNING version
