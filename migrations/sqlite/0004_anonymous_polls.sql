-- Finds the anonymous polls that are old enough to be deleted.
CREATE INDEX polls_anonymous ON polls (created_at) WHERE owner IS NULL;
