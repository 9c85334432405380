-- The form of the stored plan and of its rules. A process runs, shows and counts only the forms that it knows.
ALTER TABLE polls ADD COLUMN form INTEGER NOT NULL DEFAULT 1;
