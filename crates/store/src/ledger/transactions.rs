//! Money of accounts.

use std::time::Duration;

use ep_polling::{MicroUsd, Timestamp};
use futures::FutureExt;

use crate::accounts::account;
use crate::connection::Connection;
use crate::handles::{Store, Treasury};
use crate::ids::UserId;
use crate::lease::Lease;
use crate::ledger::transfers::ADD_TRANSFER;
use crate::ledger::{Audit, Balance, CreditOutcome, transfers};
use crate::polls::rosters::RosterCache;
use crate::polls::sql::{postgres_explanations_cost, sqlite_explanations_cost};
use crate::reputation::transactions as reputation;
use crate::statement::{Statement, statement};
use crate::store_error::Result;
use crate::value::values;

/// The source account of credits.
pub(crate) const CREDITS_ACCOUNT: &str = "sys:credits";
/// Most transfers are captures, so `used` is computed from the others: their credits, minus their debits,
/// minus the posted balance. The conditions are those of two indices.
const BALANCE: &str = "SELECT posted, held, CAST( \
     COALESCE((SELECT SUM(amount) FROM transfers \
         WHERE credit_account = accounts.id AND debit_account <> 'sys:revenue' AND credit_account <> 'sys:revenue'), 0) - \
     COALESCE((SELECT SUM(amount) FROM transfers \
         WHERE debit_account = accounts.id AND credit_account <> 'sys:revenue'), 0) - posted AS BIGINT) AS used \
     FROM accounts WHERE id = $1";
const AUDIT_SIZE: &str = "SELECT (SELECT count(*) FROM accounts) AS accounts, \
     (SELECT count(*) FROM transfers) AS transfers";
const WRONG_POSTED: &str = "\
     WITH moves AS ( \
         SELECT credit_account AS account, amount FROM transfers \
         UNION ALL SELECT debit_account, -amount FROM transfers), \
     sums AS (SELECT account, SUM(amount) AS amount FROM moves WHERE account NOT LIKE 'sys:%' GROUP BY account) \
     SELECT accounts.id AS id FROM accounts LEFT JOIN sums ON sums.account = accounts.id \
         WHERE accounts.posted <> COALESCE(sums.amount, 0) \
     UNION ALL SELECT sums.account FROM sums LEFT JOIN accounts ON accounts.id = sums.account \
         WHERE accounts.id IS NULL";
const WRONG_HELD: &str = "\
     WITH parts AS (SELECT account, amount FROM holds WHERE status = 'open' \
         UNION ALL SELECT user_id, held FROM batches WHERE ended_at IS NULL), \
     sums AS (SELECT account, SUM(amount) AS amount FROM parts GROUP BY account) \
     SELECT accounts.id AS id FROM accounts LEFT JOIN sums ON sums.account = accounts.id \
     WHERE accounts.held <> COALESCE(sums.amount, 0)";
const ORPHANED_HOLDS: &str = "SELECT holds.ref AS id FROM holds JOIN polls ON polls.id = holds.ref \
     WHERE holds.status = 'open' AND polls.settled = 1";
/// Finds settled polls with a capture that differs from the cost of their calls, limited to the hold.
const WRONG_CAPTURES: Statement = statement!(
    "WITH voted AS (SELECT poll, SUM(cost) AS cost FROM votes GROUP BY poll), \
     spent AS (SELECT polls.id AS id, COALESCE(voted.cost, 0) + COALESCE(unused_cost, 0) + ",
    (sqlite_explanations_cost!(), postgres_explanations_cost!()),
    " AS cost \
         FROM polls LEFT JOIN voted ON voted.poll = polls.number WHERE deleted_at IS NULL) \
     SELECT holds.ref AS id FROM holds JOIN spent ON spent.id = holds.ref WHERE holds.status <> 'open' \
         AND holds.captured <> CASE WHEN spent.cost < holds.amount THEN spent.cost ELSE holds.amount END"
);
/// Polls with gaps or repetitions in the sequence of their ballots, and plans without a poll.
const WRONG_BALLOTS: &str = "\
     SELECT polls.id AS id FROM (SELECT poll FROM votes GROUP BY poll \
         HAVING MIN(seq) <> 1 OR MAX(seq) <> count(*) OR count(DISTINCT seq) <> count(*)) AS broken \
         JOIN polls ON polls.number = broken.poll \
     UNION ALL SELECT 'plan ' || CAST(plans.number AS TEXT) FROM plans \
         LEFT JOIN polls ON polls.number = plans.number WHERE polls.id IS NULL";
