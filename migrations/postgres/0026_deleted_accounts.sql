-- When the account was deleted, in milliseconds since the epoch. Its row stays for the ledger, without personal data.
ALTER TABLE accounts ADD COLUMN deleted_at BIGINT;
UPDATE accounts SET deleted_at = 0 WHERE id IN (SELECT id FROM users WHERE email LIKE '%@deleted.invalid');
