-- An email address is no key to an account: two accounts may have the same.
ALTER TABLE users DROP CONSTRAINT users_email_key;
CREATE INDEX users_email ON users (email);

-- What signs in to an account: a wallet by its address, a user of an identity provider by issuer and subject.
-- The reference is deferred: an identity is claimed before its account is made.
CREATE TABLE identities (
    kind       TEXT   NOT NULL CHECK (kind IN ('wallet', 'oidc')),
    issuer     TEXT   NOT NULL,
    subject    TEXT   NOT NULL,
    user_id    TEXT   NOT NULL REFERENCES users (id) DEFERRABLE INITIALLY DEFERRED,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (kind, issuer, subject)
);
CREATE INDEX identities_of_user ON identities (user_id);

-- Browser sessions, by the hash of their token. `provider_token` is what the identity provider is signed out
-- with, encrypted.
CREATE TABLE sessions (
    hash           TEXT   NOT NULL PRIMARY KEY,
    user_id        TEXT   NOT NULL REFERENCES users (id),
    created_at     BIGINT NOT NULL,
    used_at        BIGINT NOT NULL,
    provider_token TEXT
);
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_used ON sessions (used_at);

-- Nonces of sign-in messages that have been used, until they would expire.
CREATE TABLE used_nonces (
    nonce      TEXT   NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX used_nonces_expiry ON used_nonces (expires_at);

-- Starter credits given on one day (since the epoch): by the service, and to one client address.
CREATE TABLE starter_credits (
    day   BIGINT NOT NULL,
    scope TEXT   NOT NULL,
    given BIGINT NOT NULL CHECK (given > 0),
    PRIMARY KEY (day, scope)
);
