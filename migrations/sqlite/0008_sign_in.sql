-- An email address is no key to an account: two accounts may have the same. SQLite cannot drop a constraint,
-- so the table is made anew; until the end of the transaction its rows may be missing.
PRAGMA defer_foreign_keys = ON;
CREATE TEMP TABLE kept_users AS SELECT id, email, created_at FROM users;
DROP TABLE users;
CREATE TABLE users (
    id         TEXT    NOT NULL PRIMARY KEY,
    email      TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO users (id, email, created_at) SELECT id, email, created_at FROM kept_users;
DROP TABLE kept_users;
CREATE INDEX users_email ON users (email);

-- What signs in to an account: a wallet by its address, a user of an identity provider by issuer and subject.
-- The reference is deferred: an identity is claimed before its account is made.
CREATE TABLE identities (
    kind       TEXT    NOT NULL CHECK (kind IN ('wallet', 'oidc')),
    issuer     TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    user_id    TEXT    NOT NULL REFERENCES users (id) DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (kind, issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_of_user ON identities (user_id);

-- Browser sessions, by the hash of their token. `provider_token` is what the identity provider is signed out
-- with, encrypted.
CREATE TABLE sessions (
    hash           TEXT    NOT NULL PRIMARY KEY,
    user_id        TEXT    NOT NULL REFERENCES users (id),
    created_at     INTEGER NOT NULL,
    used_at        INTEGER NOT NULL,
    provider_token TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_used ON sessions (used_at);

-- Nonces of sign-in messages that have been used, until they would expire.
CREATE TABLE used_nonces (
    nonce      TEXT    NOT NULL PRIMARY KEY,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX used_nonces_expiry ON used_nonces (expires_at);

-- Starter credits given on one day (since the epoch): by the service, and to one client address.
CREATE TABLE starter_credits (
    day   INTEGER NOT NULL,
    scope TEXT    NOT NULL,
    given INTEGER NOT NULL CHECK (given > 0),
    PRIMARY KEY (day, scope)
) STRICT, WITHOUT ROWID;
