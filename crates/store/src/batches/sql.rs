//! Statements about batches.

use crate::accounts::account::accounts_of;
use crate::files::transactions::funded_with;
use crate::statement::{Statement, statement};

/// The columns of [`crate::BatchRecord`].
macro_rules! batches {
    () => {
        "SELECT id, user_id, file, terms, status, total, model, prompt_tokens, completion_tokens, \
             (SELECT COUNT(*) FROM batch_rows WHERE batch = batches.id AND outcome = 0) AS completed, \
             (SELECT COUNT(*) FROM batch_rows WHERE batch = batches.id AND outcome = 1) AS failed, \
             CAST(COALESCE((SELECT SUM(captured) FROM holds WHERE batch = batches.id), 0) AS BIGINT) \
                 + CAST(COALESCE((SELECT SUM(cost) FROM batch_rows WHERE batch = batches.id AND outcome IS NOT NULL AND cost IS NOT NULL), 0) AS BIGINT) \
                 AS spent, \
             (SELECT state FROM batch_notifications WHERE batch = batches.id) AS notification_state, \
             (SELECT last_error FROM batch_notifications WHERE batch = batches.id) AS notification_error, \
             held + CAST(COALESCE((SELECT SUM(amount) FROM holds WHERE batch = batches.id AND status = 'open'), 0) AS BIGINT) \
                 AS held, errors, shared, created_at, started_at, cancelling_at, ended_at, expires_at, keep_ms FROM batches"
    };
}

/// The columns of [`crate::AnswerRecord`].
macro_rules! answers {
    () => {
        "SELECT number, answer, agreement, contested, reviewed FROM batch_answers WHERE batch = $1"
    };
}

pub(crate) const OPEN_BATCHES_OF: &str = concat!(
    "SELECT COUNT(*) AS count FROM batches WHERE ended_at IS NULL AND user_id IN ",
    accounts_of!("$1")
);
/// Failed batches of an account ($1) after the newest ones ($2).
pub(crate) const SURPLUS_FAILED_BATCHES: &str = "SELECT id FROM batches WHERE user_id = $1 AND status = 'failed' \
     ORDER BY created_at DESC, id DESC LIMIT 100 OFFSET $2";
pub(crate) const ADD_BATCH: &str = "INSERT INTO batches \
     (id, user_id, file, terms, status, key_id, request_ref, created_at, expires_at, keep_ms) \
     VALUES ($1, $2, $3, $4, 'validating', $5, $6, $7, $8, $9)";
pub(crate) const BATCH_BY_REQUEST: &str = "SELECT id FROM batches WHERE request_ref = $1";
pub(crate) const BATCH: &str = concat!(batches!(), " WHERE user_id = $1 AND id = $2");
pub(crate) const BATCH_BY_ID: &str = concat!(batches!(), " WHERE id = $1");
pub(crate) const SHARED_BATCH: &str = concat!(batches!(), " WHERE id = $1 AND shared = 1");
pub(crate) const SHARE_BATCH: &str = "UPDATE batches SET shared = $3 WHERE user_id = $1 AND id = $2";
pub(crate) const BATCHES_OF: &str = concat!(
    batches!(),
    " WHERE user_id = $1 AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $4"
);
/// Batches that can have files of results. Equal to the condition of an index.
pub(crate) const BATCHES_WITH_RESULTS: &str = concat!(
    batches!(),
    " WHERE ended_at IS NOT NULL AND status <> 'failed' AND (output_bytes IS NULL OR error_bytes IS NULL OR output_bytes + error_bytes > 0) \
     AND user_id = $1 AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $4"
);
pub(crate) const CANCEL_BATCH: &str = "UPDATE batches SET status = 'cancelling', cancelling_at = $3 \
     WHERE user_id = $1 AND id = $2 AND status IN ('validating', 'in_progress')";
