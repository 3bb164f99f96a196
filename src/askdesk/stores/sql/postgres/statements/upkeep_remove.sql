-- Remove these asks, but for those that are open and the one that changed last.
WITH gone AS (
    DELETE FROM askdesk.asks USING pg_catalog.unnest($1::text[]) AS given (id)
    WHERE askdesk.digest(asks.id) = askdesk.digest(given.id) AND settlement IS NOT NULL
          AND changed < greatest((SELECT max(changed) FROM askdesk.asks WHERE settlement IS NULL),
                                 (SELECT max(changed) FROM askdesk.asks WHERE settlement IS NOT NULL))
    RETURNING seq, asks.id
), indexed AS (
    DELETE FROM askdesk.search USING gone WHERE search.ask = gone.seq
), unread AS (
    DELETE FROM askdesk.search_unread USING gone WHERE search_unread.ask = gone.seq
)
SELECT id FROM gone
