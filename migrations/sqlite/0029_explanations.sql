-- The decision of a poll whose voters are asked for explanations, as JSON, until the poll is closed.
ALTER TABLE polls ADD COLUMN decided TEXT;
-- The outcomes of asking voters for explanations, as a JSON array.
ALTER TABLE polls ADD COLUMN explanations TEXT;
