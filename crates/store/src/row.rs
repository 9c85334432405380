//! The decoding of rows by position: values in the order of the statement's columns.

use std::time::Duration;

use ep_polling::{MicroUsd, ModelId, PanelName, PollId, Timestamp};
use serde::de::DeserializeOwned;
use serde::de::IntoDeserializer;
use serde::de::value::Error as DecodeError;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::error::{UnexpectedData, failed};
use crate::store_error::Result;

/// A row of either engine.
#[derive(Clone, Copy)]
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r PgRow),
}

impl Row<'_> {
    /// Decodes the row. Fails unless all its columns are read.
    pub(crate) fn decode<R: FromRow>(self) -> Result<R> {
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

    fn stored<T: Stored>(self, column: usize) -> Result<T> {
        match self {
            Self::Sqlite(row) => row.get(column).map_err(failed),
            Self::Postgres(row) => row.try_get(column).map_err(failed),
        }
    }

    fn column_name(self, column: usize) -> String {
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
    pub(crate) fn get<T: FromRow>(&mut self) -> Result<T> {
        T::from_row(self)
    }

    /// Reads a column with JSON.
    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> Result<T> {
        self.get().map(|Json(value)| value)
    }

    /// Reads a column with the serialised name of a value.
    pub(crate) fn name<T: DeserializeOwned>(&mut self) -> Result<T> {
        self.get().map(|Name(value)| value)
    }

    fn column<T: Column>(&mut self) -> Result<T> {
        let column = self.next;
        self.next += 1;
        T::from_stored(self.row.stored(column)?)
            .map_err(|source| failed(UnexpectedData::Column { name: self.row.column_name(column), source }))
    }
}

/// A value decoded from the next columns of a row.
pub(crate) trait FromRow: Sized {
    /// Reads the value. Fails for a column with an unexpected type or value.
    fn from_row(columns: &mut Columns<'_>) -> Result<Self>;
}

/// Decodes a struct whose fields are the next columns, in this order. After a colon is the method of [`Columns`] that reads a
/// field; `default` reads no column.
macro_rules! from_row {
    ($name:ident { $($field:ident $(: $how:ident)?),* $(,)? }) => {
        impl $crate::row::FromRow for $name {
            fn from_row(columns: &mut $crate::row::Columns<'_>) -> Result<Self, $crate::StoreError> {
                Ok(Self { $($field: $crate::row::from_row!(@ columns $($how)?)),* })
            }
        }
    };
    (@ $columns:ident) => { $columns.get()? };
    (@ $columns:ident default) => { Default::default() };
    (@ $columns:ident $how:ident) => { $columns.$how()? };
}
pub(crate) use from_row;

/// Decodes a tuple.
macro_rules! tuples {
    ($(($($part:ident),*);)*) => {
        $(impl<$($part: FromRow),*> FromRow for ($($part,)*) {
            fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
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

    /// Returns the value, or the reason why it is unreadable.
    fn from_stored(stored: Self::Stored) -> Result<Self, Unreadable>;
}

/// The reason why a stored value is unreadable.
pub(crate) type Unreadable = Box<dyn std::error::Error + Send + Sync>;

impl<T: Column> FromRow for T {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        columns.column()
    }
}

/// A type that both engines read.
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

    fn from_stored(stored: Self::Stored) -> Result<Self, Unreadable> {
        stored.map(T::from_stored).transpose()
    }
}

/// Declares the types of columns: each with its type in the database, its decoding, and its encoding if it is a value of
/// placeholders.
macro_rules! columns {
    ($($name:ty: $stored:ty, $decode:expr $(, $encode:expr)?;)*) => {
        $(impl $crate::row::Column for $name {
            type Stored = $stored;

            fn from_stored(stored: $stored) -> Result<Self, $crate::row::Unreadable> {
                let decode: fn($stored) -> Result<Self, $crate::row::Unreadable> = $decode;
                decode(stored)
            }
        }
        $($crate::row::columns!(@ $name, $stored, $encode);)?)*
    };
    (@ $name:ty, $stored:ty, $encode:expr) => {
        impl From<$name> for $crate::value::Value<'_> {
            fn from(value: $name) -> Self {
                Some(value).into()
            }
        }

        impl From<Option<$name>> for $crate::value::Value<'_> {
            fn from(value: Option<$name>) -> Self {
                let encode: fn($name) -> $stored = $encode;
                $crate::value::Stored::value(value.map(encode))
            }
        }
    };
}

pub(crate) use columns;

columns! {
    i64: i64, Ok, |number| number;
    f64: f64, Ok, |number| number;
    String: String, Ok, |text| text;
    Vec<u8>: Vec<u8>, Ok;
    bool: i64, |number| Ok(number != 0), i64::from;
    u32: i64, |number| Ok(number.try_into()?), i64::from;
    u64: i64, |number| Ok(number.try_into()?);
    usize: i64, |number| Ok(number.try_into()?);
    // Milliseconds; zero for a time until a deadline that has passed.
    Duration: i64, |millis| Ok(Self::from_millis(millis.max(0).unsigned_abs())),
        |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    Timestamp: i64, |millis| Ok(Self::from_millis(millis)), Timestamp::millis;
    MicroUsd: i64, |amount| Ok(Self::new(amount)), MicroUsd::micro;
    ModelId: String, |text| Ok(Self::new(text));
    PanelName: String, |text| Ok(text.parse()?);
    PollId: String, |text| Ok(text.parse()?);
}

/// A value stored as JSON.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> Column for Json<T> {
    type Stored = String;

    fn from_stored(text: String) -> Result<Self, Unreadable> {
        Ok(Self(serde_json::from_str(&text)?))
    }
}

/// A value stored by its serialised name.
pub(crate) struct Name<T>(pub(crate) T);

impl<T: DeserializeOwned> Column for Name<T> {
    type Stored = String;

    fn from_stored(text: String) -> Result<Self, Unreadable> {
        Ok(Self(named(&text)?))
    }
}

/// Returns the value with this serialised name.
pub(crate) fn named<T: DeserializeOwned>(name: &str) -> Result<T, DecodeError> {
    T::deserialize(IntoDeserializer::<DecodeError>::into_deserializer(name))
}
