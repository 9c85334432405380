-- Polls by the version of the reader of their votes, because a sum of earlier versions would depend on the release that counts.
CREATE TABLE reputation_readers (
    reader INTEGER NOT NULL,
    stored INTEGER NOT NULL CHECK (stored IN (0, 1)),
    polls  INTEGER NOT NULL,
    PRIMARY KEY (reader, stored)
) STRICT, WITHOUT ROWID;
INSERT INTO reputation_readers (reader, stored, polls)
    SELECT 1, stored, read_earlier FROM reputation_service UNION ALL SELECT 2, stored, polls - read_earlier FROM reputation_service;
ALTER TABLE reputation_service DROP COLUMN read_earlier;
