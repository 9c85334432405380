-- The most that a key may spend, in micro-USD: in all, and on the polls of one day.
ALTER TABLE api_keys ADD COLUMN cap INTEGER CHECK (cap >= 0);
ALTER TABLE api_keys ADD COLUMN daily_cap INTEGER CHECK (daily_cap >= 0);

-- What the polls of a capped key have cost or hold, by the day on which they were opened, since the epoch, in UTC.
CREATE TABLE key_spending (
    key_id TEXT    NOT NULL REFERENCES api_keys (id),
    day    INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (key_id, day)
) STRICT, WITHOUT ROWID;

-- The capped key, and the day, that a hold counts against.
ALTER TABLE holds ADD COLUMN key_id TEXT;
ALTER TABLE holds ADD COLUMN day INTEGER;

-- Who pays for the account of a pre-funded key. Nobody signs in to it: the key is all that spends from it.
ALTER TABLE accounts ADD COLUMN funder TEXT REFERENCES users (id) CHECK (funder <> id);
CREATE INDEX accounts_of_funder ON accounts (funder) WHERE funder IS NOT NULL;
