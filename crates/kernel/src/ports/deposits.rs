//! Deposits of USDC: payments on a chain that the payer has authorised by a signature.

use async_trait::async_trait;

use super::{NewSignUp, StoreError};
use crate::caller::{DepositId, UserId};
use crate::fault::Fault;
use crate::identity::WalletAddress;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

/// A payment that its payer has authorised (EIP-3009).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Chain, asset, payer and nonce: whoever holds the authorization, it moves money once.
    pub reference: String,
    /// Who pays.
    pub payer: WalletAddress,
    /// How much. One unit of USDC is one micro-USD.
    pub amount: MicroUsd,
    /// From when on it can no longer be carried out.
    pub valid_before: Timestamp,
    /// The payment as the facilitator takes it, in JSON.
    pub body: String,
}

/// Why a payment was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotPaid {
    /// The payer's balance does not suffice.
    #[error("the payer has not enough USDC")]
    Funds,
    /// The signature is not the payer's.
    #[error("the signature of the payment is not valid")]
    Signature,
    /// It is too late, or too early.
    #[error("the payment has expired, or is not valid yet")]
    Expired,
    /// It can no longer be carried out.
    #[error("the authorization has expired unused")]
    ExpiredUnused,
    /// Somebody has used or cancelled the authorization.
    #[error("the authorization was used for something else, or cancelled")]
    Used,
    /// The facilitator gives no reason that is known.
    #[error("the payment was not accepted; it may have been used already")]
    NotAccepted,
    /// It cannot be known any more.
    #[error("nobody could say whether the payment was carried out; ask the operator")]
    GivenUp,
}

/// Whether a payment would be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It would.
    Valid,
    /// It would not.
    Refused(NotPaid),
}

/// What became of an attempt to carry a payment out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The money has moved, in this transaction.
    Moved {
        /// The transaction's hash.
        transaction: String,
    },
    /// It has not moved, and this attempt will not move it.
    NotMoved(NotPaid),
    /// Nobody can say yet.
    Unknown,
}

/// Carries payments out.
#[async_trait]
pub trait PaymentNetwork: Send + Sync {
    /// Whether a payment would be carried out. Fails if nobody can say: nothing has happened then.
    async fn verify(&self, payment: &Payment) -> Result<Verdict, Fault>;

    /// A block from which on the payment can be looked for; 0 where there is no node to ask. Fails if the node does
    /// not answer: nothing has happened then.
    async fn position(&self) -> Result<u64, Fault>;

    /// Carries a payment out; asked again, moves nothing twice.
    async fn settle(&self, payment: &Payment, since: u64) -> Outcome;

    /// What has become of a payment that may have been carried out.
    async fn look_up(&self, payment: &Payment, since: u64, now: Timestamp) -> Outcome;
}

/// A deposit that begins: its payment has been verified, and is about to be carried out.
#[derive(Debug, Clone)]
pub struct NewDeposit {
    /// Its id.
    pub id: DepositId,
    /// The payment.
    pub payment: Payment,
    /// The account of the caller; `None` for the payer's.
    pub user: Option<UserId>,
    /// A block from which on the payment can be looked for.
    pub since: u64,
    /// When it begins.
    pub created_at: Timestamp,
}

/// How far a deposit is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DepositState {
    /// It is being carried out, or nobody can say.
    Settling,
    /// It was credited to this account.
    Settled {
        /// The account.
        user: UserId,
        /// The transaction's hash.
        transaction: String,
    },
    /// The money has not moved.
    Failed,
}

/// A deposit as it is kept.
#[derive(Debug, Clone)]
pub struct StoredDeposit {
    /// What began.
    pub deposit: NewDeposit,
    /// How far it is.
    pub state: DepositState,
}

/// What became of a deposit that begins.
#[derive(Debug, Clone)]
pub enum BegunDeposit {
    /// It has begun, for the first time or after a failure: whoever is told so carries it out.
    New,
    /// There is one with this payment.
    Known(StoredDeposit),
}

/// A deposit that has been credited.
#[derive(Debug, Clone)]
pub struct CreditedDeposit {
    /// The account.
    pub user: UserId,
    /// Whether this call has credited it.
    pub now: bool,
    /// Whether the account has been made for it.
    pub is_new_user: bool,
}

/// Keeps deposits. Changes are acknowledged once a power loss cannot undo them.
#[async_trait]
pub trait DepositStore: Send + Sync {
    /// Begins a deposit, unless there is one with this payment that has not failed.
    async fn begin_deposit(&self, deposit: &NewDeposit) -> Result<BegunDeposit, StoreError>;

    /// The deposit with this payment.
    async fn deposit(&self, reference: &str) -> Result<Option<StoredDeposit>, StoreError>;

    /// Credits a deposit, once: to its account, or to that of its payer, which `payer` makes if there is none.
    async fn credit_deposit(
        &self,
        reference: &str,
        transaction: &str,
        payer: &NewSignUp,
        at: Timestamp,
    ) -> Result<CreditedDeposit, StoreError>;

    /// Notes that the money has not moved, unless the deposit was credited.
    async fn fail_deposit(&self, reference: &str) -> Result<(), StoreError>;

    /// Up to `limit` deposits that began before a time and are neither credited nor failed, oldest first.
    async fn settling_deposits(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<StoredDeposit>, StoreError>;
}
