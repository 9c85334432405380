-- What accounts say of polls, one entry for each account and poll. An entry belongs to the account that pays.
CREATE TABLE feedback (
    id              TEXT    NOT NULL UNIQUE,
    poll_id         TEXT    NOT NULL REFERENCES polls (id) ON DELETE CASCADE,
    user_id         TEXT    NOT NULL REFERENCES users (id),
    outcome_correct INTEGER CHECK (outcome_correct IN (0, 1)),
    confidence      REAL CHECK (confidence BETWEEN 0 AND 1),
    notes           TEXT,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (poll_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX feedback_newest ON feedback (poll_id, created_at, id);
CREATE INDEX feedback_of_user ON feedback (user_id);

-- The polls that have ended. `revision` grows when something is said of a poll; the sums below have it as it was at
-- `counted_revision` (0: not at all), with so many judgements. The reference keeps a release that does not know the
-- sums from deleting what is in them.
CREATE TABLE reputation_polls (
    poll_id          TEXT    NOT NULL PRIMARY KEY REFERENCES polls (id),
    revision         INTEGER NOT NULL DEFAULT 1,
    counted_revision INTEGER NOT NULL DEFAULT 0,
    correct          INTEGER NOT NULL DEFAULT 0,
    incorrect        INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX reputation_polls_waiting ON reputation_polls (poll_id) WHERE revision <> counted_revision;

-- Sums over ballots, apart for polls that are stored and for those that have been deleted since.
CREATE TABLE reputation_service (
    stored    INTEGER NOT NULL PRIMARY KEY CHECK (stored IN (0, 1)),
    polls     INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    free      INTEGER NOT NULL DEFAULT 0,
    answered  INTEGER NOT NULL DEFAULT 0,
    total_ms  INTEGER NOT NULL DEFAULT 0,
    cost      INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO reputation_service (stored) VALUES (0), (1);

CREATE TABLE reputation_models (
    model        TEXT    NOT NULL,
    stored       INTEGER NOT NULL CHECK (stored IN (0, 1)),
    calls        INTEGER NOT NULL,
    votes        INTEGER NOT NULL,
    refused      INTEGER NOT NULL,
    unreadable   INTEGER NOT NULL,
    latency_ms   INTEGER NOT NULL,
    priced       INTEGER NOT NULL,
    cost         INTEGER NOT NULL,
    decided      INTEGER NOT NULL,
    with_outcome INTEGER NOT NULL,
    judged       INTEGER NOT NULL,
    agreed       INTEGER NOT NULL,
    PRIMARY KEY (model, stored)
) STRICT, WITHOUT ROWID;

-- Votes for the option shown at each place (`slot`, from 0) of so many options.
CREATE TABLE reputation_slots (
    model   TEXT    NOT NULL,
    options INTEGER NOT NULL,
    slot    INTEGER NOT NULL,
    stored  INTEGER NOT NULL CHECK (stored IN (0, 1)),
    votes   INTEGER NOT NULL,
    PRIMARY KEY (model, options, slot, stored)
) STRICT, WITHOUT ROWID;

-- The minutes since the epoch in which the service ran, any replica of it.
CREATE TABLE heartbeats (
    minute INTEGER NOT NULL PRIMARY KEY
) STRICT;

-- Whichever release ends a poll.
CREATE TRIGGER polls_that_end_are_counted AFTER UPDATE OF closing ON polls
WHEN OLD.closing IS NULL AND NEW.closing IS NOT NULL
BEGIN INSERT INTO reputation_polls (poll_id) VALUES (NEW.id); END;

INSERT INTO reputation_polls (poll_id) SELECT id FROM polls WHERE closing IS NOT NULL;
