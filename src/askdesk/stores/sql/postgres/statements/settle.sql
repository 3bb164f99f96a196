-- Settle these asks, but for those that are settled or due, and tell of each. The database decides every race. The limit
-- leaves none out: it has the planner expect few, and look each up, where it might else look at all open asks for them.
WITH turn AS MATERIALIZED (SELECT askdesk.turn()), given AS MATERIALIZED (
    SELECT id, settlement, at, nextval('askdesk.changes'::regclass) AS changed
    FROM (
        SELECT id, settlement, at
        FROM turn, unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS each (id, settlement, at, place)
        ORDER BY place
        LIMIT pg_catalog.cardinality($1)
    ) AS in_order
), settled AS (
    UPDATE askdesk.asks
    SET settlement = given.settlement, changed = given.changed
    FROM given
    WHERE askdesk.digest(asks.id) = askdesk.digest(given.id) AND asks.settlement IS NULL
          AND (asks.deadline IS NULL OR asks.deadline > given.at)
    RETURNING asks.id, asks.changed
)
SELECT id, changed, askdesk.tell(changed, id) FROM settled
