//! Authentication by wallet, by identity provider, and by the provider's access tokens.

mod access_tokens;
mod contracts;
mod oidc;
mod provider;
mod siwe;

pub use access_tokens::IssuerTokens;
pub use contracts::ContractWallets;
pub use oidc::{BegunSignIn, Callback, FLOW_LIFETIME, Oidc, OidcConfig, OidcPorts, ProviderSignIn};
pub use provider::Provider;
pub use siwe::{Siwe, SiweSite};
