//! Typed rows of both engines, and their conversion.

use ep_polling::poll_id::PollId;
use ep_polling::roster::ModelId;
use ep_polling::time::Timestamp;
use serde::Serialize;
use serde::de::value::Error as DecodeError;
use serde::de::{DeserializeOwned, IntoDeserializer};

use crate::error::{UnexpectedData, failed};
use crate::ids::UserId;
use crate::records::{CachedModelList, ClaimRecord, ClaimState, SavedFallbackLevel, StoreError};

/// Declares a row: one field per column, of the same name. `..field: Row` contains the columns of another row.
macro_rules! row {
    ($(#[$attribute:meta])* $name:ident { $($column:ident: $type:ty),* $(, ..$part:ident: $row:ty)? $(,)? }) => {
        $(#[$attribute])*
        pub(crate) struct $name {
            $(pub(crate) $column: $type,)*
            $(pub(crate) $part: $row,)?
        }

        impl<'r> sqlx::FromRow<'r, sqlx::postgres::PgRow> for $name {
            fn from_row(row: &'r sqlx::postgres::PgRow) -> sqlx::Result<Self> {
                use sqlx::Row as _;
                Ok(Self {
                    $($column: row.try_get(stringify!($column))?,)*
                    $($part: sqlx::FromRow::from_row(row)?,)?
                })
            }
        }

        impl $crate::row::SqliteRow for $name {
            fn from_sqlite(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
                Ok(Self {
                    $($column: row.get(stringify!($column))?,)*
                    $($part: $crate::row::SqliteRow::from_sqlite(row)?,)?
                })
            }
        }
    };
}

mod account_data;
mod accounts;
mod agent_tasks;
mod ballots;
mod batches;
mod evaluations;
mod panels;
mod polls;
mod reputation;
mod webhooks;

pub(crate) use account_data::*;
pub(crate) use accounts::*;
pub(crate) use agent_tasks::*;
pub(crate) use ballots::*;
pub(crate) use batches::*;
pub(crate) use evaluations::*;
pub(crate) use panels::*;
pub(crate) use polls::*;
pub(crate) use reputation::*;
pub(crate) use webhooks::*;

row! {
    /// A row's id.
    IdRow { id: String }
}

row! {
    /// The opening of a poll.
    PollOpeningRow { id: String, created_at: i64, interrupted: i64 }
}

row! {
    /// An idempotency record.
    IdempotencyRow { fingerprint: String, reply: Option<String>, epoch: i64, expires_at: i64 }
}

row! {
    /// The result of counting a request against a limit.
    CountedRow { until_full: i64, taken: bool }
}

row! {
    /// An upstream's model list.
    ModelListRow { fetched_at: i64, body: String }
}

row! {
    /// A model's fallback level.
    FallbackLevelRow { model: String, level: i64, parameters: i64, needs: i64, saved_at: i64 }
}

impl IdempotencyRow {
    /// Returns the record's response to a request with this fingerprint that could not claim it.
    pub(crate) fn state(self, fingerprint: &str) -> ClaimState {
        let record = self.record();
        match self.reply {
            _ if self.fingerprint != fingerprint => ClaimState::Mismatch,
            Some(reply) => ClaimState::Done(record, reply),
            None => ClaimState::Running(record),
        }
    }

    /// Returns the record without its reply.
    pub(crate) const fn record(&self) -> ClaimRecord {
        ClaimRecord { epoch: self.epoch, expires_at: Timestamp::from_millis(self.expires_at) }
    }
}

impl From<ModelListRow> for CachedModelList {
    fn from(row: ModelListRow) -> Self {
        Self { fetched_at: Timestamp::from_millis(row.fetched_at), body: row.body }
    }
}

impl From<FallbackLevelRow> for SavedFallbackLevel {
    fn from(row: FallbackLevelRow) -> Self {
        Self {
            model: ModelId::new(row.model),
            level: u8::try_from(row.level).unwrap_or_default(),
            unsupported_parameters: u8::try_from(row.parameters).unwrap_or_default(),
            needs: u8::try_from(row.needs).unwrap_or_default(),
            saved_at: Timestamp::from_millis(row.saved_at),
        }
    }
}

pub(crate) fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(failed)
}

pub(crate) fn poll_id(text: &str) -> Result<PollId, StoreError> {
    text.parse().map_err(failed)
}

pub(crate) fn user_id(text: &str) -> Result<UserId, StoreError> {
    text.parse().map_err(failed)
}

/// Returns the value with this serialised name.
fn from_name<T: DeserializeOwned>(name: &str) -> Option<T> {
    T::deserialize(IntoDeserializer::<DecodeError>::into_deserializer(name)).ok()
}

fn unreadable(what: &'static str) -> StoreError {
    failed(UnexpectedData::Value(what))
}
