-- What others put onto our tables: a trigger or a rule of theirs could settle asks.
SELECT 'trigger ' || tgname AS thing FROM pg_trigger
WHERE tgrelid::regclass::text LIKE 'askdesk.%' AND NOT tgisinternal
UNION ALL
SELECT 'rule ' || rulename FROM pg_rules WHERE schemaname = 'askdesk'
ORDER BY thing
