//! The ports of the kernel: small object-safe traits for everything external but storage, held as `Arc<dyn …>`.

mod cards;
mod credentials;
mod deposits;
mod models;
mod wallets;
mod webhooks;

pub use cards::{CardEvent, CardProcessor, CheckoutPage};
pub use credentials::{ProvenToken, TokenVerifier};
pub use deposits::{PaymentNetwork, PaymentRejection, Presence, TransferOutcome, Verification};
pub use models::{
    AbandonPolicy, CallLimits, ExplanationResponse, Models, PanelOrder, ProposalResponse, RankedPanel,
    Registry, Turn, Variant, VariantPricing,
};
pub use wallets::{MessageError, WalletMessage, WalletMessages};
pub use webhooks::{NotDelivered, PreparedNotification, WebhookSender};

use ep_polling::Timestamp;

/// The time of day. Durations are measured by tokio's clock, which tests can pause.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// A source of random bytes fit for secrets.
pub trait Entropy: Send + Sync {
    /// Fills the buffer.
    fn fill(&self, bytes: &mut [u8]);
}

impl dyn Entropy + '_ {
    /// Returns `N` random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }
}
