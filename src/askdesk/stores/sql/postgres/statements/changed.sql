-- What has changed since, the time here, the number of the latest change, and which processes are as entitled as this one.
SELECT clock_timestamp() AS now,
       ARRAY(SELECT pid FROM pg_stat_activity WHERE usename = current_user) AS ours,
       greatest((SELECT max(changed) FROM askdesk.asks WHERE settlement IS NULL),
                (SELECT max(changed) FROM askdesk.asks WHERE settlement IS NOT NULL), 0) AS latest,
       ARRAY(
           SELECT (changed, id)
           FROM (
               (SELECT changed, id FROM askdesk.asks WHERE settlement IS NULL AND changed > $1
                ORDER BY changed LIMIT $2)
               UNION ALL
               (SELECT changed, id FROM askdesk.asks WHERE settlement IS NOT NULL AND changed > $1
                ORDER BY changed LIMIT $2)
           ) AS since
       ) AS changes
