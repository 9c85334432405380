-- Files of lines that accounts store. `bytes` and `lines` are missing while a file is received.
CREATE TABLE files (
    id         TEXT   NOT NULL PRIMARY KEY,
    user_id    TEXT   NOT NULL REFERENCES users (id),
    name       TEXT   NOT NULL,
    bytes      BIGINT CHECK (bytes >= 0),
    lines      BIGINT CHECK (lines >= 0),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    CHECK ((bytes IS NULL) = (lines IS NULL))
);
CREATE INDEX files_of_user ON files (user_id, created_at, id);
CREATE INDEX files_expiry ON files (expires_at);

-- The lines of files, with their ends.
CREATE TABLE file_lines (
    file    TEXT   NOT NULL REFERENCES files (id),
    number  BIGINT NOT NULL CHECK (number > 0),
    content TEXT   NOT NULL,
    PRIMARY KEY (file, number)
);

-- Batches: the lines of a file are requests, which are asked in order. `leased` is the number of the last line that a
-- worker has taken. `held` is the money set aside for rows that are not asked yet, out of the account's. Its file may be
-- deleted before it. `keep_ms` is the time until its deletion after its end; `is_cut` is 1 if it ends before all
-- rows were asked.
CREATE TABLE batches (
    id            TEXT   NOT NULL PRIMARY KEY,
    user_id       TEXT   NOT NULL REFERENCES users (id),
    file          TEXT   NOT NULL,
    terms         TEXT   NOT NULL,
    status        TEXT   NOT NULL CHECK (status IN
                      ('validating', 'in_progress', 'cancelling', 'completed', 'failed', 'cancelled', 'expired')),
    lines         BIGINT NOT NULL DEFAULT 0 CHECK (lines >= 0),
    total         BIGINT NOT NULL DEFAULT 0 CHECK (total BETWEEN 0 AND lines),
    leased        BIGINT NOT NULL DEFAULT 0 CHECK (leased BETWEEN 0 AND lines),
    billed        BIGINT NOT NULL DEFAULT 0 CHECK (billed IN (0, 1)),
    is_cut        BIGINT NOT NULL DEFAULT 0 CHECK (is_cut IN (0, 1)),
    held          BIGINT NOT NULL DEFAULT 0 CHECK (held >= 0),
    key_id        TEXT,
    day           BIGINT,
    errors        TEXT,
    request_ref   TEXT   UNIQUE,
    lease_worker  TEXT   NOT NULL DEFAULT '',
    lease_until   BIGINT NOT NULL DEFAULT 0,
    created_at    BIGINT NOT NULL,
    started_at    BIGINT,
    cancelling_at BIGINT,
    ended_at      BIGINT,
    expires_at    BIGINT NOT NULL,
    keep_ms       BIGINT NOT NULL,
    CHECK ((ended_at IS NULL) = (status IN ('validating', 'in_progress', 'cancelling'))),
    CHECK (ended_at IS NULL OR held = 0)
);
CREATE INDEX batches_of_user ON batches (user_id, created_at, id);
CREATE INDEX batches_open ON batches (created_at) WHERE ended_at IS NULL;
CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX batches_of_file ON batches (file);

-- Rows of batches that a worker has taken. `outcome` is missing while a row is asked; 0: a result, 1: an error, 2: the line
-- is blank.
CREATE TABLE batch_rows (
    batch        TEXT   NOT NULL REFERENCES batches (id),
    number       BIGINT NOT NULL,
    lease_worker TEXT   NOT NULL,
    lease_until  BIGINT NOT NULL,
    outcome      BIGINT CHECK (outcome BETWEEN 0 AND 2),
    response     TEXT,
    PRIMARY KEY (batch, number),
    CHECK ((response IS NULL) = (outcome IS NULL OR outcome = 2))
);
CREATE INDEX batch_rows_by_outcome ON batch_rows (batch, outcome, number);
CREATE INDEX batch_rows_asked ON batch_rows (lease_worker) WHERE outcome IS NULL;

-- The notification of a batch, if its owner wants one: stored with the batch, sent once it has ended. Each attempt moves the
-- next one ahead before it begins. `next_at` follows the database's clock.
CREATE TABLE batch_notifications (
    batch      TEXT   NOT NULL PRIMARY KEY REFERENCES batches (id),
    user_id    TEXT   NOT NULL REFERENCES users (id),
    url        TEXT   NOT NULL,
    state      TEXT   NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts   BIGINT NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_at    BIGINT NOT NULL,
    last_error TEXT
);
CREATE INDEX batch_notifications_waiting ON batch_notifications (next_at) WHERE state = 'waiting';

-- The batch that a poll's money came from. What the poll does not spend returns to it.
ALTER TABLE holds ADD COLUMN batch TEXT;
-- The cost of a batch is the sum of its polls' captures. The index is empty, so building it takes one short read.
CREATE INDEX holds_of_batch ON holds (batch, status, captured, amount) WHERE batch IS NOT NULL;
