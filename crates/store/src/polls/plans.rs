//! Plans and their rosters.
//!
//! A roster is stored once for all polls that share it, in registry order. The dispatch order follows from the
//! seed of each poll.

use std::sync::Arc;

use ep_polling::plan::FORM;
use ep_polling::{Member, Plan, Seed};

use crate::connection::{Connection, Durability};
use crate::error::{UnexpectedData, failed};
use crate::handles::Runtime;
use crate::polls::rosters::RosterHash;
use crate::row::from_row;
use crate::statement::{Statement, statement};
use crate::store_error::{Result, StoreError};
use crate::value::{json, values};

/// Finds a roster by its hash and keeps it from being deleted until the transaction ends.
const ROSTER_BY_HASH: Statement =
    statement!("SELECT id AS number FROM rosters WHERE hash = $1", ("", " FOR KEY SHARE"));
const ADD_ROSTER: &str = "INSERT INTO rosters (hash, members) VALUES ($1, $2) \
     ON CONFLICT (hash) DO NOTHING RETURNING id AS number";
const DELETE_UNUSED_ROSTERS: &str =
    "DELETE FROM rosters WHERE NOT EXISTS (SELECT 1 FROM plans WHERE roster = rosters.id)";
const ADD_PLAN: &str = "INSERT INTO plans (roster, seed, question, options, rules) \
     VALUES ($1, $2, $3, $4, $5) RETURNING number";

/// The plan of a poll; only its form if it is deleted.
pub(crate) struct StoredPlan {
    form: i64,
    /// The number of the roster.
    pub(crate) roster: Option<i64>,
    seed: Option<Vec<u8>>,
    question: Option<String>,
    /// JSON, which only a program that knows the form can read.
    options: Option<String>,
    rules: Option<String>,
}

from_row!(StoredPlan { form, roster, seed, question, options, rules });

impl StoredPlan {
    /// Decodes the plan. `members` are those of the stored roster.
    pub(crate) fn decode(self, members: Arc<[Member]>) -> Result<Plan> {
        is_known(self.form)?;
        let missing = || failed(UnexpectedData::Value("a plan"));
        let seed = self.seed.and_then(|seed| seed.try_into().ok()).map(Seed::new).ok_or_else(missing)?;
        let rules = serde_json::from_str(&self.rules.ok_or_else(missing)?).map_err(failed)?;
        let options = serde_json::from_str(&self.options.ok_or_else(missing)?).map_err(failed)?;
        let question = self.question.ok_or_else(missing)?;
        Plan::stored(rules, question, options, members, seed).ok_or(StoreError::UnknownForm)
    }
}

/// Fails for a form that only other releases know.
pub(crate) fn is_known(form: i64) -> Result<()> {
    if form == FORM { Ok(()) } else { Err(StoreError::UnknownForm) }
}

/// Adds a plan with its roster, unless the roster is stored; returns the plan's number. `members` are the
/// roster of the plan in registry order, and `hash` is theirs.
pub(crate) async fn add(
    db: &mut Connection<'_>,
    plan: &Plan,
    members: &[Member],
    hash: &RosterHash,
) -> Result<i64> {
    let roster = match db.fetch_optional(ROSTER_BY_HASH, values![hash]).await? {
        Some(number) => number,
        None => add_roster(db, members, hash).await?,
    };
    let (options, rules) = (json(&plan.options)?, json(&plan.rules())?);
    db.fetch_one(ADD_PLAN, values![roster, plan.seed.bytes(), &*plan.question, options, rules]).await
}

async fn add_roster(db: &mut Connection<'_>, members: &[Member], hash: &RosterHash) -> Result<i64> {
    match db.fetch_optional(ADD_ROSTER, values![hash, json(&members)?]).await? {
        Some(number) => Ok(number),
        // Another transaction has added it since.
        None => db.fetch_one(ROSTER_BY_HASH, values![hash]).await,
    }
}

impl Runtime {
    /// Deletes rosters without polls. Returns their number.
    pub async fn delete_unused_rosters(&self) -> Result<u64> {
        self.database.execute(Durability::ProcessCrash, DELETE_UNUSED_ROSTERS, values![]).await
    }
}
