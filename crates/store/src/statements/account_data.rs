//! Statements that read and delete an account's data, and delete a poll.

// Deleting a poll.

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

// Deleting an account, including those of its pre-funded keys.

pub(crate) const UNSETTLED_POLLS_OF: &str =
    concat!("SELECT COUNT(*) AS count FROM polls WHERE settled = 0 AND owner IN ", accounts_of!("$1"));
pub(crate) const OPEN_CHECKOUTS_OF: &str =
    "SELECT COUNT(*) AS count FROM checkouts WHERE status = 'open' AND user_id = $1";
/// Deposits for the account, and deposits signed by its wallets, that can still be credited.
pub(crate) const OPEN_DEPOSITS_OF: &str = "SELECT COUNT(*) AS count FROM deposits \
     WHERE (status NOT IN ('settled', 'failed') OR (status = 'failed' AND look_at IS NOT NULL)) AND (user_id = $1 OR payer IN \
         (SELECT lower(subject) FROM identities WHERE kind = 'wallet' AND user_id = $1))";
pub(crate) const FUNDS_OF_ACCOUNTS: &str = "SELECT CAST(COALESCE(SUM(posted - held), 0) AS BIGINT) AS available, \
     CAST(COALESCE(SUM(held), 0) AS BIGINT) AS held FROM accounts WHERE id = $1 OR funder = $1";
pub(crate) const ERASE_EMAIL: &str = "UPDATE users SET email = $2 WHERE id = $1";
pub(crate) const MARK_DELETED: &str =
    "UPDATE accounts SET confirm_above = NULL, deleted_at = $2 WHERE id = $1 OR funder = $1";
pub(crate) const DELETE_IDENTITIES: &str = "DELETE FROM identities WHERE user_id = $1";
pub(crate) const ERASE_LABELS: &str =
    concat!("UPDATE api_keys SET label = '' WHERE user_id IN ", accounts_of!("$1"));
pub(crate) const ERASE_TASKS: &str = concat!("DELETE FROM a2a_tasks WHERE owner IN ", accounts_of!("$1"));
pub(crate) const ERASE_WEBHOOK: &str = concat!("DELETE FROM webhooks WHERE user_id IN ", accounts_of!("$1"));
pub(crate) const ERASE_NOTIFICATIONS: &str =
    concat!("DELETE FROM notifications WHERE user_id IN ", accounts_of!("$1"));
pub(crate) const ERASE_EVALUATIONS: &str =
    concat!("DELETE FROM evaluations WHERE user_id IN ", accounts_of!("$1"));
pub(crate) const ERASE_PANELS: &str = concat!("DELETE FROM panels WHERE user_id IN ", accounts_of!("$1"));

pub(crate) const ERASE_FILE_CHUNKS: &str = concat!(
    "DELETE FROM file_chunks WHERE file IN (SELECT id FROM files WHERE user_id IN ",
    accounts_of!("$1"),
    ")"
);
pub(crate) const ERASE_FILES: &str = concat!("DELETE FROM files WHERE user_id IN ", accounts_of!("$1"));
pub(crate) const ERASE_BATCH_ANSWERS: &str = concat!(
    "DELETE FROM batch_answers WHERE batch IN (SELECT id FROM batches WHERE user_id IN ",
    accounts_of!("$1"),
    ")"
);
pub(crate) const ERASE_BATCH_ROWS: &str = concat!(
    "DELETE FROM batch_rows WHERE batch IN (SELECT id FROM batches WHERE user_id IN ",
    accounts_of!("$1"),
    ")"
);
pub(crate) const ERASE_BATCH_NOTIFICATIONS: &str =
    concat!("DELETE FROM batch_notifications WHERE user_id IN ", accounts_of!("$1"));
pub(crate) const ERASE_BATCHES: &str = concat!("DELETE FROM batches WHERE user_id IN ", accounts_of!("$1"));

