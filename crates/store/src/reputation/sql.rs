//! Statements about the sums over ballots.

use crate::polls::sql::{form_is_known, plan_columns};
use crate::statement::{Statement, statement};

/// The columns of `StoredEndedPoll` from `$polls`. A row of `reputation_polls` exists from the end of a poll until it
/// is counted, and while it has judgements.
macro_rules! ended_polls {
    ($polls:literal) => {
        concat!(
            "SELECT polls.id AS id, closing, unused_cost, revision, counted_revision, correct, incorrect, \
             (SELECT count(*) FROM feedback WHERE poll_id = polls.id AND outcome_correct = 1) AS now_correct, \
             (SELECT count(*) FROM feedback WHERE poll_id = polls.id AND outcome_correct = 0) AS now_incorrect, ",
            plan_columns!(),
            " FROM ",
            $polls,
            " LEFT JOIN plans ON plans.number = polls.number WHERE closing IS NOT NULL AND deleted_at IS NULL AND "
        )
    };
}
pub(crate) use ended_polls;

/// True for a poll with judgements or ballots that the sums lack. Equal to the condition of an index.
macro_rules! is_due {
    () => {
        "revision <> counted_revision"
    };
}

/// All ended polls.
macro_rules! all_ended_polls {
    () => {
        ended_polls!("polls LEFT JOIN reputation_polls ON poll_id = polls.id")
    };
}
pub(crate) use all_ended_polls;

pub(crate) const POLL_TO_DELETE: &str = "SELECT settled FROM polls WHERE id = $1 AND deleted_at IS NULL";
pub(crate) const LOCK_POLL: &str = "UPDATE polls SET settled = settled WHERE id = $1 AND deleted_at IS NULL";
pub(crate) const BLANK_POLL: &str = "UPDATE polls SET number = NULL, explanations = NULL, deleted_at = $2 WHERE id = $1 AND settled = 1 AND deleted_at IS NULL";
/// Deletes a poll only if it has no owner, because the ledger refers to all others.
pub(crate) const DELETE_UNOWNED_POLL: &str = "DELETE FROM polls WHERE id = $1 AND owner IS NULL";
pub(crate) const DELETE_FEEDBACK_ON: &str = "DELETE FROM feedback WHERE poll_id = $1";
pub(crate) const DELETE_TASK_OF: &str = "DELETE FROM a2a_tasks WHERE poll_id = $1";
pub(crate) const DELETE_NOTIFICATION_OF: &str = "DELETE FROM notifications WHERE poll_id = $1";
pub(crate) const DELETE_CANCELLATION_OF: &str = "DELETE FROM cancellations WHERE poll_id = $1";
/// Replaces the stored replies that contain the poll's id, which has no wildcards. The records stay, so that a repeated
/// request does not open another poll.
pub(crate) const REPLACE_REPLIES_OF: &str = "UPDATE replays SET reply = $2 WHERE reply LIKE '%' || $1 || '%'";
pub(crate) const DELETE_PLAN_OF: &str =
    "DELETE FROM plans WHERE number = (SELECT number FROM polls WHERE id = $1)";
pub(crate) const WAITING_POLLS: &str = concat!(
    ended_polls!("reputation_polls JOIN polls ON polls.id = poll_id"),
    is_due!(),
    " AND settled = 1 AND ",
    form_is_known!(),
    " LIMIT $1"
);
/// Counted polls after a given one, for an audit.
pub(crate) const COUNTED_POLLS: &str = concat!(
    all_ended_polls!(),
    "polls.id > $1 AND (counted_revision IS NULL OR counted_revision > 0) ORDER BY polls.id LIMIT $2"
);
/// Old anonymous polls that are settled and counted. They have no hold, because they are free.
pub(crate) const OLD_ANONYMOUS_POLLS: &str = concat!(
    all_ended_polls!(),
    "owner IS NULL AND settled = 1 AND created_at < $1 AND (revision IS NULL OR NOT ",
    is_due!(),
    ") AND ",
    form_is_known!(),
    " ORDER BY created_at, polls.id LIMIT $2"
);
/// Locks the sums until the transaction ends, so that changes to them are serialised.
pub(crate) const LOCK_SUMS: &str = "UPDATE reputation_service SET polls = polls WHERE stored = 1";
/// Changes nothing if the poll was counted or judged since it was read.
pub(crate) const POLL_COUNTED: &str = "UPDATE reputation_polls SET counted_revision = $2, correct = $4, incorrect = $5 \
     WHERE poll_id = $1 AND revision = $2 AND counted_revision = $3";
/// Deletes the counted state of a poll, unless the poll was counted or judged since it was read.
pub(crate) const FORGET_AS_READ: &str =
    "DELETE FROM reputation_polls WHERE poll_id = $1 AND revision = $2 AND counted_revision = $3";
pub(crate) const HAS_COUNTED_STATE: &str = "SELECT poll_id AS id FROM reputation_polls WHERE poll_id = $1";
pub(crate) const ENDED_POLL: &str = concat!(all_ended_polls!(), "polls.id = $1");
pub(crate) const DELETE_VOTES: &str =
    "DELETE FROM votes WHERE poll = (SELECT number FROM polls WHERE id = $1)";
