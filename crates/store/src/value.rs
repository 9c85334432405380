//! Values of statement placeholders.

use std::borrow::Cow;

use ep_polling::{PollId, Timestamp};
use serde::Serialize;

use crate::error::failed;
use crate::store_error::Result;

/// A day in milliseconds.
pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Returns the day since the epoch, in UTC.
pub(crate) const fn day(at: Timestamp) -> i64 {
    at.millis().div_euclid(DAY_MS)
}

/// The value of a placeholder.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Integer(Option<i64>),
    Real(Option<f64>),
    Text(Option<Cow<'a, str>>),
    Bytes(Cow<'a, [u8]>),
}

/// Returns the values without borrowed parts.
pub(crate) fn owned(values: &[Value<'_>]) -> Vec<Value<'static>> {
    values.iter().map(Value::to_owned).collect()
}

impl Value<'_> {
    fn to_owned(&self) -> Value<'static> {
        match self {
            Self::Integer(number) => Value::Integer(*number),
            Self::Real(number) => Value::Real(*number),
            Self::Text(text) => Value::Text(text.as_deref().map(|text| text.to_owned().into())),
            Self::Bytes(bytes) => Value::Bytes(bytes.to_vec().into()),
        }
    }
}

/// A type of the database, as the value of a placeholder.
pub(crate) trait Stored: Sized {
    /// Returns the value; `None` is null.
    fn value(stored: Option<Self>) -> Value<'static>;
}

impl Stored for i64 {
    fn value(stored: Option<Self>) -> Value<'static> {
        Value::Integer(stored)
    }
}

impl Stored for f64 {
    fn value(stored: Option<Self>) -> Value<'static> {
        Value::Real(stored)
    }
}

impl Stored for String {
    fn value(stored: Option<Self>) -> Value<'static> {
        Value::Text(stored.map(Into::into))
    }
}

/// The values of `$1`, `$2`, ….
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        &[$($crate::value::Value::from($value)),*]
    };
}
pub(crate) use values;

impl<'a> From<&'a [u8; 32]> for Value<'a> {
    fn from(bytes: &'a [u8; 32]) -> Self {
        Self::Bytes(bytes.as_slice().into())
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Some(text.into()))
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Self::Text(text.map(Cow::from))
    }
}

impl<'a> From<&'a PollId> for Value<'a> {
    fn from(id: &'a PollId) -> Self {
        id.as_str().into()
    }
}

/// Serialises a value that a column stores as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(failed)
}
