//! The data of an account.

use std::collections::BTreeMap;
use std::time::Duration;

use ep_polling::money::MicroUsd;
use futures::FutureExt;

use super::{accounts, feedback, operator, reputation, transfers, users};
use crate::connection::{Connection, Durability};
use crate::handles::Store;
use crate::ids::UserId;
use crate::records::{
    AccountDeletion, AccountDeletionOutcome, AccountRecord, CheckoutRecord, DeletionObstacles,
    IdentityRecord, KeyFunds, NotificationRecord, NumberedTransfer, OwnFeedback, StoreError, TaskRecord,
    TransferRecord,
};
use crate::statements as sql;
use crate::value::values;

/// Time for which deleted identities are remembered. Access tokens expire earlier.
const REMEMBERED: Duration = Duration::from_hours(24);

/// Reads and deletes the personal data of accounts. An unknown user is [`StoreError::NotFound`].
impl Store {
    /// Returns an account as stored, read in one snapshot.
    pub async fn account_record(&self, user: UserId) -> Result<AccountRecord, StoreError> {
        self.0.engine.snapshot(move |db| account_record(db, user).boxed()).await
    }

    /// Returns up to `limit` transfers of a user, oldest first, after the one with this number.
    pub async fn transfers_after(
        &self,
        user: UserId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<NumberedTransfer>, StoreError> {
        let values = values![user, after, limit];
        self.0.engine.fetch_all(sql::TRANSFERS_AFTER, values).await
    }

    /// Returns up to `limit` transfers of a user other than the costs of polls, newest first.
    pub async fn newest_payments(&self, user: UserId, limit: u32) -> Result<Vec<TransferRecord>, StoreError> {
        let payments: Vec<NumberedTransfer> =
            self.0.engine.fetch_all(sql::NEWEST_PAYMENTS, values![user, limit]).await?;
        Ok(payments.into_iter().map(|payment| payment.transfer).collect())
    }

    /// Returns the user's card payment with this id at the card processor.
    pub async fn card_payment(
        &self,
        user: UserId,
        session: &str,
    ) -> Result<Option<CheckoutRecord>, StoreError> {
        let of_session = values![user, session];
        self.0.engine.fetch_optional(sql::CARD_PAYMENT, of_session).await
    }

    /// Returns up to `limit` feedback entries of a user, ordered by poll id, after this one.
    pub async fn feedback_after(
        &self,
        user: UserId,
        after: &str,
        limit: u32,
    ) -> Result<Vec<OwnFeedback>, StoreError> {
        let values = values![user, after, limit];
        self.0.engine.fetch_all(sql::FEEDBACK_AFTER, values).await
    }

    /// Returns up to `limit` notifications of a user, ordered by poll id, after this one.
    pub async fn notifications_after(
        &self,
        user: UserId,
        after: &str,
        limit: u32,
    ) -> Result<Vec<NotificationRecord>, StoreError> {
        let values = values![user, after, limit];
        self.0.engine.fetch_all(sql::NOTIFICATIONS_AFTER, values).await
    }

    /// Returns up to `limit` agent tasks of a user, ordered by id, after this one.
    pub async fn tasks_after(
        &self,
        user: UserId,
        after: &str,
        limit: u32,
    ) -> Result<Vec<TaskRecord>, StoreError> {
        let values = values![user, after, limit];
        let mut tasks: Vec<TaskRecord> = self.0.engine.fetch_all(sql::TASKS_AFTER, values).await?;
        let (Some(first), Some(last)) = (tasks.first(), tasks.last()) else { return Ok(Vec::new()) };
        let range = values![user, &*first.id, &*last.id];
        let mut urls: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (task, url) in self.0.engine.fetch_all(sql::PUSH_URLS, range).await? {
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
    pub async fn delete_account(
        &self,
        deletion: AccountDeletion,
    ) -> Result<AccountDeletionOutcome, StoreError> {
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| {
                async move { delete_account(db, deletion).await }.boxed()
            })
            .await
    }

    /// Removes deleted data from the database's log. Returns `false` if readers prevented it; a later call
    /// retries.
    pub async fn purge_deleted(&self) -> Result<bool, StoreError> {
        self.0.engine.purge_deleted().await
    }
}

async fn account_record(db: &mut Connection<'_>, user: UserId) -> Result<AccountRecord, StoreError> {
    let of_user = values![user];
    let account: Option<AccountRecord> = db.fetch_optional(sql::ACCOUNT_RECORD, of_user).await?;
    Ok(AccountRecord {
        identities: identities(db, user).await?,
        sessions: db.fetch_all(sql::SESSIONS_OF, of_user).await?,
        card_payments: db.fetch_all(sql::CHECKOUTS_OF, of_user).await?,
        chain_payments: db.fetch_all(sql::DEPOSITS_OF, of_user).await?,
        files: db.fetch_all(sql::FILE_RECORDS, of_user).await?,
        batches: db.fetch_all(sql::BATCH_RECORDS, of_user).await?,
        evaluations: db.fetch_all(sql::EVALUATION_RECORDS, of_user).await?,
        ..account.ok_or(StoreError::NotFound("account"))?
    })
}

async fn identities(db: &mut Connection<'_>, user: UserId) -> Result<Vec<IdentityRecord>, StoreError> {
    let found: Vec<(UserId, IdentityRecord)> = db.fetch_all(sql::IDENTITIES, values![user, user]).await?;
    Ok(found.into_iter().map(|(_, identity)| identity).collect())
}

async fn delete_account(
    db: &mut Connection<'_>,
    AccountDeletion { user, forfeit_balance, by_operator, at }: AccountDeletion,
) -> Result<AccountDeletionOutcome, StoreError> {
    // The reputation sums are locked before any account.
    reputation::lock(db).await?;
    let account = accounts::lock(db, user).await?;
    let obstacles = obstacles(db, user, forfeit_balance).await?;
    let obstacles = DeletionObstacles { frozen: account.frozen && !by_operator, ..obstacles };
    if obstacles != DeletionObstacles::default() {
        return Ok(AccountDeletionOutcome::Rejected(obstacles));
    }
    feedback::erase(db, user).await?;
    operator::lock_out(db, user, at).await?;
    let forfeited = accounts::lock(db, user).await?.available;
    if forfeited > MicroUsd::ZERO {
        let reference = format!("forfeit:{user}:{}", at.millis());
        transfers::debit(db, user, sql::FORFEITED_ACCOUNT, forfeited, &reference, at).await?;
    }
    let identities = identities(db, user).await?;
    for statement in [
        sql::DELETE_IDENTITIES,
        sql::ERASE_LABELS,
        sql::ERASE_TASKS,
        sql::ERASE_WEBHOOK,
        sql::ERASE_NOTIFICATIONS,
        sql::ERASE_FILE_CHUNKS,
        sql::ERASE_FILES,
        sql::ERASE_POLLS_OF_ACCOUNT,
        sql::ERASE_BATCH_ANSWERS,
        sql::ERASE_BATCH_ROWS,
        sql::ERASE_BATCH_NOTIFICATIONS,
        sql::ERASE_BATCHES,
        sql::ERASE_EVALUATIONS,
        sql::ERASE_PANELS,
    ] {
        db.execute(statement, values![user]).await?;
    }
    db.execute(sql::MARK_DELETED, values![user, at]).await?;
    for IdentityRecord { kind, issuer, subject, .. } in
        identities.iter().filter(|identity| identity.kind == "oidc")
    {
        let name = users::deleted_identity(kind, issuer, subject);
        db.execute(sql::USE_NONCE, values![&*name, at.after(REMEMBERED)]).await?;
    }
    let nobody = format!("{user}@deleted.invalid");
    db.execute(sql::ERASE_EMAIL, values![user, nobody]).await?;
    Ok(AccountDeletionOutcome::Deleted { forfeited })
}

async fn obstacles(
    db: &mut Connection<'_>,
    user: UserId,
    forfeit_balance: bool,
) -> Result<DeletionObstacles, StoreError> {
    let mut counts = [0; 4];
    let statements =
        [sql::UNSETTLED_POLLS_OF, sql::OPEN_CHECKOUTS_OF, sql::OPEN_DEPOSITS_OF, sql::OPEN_BATCHES_OF];
    for (count, statement) in counts.iter_mut().zip(statements) {
        *count = db.fetch_one(statement, values![user]).await?;
    }
    let [polls, checkouts, deposits, batches] = counts;
    let funds: KeyFunds = db.fetch_one(sql::FUNDS_OF_ACCOUNTS, values![user]).await?;
    let balance = if forfeit_balance { MicroUsd::ZERO } else { funds.available.max(MicroUsd::ZERO) };
    Ok(DeletionObstacles { polls, checkouts, deposits, batches, balance, frozen: false })
}
