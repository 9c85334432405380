//! Settlement of USDC payments on a chain.

use async_trait::async_trait;
use ep_store::{Payment, StoredDeposit, Transfer};

use crate::fault::Result;

/// Reason why a payment moved no money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PaymentRejection {
    /// The payer's balance is too low.
    #[error("the payer has insufficient USDC")]
    Funds,
    /// The signature is not the payer's.
    #[error("the signature of the payment is not valid")]
    Signature,
    /// The payment has expired or is not valid yet.
    #[error("the payment has expired, or is not valid yet")]
    Expired,
    /// The chain shows that the authorization was never used, and it no longer can be.
    #[error("the authorization has expired unused")]
    ExpiredUnused,
    /// The chain shows another use of the authorization, or its cancellation.
    #[error("the authorization was used for another payment, or cancelled")]
    Used,
    /// The facilitator gave no known reason.
    #[error("the payment was not accepted; it may have been used already")]
    NotAccepted,
}

/// Result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// The payment can be settled.
    Valid,
    /// The payment cannot be settled.
    Rejected(PaymentRejection),
}

/// Outcome of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferOutcome {
    /// The money has moved.
    Moved(Transfer),
    /// The money has not moved, and this attempt will not move it.
    NotMoved(PaymentRejection),
    /// The authorization is unused and can still be used.
    Unused {
        /// The latest block known to the node. `None` without a node.
        at: Option<u64>,
    },
    /// The outcome is not known yet.
    Unknown,
}

/// Presence of a settled deposit on the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The chain has the transfer.
    Found,
    /// The chain lacks the transfer, and the node has seen the block after the one that had it.
    Missing,
    /// The node does not know.
    Unknown,
}

/// Settles payments, and looks them up on the chain.
#[async_trait]
pub trait PaymentNetwork: Send + Sync {
    /// Verifies a payment. Fails if the outcome is unknown; the payment is unchanged then.
    async fn verify(&self, payment: &Payment) -> Result<Verification>;

    /// Returns true if both are the same payment with the same signature, in any version of the protocol.
    fn repeats(&self, stored: &Payment, given: &Payment) -> bool;

    /// Returns true if a node of the chain is configured, so that [`Self::look_up`] reads the chain.
    fn has_node(&self) -> bool;

    /// Returns a block from which to look for the payment; 0 without a node. Fails if the node does not
    /// respond; the payment is unchanged then.
    async fn position(&self) -> Result<u64>;

    /// Settles a payment. A repeated call does not move money twice.
    async fn settle(&self, payment: &Payment, since: u64) -> TransferOutcome;

    /// Looks a payment up on the chain, without changes. Returns [`TransferOutcome::Unused`] without a node.
    async fn look_up(&self, payment: &Payment, since: u64) -> TransferOutcome;

    /// Checks whether this transaction settled the payment. [`TransferOutcome::Unknown`] if the node does not show
    /// the transaction in a block.
    async fn check_transaction(&self, payment: &Payment, transaction: &str) -> TransferOutcome;

    /// Looks settled deposits up on the chain: one entry for each, in their order.
    async fn presence(&self, deposits: &[StoredDeposit]) -> Vec<Presence>;
}
