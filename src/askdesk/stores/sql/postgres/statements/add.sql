-- Keep these asks, but for those whose key or id was used before, and tell of each.
WITH turn AS MATERIALIZED (SELECT askdesk.turn()), given AS MATERIALIZED (
    SELECT id, project, key, record, deadline, nextval('askdesk.changes'::regclass) AS changed
    FROM (
        SELECT id, project, key, record, deadline
        FROM turn,
             unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
             WITH ORDINALITY AS each (id, project, key, record, deadline, place)
        ORDER BY place
    ) AS in_order
), added AS (
    INSERT INTO askdesk.asks (id, project, key, record, deadline, changed)
    SELECT id, project, key, record, deadline, changed FROM given
    ON CONFLICT DO NOTHING
    RETURNING id, changed
)
SELECT id, changed, askdesk.tell(changed, id) FROM added
