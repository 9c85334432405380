//! Statements about polls.

use crate::statement::{Statement, statement};

/// The condition that this program knows the form of a poll; see [`ep_polling::plan::FORM`].
macro_rules! form_is_known {
    () => {
        "polls.form = 1"
    };
}
pub(crate) use form_is_known;

/// The columns of `StoredPlan`, in [`polls_with_plans!`].
macro_rules! plan_columns {
    () => {
        "form, roster, seed, question, options, rules"
    };
}
pub(crate) use plan_columns;

/// Polls with their plans. Deleted polls have none.
macro_rules! polls_with_plans {
    () => {
        "polls LEFT JOIN plans ON plans.number = polls.number"
    };
}
pub(crate) use polls_with_plans;

/// Polls of the rows of a batch, whose references begin with its id. Equal to an expression of an index.
macro_rules! of_batch {
    ($batch:literal) => {
        concat!("substr(request_ref, 1, 6) = 'batch_' AND substr(request_ref, 1, 38) = ", $batch, " AND ")
    };
}
pub(crate) use of_batch;

/// The columns of a ballot without its poll.
macro_rules! ballot_columns {
    () => {
        "seq, position, choice, latency_ms, at_ms, cost, basis, mode, reasoned, reason, detail, answered_by, \
         prompt_tokens, completion_tokens, probabilities, asked_again"
    };
}
pub(crate) use ballot_columns;

/// The values of [`ballot_columns!`] as the decoding of ballots has them. PostgreSQL stores small numbers in small columns.
macro_rules! ballot_values {
    () => {
        "CAST(seq AS BIGINT) AS seq, CAST(position AS BIGINT) AS position, CAST(choice AS BIGINT) AS choice, latency_ms, \
         at_ms, cost, CAST(basis AS BIGINT) AS basis, CAST(mode AS BIGINT) AS mode, CAST(reasoned AS BIGINT) AS reasoned, \
         reason, detail, answered_by, CAST(prompt_tokens AS BIGINT) AS prompt_tokens, \
         CAST(completion_tokens AS BIGINT) AS completion_tokens, probabilities, CAST(asked_again AS BIGINT) AS asked_again"
    };
}

/// The cost of a poll's explanations, which are stored as JSON.
macro_rules! sqlite_explanations_cost {
    () => {
        "(SELECT COALESCE(SUM(value -> 'spend' ->> 'amount'), 0) FROM json_each(polls.explanations))"
    };
}
pub(crate) use sqlite_explanations_cost;

macro_rules! postgres_explanations_cost {
    () => {
        "(SELECT CAST(COALESCE(SUM(CAST(value -> 'spend' ->> 'amount' AS BIGINT)), 0) AS BIGINT) \
             FROM json_array_elements(CAST(polls.explanations AS json)))"
    };
}
pub(crate) use postgres_explanations_cost;

/// Inserts nothing if a poll already has this request reference.
pub(crate) const OPEN_POLL: &str = "INSERT INTO polls \
     (id, owner, created_at, billed, lease_until, lease_worker, request_ref, lease_epoch, deadline_at, form, number) \
     VALUES ($1, $2, $3, $4, (SELECT now FROM clock) + $5, $6, $7, $8, (SELECT now FROM clock) + $9, $10, $11) \
     ON CONFLICT (request_ref) WHERE request_ref IS NOT NULL DO NOTHING";
/// A poll was interrupted if another process adopted it, or can.
pub(crate) const POLL_BY_REQUEST: &str = "SELECT id, created_at, CAST(CASE WHEN lease_epoch > 1 \
         OR (closing IS NULL AND lease_until <= (SELECT now FROM clock)) THEN 1 ELSE 0 END AS BIGINT) AS interrupted \
     FROM polls WHERE request_ref = $1";
pub(crate) const POLL: &str = concat!(
    "SELECT id, owner, created_at, billed, settled, (SELECT amount FROM holds WHERE ref = polls.id) AS held, \
         unused_cost, closing, decided, explanations, ",
    plan_columns!(),
    " FROM ",
    polls_with_plans!(),
    " WHERE id = $1 AND deleted_at IS NULL"
);
/// Sequence numbers have no gaps, so the number of ballots is the last one.
pub(crate) const POLL_PROGRESS: &str = "SELECT closing, unused_cost, explanations, settled, \
     (SELECT count(*) FROM votes WHERE poll = polls.number) AS ballots \
     FROM polls WHERE id = $1 AND deleted_at IS NULL";
pub(crate) const START_POLL: &str = "UPDATE polls SET deadline_at = (SELECT now FROM clock) + $3 \
     WHERE id = $1 AND lease_epoch = $2 AND closing IS NULL";