/// The target account of forfeited balances.
pub(crate) const FORFEITED_ACCOUNT: &str = "sys:forfeited";

// Reading.

pub(crate) const ACCOUNT_RECORD: &str = "SELECT users.id AS id, email, users.created_at AS created_at, frozen, \
     confirm_above, posted, held, funder, (SELECT url FROM webhooks WHERE user_id = users.id) AS webhook_url \
     FROM users JOIN accounts ON accounts.id = users.id WHERE users.id = $1";
pub(crate) const SESSIONS_OF: &str =
    "SELECT created_at, used_at FROM sessions WHERE user_id = $1 ORDER BY created_at, hash";
pub(crate) const CHECKOUTS_OF: &str = "SELECT id, amount, status, session_id, payment_id, created_at \
     FROM checkouts WHERE user_id = $1 ORDER BY created_at, id";
pub(crate) const DEPOSITS_OF: &str = "SELECT id, payer, amount, status, tx_hash, created_at FROM deposits \
     WHERE user_id = $1 ORDER BY created_at, id";
pub(crate) const FILE_RECORDS: &str =
    "SELECT id, name, bytes, created_at, expires_at FROM files WHERE user_id = $1 ORDER BY created_at, id";
pub(crate) const EVALUATION_RECORDS: &str =
    "SELECT id, name, shared, created_at FROM evaluations WHERE user_id = $1 ORDER BY created_at, id";
pub(crate) const BATCH_RECORDS: &str = "SELECT id, file, status, terms, created_at, ended_at FROM batches \
     WHERE user_id = $1 ORDER BY created_at, id";
/// Each direction has an index by number.
pub(crate) const TRANSFERS_AFTER: &str = "SELECT id AS number, ref AS reference, debit_account, credit_account, amount, \
     created_at FROM transfers WHERE id IN (SELECT id FROM (SELECT id FROM transfers \
         WHERE debit_account = $1 AND id > $2 ORDER BY id LIMIT $3) AS debits \
     UNION ALL SELECT id FROM (SELECT id FROM transfers \
         WHERE credit_account = $1 AND credit_account <> 'sys:revenue' AND id > $2 ORDER BY id LIMIT $3) AS credits) \
     ORDER BY id LIMIT $3";
/// Each direction has an index without the costs of polls.
pub(crate) const NEWEST_PAYMENTS: &str = "SELECT id AS number, ref AS reference, debit_account, credit_account, amount, created_at \
     FROM transfers WHERE id IN (SELECT id FROM transfers \
         WHERE credit_account = $1 AND debit_account <> 'sys:revenue' AND credit_account <> 'sys:revenue' \
     UNION ALL SELECT id FROM transfers WHERE debit_account = $1 AND credit_account <> 'sys:revenue') \
     ORDER BY id DESC LIMIT $2";
pub(crate) const CARD_PAYMENT: &str = "SELECT id, amount, status, session_id, payment_id, created_at \
     FROM checkouts WHERE session_id = $2 AND user_id = $1";
pub(crate) const FEEDBACK_AFTER: &str = "SELECT poll_id, outcome_correct, confidence, notes, created_at \
     FROM feedback WHERE user_id = $1 AND poll_id > $2 ORDER BY poll_id LIMIT $3";
pub(crate) const NOTIFICATIONS_AFTER: &str = "SELECT poll_id, url, state, attempts, last_error, created_at \
     FROM notifications WHERE user_id = $1 AND poll_id > $2 ORDER BY poll_id LIMIT $3";
pub(crate) const TASKS_AFTER: &str = "SELECT id, context_id, client_id, poll_id, batch_id, state, status_at, content \
     FROM a2a_tasks WHERE owner = $1 AND id > $2 ORDER BY id LIMIT $3";
pub(crate) const PUSH_URLS: &str = "SELECT task_id, url FROM a2a_pushes \
     WHERE user_id = $1 AND task_id BETWEEN $2 AND $3 ORDER BY task_id, config_id";
