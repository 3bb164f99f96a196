-- What is kept under these ids, and what under these keys by another id.
SELECT asks.id, asks.project, asks.key, record, deadline, settlement, changed
FROM pg_catalog.unnest($1::text[]) AS given (id)
JOIN askdesk.asks ON askdesk.digest(asks.id) = askdesk.digest(given.id)
UNION ALL
SELECT asks.id, asks.project, asks.key, record, deadline, settlement, changed
FROM unnest($1::text[], $2::text[], $3::text[]) AS given (id, project, key)
JOIN askdesk.asks ON askdesk.digest(asks.project, asks.key) = askdesk.digest(given.project, given.key) AND asks.id <> given.id
