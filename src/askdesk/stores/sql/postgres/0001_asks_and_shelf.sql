-- Whoever may create in a schema that this user looks through could put a function or an operator there that fits what is
-- written here better than PostgreSQL's own, and have it run with this user's rights. What fits exactly is found in
-- pg_catalog first: so here, and in every statement, types are named wherever they would else be guessed.

-- Texts have no end and an index entry has one: what may be long is indexed by its digest.
-- The database is UTF-8, so this is as immutable as it says.
CREATE FUNCTION askdesk.digest(given text) RETURNS bytea IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
AS $$ SELECT sha256(convert_to(given, 'UTF8'::name)) $$;

CREATE FUNCTION askdesk.digest(project text, key text) RETURNS bytea IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
AS $$ SELECT sha256(sha256(convert_to(project, 'UTF8'::name)) || convert_to(key, 'UTF8'::name)) $$;

-- This transaction is durable before it is acknowledged, also where a database is set to be less careful. One expression,
-- as in those below: so it becomes a part of each statement, and is not planned anew at every call.
CREATE FUNCTION askdesk.durable() RETURNS boolean VOLATILE LANGUAGE sql
AS $$ SELECT current_setting('synchronous_commit') <> 'off' OR set_config('synchronous_commit', 'on', true) = 'on' $$;

-- Every change takes the next number in its turn, which ends when it is committed: so whoever sees a number has seen
-- all that are lower.
CREATE SEQUENCE askdesk.changes;

CREATE FUNCTION askdesk.turn() RETURNS void VOLATILE LANGUAGE sql
AS $$ SELECT CASE WHEN askdesk.durable() THEN pg_advisory_xact_lock(1095977796, 1) END $$;

-- Who listens hears of a change by its number and the ask's id, when it is committed. A payload has an end, too.
CREATE FUNCTION askdesk.tell(changed bigint, id text) RETURNS void VOLATILE LANGUAGE sql
AS $$ SELECT pg_notify('askdesk', changed::text || CASE WHEN octet_length(id) <= 1000 THEN ' ' || id ELSE '' END) $$;

CREATE TABLE askdesk.asks (
    seq        bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id         text   NOT NULL,
    project    text   NOT NULL,
    key        text,
    record     text   NOT NULL,
    deadline   bigint,             -- microseconds since 1970, as all times here
    settlement text,               -- NULL while the ask is open
    changed    bigint NOT NULL     -- grows with every change, so both listings and other servers can follow it
);

CREATE UNIQUE INDEX asks_id      ON askdesk.asks (askdesk.digest(id));
CREATE UNIQUE INDEX asks_key     ON askdesk.asks (askdesk.digest(project, key)) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX asks_open    ON askdesk.asks (changed)  WHERE settlement IS NULL;
CREATE UNIQUE INDEX asks_settled ON askdesk.asks (changed)  WHERE settlement IS NOT NULL;
CREATE INDEX        asks_due     ON askdesk.asks (deadline) WHERE settlement IS NULL AND deadline IS NOT NULL;

CREATE SEQUENCE askdesk.versions;  -- of documents: a removed one is never given out again

CREATE TABLE askdesk.shelf (
    version bigint PRIMARY KEY,
    name    text COLLATE "C" NOT NULL,
    value   text NOT NULL
);

CREATE UNIQUE INDEX shelf_name  ON askdesk.shelf (askdesk.digest(name));
CREATE INDEX        shelf_order ON askdesk.shelf ("left"(name, 200));
