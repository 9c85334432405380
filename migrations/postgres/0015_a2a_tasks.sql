-- Tasks of agents (A2A). `content` holds what was said, as JSON. The state of a task with a poll moves in the
-- transaction that ends the poll. What opens a task (`opened_by`: a message, or an id of the client's own) opens it once.
CREATE TABLE a2a_tasks (
    id         TEXT   NOT NULL PRIMARY KEY,
    owner      TEXT   NOT NULL REFERENCES users (id),
    context_id TEXT   NOT NULL,
    client_id  TEXT,
    opened_by  TEXT,
    poll_id    TEXT   REFERENCES polls (id) ON DELETE CASCADE,
    state      TEXT   NOT NULL CHECK (state IN ('input-required', 'working', 'completed', 'failed', 'canceled')),
    status_at  BIGINT NOT NULL,
    revision   BIGINT NOT NULL DEFAULT 1,
    content    TEXT   NOT NULL,
    CHECK (poll_id IS NOT NULL OR state IN ('input-required', 'canceled'))
);
CREATE UNIQUE INDEX a2a_tasks_opened_by ON a2a_tasks (owner, opened_by) WHERE opened_by IS NOT NULL;
CREATE UNIQUE INDEX a2a_tasks_client_id ON a2a_tasks (owner, client_id) WHERE client_id IS NOT NULL;
CREATE UNIQUE INDEX a2a_tasks_of_poll ON a2a_tasks (poll_id) WHERE poll_id IS NOT NULL;
CREATE INDEX a2a_tasks_of_owner ON a2a_tasks (owner, status_at, id);
CREATE INDEX a2a_tasks_without_poll ON a2a_tasks (status_at) WHERE poll_id IS NULL;

-- Where agents want to hear of the ends of their tasks (A2A's push notifications), and how far telling them is. What
-- proves the sender (`secrets`) is encrypted. `next_at` follows the database's clock.
CREATE TABLE a2a_pushes (
    id         TEXT    NOT NULL PRIMARY KEY,
    task_id    TEXT    NOT NULL REFERENCES a2a_tasks (id) ON DELETE CASCADE,
    config_id  TEXT    NOT NULL,
    user_id    TEXT    NOT NULL REFERENCES users (id),
    url        TEXT    NOT NULL,
    version    TEXT    NOT NULL,
    secrets    TEXT    NOT NULL,
    state      TEXT    NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts   BIGINT  NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_at    BIGINT  NOT NULL,
    last_error TEXT,
    UNIQUE (task_id, config_id)
);
CREATE INDEX a2a_pushes_waiting ON a2a_pushes (next_at) WHERE state = 'waiting';
CREATE INDEX a2a_pushes_of_user ON a2a_pushes (user_id);

INSERT INTO a2a_tasks (id, owner, context_id, poll_id, state, status_at, content)
SELECT polls.id, owner,
    -- A text with U+0000 cannot be read.
    CASE WHEN position('\u0000' IN message) > 0 THEN polls.id ELSE COALESCE(message::json ->> 'contextId', polls.id) END,
    polls.id,
    CASE WHEN closing IS NULL THEN 'working'
        WHEN closing::json ->> 'cancelled' = 'true' THEN 'canceled'
        WHEN EXISTS (SELECT 1 FROM ballots WHERE poll_id = polls.id AND choice IS NOT NULL) THEN 'completed'
        ELSE 'failed' END,
    COALESCE(CAST(round(extract(epoch FROM (closing::json ->> 'closed_at')::timestamptz) * 1000) AS BIGINT), created_at),
    json_build_object('messages', json_build_array(message::json))::text
FROM agent_messages JOIN polls ON polls.id = agent_messages.poll_id WHERE owner IS NOT NULL;
DROP TABLE agent_messages;
