-- Above which amount, in micro-USD, an account wants to be asked before a poll may spend it.
ALTER TABLE accounts ADD COLUMN confirm_above INTEGER CHECK (confirm_above > 0);
