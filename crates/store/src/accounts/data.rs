//! The personal data of an account: export and deletion.

use std::collections::BTreeMap;
use std::time::Duration;

use ep_polling::{MicroUsd, Timestamp};
use futures::FutureExt;

use crate::accounts::account;
use crate::accounts::account::accounts_of;
use crate::accounts::sessions::USE_NONCE;
use crate::accounts::users::IDENTITIES;
use crate::accounts::{
    AccountRecord, CheckoutRecord, IdentityRecord, NumberedTransfer, TaskRecord, TransferRecord,
};
use crate::accounts::{operator, users};
use crate::connection::Connection;
use crate::handles::Store;
use crate::ids::UserId;
use crate::keys::KeyFunds;
use crate::ledger::transfers;
use crate::reputation::OwnFeedback;
use crate::reputation::feedback;
use crate::reputation::transactions as reputation;
use crate::store_error::{Result, StoreError};
use crate::value::values;
use crate::webhooks::NotificationRecord;

/// A request to delete an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountDeletion {
    /// The account.
    pub user: UserId,
    /// True if the remaining balance is forfeited.
    pub forfeit_balance: bool,
    /// True if the operator deletes it. Its owner cannot delete a frozen account.
    pub by_operator: bool,
    /// The time of the deletion.
    pub at: Timestamp,
}

/// The result of deleting an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountDeletionOutcome {
    /// The account is deleted.
    Deleted {
        /// The forfeited balance.
        forfeited: MicroUsd,
    },
    /// Obstacles remain; nothing changed.
    Rejected(DeletionObstacles),
}

/// The obstacles to deleting an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletionObstacles {
    /// Polls that run or are not charged yet, including those of its pre-funded keys.
    pub polls: u64,
    /// Card payments that are neither paid nor closed.
    pub checkouts: u64,
    /// USDC deposits that are not final.
    pub deposits: u64,
    /// Batches that have not ended, including those of its pre-funded keys.
    pub batches: u64,
    /// The balance that would be forfeited without consent, including that of its pre-funded keys.
    pub balance: MicroUsd,
    /// True if the account is frozen.
    pub frozen: bool,
}

const UNSETTLED_POLLS_OF: &str =
    concat!("SELECT COUNT(*) AS count FROM polls WHERE settled = 0 AND owner IN ", accounts_of!("$1"));
const OPEN_CHECKOUTS_OF: &str =
    "SELECT COUNT(*) AS count FROM checkouts WHERE status = 'open' AND user_id = $1";
/// Deposits for the account, and deposits signed by its wallets, that can still be credited.
const OPEN_DEPOSITS_OF: &str = "SELECT COUNT(*) AS count FROM deposits \
     WHERE (status NOT IN ('settled', 'failed') OR (status = 'failed' AND look_at IS NOT NULL)) AND (user_id = $1 OR payer IN \
         (SELECT lower(subject) FROM identities WHERE kind = 'wallet' AND user_id = $1))";
const FUNDS_OF_ACCOUNTS: &str = "SELECT CAST(COALESCE(SUM(posted - held), 0) AS BIGINT) AS available, \
     CAST(COALESCE(SUM(held), 0) AS BIGINT) AS held FROM accounts WHERE id = $1 OR funder = $1";
const ERASE_EMAIL: &str = "UPDATE users SET email = $2 WHERE id = $1";
const MARK_DELETED: &str =
    "UPDATE accounts SET confirm_above = NULL, deleted_at = $2 WHERE id = $1 OR funder = $1";