pub(crate) const DELETE_POLL: &str = "DELETE FROM polls WHERE id = $1";
pub(crate) const ADD_SERVICE_SUMS: &str = "UPDATE reputation_service SET polls = polls + $2, \
     cancelled = cancelled + $3, free = free + $4, answered = answered + $5, total_ms = total_ms + $6, \
     cost = cost + $7 WHERE stored = $1";
pub(crate) const ADD_READER_SUMS: &str = "INSERT INTO reputation_readers (reader, stored, polls) VALUES ($1, $2, $3) \
     ON CONFLICT (reader, stored) DO UPDATE SET polls = reputation_readers.polls + excluded.polls";
/// Adds to the sums of models. $1 has arrays of a model and its sums.
pub(crate) const ADD_MODEL_SUMS: Statement = statement!(
    "INSERT INTO reputation_models (model, stored, calls, votes, refused, unreadable, latency_ms, priced, cost, \
         decided, with_outcome, judged, agreed) \
     SELECT value ->> 0, $2, CAST(value ->> 1 AS BIGINT), CAST(value ->> 2 AS BIGINT), \
         CAST(value ->> 3 AS BIGINT), CAST(value ->> 4 AS BIGINT), CAST(value ->> 5 AS BIGINT), \
         CAST(value ->> 6 AS BIGINT), CAST(value ->> 7 AS BIGINT), CAST(value ->> 8 AS BIGINT), \
         CAST(value ->> 9 AS BIGINT), CAST(value ->> 10 AS BIGINT), CAST(value ->> 11 AS BIGINT) FROM ",
    ("json_each($1)", "json_array_elements($1::json) AS sums (value)"),
    " WHERE true ON CONFLICT (model, stored) DO UPDATE SET calls = reputation_models.calls + excluded.calls, \
         votes = reputation_models.votes + excluded.votes, \
         refused = reputation_models.refused + excluded.refused, \
         unreadable = reputation_models.unreadable + excluded.unreadable, \
         latency_ms = reputation_models.latency_ms + excluded.latency_ms, \
         priced = reputation_models.priced + excluded.priced, \
         cost = reputation_models.cost + excluded.cost, \
         decided = reputation_models.decided + excluded.decided, \
         with_outcome = reputation_models.with_outcome + excluded.with_outcome, \
         judged = reputation_models.judged + excluded.judged, \
         agreed = reputation_models.agreed + excluded.agreed"
);
/// Adds to the votes of models per ballot position. $1 has arrays of a model, the number of options, the position, and
/// votes.
pub(crate) const ADD_SLOT_SUMS: Statement = statement!(
    "INSERT INTO reputation_slots (model, options, slot, stored, votes) \
     SELECT value ->> 0, CAST(value ->> 1 AS BIGINT), CAST(value ->> 2 AS BIGINT), $2, \
         CAST(value ->> 3 AS BIGINT) FROM ",
    ("json_each($1)", "json_array_elements($1::json) AS sums (value)"),
    " WHERE true ON CONFLICT (model, options, slot, stored) \
     DO UPDATE SET votes = reputation_slots.votes + excluded.votes"
);
pub(crate) const ADD_CALIBRATION_SUMS: &str = "INSERT INTO calibration (panel, level, stored, judged, correct) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (panel, level, stored) DO UPDATE SET \
     judged = calibration.judged + excluded.judged, correct = calibration.correct + excluded.correct";
/// Selects stored polls (1, 1), or all polls (0, 1).
pub(crate) const SERVICE_SUMS: &str = "SELECT CAST(SUM(polls) AS BIGINT) AS polls, \
     CAST(SUM(cancelled) AS BIGINT) AS cancelled, CAST(SUM(free) AS BIGINT) AS free, \
     CAST(SUM(answered) AS BIGINT) AS answered, CAST(SUM(total_ms) AS BIGINT) AS total_ms, \
     CAST(SUM(cost) AS BIGINT) AS cost FROM reputation_service WHERE stored BETWEEN $1 AND $2";
pub(crate) const READER_SUMS: &str =
    "SELECT reader, polls FROM reputation_readers WHERE stored BETWEEN $1 AND $2";
pub(crate) const MODEL_SUMS: &str = "SELECT model, calls, votes, refused, unreadable, latency_ms, priced, cost, \
     decided, with_outcome, judged, agreed FROM reputation_models WHERE stored BETWEEN $1 AND $2";
pub(crate) const SLOT_SUMS: &str =
    "SELECT model, options, slot, votes FROM reputation_slots WHERE stored BETWEEN $1 AND $2";
pub(crate) const CALIBRATION_SUMS: &str =
    "SELECT panel, level, judged, correct FROM calibration WHERE stored BETWEEN $1 AND $2";
pub(crate) const BEAT: &str = "INSERT INTO heartbeats (minute) VALUES ($1) ON CONFLICT (minute) DO NOTHING";
pub(crate) const HEARTBEATS: &str = "SELECT (SELECT MIN(minute) FROM heartbeats) AS first, \
     (SELECT count(*) FROM heartbeats WHERE minute >= $1 AND minute < $3) AS recent, \
     (SELECT count(*) FROM heartbeats WHERE minute >= $2 AND minute < $3) AS more";
pub(crate) const DELETE_OLD_HEARTBEATS: &str =
    "DELETE FROM heartbeats WHERE minute < $1 AND minute > (SELECT MIN(minute) FROM heartbeats)";
