-- Stages of a deposit: `unknown` after its authorization has expired and nobody can say whether it was paid,
-- `confirming` while its block is not final, `vanished` when a credited transfer has left the chain. `block` is the
-- transfer's block; reconciliation looks at the row at `look_at`, after `looks` unsuccessful look-ups. SQLite cannot
-- change a CHECK, so the table is copied. Rows that earlier releases left open or gave up are due at once.
CREATE TABLE new_deposits (
    ref          TEXT    NOT NULL PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    payer        TEXT    NOT NULL,
    user_id      TEXT    REFERENCES users (id),
    amount       INTEGER NOT NULL CHECK (amount > 0),
    status       TEXT    NOT NULL DEFAULT 'settling'
        CHECK (status IN ('settling', 'unknown', 'confirming', 'settled', 'vanished', 'failed')),
    payment      TEXT    NOT NULL,
    valid_before INTEGER NOT NULL,
    since        INTEGER NOT NULL,
    tx_hash      TEXT,
    created_at   INTEGER NOT NULL,
    block        INTEGER,
    look_at      INTEGER DEFAULT 0,
    looks        INTEGER NOT NULL DEFAULT 0,
    CHECK (status NOT IN ('confirming', 'settled', 'vanished') OR (tx_hash IS NOT NULL AND user_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO new_deposits (ref, id, payer, user_id, amount, status, payment, valid_before, since, tx_hash, created_at)
    SELECT ref, id, payer, user_id, amount, status, payment, valid_before, since, tx_hash, created_at FROM deposits;
DROP TABLE deposits;
ALTER TABLE new_deposits RENAME TO deposits;
CREATE INDEX deposits_due ON deposits (look_at) WHERE status <> 'settled';
CREATE INDEX deposits_settled ON deposits (created_at, ref) WHERE status = 'settled';