const DELETE_IDENTITIES: &str = "DELETE FROM identities WHERE user_id = $1";
const ERASE_LABELS: &str = concat!("UPDATE api_keys SET label = '' WHERE user_id IN ", accounts_of!("$1"));
const ERASE_TASKS: &str = concat!("DELETE FROM a2a_tasks WHERE owner IN ", accounts_of!("$1"));
const ERASE_WEBHOOK: &str = concat!("DELETE FROM webhooks WHERE user_id IN ", accounts_of!("$1"));
const ERASE_NOTIFICATIONS: &str = concat!("DELETE FROM notifications WHERE user_id IN ", accounts_of!("$1"));
const ERASE_EVALUATIONS: &str = concat!("DELETE FROM evaluations WHERE user_id IN ", accounts_of!("$1"));
const ERASE_PANELS: &str = concat!("DELETE FROM panels WHERE user_id IN ", accounts_of!("$1"));
const ERASE_FILE_CHUNKS: &str = concat!(
    "DELETE FROM file_chunks WHERE file IN (SELECT id FROM files WHERE user_id IN ",
    accounts_of!("$1"),
    ")"
);
const ERASE_FILES: &str = concat!("DELETE FROM files WHERE user_id IN ", accounts_of!("$1"));
const ERASE_BATCH_ANSWERS: &str = concat!(
    "DELETE FROM batch_answers WHERE batch IN (SELECT id FROM batches WHERE user_id IN ",
    accounts_of!("$1"),
    ")"
);
const ERASE_BATCH_ROWS: &str = concat!(
    "DELETE FROM batch_rows WHERE batch IN (SELECT id FROM batches WHERE user_id IN ",
    accounts_of!("$1"),
    ")"
);
const ERASE_BATCH_NOTIFICATIONS: &str =
    concat!("DELETE FROM batch_notifications WHERE user_id IN ", accounts_of!("$1"));
const ERASE_BATCHES: &str = concat!("DELETE FROM batches WHERE user_id IN ", accounts_of!("$1"));
/// The statements that delete the rows of an account ($1), in this order.
const ERASURE: [&str; 14] = [
    DELETE_IDENTITIES,
    ERASE_LABELS,
    ERASE_TASKS,
    ERASE_WEBHOOK,
    ERASE_NOTIFICATIONS,
    ERASE_FILE_CHUNKS,
    ERASE_FILES,
    ERASE_POLLS_OF_ACCOUNT,
    ERASE_BATCH_ANSWERS,
    ERASE_BATCH_ROWS,
    ERASE_BATCH_NOTIFICATIONS,
    ERASE_BATCHES,
    ERASE_EVALUATIONS,
    ERASE_PANELS,
];
/// The target account of forfeited balances.
const FORFEITED_ACCOUNT: &str = "sys:forfeited";
const ACCOUNT_RECORD: &str = "SELECT users.id AS id, email, users.created_at AS created_at, frozen, \
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
const CARD_PAYMENT: &str = "SELECT id, amount, status, session_id, payment_id, created_at \
     FROM checkouts WHERE session_id = $2 AND user_id = $1";
pub(crate) const FEEDBACK_AFTER: &str = "SELECT poll_id, outcome_correct, confidence, notes, created_at \
     FROM feedback WHERE user_id = $1 AND poll_id > $2 ORDER BY poll_id LIMIT $3";
pub(crate) const NOTIFICATIONS_AFTER: &str = "SELECT poll_id, url, state, attempts, last_error, created_at \
     FROM notifications WHERE user_id = $1 AND poll_id > $2 ORDER BY poll_id LIMIT $3";
pub(crate) const TASKS_AFTER: &str = "SELECT id, context_id, client_id, poll_id, batch_id, state, status_at, content \
     FROM a2a_tasks WHERE owner = $1 AND id > $2 ORDER BY id LIMIT $3";
pub(crate) const PUSH_URLS: &str = "SELECT task_id, url FROM a2a_pushes \
     WHERE user_id = $1 AND task_id BETWEEN $2 AND $3 ORDER BY task_id, config_id";
/// Queues the polls of all batches of an account ($1), and of its pre-funded keys.
const ERASE_POLLS_OF_ACCOUNT: &str = concat!(
    "INSERT INTO erased_batches (batch) SELECT id FROM batches WHERE user_id IN ",
    accounts_of!("$1"),
    " ON CONFLICT (batch) DO NOTHING"
);

/// Time for which deleted identities are remembered. Access tokens expire earlier.
const REMEMBERED: Duration = Duration::from_hours(24);

/// Reads and deletes the personal data of accounts. An unknown user is [`StoreError::NotFound`].
impl Store {
    /// Returns an account as stored, read in one snapshot.
    pub async fn account_record(&self, user: UserId) -> Result<AccountRecord> {
        self.0.snapshot(move |db| account_record(db, user).boxed()).await
    }

