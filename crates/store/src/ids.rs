//! Ids that are UUIDs.

use std::fmt;

use schemars::JsonSchema;
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

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "format": "uuid" })
            }
        }
    };
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
