//! Payments by card as data.

use std::time::Duration;

use ep_kernel::Tool;
use ep_site::names::ACCOUNT_FORMS;
use ep_site::rail::{
    Arrival, CheckoutForm, PaymentForm, Rail, RailGuide, RailJob, RailSettings, RailWords, Receiver, Webhook,
};
use ep_tools::account::CreateCheckout;
use secrecy::ExposeSecret;

/// Payments by card, through Stripe Checkout.
pub(in crate::payments) static RAIL: Rail = Rail {
    id: "card",
    settings: RailSettings {
        is_set: |config| !config.stripe.secret_key.expose_secret().is_empty(),
        missing: "payments by card are not configured",
        variables: "EP_STRIPE_WEBHOOK_SECRET",
        on_chain: false,
    },
    receiver: Receiver {
        name: "stripe_webhook",
        path: "/api/webhooks/stripe",
        summary: "Stripe webhook endpoint.",
    },
    arrival: Arrival::Webhook(Webhook {
        header: "Stripe-Signature",
        signature: "Stripe's signature of the body.",
        event: "An event, as Stripe sends it.",
    }),
    begins: CreateCheckout::SPEC.name,
    example: CreateCheckout::SPEC.example,
    words: RailWords {
        payments: "card payments",
        way: "With the session of a signed-in browser, start a card payment and open the returned url.",
        pay: "by card",
        stored: "**Payments by card**: the amount, the time, the account and the payment's ids at Stripe. This \
                 service never receives card numbers.",
        recipient: "**Stripe**: the amount, the account's id and an id of the payment. You enter your card at Stripe.",
        terms: "Card payments fund an account through Stripe. A refunded or charged-back payment is deducted from the \
                balance.",
        after_deletion: None,
    },
    guide: RailGuide::Operation(CreateCheckout::SPEC.name),
    credential: None,
    agent_extension: None,
    page: PaymentForm::Checkout(CheckoutForm {
        form: ACCOUNT_FORMS.checkout,
        title: "Pay by card",
        entry: "The card is entered at",
        processor: "the card processor",
    }),
    reconciliation: RailJob {
        name: "reconcile card payments",
        period: Duration::from_mins(5),
        about: "Asks the card processor about payments without a report.",
    },
    comparisons: &[],
    counters: &[("ep_card_payments_total", "Card payments credited to an account")],
};
