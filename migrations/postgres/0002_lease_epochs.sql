-- The database's own clock, in milliseconds since the epoch: leases and deadlines follow it, so that they do
-- not depend on the clocks of the replicas.
CREATE VIEW clock AS SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now;

-- How often a poll has been leased: what an earlier holder writes is refused.
ALTER TABLE polls ADD COLUMN lease_epoch BIGINT NOT NULL DEFAULT 0;
-- When a poll must end; NULL while it waits for its turn.
ALTER TABLE polls ADD COLUMN deadline_at BIGINT;

-- How often a request has been claimed: what an earlier claimant writes is refused.
ALTER TABLE replays ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;
