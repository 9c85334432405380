//! Statements on plans and rosters.

/// `$lock` keeps other transactions from deleting the roster.
macro_rules! roster_by_hash {
    ($lock:literal) => {
        concat!("SELECT id AS number FROM rosters WHERE hash = $1", $lock)
    };
}

pub(crate) const ROSTER_BY_HASH: &str = roster_by_hash!("");
pub(crate) const ROSTER_BY_HASH_FOR_KEY_SHARE: &str = roster_by_hash!(" FOR KEY SHARE");
pub(crate) const ADD_ROSTER: &str = "INSERT INTO rosters (hash, members) VALUES ($1, $2) \
     ON CONFLICT (hash) DO NOTHING RETURNING id AS number";
pub(crate) const ROSTER: &str = "SELECT members FROM rosters WHERE id = $1";
pub(crate) const DELETE_UNUSED_ROSTERS: &str =
    "DELETE FROM rosters WHERE NOT EXISTS (SELECT 1 FROM plans WHERE roster = rosters.id)";
pub(crate) const ADD_PLAN: &str = "INSERT INTO plans (roster, seed, question, options, rules) \
     VALUES ($1, $2, $3, $4, $5) RETURNING number";
/// The number of a poll that is running in this epoch.
pub(crate) const RUNNING_POLL: &str =
    "SELECT number FROM polls WHERE id = $1 AND lease_epoch = $2 AND closing IS NULL";
pub(crate) const ADD_BALLOT: &str = concat!(
    "INSERT INTO votes (poll, ",
    super::ballot_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
);
pub(crate) const DELETE_PLAN: &str = "DELETE FROM plans WHERE number = $1";
pub(crate) const DELETE_PLAN_OF: &str =
    "DELETE FROM plans WHERE number = (SELECT number FROM polls WHERE id = $1)";
