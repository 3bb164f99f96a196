INSERT INTO askdesk.asks (id, project, key, record, deadline, settlement, changed)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[])
RETURNING askdesk.tell(changed, id)
