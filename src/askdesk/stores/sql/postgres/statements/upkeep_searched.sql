-- Up to which change the index reaches, the latest one, and how many asks only a newer version can read.
SELECT changed AS upto,
       greatest((SELECT max(changed) FROM askdesk.asks WHERE settlement IS NULL),
                (SELECT max(changed) FROM askdesk.asks WHERE settlement IS NOT NULL), 0) AS latest,
       (SELECT count(*) FROM askdesk.search_unread) AS unread
FROM askdesk.search_upto
