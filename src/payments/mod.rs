//! HTTP endpoints of payment rails.

pub(crate) mod card;
pub(crate) mod x402;

pub use x402::{Usdc, usdc_not_configured};
