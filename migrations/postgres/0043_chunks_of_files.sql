-- Files are stored in chunks of whole lines, with their ends: of up to 64 KiB, or of one longer line. A row for each line took
-- more than the size of the file.
CREATE TABLE file_chunks (
    file    TEXT   NOT NULL REFERENCES files (id),
    first   BIGINT NOT NULL CHECK (first > 0),
    lines   BIGINT NOT NULL CHECK (lines > 0),
    content TEXT   NOT NULL,
    PRIMARY KEY (file, first)
);

INSERT INTO file_chunks (file, first, lines, content)
    SELECT file, MIN(number), COUNT(*), string_agg(content, '' ORDER BY number)
    FROM file_lines JOIN (SELECT file, number, SUM(octet_length(content)) OVER (PARTITION BY file ORDER BY number) / 65536 AS part
        FROM file_lines) AS parts USING (file, number)
    GROUP BY file, part;

-- `received` is the number of bytes that are stored of a file that is being received, and `quota` the most that its account's
-- files may take together, as it was when the file began.
ALTER TABLE files ADD COLUMN received BIGINT NOT NULL DEFAULT 0 CHECK (received >= 0);
ALTER TABLE files ADD COLUMN quota BIGINT NOT NULL DEFAULT 0;
UPDATE files SET received = COALESCE((SELECT SUM(octet_length(content)) FROM file_lines WHERE file = files.id), 0)
    WHERE bytes IS NULL;

-- `stored_at` is the time at which the newest line was stored, `request_ref` the reference of the request, and `sha256` the digest of
-- the content, if there is a reference.
ALTER TABLE files ADD COLUMN stored_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE files ADD COLUMN request_ref TEXT;
ALTER TABLE files ADD COLUMN sha256 TEXT;
CREATE UNIQUE INDEX files_requests ON files (request_ref);
CREATE INDEX files_sizes ON files (user_id, bytes, received);

DROP TABLE file_lines;
