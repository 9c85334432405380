//! Signing in: the accounts of identities, browser sessions and wallets.

mod access_tokens;
mod nonces;
mod sessions;
mod sign_ups;
mod wallets;

pub use access_tokens::AccessTokens;
pub use nonces::ChallengeNonces;
pub use sessions::{Lifetimes, Sessions};
pub use sign_ups::{SignUps, SignedIn, StarterCredit};
pub use wallets::{Challenge, RotatedKeys, WalletParts, WalletSignIn, Wallets};
