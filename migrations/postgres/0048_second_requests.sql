-- 1 for a second response, because the first one declared no vote.
ALTER TABLE votes ADD COLUMN asked_again SMALLINT CHECK (asked_again = 1);
-- The polls whose votes an earlier version of the rules has read.
ALTER TABLE reputation_service ADD COLUMN read_earlier BIGINT NOT NULL DEFAULT 0;
UPDATE reputation_service SET read_earlier = polls;
