-- Up to which change the index reaches, and the latest one.
SELECT changed AS indexed,
       greatest((SELECT max(changed) FROM askdesk.asks WHERE settlement IS NULL),
                (SELECT max(changed) FROM askdesk.asks WHERE settlement IS NOT NULL), 0) AS latest
FROM askdesk.search_upto
