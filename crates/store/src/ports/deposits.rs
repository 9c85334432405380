//! USDC deposits: payments on a chain, authorized by the payer's signature.

use async_trait::async_trait;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

use super::{NewSignUp, StoreError};
use crate::ids::{DepositId, UserId};
use crate::wallet_address::WalletAddress;

/// A payment authorized by its payer (EIP-3009).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Chain, asset, payer and nonce. The authorization moves money only once, regardless of its submitter.
    pub reference: String,
    /// The payer's address.
    pub payer: WalletAddress,
    /// The amount. One unit of USDC is one micro-USD.
    pub amount: MicroUsd,
    /// The time after which the authorization can no longer be used.
    pub valid_before: Timestamp,
    /// The payment in the facilitator's JSON format.
    pub body: String,
}

/// A USDC transfer that settled a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// The transaction's hash.
    pub transaction: String,
    /// The block number. `None` if no node was asked.
    pub block: Option<u64>,
    /// True once the block is so deep that it is not expected to be replaced.
    pub is_final: bool,
}

/// A new deposit. Its payment is verified and not settled yet.
#[derive(Debug, Clone)]
pub struct NewDeposit {
    /// The deposit's id.
    pub id: DepositId,
    /// The payment.
    pub payment: Payment,
    /// The caller's account; `None` for the payer's.
    pub user: Option<UserId>,
    /// A block from which to look for the payment; 0 if no node was asked.
    pub since: u64,
    /// The time when it started.
    pub created_at: Timestamp,
}

/// Account and transaction of a deposit seen on the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The account.
    pub user: UserId,
    /// The transaction's hash.
    pub transaction: String,
    /// The block number. `None` if no node was asked.
    pub block: Option<u64>,
}

/// Stage of a deposit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DepositState {
    /// The payment is being settled.
    Settling,
    /// The authorization has expired, and it is unknown whether the money has moved.
    Unknown,
    /// The money has moved in a block that is not final. The account exists and is not credited yet.
    Confirming(Received),
    /// The account is credited.
    Settled(Received),
    /// The account was credited, and the transaction is no longer on the chain.
    Vanished(Received),
    /// The money has not moved.
    Failed,
}

/// A stored deposit.
#[derive(Debug, Clone)]
pub struct StoredDeposit {
    /// The deposit as it began. Its user is set once an account is known.
    pub deposit: NewDeposit,
    /// The stage.
    pub state: DepositState,
    /// Number of unsuccessful look-ups in this stage.
    pub attempts: u32,
}

/// Result of starting a deposit.
#[derive(Debug, Clone)]
pub enum BegunDeposit {
    /// The deposit has started, for the first time or after a failure. The caller must settle it.
    New,
    /// A deposit with this payment already exists.
    Known(Box<StoredDeposit>),
}

/// Result of recording a transfer.
#[derive(Debug, Clone)]
pub struct CreditedDeposit {
    /// The account.
    pub user: UserId,
    /// True if this call was the first to record a transfer for the deposit.
    pub now: bool,
    /// True if this call created the account.
    pub is_new_user: bool,
    /// True if this call credited the account.
    pub credited: bool,
    /// True if the account is credited, by this call or before.
    pub is_settled: bool,
}

/// Stores deposits. Changes are acknowledged once a power loss cannot undo them.
#[async_trait]
pub trait DepositStore: Send + Sync {
    /// Starts a deposit, unless one with this payment exists that has not failed. `reconcile_at` is the time of
    /// its first reconciliation.
    async fn begin_deposit(
        &self,
        deposit: &NewDeposit,
        reconcile_at: Timestamp,
    ) -> Result<BegunDeposit, StoreError>;

    /// Returns the deposit with this payment.
    async fn deposit(&self, reference: &str) -> Result<Option<StoredDeposit>, StoreError>;

    /// Returns the deposit with this id.
    async fn deposit_by_id(&self, id: DepositId) -> Result<Option<StoredDeposit>, StoreError>;

    /// Records the transfer of a deposit. If the transfer is final, credits the deposit's account, or the
    /// payer's, once; `payer` creates the payer's account if it is missing. A transfer that is not final is
    /// looked up again at `reconcile_at`.
    async fn credit_deposit(
        &self,
        reference: &str,
        transfer: &Transfer,
        payer: &NewSignUp,
        at: Timestamp,
        reconcile_at: Timestamp,
    ) -> Result<CreditedDeposit, StoreError>;

    /// Records that the money has not moved, unless the account was credited. The deposit is looked up again
    /// at `reconcile_at`, or never.
    async fn fail_deposit(&self, reference: &str, reconcile_at: Option<Timestamp>) -> Result<(), StoreError>;

    /// Counts an unsuccessful look-up and sets the time of the next one. `is_unknown` turns
    /// [`DepositState::Settling`] into [`DepositState::Unknown`].
    async fn postpone_deposit(
        &self,
        reference: &str,
        is_unknown: bool,
        reconcile_at: Option<Timestamp>,
    ) -> Result<(), StoreError>;

    /// Marks a settled deposit as vanished and freezes its account. Returns false if it is not settled.
    async fn vanish_deposit(&self, reference: &str, reconcile_at: Timestamp) -> Result<bool, StoreError>;

    /// Returns due deposits: at most `limit`, and at most `per_payer` of one payer. Every payer's first
    /// deposit comes before any payer's second.
    async fn due_deposits(
        &self,
        now: Timestamp,
        limit: u32,
        per_payer: u32,
    ) -> Result<Vec<StoredDeposit>, StoreError>;

    /// Returns up to `limit` open deposits, due or not, ordered by reference, after this one.
    async fn open_deposits(&self, after: &str, limit: u32) -> Result<Vec<StoredDeposit>, StoreError>;

    /// Returns up to `limit` settled deposits, oldest first, after this creation time and reference.
    async fn settled_deposits(
        &self,
        after: (Timestamp, &str),
        limit: u32,
    ) -> Result<Vec<StoredDeposit>, StoreError>;
}
