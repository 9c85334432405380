-- Polls whose owners want them ended. Whoever holds a poll's lease looks here.
CREATE TABLE cancellations (
    poll_id    TEXT    NOT NULL PRIMARY KEY REFERENCES polls (id),
    created_at BIGINT  NOT NULL
);
