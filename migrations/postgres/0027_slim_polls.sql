-- Rosters in registry order, as JSON, stored once for all polls that share them. `hash` is the SHA-256 of the JSON.
CREATE TABLE rosters (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash    BYTEA  NOT NULL UNIQUE,
    members TEXT   NOT NULL
);

-- Plans of polls of form 2, by the number of the poll. `options` is a JSON array, `rules` a JSON object. Numbers are
-- never reused, because ballots refer to them.
CREATE TABLE plans (
    number   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    roster   BIGINT NOT NULL REFERENCES rosters (id),
    seed     BYTEA  NOT NULL CHECK (length(seed) = 32),
    question TEXT   NOT NULL,
    options  TEXT   NOT NULL,
    rules    TEXT   NOT NULL
);
CREATE INDEX plans_of_roster ON plans (roster);

-- The number of a poll of form 2. Its column `plan` is '{}'.
ALTER TABLE polls ADD COLUMN number BIGINT;

-- The event log of polls of form 2. The model of a ballot and its option order follow from the plan. `basis` and `mode`
-- are numbers of names (crates/store/src/rows/ballots.rs). Sequence numbers count from 1 without gaps, which
-- `ep admin audit` checks.
CREATE TABLE votes (
    poll        BIGINT   NOT NULL REFERENCES plans (number),
    cost        BIGINT   NOT NULL CHECK (cost >= 0),
    latency_ms  BIGINT   NOT NULL,
    at_ms       BIGINT   NOT NULL,
    position    SMALLINT NOT NULL CHECK (position >= 0),
    seq         SMALLINT NOT NULL CHECK (seq > 0),
    choice      SMALLINT CHECK (choice >= 0),
    basis       SMALLINT NOT NULL,
    mode        SMALLINT,
    reasoned    SMALLINT CHECK (reasoned IN (0, 1)),
    reason      TEXT,
    detail      TEXT,
    answered_by TEXT,
    PRIMARY KEY (poll, position),
    CHECK ((choice IS NULL) = (reason IS NOT NULL)),
    CHECK ((reason IS NULL) = (detail IS NULL))
);
