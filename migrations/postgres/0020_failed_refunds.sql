-- When the report of a reversal was made, in milliseconds since the epoch, and how often its amount in the ledger has
-- changed, which makes the reference of each change unique.
ALTER TABLE card_reversals ADD COLUMN reported_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE card_reversals ADD COLUMN changes BIGINT NOT NULL DEFAULT 0 CHECK (changes >= 0);

-- Refunds that failed after they were reported: the processor returned their money. `reversal` is the `ref` of the
-- refunds of the same charge in `card_reversals`, which may be reported later.
CREATE TABLE card_refund_failures (
    refund_id TEXT   NOT NULL PRIMARY KEY,
    reversal  TEXT   NOT NULL,
    amount    BIGINT NOT NULL CHECK (amount > 0),
    failed_at BIGINT NOT NULL
);
CREATE INDEX card_refund_failures_of_reversal ON card_refund_failures (reversal);

-- The amount that each reversal should have moved in the ledger. A report that is later than a failure no longer
-- includes the failed refund.
CREATE VIEW card_reversal_targets AS
SELECT ref, checkout_id, payment_id, applied, bad_debt, changes,
       CASE WHEN lifted = 1 OR failed > amount THEN 0 ELSE amount - failed END AS target
FROM (SELECT card_reversals.*, (
          SELECT CAST(COALESCE(SUM(card_refund_failures.amount), 0) AS BIGINT) FROM card_refund_failures
          WHERE reversal = ref AND failed_at >= reported_at
      ) AS failed FROM card_reversals) AS reported;

DROP INDEX card_reversals_waiting;
