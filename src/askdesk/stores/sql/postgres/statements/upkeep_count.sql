SELECT count(*) - count(settlement) AS open, count(settlement) AS settled, (SELECT count(*) FROM askdesk.shelf) AS documents
FROM askdesk.asks
