-- What matches, and what has too many terms for the index: whoever asks looks at those.
-- A common word is found among the next few; only where it is not is everything looked up that has it. To leave the
-- choice to the planner would take it to know how rare a word is. What is not as it was indexed has no record.
WITH near AS MATERIALIZED (
    SELECT ask, changed, terms IS NULL AS is_long
    FROM (
        SELECT ask, changed, terms FROM askdesk.search WHERE is_open = $1 AND changed < $3
        ORDER BY changed DESC LIMIT 2000
    ) AS next
    WHERE terms IS NULL OR terms @@ $2::text::tsquery
    ORDER BY changed DESC LIMIT $4
), far AS MATERIALIZED (
    SELECT ask, changed, false AS is_long FROM askdesk.search
    WHERE (SELECT count(*) FROM near) < $4 AND is_open = $1 AND changed < $3 AND terms @@ $2::text::tsquery
    UNION ALL
    SELECT ask, changed, true FROM askdesk.search
    WHERE (SELECT count(*) FROM near) < $4 AND is_open = $1 AND changed < $3 AND terms IS NULL
), found AS MATERIALIZED (
    SELECT ask, changed, is_long FROM near WHERE (SELECT count(*) FROM near) = $4
    UNION ALL
    SELECT ask, changed, is_long FROM far
    ORDER BY changed DESC LIMIT $4
)
SELECT record, settlement, found.changed, id, is_long
FROM found LEFT JOIN askdesk.asks ON asks.seq = found.ask AND asks.changed = found.changed
ORDER BY found.changed DESC
