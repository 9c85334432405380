-- Without captures, which are most transfers and never into the account of a user. The index is small, so building it takes
-- one short read of the table.
CREATE INDEX transfers_to_users ON transfers (credit_account, amount)
    WHERE debit_account <> 'sys:revenue' AND credit_account <> 'sys:revenue';
DROP INDEX transfers_into;

-- Only the audit used it, which reads all holds anyway. Every poll changed it twice.
DROP INDEX holds_open;
