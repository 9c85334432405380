-- no-transaction
-- The cost of a batch is the sum of its polls' captures.
CREATE INDEX CONCURRENTLY holds_of_batch ON holds (batch, captured) WHERE batch IS NOT NULL;