/// Card or USDC credits without a payment, and payments without a credit.
const UNPROVEN_CREDITS: &str = "\
     SELECT transfers.ref AS id FROM transfers LEFT JOIN checkouts \
         ON transfers.ref = 'stripe:' || session_id AND status = 'paid' \
         AND checkouts.amount = transfers.amount AND user_id = credit_account \
     WHERE debit_account = 'sys:card' AND substr(transfers.ref, 1, 10) = 'stripe:cs_' AND checkouts.id IS NULL \
     UNION ALL SELECT checkouts.id FROM checkouts LEFT JOIN transfers ON transfers.ref = 'stripe:' || session_id \
         WHERE status = 'paid' AND transfers.ref IS NULL \
     UNION ALL SELECT transfers.ref FROM transfers LEFT JOIN deposits \
         ON transfers.ref = 'x402:' || deposits.ref AND status IN ('settled', 'vanished') \
         AND deposits.amount = transfers.amount AND user_id = credit_account \
         WHERE debit_account = 'sys:usdc' AND deposits.ref IS NULL \
     UNION ALL SELECT deposits.id FROM deposits LEFT JOIN transfers ON transfers.ref = 'x402:' || deposits.ref \
         WHERE status IN ('settled', 'vanished') AND transfers.ref IS NULL";
const WRONG_SPENDING: &str = "\
     WITH parts AS (SELECT key_id, day, CASE status WHEN 'open' THEN amount ELSE captured END AS amount FROM holds \
         UNION ALL SELECT key_id, day, held FROM batches WHERE held > 0), \
     sums AS (SELECT key_id, day, SUM(amount) AS amount FROM parts WHERE key_id IS NOT NULL GROUP BY key_id, day) \
     SELECT key_spending.key_id AS id FROM key_spending \
         LEFT JOIN sums ON sums.key_id = key_spending.key_id AND sums.day = key_spending.day \
         WHERE key_spending.amount <> COALESCE(sums.amount, 0) \
     UNION SELECT sums.key_id FROM sums \
         LEFT JOIN key_spending ON sums.key_id = key_spending.key_id AND sums.day = key_spending.day \
         WHERE key_spending.amount IS NULL";
/// Held amounts are excluded: they return once their poll is settled.
const UNRETURNED_FUNDS: &str = "SELECT accounts.id AS id FROM accounts \
     WHERE funder IS NOT NULL AND posted > held \
     AND NOT EXISTS (SELECT 1 FROM api_keys WHERE user_id = accounts.id AND revoked_at IS NULL)";
const STRANDED_POLLS: &str = "SELECT id FROM polls \
     WHERE settled = 0 AND COALESCE(deadline_at, lease_until) + $1 < (SELECT now FROM clock) ORDER BY id";
const FALSE_LEASES: &str =
    "SELECT id FROM polls WHERE settled = 0 AND lease_until > (SELECT now FROM clock) + $1 ORDER BY id";
const FUNDER: &str = "SELECT funder AS id FROM accounts WHERE id = $1 AND funder IS NOT NULL";
const DEPOSITS_IN_STATUS: &str = "SELECT id FROM deposits WHERE status = $1 ORDER BY created_at, id";

/// Reads balances, without changes.
impl Store {
    /// Returns an account's balance; `None` for an unknown user.
    pub async fn balance(&self, user: UserId) -> Result<Option<Balance>> {
        self.0.fetch_optional(BALANCE, values![user]).await
    }
}

