-- Rosters in registry order, as JSON, stored once for all polls that share them. `hash` is the SHA-256 of the JSON.
CREATE TABLE rosters (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    hash    BLOB    NOT NULL UNIQUE,
    members TEXT    NOT NULL
) STRICT;

-- Plans of polls of form 2, by the number of the poll. `options` is a JSON array, `rules` a JSON object. Numbers are
-- never reused, because ballots refer to them.
CREATE TABLE plans (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    roster   INTEGER NOT NULL REFERENCES rosters (id),
    seed     BLOB    NOT NULL CHECK (length(seed) = 32),
    question TEXT    NOT NULL,
    options  TEXT    NOT NULL,
    rules    TEXT    NOT NULL
) STRICT;
CREATE INDEX plans_of_roster ON plans (roster);

-- The number of a poll of form 2. Its column `plan` is '{}'.
ALTER TABLE polls ADD COLUMN number INTEGER;

-- The event log of polls of form 2. The model of a ballot and its option order follow from the plan. `basis` and `mode`
-- are numbers of names (crates/store/src/rows/ballots.rs). Sequence numbers count from 1 without gaps, which
-- `ep admin audit` checks.
CREATE TABLE votes (
    poll        INTEGER NOT NULL REFERENCES plans (number),
    position    INTEGER NOT NULL CHECK (position >= 0),
    seq         INTEGER NOT NULL CHECK (seq > 0),
    choice      INTEGER CHECK (choice >= 0),
    latency_ms  INTEGER NOT NULL,
    at_ms       INTEGER NOT NULL,
    cost        INTEGER NOT NULL CHECK (cost >= 0),
    basis       INTEGER NOT NULL,
    mode        INTEGER,
    reasoned    INTEGER CHECK (reasoned IN (0, 1)),
    reason      TEXT,
    detail      TEXT,
    answered_by TEXT,
    PRIMARY KEY (poll, position),
    CHECK ((choice IS NULL) = (reason IS NOT NULL)),
    CHECK ((reason IS NULL) = (detail IS NULL))
) STRICT, WITHOUT ROWID;
