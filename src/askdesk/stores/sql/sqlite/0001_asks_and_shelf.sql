CREATE TABLE asks (
    seq        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    project    TEXT    NOT NULL,
    key        TEXT,
    record     TEXT    NOT NULL,
    deadline   INTEGER,            -- microseconds since 1970, as all times here
    settlement TEXT,               -- NULL while the ask is open
    changed    INTEGER NOT NULL    -- grows with every change, so both listings and other processes can follow it
) STRICT;

CREATE UNIQUE INDEX asks_key     ON asks (project, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX asks_open    ON asks (changed)      WHERE settlement IS NULL;
CREATE UNIQUE INDEX asks_settled ON asks (changed)      WHERE settlement IS NOT NULL;
CREATE INDEX        asks_due     ON asks (deadline)     WHERE settlement IS NULL AND deadline IS NOT NULL;

CREATE TABLE shelf (
    version INTEGER PRIMARY KEY AUTOINCREMENT,  -- a removed version is never given out again
    name    TEXT    NOT NULL UNIQUE,
    value   TEXT    NOT NULL
) STRICT;
