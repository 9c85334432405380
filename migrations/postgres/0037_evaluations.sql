-- Evaluations of models and panels on gold labels that accounts store. `report` is JSON. `shared` is 1 if everyone with the
-- link may read it.
CREATE TABLE evaluations (
    id         TEXT NOT NULL PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id),
    name       TEXT NOT NULL,
    report     TEXT NOT NULL,
    shared     BIGINT NOT NULL DEFAULT 0 CHECK (shared IN (0, 1)),
    created_at BIGINT NOT NULL
);
CREATE INDEX evaluations_of_user ON evaluations (user_id, created_at, id);
