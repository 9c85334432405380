//! Amounts in USD, read from text and JSON numbers.

use std::fmt;
use std::str::FromStr;

use rust_decimal::Decimal;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{MicroUsd, PicoUsd};

/// An exact decimal figure in USD, before it is rounded to whole micro-USD or pico-USD.
///
/// External amounts are read as this type, so that no amount is computed as a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsdFigure(Decimal);

/// The error of [`UsdFigure::from_str`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a number of USD, for example 1 or 0.05")]
pub struct NotAUsdFigure;

impl UsdFigure {
    /// Returns whole micro-USD, rounded down, so that rounding never raises a limit. Negative figures become
    /// zero; larger figures than [`MicroUsd::MAX`] become that maximum.
    pub fn floor_micro(self) -> MicroUsd {
        MicroUsd::from_i128(self.units(6, Decimal::floor))
    }

    /// Returns whole micro-USD, rounded down, or `None` if negative or greater than [`MicroUsd::MAX`].
    pub fn checked_floor_micro(self) -> Option<MicroUsd> {
        let micro = self.units(6, Decimal::floor);
        (0..=i128::from(MicroUsd::MAX.micro())).contains(&micro).then(|| MicroUsd::from_i128(micro))
    }

    /// Returns whole micro-USD, rounded up, for costs.
    pub fn ceil_micro(self) -> MicroUsd {
        MicroUsd::from_i128(self.units(6, Decimal::ceil))
    }

    /// Returns whole pico-USD, rounded up, or `None` if negative or greater than 64 bits allow.
    pub fn ceil_pico(self) -> Option<PicoUsd> {
        let pico = i64::try_from(self.units(12, Decimal::ceil)).ok()?;
        (pico >= 0).then(|| PicoUsd::new(pico))
    }

    /// Returns the sum, saturating at the largest figure.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.checked_add(other.0).unwrap_or(Decimal::MAX))
    }

    /// Returns a millionth: the price of a token, from that of a million tokens.
    #[must_use]
    pub fn millionth(self) -> Self {
        Self((self.0 * Decimal::new(1, 6)).normalize())
    }

    /// True if the figure is below zero.
    pub fn is_negative(self) -> bool {
        self.0.is_sign_negative() && !self.0.is_zero()
    }

    /// Returns the figure in units of 10^-`decimals` USD, saturating.
    fn units(self, decimals: u32, round: fn(&Decimal) -> Decimal) -> i128 {
        let factor = Decimal::from(10_u64.pow(decimals));
        let scaled = self.0.checked_mul(factor).unwrap_or(if self.0.is_sign_negative() {
            Decimal::MIN
        } else {
            Decimal::MAX
        });
        let rounded = round(&scaled);
        rounded.mantissa() / 10_i128.pow(rounded.scale())
    }

    /// Returns the shortest decimal that parses as this float, saturating; `None` if it is not finite.
    fn from_json(number: f64) -> Option<Self> {
        let text = number.to_string();
        match decimal(&text) {
            Ok(figure) => Some(Self(figure)),
            Err(rust_decimal::Error::ExceedsMaximumPossibleValue) if number > 0.0 => Some(Self(Decimal::MAX)),
            Err(rust_decimal::Error::LessThanMinimumPossibleValue) => Some(Self(Decimal::MIN)),
            Err(_) if number.is_finite() && number != 0.0 => {
                Some(Self(if number > 0.0 { Decimal::MAX } else { Decimal::MIN }))
            }
            Err(_) => None,
        }
    }
}

/// Parses a decimal. A figure that would round to zero at 28 decimals becomes the smallest figure of its
/// sign.
fn decimal(text: &str) -> Result<Decimal, rust_decimal::Error> {
    let read = if text.contains(['e', 'E']) {
        Decimal::from_scientific(text)
    } else {
        Decimal::from_str_exact(text)
    };
    match read {
        Err(rust_decimal::Error::Underflow) => {
            let rounded = Decimal::from_str(text)?;
            let smallest = Decimal::new(if text.starts_with('-') { -1 } else { 1 }, 28);
            Ok(if rounded.is_zero() { smallest } else { rounded })
        }
        read => read,
    }
}

