-- Index what an older version could not read, but for what has changed meanwhile: that stays marked.
WITH given AS MATERIALIZED (
    SELECT each.ask, each.changed, each.is_open, each.terms
    FROM unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::text[]) AS each (ask, changed, is_open, terms)
    WHERE EXISTS (SELECT FROM askdesk.asks WHERE asks.seq = each.ask AND asks.changed = each.changed)
), read AS (
    DELETE FROM askdesk.search_unread USING given WHERE search_unread.ask = given.ask
)
INSERT INTO askdesk.search (ask, changed, is_open, terms)
SELECT ask, changed, is_open, array_to_tsvector(string_to_array(terms, ' ')) FROM given
ON CONFLICT (ask) DO UPDATE
SET changed = excluded.changed, is_open = excluded.is_open, terms = excluded.terms
WHERE search.changed < excluded.changed