/// Leases the oldest batch to be validated to the worker $1 for $2, of an account with no other one that is being validated.
/// $3 is the longest that a correct clock allows. Skips batches that another transaction is leasing.
pub(crate) const LEASE_VALIDATION: Statement = statement!(
    "UPDATE batches SET lease_worker = $1, lease_until = (SELECT now FROM clock) + $2 WHERE id = \
     (SELECT id FROM batches WHERE ended_at IS NULL AND status = 'validating' \
         AND (lease_until <= (SELECT now FROM clock) OR lease_until > (SELECT now FROM clock) + $3) \
         AND user_id NOT IN (SELECT user_id FROM batches WHERE ended_at IS NULL AND status = 'validating' \
             AND lease_until > (SELECT now FROM clock) AND lease_until <= (SELECT now FROM clock) + $3) \
         ORDER BY created_at, id LIMIT 1",
    ("", " FOR UPDATE SKIP LOCKED"),
    ") RETURNING id"
);
/// Locks a batch that is open, and returns what decides about its next step.
pub(crate) const LOCK_BATCH: &str = "UPDATE batches SET leased = leased WHERE id = $1 AND ended_at IS NULL \
     RETURNING user_id, status, lines, leased, held, key_id, day, expires_at, \
         (SELECT funder FROM accounts WHERE id = batches.user_id) AS funder, \
         (SELECT frozen FROM accounts WHERE id = batches.user_id) AS frozen, is_cut, budget";
pub(crate) const START_BATCH: &str = "UPDATE batches SET status = 'in_progress', lines = $2, total = $3, \
         held = $4, day = $5, budget = $7, model = $8, started_at = $6, lease_worker = '', lease_until = 0 WHERE id = $1";
pub(crate) const FAIL_BATCH: &str = "UPDATE batches SET status = 'failed', errors = $2, ended_at = $3, \
         lease_worker = '', lease_until = 0 WHERE id = $1 AND status = 'validating'";
/// Batches with further rows, with rows of ended leases, or without unfinished rows. $2 is the time of the application's clock.
pub(crate) const OPEN_BATCHES: &str = "SELECT id, user_id FROM batches \
     WHERE ended_at IS NULL AND status <> 'validating' AND ((leased < lines AND (status = 'cancelling' OR expires_at <= $2 \
             OR (SELECT frozen FROM accounts WHERE id = batches.user_id) = 0)) \
         OR EXISTS (SELECT 1 FROM batch_rows WHERE batch = batches.id AND outcome IS NULL \
             AND lease_until <= (SELECT now FROM clock)) \
         OR NOT EXISTS (SELECT 1 FROM batch_rows WHERE batch = batches.id AND outcome IS NULL)) \
     ORDER BY created_at, id LIMIT $1";
pub(crate) const CHANGE_BATCH_MONEY: &str = "UPDATE batches SET held = held + $2 WHERE id = $1";
/// Returns what a poll did not spend to its batch, if it is open.
pub(crate) const RETURN_TO_BATCH: &str =
    "UPDATE batches SET held = held + $2 WHERE id = $1 AND ended_at IS NULL";
pub(crate) const END_BATCH: &str = "UPDATE batches SET status = $2, ended_at = $3, held = 0, \
         prompt_tokens = (SELECT CAST(SUM(prompt_tokens) AS BIGINT) FROM batch_rows WHERE batch = $1), \
         completion_tokens = (SELECT CAST(SUM(completion_tokens) AS BIGINT) FROM batch_rows WHERE batch = $1) \
     WHERE id = $1 AND ended_at IS NULL";
pub(crate) const OLD_BATCHES: &str =
    "SELECT id FROM batches WHERE ended_at IS NOT NULL AND ended_at + keep_ms <= $1 LIMIT $2";
pub(crate) const DELETE_ANSWERS: &str = "DELETE FROM batch_answers WHERE batch = $1";
pub(crate) const DELETE_ROWS: &str = "DELETE FROM batch_rows WHERE batch = $1";
/// Stores the notification of a new batch, if the batch ($3) or its owner has a webhook URL.
pub(crate) const ADD_BATCH_NOTIFICATION: &str = "INSERT INTO batch_notifications (batch, user_id, url, next_at) \
     SELECT $1, $2, url, (SELECT now FROM clock) FROM \
         (SELECT COALESCE($3, (SELECT url FROM webhooks WHERE user_id = $2)) AS url) AS named WHERE url IS NOT NULL";
