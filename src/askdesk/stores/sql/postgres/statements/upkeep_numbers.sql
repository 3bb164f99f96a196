-- The numbers of so many changes: nobody else is given one before this turn ends.
SELECT nextval('askdesk.changes') AS changed FROM generate_series(1, $1::bigint)
