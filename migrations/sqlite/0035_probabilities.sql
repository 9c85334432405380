-- The probabilities that a decision model gives to the options, in the caller's order: a JSON array of parts per million.
ALTER TABLE votes ADD COLUMN probabilities TEXT;
