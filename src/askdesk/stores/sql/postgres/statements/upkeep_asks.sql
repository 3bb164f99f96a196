-- Some asks in the order of their latest change: so many, and of long ones fewer.
SELECT id, project, key, record, deadline, settlement, changed
FROM (
    SELECT *, sum(octet_length(record) + coalesce(octet_length(settlement), 0))
              OVER (ORDER BY changed ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM (
        (SELECT * FROM askdesk.asks WHERE settlement IS NULL AND changed > $1 ORDER BY changed LIMIT $2)
        UNION ALL
        (SELECT * FROM askdesk.asks WHERE settlement IS NOT NULL AND changed > $1 ORDER BY changed LIMIT $2)
        ORDER BY changed LIMIT $2
    ) AS next
) AS measured
WHERE coalesce(before, 0) <= $3
ORDER BY changed
