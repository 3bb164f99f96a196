-- What comes next in an index that reaches so far.
(SELECT seq, changed, record, settlement, id FROM askdesk.asks WHERE settlement IS NULL AND changed > $1
 ORDER BY changed LIMIT $2)
UNION ALL
(SELECT seq, changed, record, settlement, id FROM askdesk.asks WHERE settlement IS NOT NULL AND changed > $1
 ORDER BY changed LIMIT $2)
ORDER BY changed LIMIT $2
