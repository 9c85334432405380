-- When the owner deleted a poll, in milliseconds since the epoch. The row stays for the ledger, without its content.
ALTER TABLE polls ADD COLUMN deleted_at BIGINT;
