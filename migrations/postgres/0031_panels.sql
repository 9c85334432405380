-- Panels of accounts: lists of models, the strongest first, with rules. A version never changes. `definition` is JSON.
CREATE TABLE panels (
    user_id    TEXT    NOT NULL REFERENCES users (id),
    name       TEXT    NOT NULL,
    version    BIGINT  NOT NULL CHECK (version > 0),
    definition TEXT    NOT NULL,
    created_at BIGINT  NOT NULL,
    PRIMARY KEY (user_id, name, version)
);