/// Moves money into accounts. [`PollStore`](crate::PollStore) moves it out.
impl Treasury {
    /// Credits an account with an amount above zero, once per `reference`. Acknowledged once a power loss
    /// cannot undo it. [`StoreError::NotFound`](crate::StoreError::NotFound) for an unknown user;
    /// [`StoreError::Conflict`](crate::StoreError::Conflict) if the reference was used for another amount or account.
    pub async fn credit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<CreditOutcome> {
        let reference = reference.to_owned();
        transact!(self.0, PowerLoss, |db| credit(db, user, amount, &reference, at).await)
    }

    /// Checks in one snapshot that
    /// - the posted amount equals the transfers, and the held amount equals the open holds,
    /// - every open hold belongs to a poll that is not settled,
    /// - settled polls were charged the cost of their calls,
    /// - every credit by card or in USDC has its payment, and every payment its credit,
    /// - the spending of capped keys equals that of their polls,
    /// - revoked pre-funded keys have no money left,
    /// - the sums of reputation equal those over the ballots,
    /// - every poll is settled this long after its deadline (a waiting poll: after its lease),
    /// - no lease ends later than this long and [`CLOCKS_APART`](crate::CLOCKS_APART) from now.
    pub async fn audit(&self, settled_within: Duration) -> Result<Audit> {
        let rosters = self.0.rosters.clone();
        self.0.snapshot(move |db| async move { audit(db, &rosters, settled_within).await }.boxed()).await
    }
}

/// Credits an account once per reference. Inserts the transfer first: a second one with the same reference
/// waits for the first transaction and then inserts nothing.
pub(crate) async fn credit(
    db: &mut Connection<'_>,
    user: UserId,
    amount: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<CreditOutcome> {
    credit_from(db, CREDITS_ACCOUNT, user, amount, reference, at).await
}

/// Credits an account once per reference, from this account of the service.
pub(crate) async fn credit_from(
    db: &mut Connection<'_>,
    source: &'static str,
    user: UserId,
    amount: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<CreditOutcome> {
    if db.execute(ADD_TRANSFER, values![reference, source, user, amount, at]).await? == 0 {
        return transfers::made_before(db, reference, source, &user.to_string(), amount).await;
    }
    let funder: Option<UserId> = db.fetch_optional(FUNDER, values![user]).await?;
    if let Some(funder) = funder {
        account::lock(db, funder).await?;
    }
    transfers::add(db, user, amount).await?;
    if let Some(funder) = funder {
        // The key may have been revoked since.
        transfers::return_funds(db, user, funder, &format!("return:{reference}"), at).await?;
    }
    Ok(CreditOutcome::Credited)
}

async fn audit(db: &mut Connection<'_>, rosters: &RosterCache, settled_within: Duration) -> Result<Audit> {
    let (accounts, transfers) = db.fetch_one(AUDIT_SIZE, values![]).await?;
    Ok(Audit {
        accounts,
        transfers,
        wrong_posted: db.fetch_all(WRONG_POSTED, values![]).await?,
        wrong_held: db.fetch_all(WRONG_HELD, values![]).await?,
        orphaned_holds: db.fetch_all(ORPHANED_HOLDS, values![]).await?,
        wrong_captures: db.fetch_all(WRONG_CAPTURES, values![]).await?,
        wrong_ballots: db.fetch_all(WRONG_BALLOTS, values![]).await?,
        wrong_spending: db.fetch_all(WRONG_SPENDING, values![]).await?,
        unreturned_funds: db.fetch_all(UNRETURNED_FUNDS, values![]).await?,
        unproven_credits: db.fetch_all(UNPROVEN_CREDITS, values![]).await?,
        unknown_deposits: db.fetch_all(DEPOSITS_IN_STATUS, values!["unknown"]).await?,
        vanished_deposits: db.fetch_all(DEPOSITS_IN_STATUS, values!["vanished"]).await?,
        wrong_reputation: reputation::audit(db, rosters).await?,
        stranded_polls: db.fetch_all(STRANDED_POLLS, values![settled_within]).await?,
        false_leases: db.fetch_all(FALSE_LEASES, values![Lease::longest(settled_within)]).await?,
    })
}
