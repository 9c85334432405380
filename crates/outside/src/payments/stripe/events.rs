//! The fields of Stripe objects that this service uses.

use ep_kernel::CardEvent;
use ep_polling::Timestamp;
use ep_store::{Cents, CheckoutId, FailedRefund, PaidCheckout, Reversal};
use serde::Deserialize;
use serde_json::Value;

use super::CHECKOUT_ID;

/// An event.
#[derive(Deserialize)]
pub(super) struct Event {
    #[serde(rename = "type")]
    kind: String,
    livemode: bool,
    /// Time in seconds since the epoch.
    #[serde(default)]
    created: i64,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    object: Value,
}

/// A Checkout session.
#[derive(Deserialize)]
pub(super) struct Session {
    pub(super) id: String,
    /// The payment page, while the session can be paid.
    pub(super) url: Option<String>,
    #[serde(default)]
    mode: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    payment_status: String,
    #[serde(default)]
    currency: Option<String>,
    #[serde(default)]
    amount_total: Option<i64>,
    #[serde(default)]
    livemode: bool,
    #[serde(default)]
    metadata: Value,
    #[serde(default)]
    payment_intent: Option<String>,
}

#[derive(Deserialize)]
struct Charge {
    id: String,
    amount_refunded: i64,
    currency: String,
    payment_intent: Option<String>,
    #[serde(default)]
    metadata: Value,
}

#[derive(Deserialize)]
struct Refund {
    id: String,
    amount: i64,
    currency: String,
    status: Option<String>,
    charge: Option<String>,
    payment_intent: Option<String>,
}

#[derive(Deserialize)]
struct Dispute {
    id: String,
    amount: i64,
    currency: String,
    status: String,
    payment_intent: Option<String>,
}

impl Session {
    /// Returns the event for the session's current state; nothing for a session of another service.
    pub(super) fn event(self, live: bool) -> CardEvent {
        let ours = self.mode == "payment" && self.livemode == live && self.currency.as_deref() == Some("usd");
        let (Some(checkout), true) = (checkout_id(&self.metadata), ours) else { return CardEvent::Nothing };
        let amount = self.amount_total.and_then(|cents| u32::try_from(cents).ok());
        match (self.payment_status.as_str(), self.status.as_deref(), amount) {
            ("paid", _, Some(cents)) => CardEvent::Paid(PaidCheckout {
                checkout,
                session: self.id,
                payment: self.payment_intent,
                amount: Cents(cents),
            }),
            (_, Some("expired"), _) => CardEvent::Closed { checkout },
            _ => CardEvent::Nothing,
        }
    }
}

impl Event {
    /// Parses the event; `None` if its object cannot be parsed.
    pub(super) fn read(self, live: bool) -> Option<CardEvent> {
        let Self { kind, livemode, created, data } = self;
        let reported_at = Timestamp::from_millis(created.saturating_mul(1000));
        if livemode != live {
            return Some(CardEvent::Nothing);
        }
        let event = match kind.as_str() {
            "checkout.session.completed"
            | "checkout.session.async_payment_succeeded"
            | "checkout.session.expired" => object::<Session>(data)?.event(live),
            "checkout.session.async_payment_failed" => {
                let session = object::<Session>(data)?;
                match checkout_id(&session.metadata) {
                    Some(checkout) => CardEvent::Closed { checkout },
                    None => CardEvent::Nothing,
                }
            }
            "charge.refunded" => object::<Charge>(data)?.event(reported_at),
            "refund.failed" | "refund.updated" | "charge.refund.updated" => {
                object::<Refund>(data)?.event(reported_at)
            }
            "charge.dispute.created"
            | "charge.dispute.updated"
            | "charge.dispute.funds_withdrawn"
            | "charge.dispute.closed" => object::<Dispute>(data)?.event(reported_at),
            _ => CardEvent::Nothing,
        };
        Some(event)
    }
}

impl Charge {
    fn event(self, reported_at: Timestamp) -> CardEvent {
        let (Ok(refunded), "usd") = (u32::try_from(self.amount_refunded), self.currency.as_str()) else {
            return CardEvent::Nothing;
        };
        CardEvent::Reversed(Reversal {
            reference: refunds_of(&self.id),
            checkout: checkout_id(&self.metadata),
            payment: self.payment_intent,
            amount: Cents(refunded),
            lifted: false,
            reported_at,
        })
    }
}

impl Refund {
    /// Returns the event of a failed or canceled refund. Other changes of a refund are reported with its
    /// charge.
    fn event(self, failed_at: Timestamp) -> CardEvent {
        let failed = matches!(self.status.as_deref(), Some("failed" | "canceled"));
        let (Some(charge), Ok(amount @ 1..), "usd", true) =
            (&self.charge, u32::try_from(self.amount), self.currency.as_str(), failed)
        else {
            return CardEvent::Nothing;
        };
        CardEvent::RefundFailed(FailedRefund {
            reversal: refunds_of(charge),
            refund: self.id,
            payment: self.payment_intent,
            amount: Cents(amount),
            failed_at,
        })
    }
}

/// Returns the reference of a charge's refunds.
fn refunds_of(charge: &str) -> String {
    format!("refund:{charge}")
}

impl Dispute {
    fn event(self, reported_at: Timestamp) -> CardEvent {
        // An early warning does not move money yet.
        let (Ok(amount), "usd", false) =
            (u32::try_from(self.amount), self.currency.as_str(), self.status.starts_with("warning_"))
        else {
            return CardEvent::Nothing;
        };
        CardEvent::Reversed(Reversal {
            reference: format!("dispute:{}", self.id),
            checkout: None,
            payment: self.payment_intent,
            amount: Cents(amount),
            lifted: self.status == "won",
            reported_at,
        })
    }
}

fn object<T: for<'o> Deserialize<'o>>(data: Data) -> Option<T> {
    serde_json::from_value(data.object).ok()
}

fn checkout_id(metadata: &Value) -> Option<CheckoutId> {
    metadata.get(CHECKOUT_ID)?.as_str()?.parse().ok()
}