pub(crate) const DECIDE_POLL: &str = "UPDATE polls SET decided = $3, explanations = $4 \
     WHERE id = $1 AND lease_epoch = $2 AND closing IS NULL RETURNING number";
/// A settled poll needs no lease.
pub(crate) const CLOSE_POLL: &str = "UPDATE polls SET closing = $3, unused_cost = $4, settled = $5, \
         decided = NULL, explanations = $6, \
         lease_worker = CASE $5 WHEN 1 THEN '' ELSE lease_worker END, \
         lease_until = CASE $5 WHEN 1 THEN 0 ELSE lease_until END, \
         deadline_at = CASE $5 WHEN 1 THEN NULL ELSE deadline_at END \
     WHERE id = $1 AND lease_epoch = $2 AND closing IS NULL RETURNING number";
pub(crate) const SETTLE_POLL: &str = "UPDATE polls SET settled = 1, unused_cost = $3, lease_worker = '', lease_until = 0, deadline_at = NULL \
     WHERE id = $1 AND lease_epoch = $2 AND closing IS NOT NULL AND settled = 0";
pub(crate) const POLL_IS_SETTLED: &str = "SELECT settled FROM polls WHERE id = $1";
/// Renews leases with an unchanged epoch; returns the ids of their polls. $1 has arrays of an id and an epoch.
pub(crate) const RENEW_LEASES: Statement = statement!(
    "UPDATE polls SET lease_until = (SELECT now FROM clock) + $2 FROM ",
    ("json_each($1) AS held", "json_array_elements($1::json) AS held (value)"),
    " WHERE polls.id = held.value ->> 0 AND polls.lease_epoch = ",
    ("held.value ->> 1", "(held.value ->> 1)::bigint"),
    " RETURNING polls.id AS id"
);
/// Leases polls. Skips polls that another transaction is leasing.
pub(crate) const ADOPT_POLLS: Statement = statement!(
    "UPDATE polls SET lease_worker = $1, lease_until = (SELECT now FROM clock) + $2, \
         lease_epoch = lease_epoch + 1 \
     WHERE id IN (SELECT id FROM polls WHERE settled = 0 AND (lease_until <= (SELECT now FROM clock) - $3 \
         OR lease_until > (SELECT now FROM clock) + $5) AND ",
    form_is_known!(),
    " ORDER BY lease_until LIMIT $4",
    ("", " FOR UPDATE SKIP LOCKED"),
    ") RETURNING id, lease_epoch AS epoch, deadline_at - (SELECT now FROM clock) AS left_ms"
);
pub(crate) const CANCEL_POLL: &str = "INSERT INTO cancellations (poll_id, created_at) \
     SELECT id, $2 FROM polls WHERE id = $1 AND closing IS NULL ON CONFLICT (poll_id) DO NOTHING";
pub(crate) const IS_CANCELLED: &str = "SELECT poll_id AS id FROM cancellations WHERE poll_id = $1";
pub(crate) const CANCELLED_OF: &str = "SELECT poll_id AS id FROM cancellations \
     JOIN polls ON polls.id = poll_id WHERE closing IS NULL AND lease_worker = $1";
pub(crate) const DELETE_OLD_CANCELLATIONS: &str =
    "DELETE FROM cancellations WHERE poll_id IN (SELECT id FROM polls WHERE settled = 1 AND id = poll_id)";
/// The ballots of the poll $1 with sequence numbers above $2.
pub(crate) const BALLOTS: &str = concat!(
    "SELECT ",
    ballot_values!(),
    " FROM votes WHERE poll = (SELECT number FROM polls WHERE id = $1) AND votes.seq > $2 ORDER BY votes.seq"
);
/// The number of a poll that is running in this epoch.
pub(crate) const RUNNING_POLL: &str =
    "SELECT number FROM polls WHERE id = $1 AND lease_epoch = $2 AND closing IS NULL";
pub(crate) const ADD_BALLOT: &str = concat!(
    "INSERT INTO votes (poll, ",
    ballot_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
);
pub(crate) const DELETE_PLAN: &str = "DELETE FROM plans WHERE number = $1";
/// Stores the notification of a new poll, if the poll ($3) or its owner has a webhook URL.
pub(crate) const ADD_NOTIFICATION: &str = "INSERT INTO notifications (poll_id, user_id, url, next_at, created_at) \
     SELECT $1, $2, url, (SELECT now FROM clock), $4 FROM \
         (SELECT COALESCE($3, (SELECT url FROM webhooks WHERE user_id = $2)) AS url) AS named WHERE url IS NOT NULL";

#[cfg(test)]
mod tests {
    use ep_polling::plan::FORM;

    #[test]
    fn the_form_of_this_release_is_known() {
        assert_eq!(form_is_known!(), format!("polls.form = {FORM}"));
    }
}
