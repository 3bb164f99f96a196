UPDATE askdesk.asks SET settlement = given.settlement, changed = given.changed
FROM unnest($1::text[], $2::text[], $3::bigint[]) AS given (id, settlement, changed)
WHERE askdesk.digest(asks.id) = askdesk.digest(given.id) AND asks.settlement IS NULL
RETURNING askdesk.tell(asks.changed, asks.id)
