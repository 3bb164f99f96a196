SELECT count(*) - pg_catalog.count(settlement) AS open, pg_catalog.count(settlement) AS settled, (SELECT count(*) FROM askdesk.shelf) AS documents
FROM askdesk.asks
