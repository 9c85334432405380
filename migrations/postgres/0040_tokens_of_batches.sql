-- The tokens of a row with a result, and their sums once its batch has ended. `model` is the one that all rows name.
ALTER TABLE batch_rows ADD COLUMN prompt_tokens BIGINT;
ALTER TABLE batch_rows ADD COLUMN completion_tokens BIGINT;
ALTER TABLE batches ADD COLUMN prompt_tokens BIGINT;
ALTER TABLE batches ADD COLUMN completion_tokens BIGINT;
ALTER TABLE batches ADD COLUMN model TEXT;
