-- What an agent sent to open a poll (A2A), as JSON: its task shows it again.
CREATE TABLE agent_messages (
    poll_id TEXT NOT NULL PRIMARY KEY REFERENCES polls (id) ON DELETE CASCADE,
    message TEXT NOT NULL
);
