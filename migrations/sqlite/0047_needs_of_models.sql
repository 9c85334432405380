-- What requests to a model need beside its level, as a set of bits.
ALTER TABLE upstream_rungs ADD COLUMN needs INTEGER NOT NULL DEFAULT 0;
