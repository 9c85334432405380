-- Stages of a deposit: `unknown` after its authorization has expired and nobody can say whether it was paid,
-- `confirming` while its block is not final, `vanished` when a credited transfer has left the chain. `block` is the
-- transfer's block; reconciliation looks at the row at `look_at`, after `looks` unsuccessful look-ups. Rows that
-- earlier releases left open or gave up are due at once.
ALTER TABLE deposits
    ADD COLUMN block BIGINT,
    ADD COLUMN look_at BIGINT DEFAULT 0,
    ADD COLUMN looks BIGINT NOT NULL DEFAULT 0,
    DROP CONSTRAINT deposits_status_check,
    DROP CONSTRAINT deposits_check,
    DROP CONSTRAINT deposits_check1,
    ADD CONSTRAINT deposits_status_check
        CHECK (status IN ('settling', 'unknown', 'confirming', 'settled', 'vanished', 'failed')),
    ADD CONSTRAINT deposits_received_check
        CHECK (status NOT IN ('confirming', 'settled', 'vanished') OR (tx_hash IS NOT NULL AND user_id IS NOT NULL));
DROP INDEX deposits_settling;
CREATE INDEX deposits_due ON deposits (look_at) WHERE status <> 'settled';
CREATE INDEX deposits_settled ON deposits (created_at, ref) WHERE status = 'settled';
