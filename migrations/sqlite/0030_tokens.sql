-- The tokens of all responses of a member, if the upstream reports them.
ALTER TABLE votes ADD COLUMN prompt_tokens INTEGER;
ALTER TABLE votes ADD COLUMN completion_tokens INTEGER;
