//! Money as integers: amounts in micro-USD, prices in pico-USD per token. A float appears only where a
//! JSON number is read or written: [`UsdFigure`] and [`Usd`].

mod hold;
mod micro_usd;
mod price;
mod usd;

pub use hold::{Hold, Settlement};
pub use micro_usd::MicroUsd;
pub use price::{PicoUsd, Price, Spend, SpendBasis};
pub use usd::{NotAUsdFigure, Usd, UsdFigure};
