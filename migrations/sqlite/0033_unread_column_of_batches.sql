-- Nothing reads this column.
ALTER TABLE batches DROP COLUMN billed;
