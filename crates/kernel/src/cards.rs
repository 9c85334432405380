//! Funding an account by card.
//!
//! A payment is stored before the processor hears of it, so that whatever the processor says later finds it. What
//! the processor says comes as an event, or is asked for where no event has come; either way it is carried out once.

use std::sync::Arc;
use std::time::Duration;

use crate::caller::{CheckoutId, UserId};
use crate::fault::{Fault, Kind};
use crate::ports::{
    CardEvent, CardProcessor, Cents, CheckoutPage, CheckoutStore, Clock, Entropy, NewCheckout, OpenCheckout,
    Settled,
};
use ep_polling::time::Timestamp;

/// A payment is asked after when it has been open this long.
const ASK_AFTER: Duration = Duration::from_mins(30);
/// A payment whose page was never opened is given up after this time: the processor repeats its answer for a day.
const GIVE_UP_AFTER: Duration = Duration::from_hours(23);
/// A payment that is neither paid nor closed is asked after no more after this time.
const FORGET_AFTER: Duration = Duration::from_hours(7 * 24);
/// Payments asked after at once.
const AT_ONCE: u32 = 1000;

/// Payments by card.
pub struct Cards {
    processor: Option<Arc<dyn CardProcessor>>,
    store: Arc<dyn CheckoutStore>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Cards {
    /// Without a processor, payments are refused.
    pub fn new(
        processor: Option<Arc<dyn CardProcessor>>,
        store: Arc<dyn CheckoutStore>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        // The counter exists before the first payment.
        metrics::counter!("ep_card_payments_total").increment(0);
        Self { processor, store, clock, entropy }
    }

    /// Begins a payment for this account. [`Kind::NotConfigured`] without a processor.
    pub async fn begin(&self, user: UserId, amount: Cents) -> Result<CheckoutPage, Fault> {
        let processor = self.processor.as_ref().ok_or_else(not_configured)?;
        let id = CheckoutId::from_random(self.entropy.bytes());
        let checkout = NewCheckout { id, user, amount, created_at: self.clock.now() };
        self.store.add_checkout(&checkout).await?;
        let page = processor.open(&checkout).await?;
        self.store.checkout_opened(id, &page.session).await?;
        Ok(page)
    }

    /// Carries out what the processor says. Anything may come twice, late or out of order.
    pub async fn receive(&self, event: CardEvent) -> Result<(), Fault> {
        let now = self.clock.now();
        match event {
            CardEvent::Paid(paid) => match self.store.settle_checkout(&paid, now).await? {
                Settled::Credited => {
                    metrics::counter!("ep_card_payments_total").increment(1);
                    tracing::info!(checkout = %paid.checkout, cents = paid.amount.0, "an account was funded by card");
                }
                Settled::Before => {}
                Settled::Unknown => {
                    tracing::error!(
                        checkout = %paid.checkout, session = paid.session, cents = paid.amount.0,
                        "a payment fits no checkout of this service: nothing was credited; look at it by hand"
                    );
                }
            },
            CardEvent::Closed { checkout } => self.store.close_checkout(checkout).await?,
            CardEvent::Reversed(reversal) => {
                tracing::warn!(
                    reference = reversal.reference,
                    lifted = reversal.lifted,
                    "a card payment was taken back"
                );
                self.store.reverse(&reversal, now).await?;
            }
            CardEvent::RefundFailed(failed) => {
                tracing::warn!(
                    refund = failed.refund,
                    cents = failed.amount.0,
                    "a refund of a card payment failed; its amount is credited again"
                );
                self.store.refund_failed(&failed, now).await?;
            }
            CardEvent::Nothing => {}
        }
        Ok(())
    }

    /// Asks the processor after payments of which nothing was heard, and applies what waits. Returns how many
    /// payments were asked after.
    pub async fn reconcile(&self) -> Result<u32, Fault> {
        let now = self.clock.now();
        if let Err(error) = self.store.apply_reversals(now).await {
            tracing::error!(error = %error, "what was taken back of payments by card is not applied yet");
        }
        let Some(processor) = &self.processor else { return Ok(0) };
        let before = now.before(ASK_AFTER);
        let mut asked = 0;
        for OpenCheckout { checkout, session } in self.store.open_checkouts(before, AT_ONCE).await? {
            asked += 1;
            if let Err(fault) = self.ask(&**processor, checkout, session, now).await {
                tracing::warn!(checkout = %checkout.id, error = %fault, "a payment could not be asked after");
            }
        }
        Ok(asked)
    }

    async fn ask(
        &self,
        processor: &dyn CardProcessor,
        checkout: NewCheckout,
        session: Option<String>,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let session = match session {
            Some(session) => session,
            None if now.since(checkout.created_at) > GIVE_UP_AFTER => {
                return Ok(self.store.close_checkout(checkout.id).await?);
            }
            // Its answer was lost: the same request gives the same page.
            None => {
                let page = processor.open(&checkout).await?;
                self.store.checkout_opened(checkout.id, &page.session).await?;
                page.session
            }
        };
        match processor.look_up(&session).await? {
            // Its page has been closed for long; if it is paid after all, a report still credits it.
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
        "payments by card are not configured: the operator sets EP_STRIPE_SECRET_KEY and EP_STRIPE_WEBHOOK_SECRET",
    )
}
