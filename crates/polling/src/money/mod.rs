//! Money as integers: amounts in micro-USD, prices in pico-USD per token. Floats appear only where JSON
//! numbers are read ([`UsdFigure`]) or written ([`Usd`]).

mod hold;
mod micro_usd;
mod price;
mod usd;

pub use hold::{Hold, Settlement};
pub use micro_usd::MicroUsd;
pub use price::{PicoUsd, Price, Spend, SpendBasis};
pub use usd::{NotAUsdFigure, Usd, UsdFigure};
