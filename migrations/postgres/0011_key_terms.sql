-- Until when a key is valid, in milliseconds since the epoch, and what it may be used for.
ALTER TABLE api_keys ADD COLUMN expires_at BIGINT;
ALTER TABLE api_keys ADD COLUMN scope TEXT NOT NULL DEFAULT 'all' CHECK (scope IN ('all', 'polls', 'read'));
