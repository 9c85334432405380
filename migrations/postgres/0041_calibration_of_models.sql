-- A model without a vote counts against the winner of a poll now. All judged polls are counted again. The sums of polls that
-- were deleted stay as they were counted.
DELETE FROM calibration WHERE stored = 1;
UPDATE reputation_polls SET calibrated_correct = 0, calibrated_incorrect = 0
WHERE calibrated_correct <> 0 OR calibrated_incorrect <> 0;
