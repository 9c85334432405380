//! Amounts for funding or capping keys.

use ep_polling::{MicroUsd, Usd, UsdFigure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// An amount above zero, rounded down to whole micro-USD.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(try_from = "UsdFigure")]
#[schemars(inline, with = "f64", extend("minimum" = 0.000_001))]
pub struct Amount(pub MicroUsd);

ep_polling::checked!(Amount: UsdFigure, &'static str, |usd| {
    let amount = usd.floor_micro();
    if amount.is_zero() {
        Err("must be a number of USD greater than 0, at least 0.000001, for example 5")
    } else {
        Ok(Self(amount))
    }
});

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Usd(self.0).serialize(serializer)
    }
}