pub(crate) const DELETE_BATCH_NOTIFICATION: &str = "DELETE FROM batch_notifications WHERE batch = $1";
pub(crate) const DELETE_BATCH: &str = "DELETE FROM batches WHERE id = $1";
/// Leases rows again whose leases have ended; $5 is the longest that a correct clock allows.
pub(crate) const LEASE_ROWS_AGAIN: &str = "UPDATE batch_rows SET lease_worker = $2, lease_until = (SELECT now FROM clock) + $3 \
     WHERE batch = $1 AND number IN (SELECT number FROM batch_rows WHERE batch = $1 AND outcome IS NULL \
         AND (lease_until <= (SELECT now FROM clock) OR lease_until > (SELECT now FROM clock) + $5) \
         ORDER BY number LIMIT $4) RETURNING number";
/// Leases the rows of the lines above $4 up to $5.
pub(crate) const LEASE_ROWS: &str = "WITH RECURSIVE line (number) AS (SELECT CAST($4 AS BIGINT) + 1 \
         UNION ALL SELECT number + 1 FROM line WHERE number < $5) \
     INSERT INTO batch_rows (batch, number, lease_worker, lease_until) \
     SELECT $1, number, $2, (SELECT now FROM clock) + $3 FROM line RETURNING number";
pub(crate) const SET_LEASED: &str = "UPDATE batches SET leased = $2 WHERE id = $1";
/// Renews the lease of a batch that is being validated.
pub(crate) const RENEW_VALIDATION: &str = "UPDATE batches SET lease_until = (SELECT now FROM clock) + $3 \
     WHERE id = $1 AND lease_worker = $2 AND status = 'validating'";
pub(crate) const RELEASE_VALIDATIONS: &str =
    "UPDATE batches SET lease_until = 0 WHERE lease_worker = $1 AND status = 'validating'";
pub(crate) const RELEASE_ROWS: &str =
    "UPDATE batch_rows SET lease_until = 0 WHERE lease_worker = $1 AND outcome IS NULL";
pub(crate) const RENEW_ROWS: &str = "UPDATE batch_rows SET lease_until = (SELECT now FROM clock) + $2 \
     WHERE lease_worker = $1 AND outcome IS NULL AND lease_until > (SELECT now FROM clock)";
/// Marks a batch that ends before all its rows were asked.
pub(crate) const CUT_BATCH: &str = "UPDATE batches SET is_cut = 1 WHERE id = $1 AND is_cut = 0";
pub(crate) const END_ROW: &str = "UPDATE batch_rows SET outcome = $3, response = $4, \
         prompt_tokens = CAST($5 AS BIGINT), completion_tokens = CAST($6 AS BIGINT) \
     WHERE batch = $1 AND number = $2 AND outcome IS NULL";
pub(crate) const ADD_ANSWER: &str = "INSERT INTO batch_answers (batch, number, answer, agreement, contested) \
     VALUES ($1, $2, $3, $4, $5)";
/// Counts the answers of a batch; $2 is full agreement.
pub(crate) const COUNT_ANSWERS: &str = "SELECT COUNT(*) AS answers, \
         COUNT(CASE WHEN agreement = $2 THEN 1 END) AS unanimous, COUNT(CASE WHEN contested = 1 THEN 1 END) AS contested, \
         COUNT(CASE WHEN agreement = 0 THEN 1 END) AS undecided, COUNT(reviewed) AS reviewed \
     FROM batch_answers WHERE batch = $1";
pub(crate) const ANSWERS: &str = concat!(answers!(), " AND number > $2 ORDER BY number LIMIT $3");
pub(crate) const ANSWERS_TO_REVIEW: &str = concat!(
    answers!(),
    " AND reviewed IS NULL AND (agreement, number) > ($2, $3) ORDER BY agreement, number LIMIT $4"
);
pub(crate) const REVIEW_ROW: &str = "UPDATE batch_answers SET reviewed = CAST($3 AS TEXT), \
     reviewed_at = CASE WHEN CAST($3 AS TEXT) IS NULL THEN NULL ELSE $4 END WHERE batch = $1 AND number = $2";
