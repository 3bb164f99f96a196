-- Bring the index from one change to another, unless somebody else was first. What has changed or gone meanwhile is left
-- out: it comes again with its new number, or never.
WITH turn AS (
    UPDATE askdesk.search_upto SET changed = $2 WHERE changed = $1 RETURNING changed
), unread AS (
    INSERT INTO askdesk.search_unread (ask) SELECT each.ask FROM turn, pg_catalog.unnest($7::bigint[]) AS each (ask)
    ON CONFLICT DO NOTHING
), gone AS (
    DELETE FROM askdesk.search USING turn WHERE ask = ANY ($7::bigint[])
)
INSERT INTO askdesk.search (ask, changed, is_open, terms)
SELECT each.ask, each.changed, each.is_open, array_to_tsvector(string_to_array(each.terms, ' '))
FROM turn, unnest($3::bigint[], $4::bigint[], $5::boolean[], $6::text[]) AS each (ask, changed, is_open, terms)
WHERE EXISTS (SELECT FROM askdesk.asks WHERE asks.seq = each.ask AND asks.changed = each.changed)
ON CONFLICT (ask) DO UPDATE
SET changed = excluded.changed, is_open = excluded.is_open, terms = excluded.terms
WHERE search.changed < excluded.changed
