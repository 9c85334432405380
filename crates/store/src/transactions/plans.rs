//! Plans and their rosters.
//!
//! A roster is stored once for all polls that share it, in registry order. The dispatch order follows from the
//! seed of each poll.

use ep_polling::plan::Plan;
use ep_polling::roster::Member;

use super::rosters::{RosterHash, json};
use crate::connection::{Connection, Durability};
use crate::handles::Runtime;
use crate::records::StoreError;
use crate::rows::{self, NumberRow};
use crate::statements as sql;
use crate::value::values;

/// Adds a plan with its roster, unless the roster is stored; returns the plan's number. `members` are the
/// roster of the plan in registry order, and `hash` is theirs.
pub(super) async fn add(
    db: &mut Connection<'_>,
    plan: &Plan,
    members: &[Member],
    hash: &RosterHash,
) -> Result<i64, StoreError> {
    let roster = match db.fetch_optional(sql::by_engine::ROSTER_BY_HASH, values![hash]).await? {
        Some(NumberRow { number }) => number,
        None => add_roster(db, members, hash).await?,
    };
    let (options, rules) = (rows::json(&plan.options)?, rows::json(&plan.rules())?);
    let row = values![roster, plan.seed.bytes(), &*plan.question, options, rules];
    let NumberRow { number } = db.fetch_one(sql::ADD_PLAN, row).await?;
    Ok(number)
}

async fn add_roster(
    db: &mut Connection<'_>,
    members: &[Member],
    hash: &RosterHash,
) -> Result<i64, StoreError> {
    match db.fetch_optional(sql::ADD_ROSTER, values![hash, json(members)?]).await? {
        Some(NumberRow { number }) => Ok(number),
        // Another transaction has added it since.
        None => {
            db.fetch_one(sql::by_engine::ROSTER_BY_HASH, values![hash]).await.map(|row: NumberRow| row.number)
        }
    }
}

impl Runtime {
    /// Deletes rosters without polls. Returns their number.
    pub async fn delete_unused_rosters(&self) -> Result<u64, StoreError> {
        let engine = &self.database.engine;
        engine.execute(Durability::ProcessCrash, sql::DELETE_UNUSED_ROSTERS, values![]).await
    }
}
