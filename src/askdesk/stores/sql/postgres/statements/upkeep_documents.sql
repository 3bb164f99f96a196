SELECT name, value FROM askdesk.shelf ORDER BY name
