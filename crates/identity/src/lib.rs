//! Proves who signs in: the ports of [`ep_kernel::ports`] for wallets.

mod contracts;
mod siwe;

pub use contracts::ContractWallets;
pub use siwe::{Siwe, SiweSite};
