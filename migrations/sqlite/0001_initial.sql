-- Accounts. Addresses are kept in lower case, so that one address is one account.
CREATE TABLE users (
    id         TEXT    NOT NULL PRIMARY KEY,
    email      TEXT    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
    id           TEXT    NOT NULL PRIMARY KEY,
    user_id      TEXT    NOT NULL REFERENCES users (id),
    hash         TEXT    NOT NULL UNIQUE,
    prefix       TEXT    NOT NULL,
    label        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER
) STRICT;
CREATE INDEX api_keys_of_user ON api_keys (user_id);

-- What an account has: proved by its transfers and its open holds.
CREATE TABLE accounts (
    id     TEXT    NOT NULL PRIMARY KEY REFERENCES users (id),
    posted INTEGER NOT NULL DEFAULT 0 CHECK (posted <= 1000000000000000000),
    held   INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
    CHECK (posted >= held)
) STRICT, WITHOUT ROWID;

-- The ledger: each row moves money from one account to another. Accounts that are nobody's are named
-- 'sys:…'; what they hold is the sum of their transfers.
CREATE TABLE transfers (
    id             INTEGER PRIMARY KEY,
    ref            TEXT    NOT NULL UNIQUE,
    debit_account  TEXT    NOT NULL,
    credit_account TEXT    NOT NULL,
    amount         INTEGER NOT NULL CHECK (amount > 0),
    created_at     INTEGER NOT NULL,
    CHECK (debit_account <> credit_account)
) STRICT;
-- All but the captures, which are many: enough to tell what an account has used.
CREATE INDEX transfers_into ON transfers (credit_account, amount) WHERE debit_account <> 'sys:revenue';
CREATE INDEX transfers_out_of ON transfers (debit_account, amount) WHERE credit_account <> 'sys:revenue';

CREATE TRIGGER transfers_are_never_changed BEFORE UPDATE ON transfers
BEGIN SELECT RAISE(ABORT, 'transfers are append-only'); END;
CREATE TRIGGER transfers_are_never_deleted BEFORE DELETE ON transfers
BEGIN SELECT RAISE(ABORT, 'transfers are append-only'); END;

-- A poll runs while it has no closing. The small columns that change come first, so that renewing a lease
-- rewrites one page and not the plan.
CREATE TABLE polls (
    id           TEXT    NOT NULL PRIMARY KEY,
    owner        TEXT    REFERENCES users (id),
    created_at   INTEGER NOT NULL,
    billed       INTEGER NOT NULL CHECK (billed IN (0, 1)),
    settled      INTEGER NOT NULL DEFAULT 0 CHECK (settled IN (0, 1)),
    lease_until  INTEGER NOT NULL,
    lease_worker TEXT    NOT NULL,
    unused_cost  INTEGER CHECK (unused_cost >= 0),
    request_ref  TEXT,
    plan         TEXT    NOT NULL,
    closing      TEXT,
    CHECK (settled = 0 OR closing IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX polls_request ON polls (request_ref) WHERE request_ref IS NOT NULL;
CREATE INDEX polls_of_owner ON polls (owner, created_at) WHERE owner IS NOT NULL;
CREATE INDEX polls_unsettled ON polls (lease_worker) WHERE settled = 0;

CREATE TABLE holds (
    ref      TEXT    NOT NULL PRIMARY KEY REFERENCES polls (id),
    account  TEXT    NOT NULL REFERENCES accounts (id),
    amount   INTEGER NOT NULL CHECK (amount > 0),
    captured INTEGER NOT NULL DEFAULT 0 CHECK (captured >= 0),
    status   TEXT    NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'captured', 'released')),
    CHECK (captured <= amount),
    CHECK ((status = 'captured') = (captured > 0))
) STRICT, WITHOUT ROWID;
CREATE INDEX holds_open ON holds (account, amount) WHERE status = 'open';

-- The event log of a poll.
CREATE TABLE ballots (
    poll_id      TEXT    NOT NULL REFERENCES polls (id),
    seq          INTEGER NOT NULL CHECK (seq > 0),
    position     INTEGER NOT NULL CHECK (position >= 0),
    model        TEXT    NOT NULL,
    choice       INTEGER CHECK (choice >= 0),
    reason       TEXT,
    detail       TEXT,
    option_order TEXT    NOT NULL,
    latency_ms   INTEGER NOT NULL,
    at_ms        INTEGER NOT NULL,
    cost         INTEGER NOT NULL CHECK (cost >= 0),
    basis        TEXT    NOT NULL,
    answered_by  TEXT,
    PRIMARY KEY (poll_id, seq),
    UNIQUE (poll_id, position),
    CHECK ((choice IS NULL) = (reason IS NOT NULL)),
    CHECK ((reason IS NULL) = (detail IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE replays (
    scope       TEXT    NOT NULL PRIMARY KEY,
    fingerprint TEXT    NOT NULL,
    lease_until INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    reply       TEXT
) STRICT;
CREATE INDEX replays_expiry ON replays (expires_at);

CREATE TABLE upstream_registries (
    upstream   TEXT    NOT NULL PRIMARY KEY,
    fetched_at INTEGER NOT NULL,
    body       TEXT    NOT NULL
) STRICT;

CREATE TABLE upstream_rungs (
    upstream TEXT    NOT NULL,
    model    TEXT    NOT NULL,
    rung     INTEGER NOT NULL CHECK (rung BETWEEN 0 AND 255),
    PRIMARY KEY (upstream, model)
) STRICT, WITHOUT ROWID;
