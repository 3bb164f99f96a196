-- The documents of these names, which nobody else changes before this transaction ends.
SELECT shelf.name, value
FROM pg_catalog.unnest($1::text[]) AS given (name)
JOIN askdesk.shelf ON askdesk.digest(shelf.name) = askdesk.digest(given.name)
FOR UPDATE OF shelf
