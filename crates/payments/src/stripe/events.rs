//! What Stripe's objects say, as far as it matters here.

use ep_kernel::caller::CheckoutId;
use ep_kernel::ports::{CardEvent, Cents, PaidCheckout, Reversal};
use serde::Deserialize;
use serde_json::Value;

use super::CHECKOUT_ID;

/// An event.
#[derive(Deserialize)]
pub(super) struct Event {
    #[serde(rename = "type")]
    kind: String,
    livemode: bool,
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
    /// Only while it can be paid.
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
struct Dispute {
    id: String,
    amount: i64,
    currency: String,
    status: String,
    payment_intent: Option<String>,
}

impl Session {
    /// What the session says now; nothing where it is not one of this service's.
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
    /// What the event says; `None` if its object cannot be read.
    pub(super) fn read(self, live: bool) -> Option<CardEvent> {
        let Self { kind, livemode, data } = self;
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
            "charge.refunded" => object::<Charge>(data)?.event(),
            "charge.dispute.created"
            | "charge.dispute.updated"
            | "charge.dispute.funds_withdrawn"
            | "charge.dispute.closed" => object::<Dispute>(data)?.event(),
            _ => CardEvent::Nothing,
        };
        Some(event)
    }
}

impl Charge {
    fn event(self) -> CardEvent {
        let (Ok(refunded), "usd") = (u32::try_from(self.amount_refunded), self.currency.as_str()) else {
            return CardEvent::Nothing;
        };
        CardEvent::Reversed(Reversal {
            reference: format!("refund:{}", self.id),
            checkout: checkout_id(&self.metadata),
            payment: self.payment_intent,
            amount: Cents(refunded),
            lifted: false,
        })
    }
}

impl Dispute {
    fn event(self) -> CardEvent {
        // An early warning takes no money yet.
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
        })
    }
}

fn object<T: for<'o> Deserialize<'o>>(data: Data) -> Option<T> {
    serde_json::from_value(data.object).ok()
}

fn checkout_id(metadata: &Value) -> Option<CheckoutId> {
    metadata.get(CHECKOUT_ID)?.as_str()?.parse().ok()
}
