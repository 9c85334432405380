-- Tasks of agents (A2A) can be batches. The state of a task with a batch changes in the transaction that ends the batch.
ALTER TABLE a2a_tasks ADD COLUMN batch_id TEXT REFERENCES batches (id) ON DELETE CASCADE;
ALTER TABLE a2a_tasks DROP CONSTRAINT a2a_tasks_check;
ALTER TABLE a2a_tasks ADD CHECK (poll_id IS NULL OR batch_id IS NULL);
ALTER TABLE a2a_tasks ADD CHECK (poll_id IS NOT NULL OR batch_id IS NOT NULL OR state IN ('input-required', 'canceled'));
CREATE UNIQUE INDEX a2a_tasks_of_batch ON a2a_tasks (batch_id) WHERE batch_id IS NOT NULL;
DROP INDEX a2a_tasks_without_poll;
CREATE INDEX a2a_tasks_without_work ON a2a_tasks (status_at) WHERE poll_id IS NULL AND batch_id IS NULL;