impl fmt::Display for UsdFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PicoUsd {
    /// Parses a price in USD, as decimal text, and rounds it up. `None` for other text, and for a price out of range.
    pub fn parse(usd: &str) -> Option<Self> {
        usd.parse::<UsdFigure>().ok().and_then(UsdFigure::ceil_pico)
    }
}

impl FromStr for UsdFigure {
    type Err = NotAUsdFigure;
    /// Parses a decimal such as `0.0000003`, `3e-7` or `1`, as registries and people write it.
    fn from_str(text: &str) -> Result<Self, NotAUsdFigure> {
        let text = text.trim();
        let plain = text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
        if !plain || !text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
            return Err(NotAUsdFigure);
        }
        decimal(text).map(Self).map_err(|_| NotAUsdFigure)
    }
}

impl<'de> Deserialize<'de> for UsdFigure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = UsdFigure;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number")
            }
            fn visit_u64<E>(self, number: u64) -> Result<UsdFigure, E> {
                Ok(UsdFigure(number.into()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<UsdFigure, E> {
                Ok(UsdFigure(number.into()))
            }
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<UsdFigure, E> {
                UsdFigure::from_json(number).ok_or_else(|| E::custom(NotAUsdFigure))
            }
        }
        deserializer.deserialize_f64(Number)
    }
}

/// An amount as a JSON number in USD, with at most six decimals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usd(pub MicroUsd);

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.as_usd())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(UsdFigure::deserialize(deserializer)?.ceil_micro()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn json(text: &str) -> UsdFigure {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn ceilings_round_down_and_costs_round_up() {
        assert_eq!(json("0.29").floor_micro().micro(), 290_000);
        assert_eq!(json("1").floor_micro().micro(), 1_000_000);
        assert_eq!(json("1.0").floor_micro().micro(), 1_000_000);
        assert_eq!(json("0.0000009").floor_micro().micro(), 0);
        assert_eq!(json("0.0000001").ceil_micro().micro(), 1);
        assert_eq!(json("1e-300").ceil_micro().micro(), 1);
        assert!(json("-1e-300").is_negative());
        assert_eq!(json("0.07").ceil_micro().micro(), 70_000);
        assert_eq!(json("-3").floor_micro(), MicroUsd::ZERO);
        assert_eq!(json("1e300").floor_micro(), MicroUsd::MAX);
        assert_eq!(json("-1e300").floor_micro(), MicroUsd::ZERO);
        assert_eq!(json("1e12").checked_floor_micro(), Some(MicroUsd::MAX));
        for beyond in ["1000000000001", "1e300", "-0.01", "-1e300"] {
            assert_eq!(json(beyond).checked_floor_micro(), None, "{beyond}");
        }
    }

    #[test]
    fn registry_prices_are_read_exactly() {
        let pico = |text: &str| text.parse::<UsdFigure>().ok().and_then(UsdFigure::ceil_pico);
        for (text, expected) in [
            ("0", 0),
            ("0.0000003", 300_000),
            ("3e-7", 300_000),
            ("0.00001", 10_000_000),
            ("1.5E-6", 1_500_000),
            ("0.0000000000001", 1),
        ] {
            assert_eq!(pico(text), Some(PicoUsd::new(expected)), "{text}");
        }
        for text in ["", "-1", "free", "NaN", "1e99", "0x10", "1.2.3", "1_000"] {
            assert_eq!(pico(text), None, "{text}");
        }
    }

    proptest! {
        /// A displayed amount parses as the same amount, up to a billion USD (15 digits are exact in JSON).
        #[test]
        fn displayed_amounts_read_back(micro in 0_i64..1_000_000_000_000_000) {
            let amount = MicroUsd::new(micro);
            let shown = serde_json::to_string(&Usd(amount)).unwrap();
            prop_assert_eq!(json(&shown).floor_micro(), amount);
            prop_assert_eq!(json(&shown).ceil_micro(), amount);
        }
    }
}
