-- The tasks of an account without work, of which the oldest are replaced.
CREATE INDEX IF NOT EXISTS a2a_tasks_waiting ON a2a_tasks (owner, status_at, id) WHERE poll_id IS NULL AND batch_id IS NULL;
