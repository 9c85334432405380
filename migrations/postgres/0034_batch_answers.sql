-- The answers of rows with one poll: an index over their results, for review. `agreement` orders them, those in most doubt
-- first. `answer` is missing if no option won. `reviewed` is the option that a person chose.
CREATE TABLE batch_answers (
    batch       TEXT   NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
    number      BIGINT NOT NULL CHECK (number > 0),
    answer      TEXT,
    agreement   BIGINT NOT NULL CHECK (agreement BETWEEN 0 AND 1002000),
    contested   BIGINT NOT NULL CHECK (contested IN (0, 1)),
    reviewed    TEXT,
    reviewed_at BIGINT,
    PRIMARY KEY (batch, number),
    CHECK ((answer IS NULL) = (agreement = 0)),
    CHECK ((reviewed IS NULL) = (reviewed_at IS NULL))
);
CREATE INDEX batch_answers_to_review ON batch_answers (batch, agreement, number) WHERE reviewed IS NULL;

-- 1 if everyone with the link may read the page of the batch.
ALTER TABLE batches ADD COLUMN shared BIGINT NOT NULL DEFAULT 0 CHECK (shared IN (0, 1));
