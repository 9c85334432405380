-- Deposits of USDC: stored before they are carried out. `ref` is chain, asset, payer and nonce; `user_id` the account
-- of the caller or, once credited, of the payer; `payment` what the facilitator takes, in JSON; `since` a block from
-- which on the transfer can be looked for.
CREATE TABLE deposits (
    ref          TEXT    NOT NULL PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    payer        TEXT    NOT NULL,
    user_id      TEXT    REFERENCES users (id),
    amount       INTEGER NOT NULL CHECK (amount > 0),
    status       TEXT    NOT NULL DEFAULT 'settling' CHECK (status IN ('settling', 'settled', 'failed')),
    payment      TEXT    NOT NULL,
    valid_before INTEGER NOT NULL,
    since        INTEGER NOT NULL,
    tx_hash      TEXT,
    created_at   INTEGER NOT NULL,
    CHECK ((status = 'settled') = (tx_hash IS NOT NULL)),
    CHECK (status <> 'settled' OR user_id IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE INDEX deposits_settling ON deposits (created_at) WHERE status = 'settling';
