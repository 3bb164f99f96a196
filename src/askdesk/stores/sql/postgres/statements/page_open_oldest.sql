SELECT record, settlement, changed, id FROM askdesk.asks WHERE settlement IS NULL AND changed > $1 ORDER BY changed LIMIT $2
