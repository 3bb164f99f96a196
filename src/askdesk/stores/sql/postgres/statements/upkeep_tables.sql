-- Our tables, and how many bytes each takes with its indexes.
SELECT pg_catalog.format('%I.%I', schemaname, tablename) AS name,
       pg_total_relation_size(pg_catalog.format('%I.%I', schemaname, tablename)::regclass) AS bytes
FROM pg_tables WHERE schemaname = 'askdesk' ORDER BY tablename
