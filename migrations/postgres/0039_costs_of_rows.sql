-- Batches whose polls are not charged. `cost` of a row is its highest cost while it is asked, and its cost afterwards. `budget`
-- of a batch is what its maximum leaves for further rows; it is missing without a maximum, and if the batch is charged.
ALTER TABLE batch_rows ADD COLUMN cost BIGINT;
ALTER TABLE batches ADD COLUMN budget BIGINT;
-- For the cost of a batch, without reading its results. It is empty where polls are charged.
CREATE INDEX batch_rows_costs ON batch_rows (batch, outcome, cost) WHERE cost IS NOT NULL;
