-- A frozen account may not spend.
ALTER TABLE accounts ADD COLUMN frozen BIGINT NOT NULL DEFAULT 0 CHECK (frozen IN (0, 1));

-- Payments by card: stored before the processor hears of them. `session_id` and `payment_id` are the processor's.
CREATE TABLE checkouts (
    id         TEXT    NOT NULL PRIMARY KEY,
    user_id    TEXT    NOT NULL REFERENCES users (id),
    amount     BIGINT NOT NULL CHECK (amount > 0),
    status     TEXT    NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'closed')),
    session_id TEXT    UNIQUE,
    payment_id TEXT,
    created_at BIGINT NOT NULL,
    CHECK (status <> 'paid' OR session_id IS NOT NULL)
);
CREATE INDEX checkouts_open ON checkouts (created_at) WHERE status = 'open';
CREATE INDEX checkouts_payment ON checkouts (payment_id) WHERE payment_id IS NOT NULL;

-- What was taken back of card payments: `amount` in all, of which `applied` was moved in the ledger, `bad_debt` of
-- that at the service's expense. Rows may come before their payment.
CREATE TABLE card_reversals (
    ref         TEXT    NOT NULL PRIMARY KEY,
    checkout_id TEXT,
    payment_id  TEXT,
    amount      BIGINT NOT NULL CHECK (amount >= 0),
    lifted      BIGINT NOT NULL CHECK (lifted IN (0, 1)),
    applied     BIGINT NOT NULL DEFAULT 0 CHECK (applied >= 0),
    bad_debt    BIGINT NOT NULL DEFAULT 0 CHECK (bad_debt BETWEEN 0 AND applied)
);
CREATE INDEX card_reversals_waiting ON card_reversals (ref)
    WHERE applied <> CASE lifted WHEN 1 THEN 0 ELSE amount END;
