//! An open database, and what the transactions of all nouns share.
//!
//! A transaction is a block over a [`Connection`](crate::connection::Connection), run with `transact!`. To add one, write its
//! statements and the block in the file of its noun, and tests of its contract in the conformance suite. A single statement
//! needs no block: [`Engine::execute`](crate::engine::Engine::execute) and
//! [`Engine::fetch_optional`](crate::engine::Engine::fetch_optional) run it directly.
//!
//! On PostgreSQL, concurrent transactions change the same rows. Every change is therefore a guarded UPDATE,
//! which checks the row again after waiting for its lock. All transactions lock rows in one order, to avoid
//! deadlocks: the reputation sums, a poll, its hold, its batch, its account; a poll, its counted state, its feedback; a
//! funder's account before that of the key; polls by their ids.

use std::ops::Deref;

use crate::engine::Engine;
use crate::error::{UnexpectedData, failed};
use crate::files::ListPosition;
use crate::ids::UserId;
use crate::polls::rosters::RosterCache;
use crate::row::FromRow;
use crate::store_error::Result;
use crate::value::values;

/// Runs a block as one transaction: `transact!(database, PowerLoss, |db| work)`.
macro_rules! transact {
    ($database:expr, $durability:ident, |$db:ident| $body:expr) => {
        $database
            .engine
            .transact($crate::connection::Durability::$durability, move |$db| {
                ::futures::FutureExt::boxed(async move { $body })
            })
            .await
    };
}

/// An engine with its cached rosters.
pub(crate) struct Database {
    pub(crate) engine: Engine,
    pub(crate) rosters: RosterCache,
}

impl Deref for Database {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

/// Reads up to `limit` entries of an account's list after a position, newest first. The time and the id of the position of the
/// whole list precede every entry.
pub(crate) async fn newest_first<I: ToString, R: FromRow + Send + 'static>(
    engine: &Engine,
    sql: &'static str,
    user: UserId,
    after: Option<ListPosition<I>>,
    limit: u32,
) -> Result<Vec<R>> {
    let preceding = |last: ListPosition<I>| (last.at.millis(), last.id.to_string());
    let (at, id) = after.map_or_else(|| (i64::MAX, String::new()), preceding);
    engine.fetch_all(sql, values![user, at, id, limit]).await
}

/// Checks a change of exactly one row. Any other number means that the ledger is inconsistent.
pub(crate) fn exactly_one(rows: u64) -> Result<()> {
    if rows == 1 { Ok(()) } else { Err(failed(UnexpectedData::RowCount)) }
}
