SELECT EXISTS (SELECT FROM askdesk.asks WHERE settlement IS NULL AND deadline <= $1)
