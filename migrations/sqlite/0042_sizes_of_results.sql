-- The sizes of the results and of the errors of an ended batch, in bytes; null until they are measured.
ALTER TABLE batches ADD COLUMN output_bytes INTEGER;
ALTER TABLE batches ADD COLUMN error_bytes INTEGER;
