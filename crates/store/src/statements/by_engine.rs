//! Statements whose texts differ between the engines.

use crate::connection::Statement;
use crate::statements as sql;

/// Reads the available balance of an account and locks it until the transaction ends.
pub(crate) const AVAILABLE: Statement = Statement::of(sql::AVAILABLE, sql::AVAILABLE_FOR_UPDATE);
/// Leases polls. Skips polls that another transaction is leasing.
pub(crate) const ADOPT_POLLS: Statement = Statement::of(sql::ADOPT_POLLS, sql::ADOPT_POLLS_FOR_UPDATE);
/// Lists an account's polls.
pub(crate) const POLLS_OF_USER: Statement = Statement::of(sql::POLLS_OF_USER, sql::POLLS_OF_USER_POSTGRES);
/// Lists an account's polls after a given one.
pub(crate) const POLLS_AFTER: Statement = Statement::of(sql::POLLS_AFTER, sql::POLLS_AFTER_POSTGRES);
/// Lists an account's polls after a given one, including rows of batches.
pub(crate) const ALL_POLLS_AFTER: Statement =
    Statement::of(sql::ALL_POLLS_AFTER, sql::ALL_POLLS_AFTER_POSTGRES);
/// Lists the polls of a batch after a given one.
pub(crate) const POLLS_OF_BATCH_AFTER: Statement =
    Statement::of(sql::POLLS_OF_BATCH_AFTER, sql::POLLS_OF_BATCH_AFTER_POSTGRES);
/// Lists an account's polls with given words in their questions.
pub(crate) const FIND_POLLS: Statement = Statement::of(sql::FIND_POLLS, sql::FIND_POLLS_POSTGRES);
/// Lists an account's running polls with given words in their questions.
pub(crate) const FIND_RUNNING: Statement = Statement::of(sql::FIND_RUNNING, sql::FIND_RUNNING_POSTGRES);
/// Lists the polls of a batch with given words in their questions.
pub(crate) const FIND_IN_BATCH: Statement = Statement::of(sql::FIND_IN_BATCH, sql::FIND_IN_BATCH_POSTGRES);
/// Lists the running polls of a batch with given words in their questions.
pub(crate) const FIND_RUNNING_IN_BATCH: Statement =
    Statement::of(sql::FIND_RUNNING_IN_BATCH, sql::FIND_RUNNING_IN_BATCH_POSTGRES);
/// Returns an account's spending by day.
pub(crate) const SPENDING_BY_DAY: Statement =
    Statement::of(sql::SPENDING_BY_DAY, sql::SPENDING_BY_DAY_POSTGRES);
/// Finds settled polls with a capture that differs from their cost.
pub(crate) const WRONG_CAPTURES: Statement = Statement::of(sql::WRONG_CAPTURES, sql::WRONG_CAPTURES_POSTGRES);
/// Claims due notifications. Skips those that another transaction is claiming.
pub(crate) const DUE_NOTIFICATIONS: Statement =
    Statement::of(sql::DUE_NOTIFICATIONS, sql::DUE_NOTIFICATIONS_POSTGRES);
/// Claims due notifications of batches. Skips those that another transaction is claiming.
pub(crate) const DUE_BATCH_NOTIFICATIONS: Statement =
    Statement::of(sql::DUE_BATCH_NOTIFICATIONS, sql::DUE_BATCH_NOTIFICATIONS_POSTGRES);
/// Claims due task push notifications. Skips those that another transaction is claiming.
pub(crate) const DUE_PUSHES: Statement = Statement::of(sql::DUE_PUSHES, sql::DUE_PUSHES_POSTGRES);
/// Adds to the sums of models.
pub(crate) const ADD_MODEL_SUMS: Statement = Statement::of(sql::ADD_MODEL_SUMS, sql::ADD_MODEL_SUMS_POSTGRES);
/// Adds to the votes of models per ballot position.
pub(crate) const ADD_SLOT_SUMS: Statement = Statement::of(sql::ADD_SLOT_SUMS, sql::ADD_SLOT_SUMS_POSTGRES);
/// Renews leases with an unchanged epoch; returns the ids of their polls.
pub(crate) const RENEW_LEASES: Statement = Statement::of(sql::RENEW_LEASES, sql::RENEW_LEASES_POSTGRES);
/// Leases a batch to be validated. Skips those that another transaction is leasing.
pub(crate) const LEASE_VALIDATION: Statement =
    Statement::of(sql::LEASE_VALIDATION, sql::LEASE_VALIDATION_POSTGRES);
/// Returns the sizes of the results and of the errors of a batch.
pub(crate) const RESULTS_SIZES: Statement = Statement::of(sql::RESULTS_SIZES, sql::RESULTS_SIZES_POSTGRES);
/// Finds a roster by its hash and keeps it from being deleted until the transaction ends.
pub(crate) const ROSTER_BY_HASH: Statement =
    Statement::of(sql::ROSTER_BY_HASH, sql::ROSTER_BY_HASH_FOR_KEY_SHARE);
