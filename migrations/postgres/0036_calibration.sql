-- Judged outcomes of complete polls by panel and agreement, apart for stored polls and for those deleted since.
CREATE TABLE calibration (
    panel   TEXT   NOT NULL,
    level   TEXT   NOT NULL CHECK (level IN ('unanimous', 'two_thirds', 'below_two_thirds')),
    stored  BIGINT NOT NULL CHECK (stored IN (0, 1)),
    judged  BIGINT NOT NULL,
    correct BIGINT NOT NULL,
    PRIMARY KEY (panel, level, stored)
);

-- The numbers of judgements with which a poll is in the table above. They differ from `correct` and `incorrect` if an
-- earlier release has counted the poll. It is then counted again, as are all judged polls after this migration.
ALTER TABLE reputation_polls ADD COLUMN calibrated_correct BIGINT NOT NULL DEFAULT 0;
ALTER TABLE reputation_polls ADD COLUMN calibrated_incorrect BIGINT NOT NULL DEFAULT 0;
CREATE INDEX reputation_polls_due ON reputation_polls (poll_id)
WHERE revision <> counted_revision OR correct <> calibrated_correct OR incorrect <> calibrated_incorrect;
DROP INDEX reputation_polls_waiting;

-- An earlier release would delete the state of a poll and leave it in the sums.
CREATE FUNCTION keep_state_of_calibrated_poll() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'the poll is in the sums of calibration'; END $$;
CREATE TRIGGER calibrated_polls_keep_their_state BEFORE DELETE ON reputation_polls FOR EACH ROW
WHEN (OLD.calibrated_correct + OLD.calibrated_incorrect > 0) EXECUTE FUNCTION keep_state_of_calibrated_poll();
