-- The tables of the service. Times are milliseconds since the epoch, money is micro-USD, and JSON is TEXT.
-- This file is never edited: every database has its checksum. Changes are later files (migrations/README.md).

-- The database's own clock, in milliseconds since the epoch. Leases and deadlines use it, so that they do not depend on the
-- clocks of the processes.
CREATE VIEW clock AS SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now;

-- # Accounts and keys.

-- People and agents. Two accounts may have the same email address, because it signs in to neither.
CREATE TABLE users (
    id         TEXT   NOT NULL PRIMARY KEY,
    email      TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX users_email ON users (email);

-- `hash` is of the whole key, which is not stored; `prefix` is for people. `scope` is what the key may be used for. `cap` and
-- `daily_cap` limit its spending in micro-USD: in total, and on the polls of one day.
CREATE TABLE api_keys (
    id           TEXT   NOT NULL PRIMARY KEY,
    user_id      TEXT   NOT NULL REFERENCES users (id),
    hash         TEXT   NOT NULL UNIQUE,
    prefix       TEXT   NOT NULL,
    label        TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at   BIGINT,
    expires_at   BIGINT,
    scope        TEXT   NOT NULL DEFAULT 'all' CHECK (scope IN ('all', 'polls', 'read')),
    cap          BIGINT CHECK (cap >= 0),
    daily_cap    BIGINT CHECK (daily_cap >= 0)
);
CREATE INDEX api_keys_of_user ON api_keys (user_id);

-- The cost and the holds of the polls of a capped key, by the day on which they were opened: days since the epoch, in UTC.
CREATE TABLE key_spending (
    key_id TEXT   NOT NULL REFERENCES api_keys (id),
    day    BIGINT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (key_id, day)
);

-- The sign-ins of an account: a wallet by its address, or a user of an identity provider by issuer and subject. The reference
-- is deferred, because an identity is claimed before its account is created.
CREATE TABLE identities (
    kind       TEXT   NOT NULL CHECK (kind IN ('wallet', 'oidc')),
    issuer     TEXT   NOT NULL,
    subject    TEXT   NOT NULL,
    user_id    TEXT   NOT NULL REFERENCES users (id) DEFERRABLE INITIALLY DEFERRED,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (kind, issuer, subject)
);
CREATE INDEX identities_of_user ON identities (user_id);

-- Browser sessions by the hash of their token. `provider_token` ends the session at the identity provider; it is encrypted.
CREATE TABLE sessions (
    hash           TEXT   NOT NULL PRIMARY KEY,
    user_id        TEXT   NOT NULL REFERENCES users (id),
    created_at     BIGINT NOT NULL,
    used_at        BIGINT NOT NULL,
    provider_token TEXT
);
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_used ON sessions (used_at);

-- Used nonces of sign-in messages, until they would expire.
CREATE TABLE used_nonces (
    nonce      TEXT   NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX used_nonces_expiry ON used_nonces (expires_at);

-- The number of starter credits given on one day (since the epoch): by the service, and to one client address.
CREATE TABLE starter_credits (
    day   BIGINT NOT NULL,
    scope TEXT   NOT NULL,
    given BIGINT NOT NULL CHECK (given > 0),
    PRIMARY KEY (day, scope)
);

-- # Money, in micro-USD.

-- `posted` is the balance, the sum of the transfers; `held` is the part set aside by open holds and batches. A frozen account
-- cannot spend. `funder` pays for the account of a pre-funded key, to which nobody signs in. Above `confirm_above`, the owner
-- is asked before a poll spends. `deleted_at` is the time at which the account was deleted: its row stays for the ledger.
CREATE TABLE accounts (
    id            TEXT   NOT NULL PRIMARY KEY REFERENCES users (id),
    posted        BIGINT NOT NULL DEFAULT 0 CHECK (posted <= 1000000000000000000),
    held          BIGINT NOT NULL DEFAULT 0 CHECK (held >= 0),
    frozen        BIGINT NOT NULL DEFAULT 0 CHECK (frozen IN (0, 1)),
    funder        TEXT   REFERENCES users (id) CHECK (funder <> id),
    confirm_above BIGINT CHECK (confirm_above > 0),
    deleted_at    BIGINT,
    CHECK (posted >= held)
);
CREATE INDEX accounts_of_funder ON accounts (funder) WHERE funder IS NOT NULL;

-- The ledger: each row moves money from one account to another. Accounts of the service are named `sys:…`.
CREATE TABLE transfers (
    id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ref            TEXT   NOT NULL UNIQUE,
    debit_account  TEXT   NOT NULL,
    credit_account TEXT   NOT NULL,
    amount         BIGINT NOT NULL CHECK (amount > 0),
    created_at     BIGINT NOT NULL,
    CHECK (debit_account <> credit_account)
);
-- Totals of an account. Captures are most transfers, and go to the revenue.
CREATE INDEX transfers_out_of ON transfers (debit_account, amount) WHERE credit_account <> 'sys:revenue';
CREATE INDEX transfers_to_users ON transfers (credit_account, amount)
    WHERE debit_account <> 'sys:revenue' AND credit_account <> 'sys:revenue';
-- Lists of an account.
CREATE INDEX transfers_by_debit ON transfers (debit_account, id);
CREATE INDEX transfers_by_credit ON transfers (credit_account, id) WHERE credit_account <> 'sys:revenue';

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '% are append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation'; END $$;
CREATE TRIGGER transfers_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON transfers
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Card payments, stored before the processor is called. `session_id` and `payment_id` are the processor's.
CREATE TABLE checkouts (
    id         TEXT   NOT NULL PRIMARY KEY,
    user_id    TEXT   NOT NULL REFERENCES users (id),
    amount     BIGINT NOT NULL CHECK (amount > 0),
    status     TEXT   NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'closed')),
    session_id TEXT   UNIQUE,
    payment_id TEXT,
    created_at BIGINT NOT NULL,
    CHECK (status <> 'paid' OR session_id IS NOT NULL)
);
CREATE INDEX checkouts_open ON checkouts (created_at) WHERE status = 'open';
CREATE INDEX checkouts_payment ON checkouts (payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX checkouts_of_user ON checkouts (user_id, created_at, id);

-- Refunds and disputes of card payments: `amount` in total, of which the ledger has `applied`, and `bad_debt` of that at the
-- service's expense. A row may come before its payment. `reported_at` is the time of the report, and `changes` counts the
-- changes of `applied`, so that each has a reference of its own.
CREATE TABLE card_reversals (
    ref         TEXT   NOT NULL PRIMARY KEY,
    checkout_id TEXT,
    payment_id  TEXT,
    amount      BIGINT NOT NULL CHECK (amount >= 0),
    lifted      BIGINT NOT NULL CHECK (lifted IN (0, 1)),
    applied     BIGINT NOT NULL DEFAULT 0 CHECK (applied >= 0),
    bad_debt    BIGINT NOT NULL DEFAULT 0 CHECK (bad_debt BETWEEN 0 AND applied),
    reported_at BIGINT NOT NULL DEFAULT 0,
    changes     BIGINT NOT NULL DEFAULT 0 CHECK (changes >= 0)
);

-- Refunds that failed after their report: the processor returned the money. `reversal` is the `ref` of the refunds of the same
-- charge, which may be reported later.
CREATE TABLE card_refund_failures (
    refund_id TEXT   NOT NULL PRIMARY KEY,
    reversal  TEXT   NOT NULL,
    amount    BIGINT NOT NULL CHECK (amount > 0),
    failed_at BIGINT NOT NULL
);
CREATE INDEX card_refund_failures_of_reversal ON card_refund_failures (reversal);

-- The amount of each reversal that the ledger should have. A report after a failure no longer includes the failed refund.
CREATE VIEW card_reversal_targets AS
SELECT ref, checkout_id, payment_id, applied, bad_debt, changes,
       CASE WHEN lifted = 1 OR failed > amount THEN 0 ELSE amount - failed END AS target
FROM (SELECT card_reversals.*, (
          SELECT CAST(COALESCE(SUM(card_refund_failures.amount), 0) AS BIGINT) FROM card_refund_failures
          WHERE reversal = ref AND failed_at >= reported_at
      ) AS failed FROM card_reversals) AS reported;

-- USDC deposits, stored before they are carried out. `ref` is chain, asset, payer and nonce. `user_id` is the account of the
-- caller or, once credited, of the payer. `payment` is the JSON for the facilitator. The transfer is in no block before
-- `since`. A deposit is `unknown` if its authorization expired and nobody can say whether it was paid. It is `confirming` until
-- its block is final, and `vanished` if a credited transfer has left the chain. Reconciliation looks at it at `look_at`, after
-- `looks` attempts without a result.
CREATE TABLE deposits (
    ref          TEXT   NOT NULL PRIMARY KEY,
    id           TEXT   NOT NULL UNIQUE,
    payer        TEXT   NOT NULL,
    user_id      TEXT   REFERENCES users (id),
    amount       BIGINT NOT NULL CHECK (amount > 0),
    status       TEXT   NOT NULL DEFAULT 'settling'
        CHECK (status IN ('settling', 'unknown', 'confirming', 'settled', 'vanished', 'failed')),
    payment      TEXT   NOT NULL,
    valid_before BIGINT NOT NULL,
    since        BIGINT NOT NULL,
    tx_hash      TEXT,
    created_at   BIGINT NOT NULL,
    block        BIGINT,
    look_at      BIGINT DEFAULT 0,
    looks        BIGINT NOT NULL DEFAULT 0,
    CHECK (status NOT IN ('confirming', 'settled', 'vanished') OR (tx_hash IS NOT NULL AND user_id IS NOT NULL))
);
CREATE INDEX deposits_due ON deposits (look_at) WHERE status <> 'settled';
CREATE INDEX deposits_settled ON deposits (created_at, ref) WHERE status = 'settled';
CREATE INDEX deposits_of_user ON deposits (user_id, created_at, id);

-- # Polls.

-- Rosters in registry order, as JSON, stored once for all polls that share them. `hash` is the SHA-256 of the JSON.
CREATE TABLE rosters (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash    BYTEA  NOT NULL UNIQUE,
    members TEXT   NOT NULL
);

-- Plans of polls, apart from them, so that deleting a poll deletes its content. `options` is a JSON array, `rules` a JSON
-- object. Numbers are never reused, because votes refer to them.
CREATE TABLE plans (
    number   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    roster   BIGINT NOT NULL REFERENCES rosters (id),
    seed     BYTEA  NOT NULL CHECK (length(seed) = 32),
    question TEXT   NOT NULL,
    options  TEXT   NOT NULL,
    rules    TEXT   NOT NULL
);
CREATE INDEX plans_of_roster ON plans (roster);

-- A poll runs until it has a `closing`, and is settled once its money is. Room is left on each page, so that renewing a lease
-- is a heap-only update.
-- - `form` is the form of the plan, the votes and their rules. A process runs, shows and counts only the form that it knows.
-- - `lease_epoch` counts the leases of a poll, so that writes of an earlier holder are refused.
-- - `deadline_at` is missing while the poll waits for its turn.
-- - `unused_cost` is the cost of calls with unused responses, known after the closing.
-- - `request_ref` makes opening repeatable; that of a row begins with the id of its batch.
-- - `decided` is the decision of a poll that still asks for explanations; `explanations` are their outcomes, a JSON array.
-- - `deleted_at` is the time at which the owner deleted the poll. Its row stays for the ledger, without plan and votes.
CREATE TABLE polls (
    id           TEXT   NOT NULL PRIMARY KEY,
    owner        TEXT   REFERENCES users (id),
    created_at   BIGINT NOT NULL,
    form         BIGINT NOT NULL,
    number       BIGINT,
    billed       BIGINT NOT NULL CHECK (billed IN (0, 1)),
    settled      BIGINT NOT NULL DEFAULT 0 CHECK (settled IN (0, 1)),
    lease_until  BIGINT NOT NULL,
    lease_worker TEXT   NOT NULL,
    lease_epoch  BIGINT NOT NULL DEFAULT 0,
    deadline_at  BIGINT,
    unused_cost  BIGINT CHECK (unused_cost >= 0),
    request_ref  TEXT,
    decided      TEXT,
    closing      TEXT,
    explanations TEXT,
    deleted_at   BIGINT,
    CHECK (settled = 0 OR closing IS NOT NULL),
    CHECK ((number IS NULL) = (deleted_at IS NOT NULL))
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX polls_request ON polls (request_ref) WHERE request_ref IS NOT NULL;
CREATE INDEX polls_unsettled ON polls (lease_worker) WHERE settled = 0;
CREATE INDEX polls_anonymous ON polls (created_at) WHERE owner IS NULL;
-- Lists: all polls of an account, those that are no rows of batches, and the rows of one batch.
CREATE INDEX polls_by_owner ON polls (owner, created_at, id) WHERE owner IS NOT NULL;
CREATE INDEX polls_asked ON polls (owner, created_at, id)
    WHERE owner IS NOT NULL AND COALESCE(substr(request_ref, 1, 6), '') <> 'batch_';
CREATE INDEX polls_of_batches ON polls (substr(request_ref, 1, 38), created_at, id)
    WHERE substr(request_ref, 1, 6) = 'batch_';

-- The ballots of a poll. The model of a ballot and its option order follow from the plan. `basis` and `mode` are numbers of
-- names (crates/store/src/rows/ballots.rs). Sequence numbers count from 1 without gaps, which `ep admin audit` checks.
-- - `reasoned` is 1 if the model has reasoned, and `asked_again` is 1 for a second response.
-- - `reason` and `detail` say why there is no vote.
-- - `answered_by` is the model named in the response, if it differs.
-- - `probabilities` of a decision model are a JSON array of parts per million, in the caller's order.
-- Wide columns come first, so that no row has gaps.
CREATE TABLE votes (
    poll              BIGINT   NOT NULL REFERENCES plans (number),
    cost              BIGINT   NOT NULL CHECK (cost >= 0),
    latency_ms        BIGINT   NOT NULL,
    at_ms             BIGINT   NOT NULL,
    prompt_tokens     INTEGER,
    completion_tokens INTEGER,
    position          SMALLINT NOT NULL CHECK (position >= 0),
    seq               SMALLINT NOT NULL CHECK (seq > 0),
    choice            SMALLINT CHECK (choice >= 0),
    basis             SMALLINT NOT NULL,
    mode              SMALLINT,
    reasoned          SMALLINT CHECK (reasoned IN (0, 1)),
    asked_again       SMALLINT CHECK (asked_again = 1),
    reason            TEXT,
    detail            TEXT,
    answered_by       TEXT,
    probabilities     TEXT,
    PRIMARY KEY (poll, position),
    CHECK ((choice IS NULL) = (reason IS NOT NULL)),
    CHECK ((reason IS NULL) = (detail IS NULL))
);

-- Money set aside for a poll. `key_id` and `day` are the capped key and the day that the hold counts against. `batch` is the
-- batch that the money came from: what the poll does not spend returns to it.
CREATE TABLE holds (
    ref      TEXT   NOT NULL PRIMARY KEY REFERENCES polls (id),
    account  TEXT   NOT NULL REFERENCES accounts (id),
    amount   BIGINT NOT NULL CHECK (amount > 0),
    captured BIGINT NOT NULL DEFAULT 0 CHECK (captured >= 0),
    status   TEXT   NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'captured', 'released')),
    key_id   TEXT,
    day      BIGINT,
    batch    TEXT,
    CHECK (captured <= amount),
    CHECK ((status = 'captured') = (captured > 0))
);
-- The cost of a batch is the sum of the captures of its polls.
CREATE INDEX holds_of_batch ON holds (batch, status, captured, amount) WHERE batch IS NOT NULL;

