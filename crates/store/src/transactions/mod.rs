//! The methods of the handles, written once for both engines: a file for each noun.
//!
//! A transaction is a function over a [`Connection`](crate::connection::Connection), run with
//! [`Engine::transact`](crate::engine::Engine::transact). To add one, write its statements in
//! [`statements`](crate::statements), the
//! function in the file of its noun, and tests of its contract in the conformance suite. A single statement
//! needs no function: [`Engine::execute`](crate::engine::Engine::execute) and
//! [`Engine::fetch_optional`](crate::engine::Engine::fetch_optional) run it directly.
//!
//! On PostgreSQL, concurrent transactions change the same rows. Every change is therefore a guarded UPDATE,
//! which checks the row again after waiting for its lock. All transactions lock rows in one order, to avoid
//! deadlocks: the reputation sums, a poll, its hold, its batch, its account; a poll, its counted state, its feedback; a
//! funder's account before that of the key; polls by their ids.

mod account_data;
mod accounts;
mod agent_pushes;
mod agent_tasks;
pub(crate) mod ballots;
mod batches;
mod checkouts;
mod chunks;
mod deposits;
mod ended_polls;
mod erased_batches;
mod evaluations;
mod feedback;
mod files;
mod history;
mod holds;
mod idempotency;
mod keys;
mod ledger;
mod operator;
mod panels;
mod plans;
mod polls;
mod reputation;
pub(crate) mod rosters;
mod sessions;
mod transfers;
mod upstreams;
mod users;
mod webhooks;

use ep_polling::time::Timestamp;

use crate::engine::Engine;
use crate::error::{UnexpectedData, failed};
use crate::ids::UserId;
use crate::records::{ListPosition, StoreError};
use crate::row::FromRow;
use crate::value::{DAY_MS, values};
use rosters::RosterCache;

/// An engine with its cached rosters.
pub(crate) struct Database {
    pub(crate) engine: Engine,
    pub(crate) rosters: RosterCache,
}

/// Returns the day since the epoch, in UTC.
const fn day(at: Timestamp) -> i64 {
    at.millis().div_euclid(DAY_MS)
}

/// Reads up to `limit` entries of an account's list after a position, newest first. The time and the id of the position of the
/// whole list precede every entry.
async fn newest_first<I: ToString, R: FromRow + Send + 'static>(
    engine: &Engine,
    sql: &'static str,
    user: UserId,
    after: Option<ListPosition<I>>,
    limit: u32,
) -> Result<Vec<R>, StoreError> {
    let preceding = |last: ListPosition<I>| (last.at.millis(), last.id.to_string());
    let (at, id) = after.map_or_else(|| (i64::MAX, String::new()), preceding);
    engine.fetch_all(sql, values![user, at, id, limit]).await
}

/// Checks a change of exactly one row. Any other number means that the ledger is inconsistent.
fn exactly_one(rows: u64) -> Result<(), StoreError> {
    if rows == 1 { Ok(()) } else { Err(failed(UnexpectedData::RowCount)) }
}
