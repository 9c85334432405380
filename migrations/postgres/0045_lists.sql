-- Lists are read from a position on by an index with the columns of their order. Rows of batches have references that begin
-- with the id of their batch: lists of polls leave them out, or have only those of one batch.
CREATE INDEX IF NOT EXISTS polls_by_owner ON polls (owner, created_at, id) WHERE owner IS NOT NULL;
DROP INDEX polls_of_owner;
CREATE INDEX IF NOT EXISTS polls_asked ON polls (owner, created_at, id)
    WHERE owner IS NOT NULL AND COALESCE(substr(request_ref, 1, 6), '') <> 'batch_';
CREATE INDEX IF NOT EXISTS polls_of_batches ON polls (substr(request_ref, 1, 38), created_at, id)
    WHERE substr(request_ref, 1, 6) = 'batch_';
CREATE INDEX IF NOT EXISTS transfers_by_debit ON transfers (debit_account, id);
CREATE INDEX IF NOT EXISTS transfers_by_credit ON transfers (credit_account, id) WHERE credit_account <> 'sys:revenue';
CREATE INDEX IF NOT EXISTS feedback_by_user ON feedback (user_id, poll_id);
DROP INDEX feedback_of_user;
CREATE INDEX IF NOT EXISTS notifications_by_poll ON notifications (user_id, poll_id);
CREATE INDEX IF NOT EXISTS checkouts_of_user ON checkouts (user_id, created_at, id);
CREATE INDEX IF NOT EXISTS deposits_of_user ON deposits (user_id, created_at, id);
CREATE INDEX IF NOT EXISTS a2a_tasks_by_id ON a2a_tasks (owner, id);
CREATE INDEX IF NOT EXISTS a2a_pushes_by_task ON a2a_pushes (user_id, task_id, config_id);
DROP INDEX a2a_pushes_of_user;
CREATE INDEX IF NOT EXISTS batches_failed ON batches (user_id, created_at, id) WHERE status = 'failed';
-- Batches that can have files of results: those whose results are not measured, and those that have some.
CREATE INDEX IF NOT EXISTS batches_with_results ON batches (user_id, created_at, id)
    WHERE ended_at IS NOT NULL AND status <> 'failed' AND (output_bytes IS NULL OR error_bytes IS NULL OR output_bytes + error_bytes > 0);

-- Batches whose private polls are being deleted, in the order of time and id: those up to `at` and `poll` are done. Batches that
-- were deleted before this migration follow.
CREATE TABLE erased_batches (
    batch TEXT   NOT NULL PRIMARY KEY,
    at    BIGINT NOT NULL DEFAULT 0,
    poll  TEXT   NOT NULL DEFAULT ''
);
INSERT INTO erased_batches (batch)
SELECT DISTINCT substr(request_ref, 1, 38) FROM polls
WHERE substr(request_ref, 1, 6) = 'batch_'
    AND NOT EXISTS (SELECT 1 FROM batches WHERE batches.id = substr(polls.request_ref, 1, 38));
