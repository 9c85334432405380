-- The optional parameters that a model does not support, as a set of bits.
ALTER TABLE upstream_rungs ADD COLUMN parameters BIGINT NOT NULL DEFAULT 0;
