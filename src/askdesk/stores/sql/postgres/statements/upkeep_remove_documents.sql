DELETE FROM askdesk.shelf USING pg_catalog.unnest($1::text[]) AS given (name)
WHERE askdesk.digest(shelf.name) = askdesk.digest(given.name)
