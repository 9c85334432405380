//! Accounts: users, the identities and sessions with which they sign in, and their personal data.

pub(crate) mod account;
pub(crate) mod data;
mod email;
mod export;
mod identity;
pub(crate) mod operator;
pub(crate) mod sessions;
mod token_hash;
pub(crate) mod users;
mod wallet_address;

pub use self::data::{AccountDeletion, AccountDeletionOutcome, DeletionObstacles};
pub use self::email::{Email, InvalidEmail};
pub use self::export::{
    AccountRecord, CheckoutRecord, DepositRecord, ExportedBatch, ExportedEvaluation, ExportedFile,
    IdentityRecord, NumberedTransfer, SessionRecord, TaskRecord, TransferRecord,
};
pub use self::identity::Identity;
pub use self::operator::{MAX_LISTED_USERS, RevokedCredentials, UserRecord};
pub use self::sessions::{NewSession, StoredSession};
pub use self::token_hash::TokenHash;
pub use self::users::{MAX_USERS_OF_EMAIL, NewSignUp, NewUser, SignedUp, StarterCreditLimits};
pub use self::wallet_address::{InvalidWalletAddress, WalletAddress};
