//! Proves who signs in: wallets, and users of an identity provider.

mod contracts;
mod oidc;
mod siwe;

pub use contracts::ContractWallets;
pub use oidc::{BegunSignIn, Callback, FLOW_LIFETIME, Oidc, OidcConfig, OidcPorts, ProviderSignIn};
pub use siwe::{Siwe, SiweSite};
