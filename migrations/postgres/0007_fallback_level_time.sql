-- When a model's fallback level was saved, in milliseconds since the epoch: it is tried anew after a day.
ALTER TABLE upstream_rungs ADD COLUMN saved_at BIGINT NOT NULL DEFAULT 0;
