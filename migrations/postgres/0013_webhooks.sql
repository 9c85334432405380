-- Where an account wants to hear of the ends of its polls. The secret that signs is derived from its number.
CREATE TABLE webhooks (
    user_id            TEXT    NOT NULL PRIMARY KEY REFERENCES users (id),
    url                TEXT,
    secret_number      BIGINT  NOT NULL DEFAULT 0,
    secret_replaced_at BIGINT 
);

-- What is to be told of a poll, and to whom: stored when the poll is opened, sent once it has ended. Each attempt
-- moves the next one ahead before it begins. `next_at` follows the database's clock.
CREATE TABLE notifications (
    poll_id    TEXT    NOT NULL PRIMARY KEY REFERENCES polls (id),
    user_id    TEXT    NOT NULL REFERENCES users (id),
    url        TEXT    NOT NULL,
    state      TEXT    NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts   BIGINT  NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_at    BIGINT  NOT NULL,
    last_error TEXT,
    created_at BIGINT  NOT NULL
);
CREATE INDEX notifications_waiting ON notifications (next_at) WHERE state = 'waiting';
CREATE INDEX notifications_of_user ON notifications (user_id, created_at);
CREATE INDEX notifications_old ON notifications (created_at) WHERE state <> 'waiting';
