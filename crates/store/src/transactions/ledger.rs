//! Money of accounts.

use std::time::Duration;

use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;
use futures::FutureExt;

use super::rosters::RosterCache;
use super::{accounts, reputation, transfers};
use crate::connection::{Connection, Durability};
use crate::handles::{Store, Treasury};
use crate::ids::UserId;
use crate::records::{Audit, Balance, CreditOutcome, Lease, StoreError};
use crate::statements as sql;
use crate::value::values;

/// Reads balances, without changes.
impl Store {
    /// Returns an account's balance; `None` for an unknown user.
    pub async fn balance(&self, user: UserId) -> Result<Option<Balance>, StoreError> {
        self.0.engine.fetch_optional(sql::BALANCE, values![user]).await
    }
}

/// Moves money into accounts. [`PollStore`](crate::records::PollStore) moves it out.
impl Treasury {
    /// Credits an account with an amount above zero, once per `reference`. Acknowledged once a power loss
    /// cannot undo it. [`StoreError::NotFound`] for an unknown user; [`StoreError::Conflict`] if the
    /// reference was used for another amount or account.
    pub async fn credit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<CreditOutcome, StoreError> {
        let reference = reference.to_owned();
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| {
                async move { credit(db, user, amount, &reference, at).await }.boxed()
            })
            .await
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
    /// - no lease ends later than this long and [`CLOCKS_APART`](crate::records::CLOCKS_APART) from now.
    pub async fn audit(&self, settled_within: Duration) -> Result<Audit, StoreError> {
        let rosters = self.0.rosters.clone();
        self.0
            .engine
            .snapshot(move |db| async move { audit(db, &rosters, settled_within).await }.boxed())
            .await
    }
}

/// Credits an account once per reference. Inserts the transfer first: a second one with the same reference
/// waits for the first transaction and then inserts nothing.
pub(super) async fn credit(
    db: &mut Connection<'_>,
    user: UserId,
    amount: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<CreditOutcome, StoreError> {
    credit_from(db, sql::CREDITS_ACCOUNT, user, amount, reference, at).await
}

/// Credits an account once per reference, from this account of the service.
pub(super) async fn credit_from(
    db: &mut Connection<'_>,
    source: &'static str,
    user: UserId,
    amount: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<CreditOutcome, StoreError> {
    let transfer = values![reference, source, user, amount, at];
    if db.execute(sql::ADD_TRANSFER, transfer).await? == 0 {
        return transfers::made_before(db, reference, source, &user.to_string(), amount).await;
    }
    let funder: Option<UserId> = db.fetch_optional(sql::FUNDER, values![user]).await?;
    if let Some(funder) = funder {
        accounts::lock(db, funder).await?;
    }
    transfers::add(db, user, amount).await?;
    if let Some(funder) = funder {
        // The key may have been revoked since.
        transfers::return_funds(db, user, funder, &format!("return:{reference}"), at).await?;
    }
    Ok(CreditOutcome::Credited)
}

async fn audit(
    db: &mut Connection<'_>,
    rosters: &RosterCache,
    settled_within: Duration,
) -> Result<Audit, StoreError> {
    let (accounts, transfers) = db.fetch_one(sql::AUDIT_SIZE, values![]).await?;
    Ok(Audit {
        accounts,
        transfers,
        wrong_posted: db.fetch_all(sql::WRONG_POSTED, values![]).await?,
        wrong_held: db.fetch_all(sql::WRONG_HELD, values![]).await?,
        orphaned_holds: db.fetch_all(sql::ORPHANED_HOLDS, values![]).await?,
        wrong_captures: db.fetch_all(sql::by_engine::WRONG_CAPTURES, values![]).await?,
        wrong_ballots: db.fetch_all(sql::WRONG_BALLOTS, values![]).await?,
        wrong_spending: db.fetch_all(sql::WRONG_SPENDING, values![]).await?,
        unreturned_funds: db.fetch_all(sql::UNRETURNED_FUNDS, values![]).await?,
        unproven_credits: db.fetch_all(sql::UNPROVEN_CREDITS, values![]).await?,
        unknown_deposits: db.fetch_all(sql::DEPOSITS_IN_STATUS, values!["unknown"]).await?,
        vanished_deposits: db.fetch_all(sql::DEPOSITS_IN_STATUS, values!["vanished"]).await?,
        wrong_reputation: reputation::audit(db, rosters).await?,
        stranded_polls: db.fetch_all(sql::STRANDED_POLLS, values![settled_within]).await?,
        false_leases: db.fetch_all(sql::FALSE_LEASES, values![Lease::longest(settled_within)]).await?,
    })
}
