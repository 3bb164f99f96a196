INSERT INTO askdesk.shelf (version, name, value) SELECT nextval('askdesk.versions'::regclass), $1::text, $2::text WHERE askdesk.durable()
ON CONFLICT DO NOTHING
RETURNING version
