-- What accounts say of polls, one entry for each account and poll. An entry belongs to the account that pays.
CREATE TABLE feedback (
    id              TEXT   NOT NULL UNIQUE,
    poll_id         TEXT   NOT NULL REFERENCES polls (id) ON DELETE CASCADE,
    user_id         TEXT   NOT NULL REFERENCES users (id),
    outcome_correct BIGINT CHECK (outcome_correct IN (0, 1)),
    confidence      DOUBLE PRECISION CHECK (confidence BETWEEN 0 AND 1),
    notes           TEXT,
    created_at      BIGINT NOT NULL,
    PRIMARY KEY (poll_id, user_id)
);
CREATE INDEX feedback_newest ON feedback (poll_id, created_at, id);
CREATE INDEX feedback_of_user ON feedback (user_id);

-- The polls that have ended. `revision` grows when something is said of a poll; the sums below have it as it was at
-- `counted_revision` (0: not at all), with so many judgements. The reference keeps a release that does not know the
-- sums from deleting what is in them.
CREATE TABLE reputation_polls (
    poll_id          TEXT   NOT NULL PRIMARY KEY REFERENCES polls (id),
    revision         BIGINT NOT NULL DEFAULT 1,
    counted_revision BIGINT NOT NULL DEFAULT 0,
    correct          BIGINT NOT NULL DEFAULT 0,
    incorrect        BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX reputation_polls_waiting ON reputation_polls (poll_id) WHERE revision <> counted_revision;

-- Sums over ballots, apart for polls that are stored and for those that have been deleted since.
CREATE TABLE reputation_service (
    stored    BIGINT NOT NULL PRIMARY KEY CHECK (stored IN (0, 1)),
    polls     BIGINT NOT NULL DEFAULT 0,
    cancelled BIGINT NOT NULL DEFAULT 0,
    free      BIGINT NOT NULL DEFAULT 0,
    answered  BIGINT NOT NULL DEFAULT 0,
    total_ms  BIGINT NOT NULL DEFAULT 0,
    cost      BIGINT NOT NULL DEFAULT 0
);
INSERT INTO reputation_service (stored) VALUES (0), (1);

CREATE TABLE reputation_models (
    model        TEXT   NOT NULL,
    stored       BIGINT NOT NULL CHECK (stored IN (0, 1)),
    calls        BIGINT NOT NULL,
    votes        BIGINT NOT NULL,
    refused      BIGINT NOT NULL,
    unreadable   BIGINT NOT NULL,
    latency_ms   BIGINT NOT NULL,
    priced       BIGINT NOT NULL,
    cost         BIGINT NOT NULL,
    decided      BIGINT NOT NULL,
    with_outcome BIGINT NOT NULL,
    judged       BIGINT NOT NULL,
    agreed       BIGINT NOT NULL,
    PRIMARY KEY (model, stored)
);

-- Votes for the option shown at each place (`slot`, from 0) of so many options.
CREATE TABLE reputation_slots (
    model   TEXT   NOT NULL,
    options BIGINT NOT NULL,
    slot    BIGINT NOT NULL,
    stored  BIGINT NOT NULL CHECK (stored IN (0, 1)),
    votes   BIGINT NOT NULL,
    PRIMARY KEY (model, options, slot, stored)
);

-- The minutes since the epoch in which the service ran, any replica of it.
CREATE TABLE heartbeats (
    minute BIGINT NOT NULL PRIMARY KEY
);

-- Whichever release ends a poll.
CREATE FUNCTION count_ended_poll() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO reputation_polls (poll_id) VALUES (NEW.id); RETURN NULL; END $$;
CREATE TRIGGER polls_that_end_are_counted AFTER UPDATE OF closing ON polls FOR EACH ROW
WHEN (OLD.closing IS NULL AND NEW.closing IS NOT NULL) EXECUTE FUNCTION count_ended_poll();

INSERT INTO reputation_polls (poll_id) SELECT id FROM polls WHERE closing IS NOT NULL;
