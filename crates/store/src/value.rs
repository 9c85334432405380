//! Values of statement placeholders.

use std::borrow::Cow;
use std::time::Duration;

use ep_polling::money::MicroUsd;
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;
use serde::Serialize;

use crate::error::failed;
use crate::polls::Epoch;
use crate::store_error::StoreError;

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

/// Declares ids that are stored as text.
macro_rules! ids {
    ($($name:ident),*) => {
        $(impl From<$name> for $crate::value::Value<'_> {
            fn from(id: $name) -> Self {
                Self::from(id.to_string())
            }
        }

        impl From<Option<$name>> for $crate::value::Value<'_> {
            fn from(id: Option<$name>) -> Self {
                Self::Text(id.map(|id| id.to_string().into()))
            }
        }

        impl $crate::row::Column for $name {
            type Stored = String;

            fn from_stored(text: String) -> Option<Self> {
                text.parse().ok()
            }
        })*
    };
}
pub(crate) use ids;

/// The values of `$1`, `$2`, ….
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        &[$($crate::value::Value::from($value)),*]
    };
}
pub(crate) use values;

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(Some(number))
    }
}

impl From<Option<f64>> for Value<'_> {
    fn from(number: Option<f64>) -> Self {
        Self::Real(number)
    }
}

impl From<bool> for Value<'_> {
    fn from(truth: bool) -> Self {
        Self::Integer(Some(truth.into()))
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Integer(Some(number.into()))
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(at: Timestamp) -> Self {
        Self::Integer(Some(at.millis()))
    }
}

impl From<Option<Timestamp>> for Value<'_> {
    fn from(at: Option<Timestamp>) -> Self {
        Self::Integer(at.map(Timestamp::millis))
    }
}

/// Stored in milliseconds.
impl From<Duration> for Value<'_> {
    fn from(time: Duration) -> Self {
        Some(time).into()
    }
}

impl From<Option<Duration>> for Value<'_> {
    fn from(time: Option<Duration>) -> Self {
        Self::Integer(time.map(|time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl From<Epoch> for Value<'_> {
    fn from(epoch: Epoch) -> Self {
        Self::Integer(Some(epoch.number()))
    }
}

impl From<MicroUsd> for Value<'_> {
    fn from(amount: MicroUsd) -> Self {
        Self::Integer(Some(amount.micro()))
    }
}

impl From<Option<MicroUsd>> for Value<'_> {
    fn from(amount: Option<MicroUsd>) -> Self {
        Self::Integer(amount.map(MicroUsd::micro))
    }
}

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

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Some(text.into()))
    }
}

impl<'a> From<&'a PollId> for Value<'a> {
    fn from(id: &'a PollId) -> Self {
        id.as_str().into()
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(number: Option<i64>) -> Self {
        Self::Integer(number)
    }
}

/// Serialises a value that a column stores as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(failed)
}
