//! The decoding of rows by position: values in the order of the statement's columns.

use std::time::Duration;

use ep_polling::money::MicroUsd;
use ep_polling::panel::PanelName;
use ep_polling::poll_id::PollId;
use ep_polling::roster::ModelId;
use ep_polling::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::de::IntoDeserializer;
use serde::de::value::Error as DecodeError;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::accounts::WalletAddress;
use crate::error::{UnexpectedData, failed};
use crate::store_error::StoreError;
use crate::webhooks::WebhookUrl;

/// A row of either engine.
#[derive(Clone, Copy)]
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r PgRow),
}

impl Row<'_> {
    /// Decodes the row. Fails unless all its columns are read.
    pub(crate) fn decode<R: FromRow>(self) -> Result<R, StoreError> {
        let mut columns = Columns { row: self, next: 0 };
        let decoded = columns.get()?;
        if columns.next == self.width() { Ok(decoded) } else { Err(failed(UnexpectedData::Columns)) }
    }

    fn width(self) -> usize {
        match self {
            Self::Sqlite(row) => row.as_ref().column_count(),
            Self::Postgres(row) => row.len(),
        }
    }

    fn stored<T: Stored>(self, column: usize) -> Result<T, StoreError> {
        match self {
            Self::Sqlite(row) => row.get(column).map_err(failed),
            Self::Postgres(row) => row.try_get(column).map_err(failed),
        }
    }

    fn name(self, column: usize) -> String {
        let name = match self {
            Self::Sqlite(row) => row.as_ref().column_name(column).ok(),
            Self::Postgres(row) => row.columns().get(column).map(sqlx::Column::name),
        };
        name.unwrap_or_default().to_owned()
    }
}

/// The columns of a row that are not read yet.
pub(crate) struct Columns<'r> {
    row: Row<'r>,
    next: usize,
}

impl Columns<'_> {
    /// Reads the next value: a column, or several.
    pub(crate) fn get<T: FromRow>(&mut self) -> Result<T, StoreError> {
        T::from_row(self)
    }

    /// Reads a column with JSON.
    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> Result<T, StoreError> {
        self.get().map(|Json(value)| value)
    }

    /// Reads a column with the serialised name of a value.
    pub(crate) fn name<T: DeserializeOwned>(&mut self) -> Result<T, StoreError> {
        self.get().map(|Name(value)| value)
    }

    fn column<T: Column>(&mut self) -> Result<T, StoreError> {
        let column = self.next;
        self.next += 1;
        let value = T::from_stored(self.row.stored(column)?);
        value.ok_or_else(|| failed(UnexpectedData::Column(self.row.name(column))))
    }
}

/// A value that columns of a row have, in this order.
pub(crate) trait FromRow: Sized {
    /// Reads the value. [`StoreError::UnknownForm`] for a poll that only other releases know.
    fn from_row(columns: &mut Columns<'_>) -> Result<Self, StoreError>;
}

/// Decodes a struct whose fields are the next columns, in this order.
macro_rules! from_row {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::row::FromRow for $name {
            fn from_row(columns: &mut $crate::row::Columns<'_>) -> Result<Self, $crate::StoreError> {
                Ok(Self { $($field: columns.get()?),* })
            }
        }
    };
}
pub(crate) use from_row;

/// Decodes a tuple.
macro_rules! tuples {
    ($(($($part:ident),*);)*) => {
        $(impl<$($part: FromRow),*> FromRow for ($($part,)*) {
            fn from_row(columns: &mut Columns<'_>) -> Result<Self, StoreError> {
                Ok(($(columns.get::<$part>()?,)*))
            }
        })*
    };
}
tuples! {
    (A, B);
    (A, B, C);
    (A, B, C, D);
}

/// A value of one column.
pub(crate) trait Column: Sized {
    /// The type in the database.
    type Stored: Stored;

    /// Returns the value; `None` if the store never writes this.
    fn from_stored(stored: Self::Stored) -> Option<Self>;
}

impl<T: Column> FromRow for T {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self, StoreError> {
        columns.column()
    }
}

/// A type that both engines store.
pub(crate) trait Stored:
    rusqlite::types::FromSql + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>
{
}

impl<T> Stored for T where
    T: rusqlite::types::FromSql + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>
{
}

impl<T: Column> Column for Option<T>
where
    Option<T::Stored>: Stored,
{
    type Stored = Option<T::Stored>;

    fn from_stored(stored: Self::Stored) -> Option<Self> {
        match stored {
            Some(stored) => T::from_stored(stored).map(Some),
            None => Some(None),
        }
    }
}

/// Declares the types of columns: each with its type in the database and its conversion.
macro_rules! columns {
    ($($name:ty: $stored:ty, $convert:expr;)*) => {
        $(impl $crate::row::Column for $name {
            type Stored = $stored;

            fn from_stored(stored: $stored) -> Option<Self> {
                let convert: fn($stored) -> Option<Self> = $convert;
                convert(stored)
            }
        })*
    };
}

pub(crate) use columns;

columns! {
    i64: i64, Some;
    f64: f64, Some;
    String: String, Some;
    Vec<u8>: Vec<u8>, Some;
    bool: i64, |number| Some(number != 0);
    u8: i64, |number| number.try_into().ok();
    u32: i64, |number| number.try_into().ok();
    u64: i64, |number| number.try_into().ok();
    usize: i64, |number| number.try_into().ok();
    // Milliseconds; zero for a time until a deadline that has passed.
    Duration: i64, |millis| Some(Self::from_millis(millis.max(0).unsigned_abs()));
    Timestamp: i64, |millis| Some(Self::from_millis(millis));
    MicroUsd: i64, |amount| Some(Self::new(amount));
    ModelId: String, |text| Some(Self::new(text));
    PanelName: String, |text| text.parse().ok();
    PollId: String, |text| text.parse().ok();
    WalletAddress: String, |text| text.parse().ok();
    crate::accounts::Email: String, |text| text.parse().ok();
    WebhookUrl: String, |text| Some(Self::checked(text));
}

/// A value stored as JSON.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> Column for Json<T> {
    type Stored = String;

    fn from_stored(text: String) -> Option<Self> {
        serde_json::from_str(&text).ok().map(Self)
    }
}

/// A value stored by its serialised name.
pub(crate) struct Name<T>(pub(crate) T);

impl<T: DeserializeOwned> Column for Name<T> {
    type Stored = String;

    fn from_stored(text: String) -> Option<Self> {
        named(&text).map(Self)
    }
}

/// Returns the value with this serialised name.
pub(crate) fn named<T: DeserializeOwned>(name: &str) -> Option<T> {
    T::deserialize(IntoDeserializer::<DecodeError>::into_deserializer(name)).ok()
}
