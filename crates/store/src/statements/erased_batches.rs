//! Statements that delete the private polls of deleted batches.

/// Queues the polls of a batch ($1).
pub(crate) const ERASE_POLLS_OF: &str =
    "INSERT INTO erased_batches (batch) VALUES ($1) ON CONFLICT (batch) DO NOTHING";
/// Queues the polls of the ended batches of a file ($1).
pub(crate) const ERASE_POLLS_OF_FILE: &str = "INSERT INTO erased_batches (batch) \
     SELECT id FROM batches WHERE file = $1 AND ended_at IS NOT NULL ON CONFLICT (batch) DO NOTHING";
/// Queues the polls of all batches of an account ($1), and of its pre-funded keys.
pub(crate) const ERASE_POLLS_OF_ACCOUNT: &str = concat!(
    "INSERT INTO erased_batches (batch) SELECT id FROM batches WHERE user_id IN ",
    accounts_of!("$1"),
    " ON CONFLICT (batch) DO NOTHING"
);
pub(crate) const ERASED_BATCH: &str = "SELECT batch, at, poll FROM erased_batches ORDER BY batch LIMIT 1";
/// The next polls of a batch, oldest first.
pub(crate) const POLLS_TO_ERASE: &str = concat!(
    "SELECT id, created_at, CAST(CASE WHEN settled = 1 AND ",
    form_is_known!(),
    " THEN 1 ELSE 0 END AS BIGINT) AS settled FROM polls WHERE ",
    of_batch!("$1"),
    "(created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT $4"
);
/// Records the polls of a batch that are deleted, unless another process has.
pub(crate) const POLLS_ERASED: &str =
    "UPDATE erased_batches SET at = $4, poll = $5 WHERE batch = $1 AND at = $2 AND poll = $3";
pub(crate) const DELETE_ERASED_BATCH: &str =
    "DELETE FROM erased_batches WHERE batch = $1 AND at = $2 AND poll = $3";
