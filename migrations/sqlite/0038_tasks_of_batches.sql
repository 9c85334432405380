-- Tasks of agents (A2A) can be batches. The state of a task with a batch changes in the transaction that ends the batch.
-- SQLite cannot change the CHECK constraint of a table, so that it is copied with the table that refers to it.
CREATE TABLE a2a_tasks_copy (
    id         TEXT    NOT NULL PRIMARY KEY,
    owner      TEXT    NOT NULL REFERENCES users (id),
    context_id TEXT    NOT NULL,
    client_id  TEXT,
    opened_by  TEXT,
    poll_id    TEXT    REFERENCES polls (id) ON DELETE CASCADE,
    batch_id   TEXT    REFERENCES batches (id) ON DELETE CASCADE,
    state      TEXT    NOT NULL CHECK (state IN ('input-required', 'working', 'completed', 'failed', 'canceled')),
    status_at  INTEGER NOT NULL,
    revision   INTEGER NOT NULL DEFAULT 1,
    content    TEXT    NOT NULL,
    CHECK (poll_id IS NULL OR batch_id IS NULL),
    CHECK (poll_id IS NOT NULL OR batch_id IS NOT NULL OR state IN ('input-required', 'canceled'))
) STRICT;
INSERT INTO a2a_tasks_copy
    (id, owner, context_id, client_id, opened_by, poll_id, state, status_at, revision, content)
    SELECT id, owner, context_id, client_id, opened_by, poll_id, state, status_at, revision, content FROM a2a_tasks;

CREATE TABLE a2a_pushes_copy (
    id         TEXT    NOT NULL PRIMARY KEY,
    task_id    TEXT    NOT NULL REFERENCES a2a_tasks_copy (id) ON DELETE CASCADE,
    config_id  TEXT    NOT NULL,
    user_id    TEXT    NOT NULL REFERENCES users (id),
    url        TEXT    NOT NULL,
    version    TEXT    NOT NULL,
    secrets    TEXT    NOT NULL,
    state      TEXT    NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts   INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_at    INTEGER NOT NULL,
    last_error TEXT,
    UNIQUE (task_id, config_id)
) STRICT;
INSERT INTO a2a_pushes_copy
    (id, task_id, config_id, user_id, url, version, secrets, state, attempts, next_at, last_error)
    SELECT id, task_id, config_id, user_id, url, version, secrets, state, attempts, next_at, last_error FROM a2a_pushes;

DROP TABLE a2a_pushes;
DROP TABLE a2a_tasks;
ALTER TABLE a2a_tasks_copy RENAME TO a2a_tasks;
ALTER TABLE a2a_pushes_copy RENAME TO a2a_pushes;

CREATE UNIQUE INDEX a2a_tasks_opened_by ON a2a_tasks (owner, opened_by) WHERE opened_by IS NOT NULL;
CREATE UNIQUE INDEX a2a_tasks_client_id ON a2a_tasks (owner, client_id) WHERE client_id IS NOT NULL;
CREATE UNIQUE INDEX a2a_tasks_of_poll ON a2a_tasks (poll_id) WHERE poll_id IS NOT NULL;
CREATE UNIQUE INDEX a2a_tasks_of_batch ON a2a_tasks (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX a2a_tasks_of_owner ON a2a_tasks (owner, status_at, id);
CREATE INDEX a2a_tasks_without_work ON a2a_tasks (status_at) WHERE poll_id IS NULL AND batch_id IS NULL;
CREATE INDEX a2a_pushes_waiting ON a2a_pushes (next_at) WHERE state = 'waiting';
CREATE INDEX a2a_pushes_of_user ON a2a_pushes (user_id);
