-- Those whose names start with a prefix: between it and the last text that could.
SELECT name, value, version FROM askdesk.shelf
WHERE "left"(name, 200) >= "left"($1, 200) AND "left"(name, 200) <= "left"($1, 200) || repeat(chr(1114111), 200)
      AND starts_with(name, $1)
ORDER BY name
