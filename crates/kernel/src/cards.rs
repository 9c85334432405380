//! Funding an account by card.
//!
//! A payment is stored before it is sent to the processor, so every later report finds it. Outcomes arrive as
//! events; payments without an event are reconciled. Each outcome is applied once.

use std::sync::Arc;
use std::time::Duration;

use crate::fault::{Fault, Kind, Result};
use crate::ports::{CardEvent, CardProcessor, CheckoutPage, Clock, Entropy};
use ep_polling::Timestamp;
use ep_store::{Cents, CheckoutId, NewCheckout, OpenCheckout, Settled, Treasury, UserId};

/// Age at which an open payment is reconciled.
const RECONCILE_AFTER: Duration = Duration::from_mins(30);
/// Age at which a payment without a stored page is closed. The processor replays its response for a day.
const GIVE_UP_AFTER: Duration = Duration::from_hours(23);
/// Age at which a payment that is neither paid nor closed is no longer reconciled.
const FORGET_AFTER: Duration = Duration::from_hours(7 * 24);
/// Maximum payments per reconciliation run.
const PER_RUN: u32 = 1000;

/// Payments by card.
pub struct Cards {
    processor: Option<Arc<dyn CardProcessor>>,
    store: Treasury,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Cards {
    /// Creates the service. Without a processor, payments are rejected.
    pub fn new(
        processor: Option<Arc<dyn CardProcessor>>,
        store: Treasury,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        // Register the counter before the first payment.
        metrics::counter!("ep_card_payments_total").increment(0);
        Self { processor, store, clock, entropy }
    }

    /// Starts a payment for this account. [`Kind::NotConfigured`] without a processor.
    pub async fn begin(&self, user: UserId, amount: Cents) -> Result<CheckoutPage> {
        let processor = self.processor.as_ref().ok_or_else(not_configured)?;
        let id = CheckoutId::from_random(self.entropy.bytes());
        let checkout = NewCheckout { id, user, amount, created_at: self.clock.now() };
        self.store.add_checkout(&checkout).await?;
        let page = processor.open(&checkout).await?;
        self.store.checkout_opened(id, &page.session).await?;
        Ok(page)
    }

    /// Applies an event of the processor. Events may arrive twice, late or out of order.
    pub async fn receive(&self, event: CardEvent) -> Result<()> {
        let now = self.clock.now();
        match event {
            CardEvent::Paid(paid) => match self.store.settle_checkout(&paid, now).await? {
                Settled::Credited => {
                    metrics::counter!("ep_card_payments_total").increment(1);
                    tracing::info!(checkout = %paid.checkout, cents = paid.amount.0, "account funded by card");
                }
                Settled::Before => {}
                Settled::Unknown => {
                    tracing::error!(
                        checkout = %paid.checkout, session = paid.session, cents = paid.amount.0,
                        "payment matches no checkout of this service; nothing was credited; check it manually"
                    );
                }
            },
            CardEvent::Closed { checkout } => self.store.close_checkout(checkout).await?,
            CardEvent::Reversed(reversal) => {
                tracing::warn!(
                    reference = reversal.reference,
                    lifted = reversal.lifted,
                    "card payment reversed"
                );
                self.store.reverse_checkout(&reversal, now).await?;
            }
            CardEvent::RefundFailed(failed) => {
                tracing::warn!(
                    refund = failed.refund,
                    cents = failed.amount.0,
                    "refund of a card payment failed; its amount is credited again"
                );
                self.store.refund_failed(&failed, now).await?;
            }
            CardEvent::Nothing => {}
        }
        Ok(())
    }

    /// Reconciles payments without a reported outcome, and applies pending reversals. Returns the number of
    /// payments looked up.
    pub async fn reconcile(&self) -> Result<u32> {
        let now = self.clock.now();
        if let Err(error) = self.store.apply_reversals(now).await {
            tracing::error!(error = %error, "failed to apply reversals of card payments");
        }
        let Some(processor) = &self.processor else { return Ok(0) };
        let before = now.before(RECONCILE_AFTER);
        let mut looked_up = 0;
        for OpenCheckout { checkout, session } in self.store.open_checkouts(before, PER_RUN).await? {
            looked_up += 1;
            if let Err(fault) = self.look_up(&**processor, checkout, session, now).await {
                tracing::warn!(checkout = %checkout.id, error = %fault, "failed to reconcile a card payment");
            }
        }
        Ok(looked_up)
    }

    async fn look_up(
        &self,
        processor: &dyn CardProcessor,
        checkout: NewCheckout,
        session: Option<String>,
        now: Timestamp,
    ) -> Result<()> {
        let session = match session {
            Some(session) => session,
            None if now.since(checkout.created_at) > GIVE_UP_AFTER => {
                return Ok(self.store.close_checkout(checkout.id).await?);
            }
            // The response was lost: the same request returns the same page.
            None => {
                let page = processor.open(&checkout).await?;
                self.store.checkout_opened(checkout.id, &page.session).await?;
                page.session
            }
        };
        match processor.look_up(&session).await? {
            // The page closed long ago; if it is paid after all, an event still credits it.
            CardEvent::Nothing if now.since(checkout.created_at) > FORGET_AFTER => {
                Ok(self.store.close_checkout(checkout.id).await?)
            }
            event => self.receive(event).await,
        }
    }
}

fn not_configured() -> Fault {
    Fault::new(
        Kind::NotConfigured,
        "card payments are not configured: the operator must set EP_STRIPE_SECRET_KEY and EP_STRIPE_WEBHOOK_SECRET",
    )
}
