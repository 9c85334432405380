-- Batches whose polls are not charged. `cost` of a row is its highest cost while it is asked, and its cost afterwards. `budget`
-- of a batch is what its maximum leaves for further rows; it is missing without a maximum, and if the batch is charged.
ALTER TABLE batch_rows ADD COLUMN cost BIGINT;
ALTER TABLE batches ADD COLUMN budget BIGINT;
