-- An index over the asks, brought up to date by whoever searches: posting and settling know nothing of it.
CREATE TABLE askdesk.search (
    ask     bigint   PRIMARY KEY,  -- its seq
    changed bigint   NOT NULL,     -- as it was indexed: where the ask has another number by now, this row finds nothing
    is_open boolean  NOT NULL,
    terms   tsvector               -- as core/search.py makes them; NULL where they are more than a tsvector holds
);

CREATE INDEX search_open           ON askdesk.search (changed)           WHERE is_open;
CREATE INDEX search_settled        ON askdesk.search (changed)           WHERE NOT is_open;
CREATE INDEX search_long           ON askdesk.search (is_open, changed)  WHERE terms IS NULL;
CREATE INDEX search_terms_open     ON askdesk.search USING gin (terms)   WHERE is_open;
CREATE INDEX search_terms_settled  ON askdesk.search USING gin (terms)   WHERE NOT is_open;

CREATE TABLE askdesk.search_upto (
    changed bigint NOT NULL        -- every change up to this one is in the index
);

INSERT INTO askdesk.search_upto VALUES (0);

CREATE TABLE askdesk.search_unread (
    ask     bigint PRIMARY KEY     -- the seq of an ask that only a newer version can read, and has still to index
);
