//! Ids that are UUIDs.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Creates an id from 16 random bytes (UUID version 4, RFC 9562).
            pub fn from_random(bytes: [u8; 16]) -> Self {
                Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }

        crate::row::columns! {
            $name: String, |text| Ok(text.parse()?), |id| id.to_string();
        }

        ep_polling::inline_schema!($name, { "type": "string", "format": "uuid" });
    };
}

/// Defines an id with a prefix and 32 hexadecimal digits in lower case. `$error` is the error of other texts.
macro_rules! prefixed_id {
    ($(#[$doc:meta])* $name:ident: $prefix:literal, $error:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(uuid::Uuid);

        impl $name {
            /// The form as a regular expression, for schemas.
            pub const PATTERN: &str = concat!("^", $prefix, "[0-9a-f]{32}$");

            /// Creates an id from 16 random bytes.
            pub fn from_random(bytes: [u8; 16]) -> Self {
                Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}{}", $prefix, self.0.simple())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;
            fn from_str(text: &str) -> Result<Self, $error> {
                text.strip_prefix($prefix).and_then($crate::ids::digits).map(Self).ok_or($error)
            }
        }

        ep_polling::checked!($name: String, $error, |text| text.parse(), |id| id.to_string());
        ep_polling::inline_schema!($name, { "type": "string", "pattern": $name::PATTERN });
        crate::row::columns! {
            $name: String, |text| Ok(text.parse()?), |id| id.to_string();
        }
    };
}
pub(crate) use prefixed_id;

/// Reads 32 hexadecimal digits in lower case.
pub(crate) fn digits(text: &str) -> Option<Uuid> {
    let id = Uuid::try_parse(text).ok()?;
    (id.simple().encode_lower(&mut Uuid::encode_buffer()) == text).then_some(id)
}

uuid_id! {
    /// An account.
    UserId
}
uuid_id! {
    /// The public id of an API key; not the key itself.
    KeyId
}
uuid_id! {
    /// One request, in logs and in error bodies.
    RequestId
}
uuid_id! {
    /// A card payment that an account has started.
    CheckoutId
}
uuid_id! {
    /// A USDC deposit.
    DepositId
}
uuid_id! {
    /// The feedback of one account on one poll.
    FeedbackId
}