-- Requests to cancel a poll. The holder of its lease looks here.
CREATE TABLE cancellations (
    poll_id    TEXT   NOT NULL PRIMARY KEY REFERENCES polls (id),
    created_at BIGINT NOT NULL
);

-- Panels of accounts: lists of models, the strongest first, with rules. A version never changes. `definition` is JSON.
CREATE TABLE panels (
    user_id    TEXT   NOT NULL REFERENCES users (id),
    name       TEXT   NOT NULL,
    version    BIGINT NOT NULL CHECK (version > 0),
    definition TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, name, version)
);

-- # Notifications. Each attempt moves the next one ahead before it begins; `next_at` uses the clock of the database.

-- The address for notifications of an account. The signing secret is derived from its number.
CREATE TABLE webhooks (
    user_id            TEXT   NOT NULL PRIMARY KEY REFERENCES users (id),
    url                TEXT,
    secret_number      BIGINT NOT NULL DEFAULT 0,
    secret_replaced_at BIGINT
);

-- The notification of a poll: stored when the poll is opened, sent once it has ended.
CREATE TABLE notifications (
    poll_id    TEXT   NOT NULL PRIMARY KEY REFERENCES polls (id),
    user_id    TEXT   NOT NULL REFERENCES users (id),
    url        TEXT   NOT NULL,
    state      TEXT   NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts   BIGINT NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_at    BIGINT NOT NULL,
    last_error TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX notifications_waiting ON notifications (next_at) WHERE state = 'waiting';
CREATE INDEX notifications_of_user ON notifications (user_id, created_at);
CREATE INDEX notifications_by_poll ON notifications (user_id, poll_id);
CREATE INDEX notifications_old ON notifications (created_at) WHERE state <> 'waiting';

-- # Files and batches.

-- Files of lines. `bytes` and `lines` are missing while a file is received. `received` is the number of bytes stored so far.
-- `quota` is the limit of the account's files when the file began. `stored_at` is the time of the newest line. `sha256` is the
-- digest of the content of a request with a reference.
CREATE TABLE files (
    id          TEXT   NOT NULL PRIMARY KEY,
    user_id     TEXT   NOT NULL REFERENCES users (id),
    name        TEXT   NOT NULL,
    bytes       BIGINT CHECK (bytes >= 0),
    lines       BIGINT CHECK (lines >= 0),
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    received    BIGINT NOT NULL DEFAULT 0 CHECK (received >= 0),
    quota       BIGINT NOT NULL DEFAULT 0,
    stored_at   BIGINT NOT NULL DEFAULT 0,
    request_ref TEXT,
    sha256      TEXT,
    CHECK ((bytes IS NULL) = (lines IS NULL))
);
CREATE INDEX files_of_user ON files (user_id, created_at, id);
CREATE INDEX files_expiry ON files (expires_at);
CREATE UNIQUE INDEX files_requests ON files (request_ref);
CREATE INDEX files_sizes ON files (user_id, bytes, received);

-- Files in chunks of whole lines: of up to 64 KiB, or of one longer line. A row for each line takes more than the size of the
-- file.
CREATE TABLE file_chunks (
    file    TEXT   NOT NULL REFERENCES files (id),
    first   BIGINT NOT NULL CHECK (first > 0),
    lines   BIGINT NOT NULL CHECK (lines > 0),
    content TEXT   NOT NULL,
    PRIMARY KEY (file, first)
);

-- Batches: the lines of a file are requests, asked in order. The file may be deleted before its batch.
-- - `leased` is the number of the last line that a worker has taken; `is_cut` is 1 if the batch ends before all rows were
--   asked.
-- - `held` is the money set aside for rows that are not asked yet, out of the account's. `budget` is what the maximum leaves
--   for further rows where polls are not charged; it is missing without a maximum.
-- - `key_id` and `day` are the capped key and the day that the batch counts against.
-- - The sums of tokens are known once the batch has ended; `model` is the one that all rows name.
-- - `output_bytes` and `error_bytes` are the sizes of the results and of the errors, and missing until they are measured.
-- - `keep_ms` is the time from the end to the deletion. Everyone with the link may read a `shared` batch.
CREATE TABLE batches (
    id                TEXT   NOT NULL PRIMARY KEY,
    user_id           TEXT   NOT NULL REFERENCES users (id),
    file              TEXT   NOT NULL,
    terms             TEXT   NOT NULL,
    status            TEXT   NOT NULL CHECK (status IN
                      ('validating', 'in_progress', 'cancelling', 'completed', 'failed', 'cancelled', 'expired')),
    lines             BIGINT NOT NULL DEFAULT 0 CHECK (lines >= 0),
    total             BIGINT NOT NULL DEFAULT 0 CHECK (total BETWEEN 0 AND lines),
    leased            BIGINT NOT NULL DEFAULT 0 CHECK (leased BETWEEN 0 AND lines),
    is_cut            BIGINT NOT NULL DEFAULT 0 CHECK (is_cut IN (0, 1)),
    held              BIGINT NOT NULL DEFAULT 0 CHECK (held >= 0),
    budget            BIGINT,
    key_id            TEXT,
    day               BIGINT,
    errors            TEXT,
    request_ref       TEXT   UNIQUE,
    lease_worker      TEXT   NOT NULL DEFAULT '',
    lease_until       BIGINT NOT NULL DEFAULT 0,
    created_at        BIGINT NOT NULL,
    started_at        BIGINT,
    cancelling_at     BIGINT,
    ended_at          BIGINT,
    expires_at        BIGINT NOT NULL,
    keep_ms           BIGINT NOT NULL,
    shared            BIGINT NOT NULL DEFAULT 0 CHECK (shared IN (0, 1)),
    model             TEXT,
    prompt_tokens     BIGINT,
    completion_tokens BIGINT,
    output_bytes      BIGINT,
    error_bytes       BIGINT,
    CHECK ((ended_at IS NULL) = (status IN ('validating', 'in_progress', 'cancelling'))),
    CHECK (ended_at IS NULL OR held = 0)
);
CREATE INDEX batches_of_user ON batches (user_id, created_at, id);
CREATE INDEX batches_open ON batches (created_at) WHERE ended_at IS NULL;
CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX batches_of_file ON batches (file);
CREATE INDEX batches_failed ON batches (user_id, created_at, id) WHERE status = 'failed';
-- Batches that can have files of results: those whose results are not measured, and those that have some.
CREATE INDEX batches_with_results ON batches (user_id, created_at, id)
    WHERE ended_at IS NOT NULL AND status <> 'failed' AND (output_bytes IS NULL OR error_bytes IS NULL
        OR output_bytes + error_bytes > 0);

-- Rows that a worker has taken. `outcome` is missing while a row is asked; 0 is a result, 1 an error, 2 a blank line. `cost` is
-- the highest cost while the row is asked, and its cost afterwards; it is missing where polls are charged.
CREATE TABLE batch_rows (
    batch             TEXT   NOT NULL REFERENCES batches (id),
    number            BIGINT NOT NULL,
    lease_worker      TEXT   NOT NULL,
    lease_until       BIGINT NOT NULL,
    outcome           BIGINT CHECK (outcome BETWEEN 0 AND 2),
    response          TEXT,
    cost              BIGINT,
    prompt_tokens     BIGINT,
    completion_tokens BIGINT,
    PRIMARY KEY (batch, number),
    CHECK ((response IS NULL) = (outcome IS NULL OR outcome = 2))
);
CREATE INDEX batch_rows_by_outcome ON batch_rows (batch, outcome, number);
CREATE INDEX batch_rows_asked ON batch_rows (lease_worker) WHERE outcome IS NULL;
-- The cost of a batch, without reading its results.
CREATE INDEX batch_rows_costs ON batch_rows (batch, outcome, cost) WHERE cost IS NOT NULL;

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

-- The notification of a batch: stored with the batch, sent once it has ended.
CREATE TABLE batch_notifications (
    batch      TEXT   NOT NULL PRIMARY KEY REFERENCES batches (id),
    user_id    TEXT   NOT NULL REFERENCES users (id),
    url        TEXT   NOT NULL,
    state      TEXT   NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts   BIGINT NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_at    BIGINT NOT NULL,
    last_error TEXT
);
CREATE INDEX batch_notifications_waiting ON batch_notifications (next_at) WHERE state = 'waiting';

-- Batches whose private polls are being deleted, in the order of time and id: those up to `at` and `poll` are done.
CREATE TABLE erased_batches (
    batch TEXT   NOT NULL PRIMARY KEY,
    at    BIGINT NOT NULL DEFAULT 0,
    poll  TEXT   NOT NULL DEFAULT ''
);

-- # Tasks of agents (A2A).

-- `content` is the conversation, as JSON. The state of a task with work changes in the transaction that ends the poll or the
-- batch. `opened_by`, a message or an id of the client, opens a task once.
CREATE TABLE a2a_tasks (
    id         TEXT   NOT NULL PRIMARY KEY,
    owner      TEXT   NOT NULL REFERENCES users (id),
    context_id TEXT   NOT NULL,
    client_id  TEXT,
    opened_by  TEXT,
    poll_id    TEXT   REFERENCES polls (id) ON DELETE CASCADE,
    batch_id   TEXT   REFERENCES batches (id) ON DELETE CASCADE,
    state      TEXT   NOT NULL CHECK (state IN ('input-required', 'working', 'completed', 'failed', 'canceled')),
    status_at  BIGINT NOT NULL,
    revision   BIGINT NOT NULL DEFAULT 1,
    content    TEXT   NOT NULL,
    CHECK (poll_id IS NULL OR batch_id IS NULL),
    CHECK (poll_id IS NOT NULL OR batch_id IS NOT NULL OR state IN ('input-required', 'canceled'))
);
CREATE UNIQUE INDEX a2a_tasks_opened_by ON a2a_tasks (owner, opened_by) WHERE opened_by IS NOT NULL;
CREATE UNIQUE INDEX a2a_tasks_client_id ON a2a_tasks (owner, client_id) WHERE client_id IS NOT NULL;
CREATE UNIQUE INDEX a2a_tasks_of_poll ON a2a_tasks (poll_id) WHERE poll_id IS NOT NULL;
CREATE UNIQUE INDEX a2a_tasks_of_batch ON a2a_tasks (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX a2a_tasks_of_owner ON a2a_tasks (owner, status_at, id);
CREATE INDEX a2a_tasks_by_id ON a2a_tasks (owner, id);
-- Tasks without work, of which the oldest of an account are replaced, and all are deleted after a time.
CREATE INDEX a2a_tasks_waiting ON a2a_tasks (owner, status_at, id) WHERE poll_id IS NULL AND batch_id IS NULL;
CREATE INDEX a2a_tasks_without_work ON a2a_tasks (status_at) WHERE poll_id IS NULL AND batch_id IS NULL;

-- Addresses for the notifications of tasks, and their state. `secrets`, which prove the sender, are encrypted.
CREATE TABLE a2a_pushes (
    id         TEXT   NOT NULL PRIMARY KEY,
    task_id    TEXT   NOT NULL REFERENCES a2a_tasks (id) ON DELETE CASCADE,
    config_id  TEXT   NOT NULL,
    user_id    TEXT   NOT NULL REFERENCES users (id),
    url        TEXT   NOT NULL,
    version    TEXT   NOT NULL,
    secrets    TEXT   NOT NULL,
    state      TEXT   NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts   BIGINT NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_at    BIGINT NOT NULL,
    last_error TEXT,
    UNIQUE (task_id, config_id)
);
CREATE INDEX a2a_pushes_waiting ON a2a_pushes (next_at) WHERE state = 'waiting';
CREATE INDEX a2a_pushes_by_task ON a2a_pushes (user_id, task_id, config_id);

-- # Feedback and reputation. Sums are apart for polls that are stored (1) and for those that were deleted since (0).

-- Judgements of accounts about polls, one for each account and poll. An entry belongs to the account that pays.
CREATE TABLE feedback (
    id              TEXT   NOT NULL UNIQUE,
    poll_id         TEXT   NOT NULL REFERENCES polls (id) ON DELETE CASCADE,
    user_id         TEXT   NOT NULL REFERENCES users (id),
    outcome_correct BIGINT CHECK (outcome_correct IN (0, 1)),
    confidence      DOUBLE PRECISION CHECK (confidence BETWEEN 0 AND 1),
    notes           TEXT,
    created_at      BIGINT NOT NULL,
    PRIMARY KEY (poll_id, user_id)
);
CREATE INDEX feedback_newest ON feedback (poll_id, created_at, id);
CREATE INDEX feedback_by_user ON feedback (user_id, poll_id);

-- Ended polls that wait for counting or have judgements. `revision` grows with each judgement; the sums have the poll as it was
-- at `counted_revision` (0: not at all), with these numbers of judgements.
CREATE TABLE reputation_polls (
    poll_id          TEXT   NOT NULL PRIMARY KEY REFERENCES polls (id),
    revision         BIGINT NOT NULL DEFAULT 1,
    counted_revision BIGINT NOT NULL DEFAULT 0,
    correct          BIGINT NOT NULL DEFAULT 0,
    incorrect        BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX reputation_polls_due ON reputation_polls (poll_id) WHERE revision <> counted_revision;

-- Every release that ends a poll queues it.
CREATE FUNCTION count_ended_poll() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO reputation_polls (poll_id) VALUES (NEW.id); RETURN NULL; END $$;
CREATE TRIGGER polls_that_end_are_counted AFTER UPDATE OF closing ON polls FOR EACH ROW
WHEN (OLD.closing IS NULL AND NEW.closing IS NOT NULL) EXECUTE FUNCTION count_ended_poll();

-- Sums over all polls. The row of stored polls is the lock of all sums.
CREATE TABLE reputation_service (
    stored    BIGINT NOT NULL PRIMARY KEY CHECK (stored IN (0, 1)),
    polls     BIGINT NOT NULL DEFAULT 0,
    cancelled BIGINT NOT NULL DEFAULT 0,
    free      BIGINT NOT NULL DEFAULT 0,
    answered  BIGINT NOT NULL DEFAULT 0,
    total_ms  BIGINT NOT NULL DEFAULT 0,
    cost      BIGINT NOT NULL DEFAULT 0
);
INSERT INTO reputation_service (stored) VALUES (0), (1);

-- Polls by the version of the reader of their votes. A sum of earlier versions would depend on the release that counts.
CREATE TABLE reputation_readers (
    reader BIGINT NOT NULL,
    stored BIGINT NOT NULL CHECK (stored IN (0, 1)),
    polls  BIGINT NOT NULL,
    PRIMARY KEY (reader, stored)
);

-- Sums of each model.
CREATE TABLE reputation_models (
    model        TEXT   NOT NULL,
    stored       BIGINT NOT NULL CHECK (stored IN (0, 1)),
    calls        BIGINT NOT NULL,
    votes        BIGINT NOT NULL,
    refused      BIGINT NOT NULL,
    unreadable   BIGINT NOT NULL,
    latency_ms   BIGINT NOT NULL,
    priced       BIGINT NOT NULL,
    cost         BIGINT NOT NULL,
    decided      BIGINT NOT NULL,
    with_outcome BIGINT NOT NULL,
    judged       BIGINT NOT NULL,
    agreed       BIGINT NOT NULL,
    PRIMARY KEY (model, stored)
);

-- Votes for the option at each position (`slot`, from 0) of so many options.
CREATE TABLE reputation_slots (
    model   TEXT   NOT NULL,
    options BIGINT NOT NULL,
    slot    BIGINT NOT NULL,
    stored  BIGINT NOT NULL CHECK (stored IN (0, 1)),
    votes   BIGINT NOT NULL,
    PRIMARY KEY (model, options, slot, stored)
);

-- Judged outcomes of complete polls by panel and agreement.
CREATE TABLE calibration (
    panel   TEXT   NOT NULL,
    level   TEXT   NOT NULL CHECK (level IN ('unanimous', 'two_thirds', 'below_two_thirds')),
    stored  BIGINT NOT NULL CHECK (stored IN (0, 1)),
    judged  BIGINT NOT NULL,
    correct BIGINT NOT NULL,
    PRIMARY KEY (panel, level, stored)
);

-- Stored evaluations of models and panels on gold labels. `report` is JSON. Everyone with the link may read a `shared` one.
CREATE TABLE evaluations (
    id         TEXT   NOT NULL PRIMARY KEY,
    user_id    TEXT   NOT NULL REFERENCES users (id),
    name       TEXT   NOT NULL,
    report     TEXT   NOT NULL,
    shared     BIGINT NOT NULL DEFAULT 0 CHECK (shared IN (0, 1)),
    created_at BIGINT NOT NULL
);
CREATE INDEX evaluations_of_user ON evaluations (user_id, created_at, id);

-- # The service.

-- Replies of requests with an idempotency key. `epoch` counts the claims of a request, so that writes of an earlier one are
-- refused.
CREATE TABLE replays (
    scope       TEXT   NOT NULL PRIMARY KEY,
    fingerprint TEXT   NOT NULL,
    lease_until BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    reply       TEXT,
    epoch       BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX replays_expiry ON replays (expires_at);

-- The minutes since the epoch in which the service ran, in any process.
CREATE TABLE heartbeats (
    minute BIGINT NOT NULL PRIMARY KEY
);

-- The model list of each upstream, as it was read.
CREATE TABLE upstream_registries (
    upstream   TEXT   NOT NULL PRIMARY KEY,
    fetched_at BIGINT NOT NULL,
    body       TEXT   NOT NULL
);

-- Facts learnt of a model. `rung` is the fallback level of its requests. `parameters` are the optional ones that it does not
-- support, and `needs` are the additions to its requests, both as sets of bits. They are forgotten a day after `saved_at`.
CREATE TABLE upstream_rungs (
    upstream   TEXT   NOT NULL,
    model      TEXT   NOT NULL,
    rung       BIGINT NOT NULL CHECK (rung BETWEEN 0 AND 255),
    saved_at   BIGINT NOT NULL DEFAULT 0,
    parameters BIGINT NOT NULL DEFAULT 0,
    needs      BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (upstream, model)
);

-- The used part of each allowance (GCRA: the time at which it is full again, in microseconds). A crash may forget it.
CREATE UNLOGGED TABLE rate_limits (
    policy  TEXT   NOT NULL,
    key     TEXT   NOT NULL,
    full_at BIGINT NOT NULL,
    PRIMARY KEY (policy, key)
) WITH (fillfactor = 70);
