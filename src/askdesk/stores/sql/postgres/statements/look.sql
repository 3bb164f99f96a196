-- Which process this is, what time it is here, how texts are kept, and which of these limits nobody has set. Whether a
-- client is still there can be looked at on Linux.
SELECT pg_backend_pid() AS pid, clock_timestamp() AS now, current_setting('server_encoding') AS encoding,
       ARRAY(
           SELECT name FROM pg_catalog.unnest($1::text[]) AS each (name)
           WHERE current_setting(name, true) = '0' AND (name NOT LIKE 'client_%' OR version() LIKE '%linux%')
       ) AS unset
