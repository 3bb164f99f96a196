-- Remove the documents of these names and those below them; the last text that could begin so is beyond all of them.
DELETE FROM askdesk.shelf USING pg_catalog.unnest($1::text[]) AS given (name)
WHERE "left"(shelf.name, 200) >= "left"(given.name, 200)
      AND "left"(shelf.name, 200) <= ("left"(given.name || '/', 200) || repeat(chr(1114111), 200))
      AND (shelf.name = given.name OR starts_with(shelf.name, given.name || '/'))
RETURNING shelf.name