    /// Returns up to `limit` transfers of a user, oldest first, after the one with this number.
    pub async fn transfers_after(
        &self,
        user: UserId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<NumberedTransfer>> {
        self.0.fetch_all(TRANSFERS_AFTER, values![user, after, limit]).await
    }

    /// Returns up to `limit` transfers of a user other than the costs of polls, newest first.
    pub async fn newest_payments(&self, user: UserId, limit: u32) -> Result<Vec<TransferRecord>> {
        let payments: Vec<NumberedTransfer> = self.0.fetch_all(NEWEST_PAYMENTS, values![user, limit]).await?;
        Ok(payments.into_iter().map(|payment| payment.transfer).collect())
    }

    /// Returns the user's card payment with this id at the card processor.
    pub async fn card_payment(&self, user: UserId, session: &str) -> Result<Option<CheckoutRecord>> {
        self.0.fetch_optional(CARD_PAYMENT, values![user, session]).await
    }

    /// Returns up to `limit` feedback entries of a user, ordered by poll id, after this one.
    pub async fn feedback_after(&self, user: UserId, after: &str, limit: u32) -> Result<Vec<OwnFeedback>> {
        self.0.fetch_all(FEEDBACK_AFTER, values![user, after, limit]).await
    }

    /// Returns up to `limit` notifications of a user, ordered by poll id, after this one.
    pub async fn notifications_after(
        &self,
        user: UserId,
        after: &str,
        limit: u32,
    ) -> Result<Vec<NotificationRecord>> {
        self.0.fetch_all(NOTIFICATIONS_AFTER, values![user, after, limit]).await
    }

    /// Returns up to `limit` agent tasks of a user, ordered by id, after this one.
    pub async fn tasks_after(&self, user: UserId, after: &str, limit: u32) -> Result<Vec<TaskRecord>> {
        let mut tasks: Vec<TaskRecord> = self.0.fetch_all(TASKS_AFTER, values![user, after, limit]).await?;
        let (Some(first), Some(last)) = (tasks.first(), tasks.last()) else { return Ok(Vec::new()) };
        let range = values![user, &*first.id, &*last.id];
        let mut urls: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (task, url) in self.0.fetch_all(PUSH_URLS, range).await? {
            urls.entry(task).or_default().push(url);
        }
        for task in &mut tasks {
            task.push_urls = urls.remove(&task.id).unwrap_or_default();
        }
        Ok(tasks)
    }

    /// Deletes the personal data of an account, in one transaction: its address, identities, sessions,
    /// webhook, notifications, agent tasks, panels, feedback and the labels of its keys. Its keys are revoked. Its
    /// polls and ledger entries stay under its id, and deposits under the payer's address; the private polls of its
    /// batches are queued to be deleted. Returns
    /// [`AccountDeletionOutcome::Rejected`] while one of the [`DeletionObstacles`] remains. Acknowledged once
    /// a power loss cannot undo it.
    pub async fn delete_account(&self, deletion: AccountDeletion) -> Result<AccountDeletionOutcome> {
        transact!(self.0, PowerLoss, |db| delete_account(db, deletion).await)
    }

    /// Removes deleted data from the database's log. Returns `false` if readers prevented it; a later call
    /// retries.
    pub async fn purge_deleted(&self) -> Result<bool> {
        self.0.purge_deleted().await
    }
}

async fn account_record(db: &mut Connection<'_>, user: UserId) -> Result<AccountRecord> {
    let of_user = values![user];
    let account: Option<AccountRecord> = db.fetch_optional(ACCOUNT_RECORD, of_user).await?;
    Ok(AccountRecord {
        identities: identities(db, user).await?,
        sessions: db.fetch_all(SESSIONS_OF, of_user).await?,
        card_payments: db.fetch_all(CHECKOUTS_OF, of_user).await?,
        chain_payments: db.fetch_all(DEPOSITS_OF, of_user).await?,
        files: db.fetch_all(FILE_RECORDS, of_user).await?,
        batches: db.fetch_all(BATCH_RECORDS, of_user).await?,
        evaluations: db.fetch_all(EVALUATION_RECORDS, of_user).await?,
        ..account.ok_or(StoreError::NotFound("account"))?
    })
}

async fn identities(db: &mut Connection<'_>, user: UserId) -> Result<Vec<IdentityRecord>> {
    let found: Vec<(UserId, IdentityRecord)> = db.fetch_all(IDENTITIES, values![user, user]).await?;
    Ok(found.into_iter().map(|(_, identity)| identity).collect())
}

async fn delete_account(
    db: &mut Connection<'_>,
    AccountDeletion { user, forfeit_balance, by_operator, at }: AccountDeletion,
) -> Result<AccountDeletionOutcome> {
    // The reputation sums are locked before any account.
    reputation::lock(db).await?;
    let account = account::lock(db, user).await?;
    let obstacles = obstacles(db, user, forfeit_balance).await?;
    let obstacles = DeletionObstacles { frozen: account.frozen && !by_operator, ..obstacles };
    if obstacles != DeletionObstacles::default() {
        return Ok(AccountDeletionOutcome::Rejected(obstacles));
    }
    feedback::erase(db, user).await?;
    operator::lock_out(db, user, at).await?;
    let forfeited = account::lock(db, user).await?.available;
    if forfeited > MicroUsd::ZERO {
        let reference = format!("forfeit:{user}:{}", at.millis());
        transfers::debit(db, user, FORFEITED_ACCOUNT, forfeited, &reference, at).await?;
    }
    let identities = identities(db, user).await?;
    for statement in ERASURE {
        db.execute(statement, values![user]).await?;
    }
    db.execute(MARK_DELETED, values![user, at]).await?;
    for IdentityRecord { kind, issuer, subject, .. } in
        identities.iter().filter(|identity| identity.kind == "oidc")
    {
        let name = users::deleted_identity(kind, issuer, subject);
        db.execute(USE_NONCE, values![&*name, at.after(REMEMBERED)]).await?;
    }
    let nobody = format!("{user}@deleted.invalid");
    db.execute(ERASE_EMAIL, values![user, nobody]).await?;
    Ok(AccountDeletionOutcome::Deleted { forfeited })
}

async fn obstacles(
    db: &mut Connection<'_>,
    user: UserId,
    forfeit_balance: bool,
) -> Result<DeletionObstacles> {
    let mut counts = [0; 4];
    let statements =
        [UNSETTLED_POLLS_OF, OPEN_CHECKOUTS_OF, OPEN_DEPOSITS_OF, crate::batches::sql::OPEN_BATCHES_OF];
    for (count, statement) in counts.iter_mut().zip(statements) {
        *count = db.fetch_one(statement, values![user]).await?;
    }
    let [polls, checkouts, deposits, batches] = counts;
    let funds: KeyFunds = db.fetch_one(FUNDS_OF_ACCOUNTS, values![user]).await?;
    let balance = if forfeit_balance { MicroUsd::ZERO } else { funds.available.max(MicroUsd::ZERO) };
    Ok(DeletionObstacles { polls, checkouts, deposits, batches, balance, frozen: false })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::ERASURE;

    /// Tables with a column of an account whose rows stay, or are deleted in another way.
    const OTHERS: [&str; 10] = [
        // The ledger, and payments as proofs of it.
        "accounts",
        "transfers",
        "checkouts",
        "deposits",
        "holds",
        // Public results. The private polls of batches are queued.
        "polls",
        // Revoked, without their labels.
        "api_keys",
        // Ended by `operator::lock_out`.
        "sessions",
        // Deleted by `feedback::erase`.
        "feedback",
        // Deleted with their tasks.
        "a2a_pushes",
    ];

    #[test]
    fn every_table_of_accounts_is_erased_or_stays_for_a_reason() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations/sqlite");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let schema: String = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
        let columns = ["user_id", "owner", "account", "funder", "credit_account"];
        let tables = schema.split("CREATE TABLE ").skip(1).filter_map(|table| {
            let (name, rest) = table.split_once(" (")?;
            let own =
                rest.split(") STRICT").next()?.lines().any(|line| {
                    line.split_whitespace().next().is_some_and(|column| columns.contains(&column))
                });
            own.then(|| name.to_owned())
        });
        let tables: BTreeSet<String> = tables.collect();
        assert!(tables.len() > 15, "{tables:?}");
        let erased = |table: &str| {
            ERASURE.iter().any(|statement| statement.starts_with(&format!("DELETE FROM {table} WHERE")))
        };
        let left: Vec<&String> =
            tables.iter().filter(|table| !erased(table) && !OTHERS.contains(&table.as_str())).collect();
        assert!(left.is_empty(), "delete the rows of these tables with their account: {left:?}");
        assert!(OTHERS.iter().all(|table| tables.contains(*table) && !erased(table)));
    }
}
