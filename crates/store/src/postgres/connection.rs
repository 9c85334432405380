//! A connection to the server.

use ep_polling::ballot::Ballot;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres};

use super::ballots;
use crate::engine::{Connection, Record};
use crate::error::database_error;
use crate::ports::StoreError;
use crate::statements as sql;
use crate::value::Value;

/// Builds a query from a statement and its values.
pub(super) fn query(sql: &'static str, values: &[Value<'_>]) -> Query<'static, Postgres, PgArguments> {
    values.iter().fold(sqlx::query(sql), |query, value| match value {
        Value::Integer(number) => query.bind(*number),
        Value::Real(number) => query.bind(*number),
        Value::Text(text) => query.bind(text.as_deref()),
        Value::Bytes(bytes) => query.bind(&**bytes),
    })
}

impl Connection for PgConnection {
    const AVAILABLE: &'static str = sql::AVAILABLE_FOR_UPDATE;
    const ADOPT_POLLS: &'static str = sql::ADOPT_POLLS_FOR_UPDATE;
    const POLLS_OF_USER: &'static str = sql::POLLS_OF_USER_POSTGRES;
    const POLLS_AFTER: &'static str = sql::POLLS_AFTER_POSTGRES;
    const ALL_POLLS_AFTER: &'static str = sql::ALL_POLLS_AFTER_POSTGRES;
    const POLLS_OF_BATCH_AFTER: &'static str = sql::POLLS_OF_BATCH_AFTER_POSTGRES;
    const FIND_POLLS: &'static str = sql::FIND_POLLS_POSTGRES;
    const FIND_RUNNING: &'static str = sql::FIND_RUNNING_POSTGRES;
    const FIND_IN_BATCH: &'static str = sql::FIND_IN_BATCH_POSTGRES;
    const FIND_RUNNING_IN_BATCH: &'static str = sql::FIND_RUNNING_IN_BATCH_POSTGRES;
    const SPENDING_BY_DAY: &'static str = sql::SPENDING_BY_DAY_POSTGRES;
    const WRONG_CAPTURES: &'static str = sql::WRONG_CAPTURES_POSTGRES;
    const DUE_NOTIFICATIONS: &'static str = sql::DUE_NOTIFICATIONS_POSTGRES;
    const DUE_BATCH_NOTIFICATIONS: &'static str = sql::DUE_BATCH_NOTIFICATIONS_POSTGRES;
    const DUE_PUSHES: &'static str = sql::DUE_PUSHES_POSTGRES;
    const ADD_MODEL_SUMS: &'static str = sql::ADD_MODEL_SUMS_POSTGRES;
    const ADD_SLOT_SUMS: &'static str = sql::ADD_SLOT_SUMS_POSTGRES;
    const RENEW_LEASES: &'static str = sql::RENEW_LEASES_POSTGRES;
    const LEASE_VALIDATION: &'static str = sql::LEASE_VALIDATION_POSTGRES;
    const RESULTS_SIZES: &'static str = sql::RESULTS_SIZES_POSTGRES;
    const ROSTER_BY_HASH: &'static str = sql::ROSTER_BY_HASH_FOR_KEY_SHARE;

    async fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let done = query(sql, values).execute(self).await.map_err(database_error)?;
        Ok(done.rows_affected())
    }

    async fn fetch_optional<R: Record>(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<R>, StoreError> {
        let query = query(sql, values).try_map(|row| R::from_row(&row));
        query.fetch_optional(self).await.map_err(database_error)
    }

    async fn fetch_all<R: Record>(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<R>, StoreError> {
        let query = query(sql, values).try_map(|row| R::from_row(&row));
        query.fetch_all(self).await.map_err(database_error)
    }

    async fn insert_ballots(&mut self, poll: i64, ballots: &[Ballot]) -> Result<(), StoreError> {
        ballots::insert(self, poll, ballots).await
    }
}