pub(crate) const POSTPONE_ROW: &str = "UPDATE batch_rows SET lease_worker = '', lease_until = (SELECT now FROM clock) + $3 \
     WHERE batch = $1 AND number = $2 AND outcome IS NULL";
/// The cost of a row, and the number of other rows that are asked.
pub(crate) const COST_OF_ROW: &str = "SELECT cost, (SELECT COUNT(*) FROM batch_rows AS other WHERE other.batch = $1 \
         AND other.number <> $2 AND other.outcome IS NULL AND other.cost IS NOT NULL) AS asked \
     FROM batch_rows WHERE batch = $1 AND number = $2";
pub(crate) const SET_COST_OF_ROW: &str =
    "UPDATE batch_rows SET cost = $3 WHERE batch = $1 AND number = $2 AND outcome IS NULL";
pub(crate) const CHANGE_BUDGET: &str = "UPDATE batches SET budget = budget - $2 WHERE id = $1";
pub(crate) const OPEN_HOLDS_OF: &str =
    "SELECT COUNT(*) AS count FROM holds WHERE batch = $1 AND status = 'open'";
pub(crate) const UNFINISHED_ROWS: &str =
    "SELECT COUNT(*) AS count FROM batch_rows WHERE batch = $1 AND outcome IS NULL";
pub(crate) const RESULTS: &str = "SELECT number, response AS content FROM batch_rows \
     WHERE batch = $1 AND outcome = $2 AND number > $3 AND response <> '' ORDER BY number LIMIT $4";
/// Returns the sizes of the results ($2) and of the errors ($3) of a batch, with an end for each line.
pub(crate) const RESULTS_SIZES: Statement = statement!(
    "SELECT CAST(COALESCE(SUM(CASE WHEN outcome = $2 THEN bytes END), 0) AS BIGINT) AS output_bytes, \
         CAST(COALESCE(SUM(CASE WHEN outcome = $3 THEN bytes END), 0) AS BIGINT) AS error_bytes \
     FROM (SELECT outcome, ",
    ("length(CAST(response AS BLOB))", "octet_length(response)"),
    " + 1 AS bytes FROM batch_rows WHERE batch = $1 AND response <> '') AS line"
);
pub(crate) const STORED_RESULTS_SIZES: &str = "SELECT output_bytes, error_bytes FROM batches WHERE id = $1";
/// Stores the sizes of an ended batch. Those of erased results stay zero.
pub(crate) const STORE_RESULTS_SIZES: &str = "UPDATE batches SET output_bytes = COALESCE(output_bytes, $2), \
     error_bytes = COALESCE(error_bytes, $3) WHERE id = $1 AND ended_at IS NOT NULL";
pub(crate) const NO_OUTPUT: &str = "UPDATE batches SET output_bytes = 0 WHERE id = $1";
pub(crate) const NO_ERRORS: &str = "UPDATE batches SET error_bytes = 0 WHERE id = $1";
/// The sizes of all results of an account and of those that are funded with it, and of the terms of its batches, whose
/// characters have up to four bytes.
pub(crate) const RESULTS_TOTAL: &str = concat!(
    "SELECT CAST(COALESCE(SUM(COALESCE(output_bytes, 0) + COALESCE(error_bytes, 0) \
     + 4 * LENGTH(terms)), 0) AS BIGINT) AS count FROM batches WHERE user_id IN ",
    funded_with!("$1")
);
pub(crate) const ERASE_RESULTS: &str =
    "UPDATE batch_rows SET response = '' WHERE batch = $1 AND outcome = $2";
/// Queues the polls of a batch ($1).
pub(crate) const ERASE_POLLS_OF: &str =
    "INSERT INTO erased_batches (batch) VALUES ($1) ON CONFLICT (batch) DO NOTHING";
