-- What others put into our schema: a trigger or a rule of theirs could settle asks.
SELECT CASE relkind WHEN 'v' THEN 'view ' WHEN 'S' THEN 'sequence ' ELSE 'table ' END || relname::text AS thing
FROM pg_class
WHERE relnamespace = 'askdesk'::regnamespace AND relkind NOT IN ('i', 'I', 't')
  AND relname NOT IN ('schema', 'asks', 'asks_seq_seq', 'changes', 'shelf', 'versions',
                      'search', 'search_upto', 'search_unread')
UNION ALL
SELECT 'trigger ' || tgname::text
FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE relnamespace = 'askdesk'::regnamespace AND NOT tgisinternal
UNION ALL
SELECT 'rule ' || rulename::text FROM pg_rules WHERE schemaname = 'askdesk' AND rulename <> '_RETURN'  -- of a view
ORDER BY thing
