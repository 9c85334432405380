//! Money as integers: amounts in micro-USD, prices in pico-USD per token. No float ever holds money;
//! floats appear only where an amount is shown.

pub mod hold;
pub mod micro_usd;
pub mod price;

pub use hold::{Hold, Settlement};
pub use micro_usd::MicroUsd;
pub use price::{PicoUsd, Price, Spend, SpendBasis};
