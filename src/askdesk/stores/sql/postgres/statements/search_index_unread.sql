-- Index what an older version could not read.
WITH read AS (
    DELETE FROM askdesk.search_unread WHERE ask = ANY ($1::bigint[])
)
INSERT INTO askdesk.search (ask, changed, is_open, terms)
SELECT ask, changed, is_open, array_to_tsvector(string_to_array(terms, ' '))
FROM unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::text[]) AS each (ask, changed, is_open, terms)
ON CONFLICT (ask) DO UPDATE
SET changed = excluded.changed, is_open = excluded.is_open, terms = excluded.terms
WHERE search.changed < excluded.changed
