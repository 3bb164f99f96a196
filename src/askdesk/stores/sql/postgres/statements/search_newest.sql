-- What matches, and what has too many terms for the index: whoever asks looks at those.
(SELECT record, settlement, asks.changed, id, false AS is_long
 FROM askdesk.search JOIN askdesk.asks ON asks.seq = search.ask AND asks.changed = search.changed
 WHERE is_open = $1 AND terms @@ $2::text::tsquery AND search.changed < $3
 ORDER BY search.changed DESC LIMIT $4)
UNION ALL
(SELECT record, settlement, asks.changed, id, true
 FROM askdesk.search JOIN askdesk.asks ON asks.seq = search.ask AND asks.changed = search.changed
 WHERE is_open = $1 AND terms IS NULL AND search.changed < $3
 ORDER BY search.changed DESC LIMIT $4)
ORDER BY changed DESC LIMIT $4
