-- How each vote was cast, and whether the model reasoned (0 or 1).
ALTER TABLE ballots ADD COLUMN ballot_mode TEXT;
ALTER TABLE ballots ADD COLUMN reasoned INTEGER CHECK (reasoned IN (0, 1));
