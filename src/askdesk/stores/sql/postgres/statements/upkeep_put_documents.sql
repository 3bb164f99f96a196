-- Those that are new to the shelf; the names of those that were.
INSERT INTO askdesk.shelf (version, name, value)
SELECT nextval('askdesk.versions'::regclass), name, value FROM unnest($1::text[], $2::text[]) AS given (name, value)
ON CONFLICT DO NOTHING
RETURNING name
