-- Settle so many of the asks that are due as expired, soonest deadline first, and tell of each. The second limit leaves
-- none out: as in settle.sql it has the planner look each up, where it might else go through all asks for them.
WITH turn AS MATERIALIZED (SELECT askdesk.turn()), due AS MATERIALIZED (
    SELECT seq, nextval('askdesk.changes'::regclass) AS changed
    FROM (
        SELECT seq FROM turn, askdesk.asks
        WHERE settlement IS NULL AND deadline <= $1
        ORDER BY deadline, asks.changed
        LIMIT $3
    ) AS in_order
    LIMIT $3
), expired AS (
    UPDATE askdesk.asks
    SET settlement = $2, changed = due.changed
    FROM due
    WHERE asks.seq = due.seq AND asks.settlement IS NULL
    RETURNING asks.id, asks.changed
)
SELECT id, changed, askdesk.tell(changed, id) FROM expired
ORDER BY changed
