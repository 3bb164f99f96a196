-- An index over the asks, brought up to date by whoever searches: posting and settling know nothing of it.
-- A row's rowid is the `changed` of its ask: so a row whose ask has changed since finds nothing, and pages keep order.
CREATE VIRTUAL TABLE search USING fts5 (
    terms,                         -- as core/search.py makes them
    content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

CREATE TABLE search_upto (
    changed INTEGER NOT NULL       -- every change up to this one is in the index
) STRICT;

INSERT INTO search_upto VALUES (0);

CREATE TABLE search_open (
    ask     INTEGER PRIMARY KEY,   -- the seq of an ask that was open when it was indexed
    changed INTEGER NOT NULL       -- and its rowid, to be deleted when the ask is settled
) STRICT;

CREATE TABLE search_unread (
    ask     INTEGER PRIMARY KEY    -- the seq of an ask that only a newer version can read, and has still to index
) STRICT;
