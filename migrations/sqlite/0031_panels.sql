-- Panels of accounts: lists of models, the strongest first, with rules. A version never changes. `definition` is JSON.
CREATE TABLE panels (
    user_id    TEXT    NOT NULL REFERENCES users (id),
    name       TEXT    NOT NULL,
    version    INTEGER NOT NULL CHECK (version > 0),
    definition TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, name, version)
) STRICT, WITHOUT ROWID;
