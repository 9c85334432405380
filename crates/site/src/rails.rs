//! Payment rails as data: the ways to fund an account, and the words that documents and pages use for them.
//!
//! `src/payments` has the code of each rail, and `Offer` the rails that a configuration takes. Sentences for
//! documents may contain `{network}`, the chain of payments (CAIP-2).

use std::time::Duration;

use ep_kernel::fault::{Fault, Kind};
use ep_kernel::schema;
use ep_kernel::tool::Tool;
use ep_tools::account::CreateCheckout;
use secrecy::ExposeSecret;

use super::deposit::{DepositReceipt, DepositRequest, PaymentRequired};
use super::names::ACCOUNT_FORMS;
pub use super::rail::{
    AgentExtension, Arrival, CheckoutForm, Comparison, PaymentCredential, PaymentForm, Proof, Rail,
    RailGuide, RailJob, RailSettings, RailWords, Receiver, WalletForm, Webhook,
};

/// Every payment rail, in the order in which pages and guides show them.
pub static RAILS: [&Rail; 2] = [&CARD, &X402];

/// Payments by card, through Stripe Checkout.
pub static CARD: Rail = Rail {
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

/// Deposits in USDC, by x402.
pub static X402: Rail = Rail {
    id: "usdc",
    settings: RailSettings {
        is_set: |config| !config.x402.facilitator_url.is_empty(),
        missing: "deposits in USDC are not configured",
        variables: "EP_X402_FACILITATOR_URL and EP_X402_PAY_TO",
        on_chain: true,
    },
    receiver: Receiver {
        name: DEPOSIT,
        path: "/api/deposit",
        summary: "Funds an account in USDC (x402, versions 1 and 2).",
    },
    arrival: Arrival::Proof(Proof {
        headers: &[
            ("X-Payment", "The signed payment, in base64 (x402, version 1)."),
            ("PAYMENT-SIGNATURE", "The same (x402, version 2)."),
        ],
        response_headers: &["payment-required", "payment-response", "x-payment-response"],
        request: schema::request::<DepositRequest>,
        receipt: schema::output::<DepositReceipt>,
        required: schema::output::<PaymentRequired>,
    }),
    begins: DEPOSIT,
    example: r#"{ "amount_usd": 5 }"#,
    words: RailWords {
        payments: "deposits",
        way: "Deposit USDC (x402): the first response has the payment requirements. With Authorization, that account is credited; \
              otherwise the account of the paying wallet.",
        pay: "from a wallet",
        stored: "**Deposits of USDC**: the payer's address, the amount, the signed payment and the transaction. The chain \
                 publishes the same data.",
        recipient: "**The x402 facilitator and the chain** (`{network}`): your signed payment.",
        terms: "USDC payments fund an account on the chain `{network}`. The program cannot reverse them.",
        after_deletion: Some("Deposits of USDC stay under the payer's address."),
    },
    guide: RailGuide::Section("Paying in USDC"),
    credential: Some(PaymentCredential {
        kind: "x402",
        description: "A deposit of USDC funds the payer's account; a new payer gets a key.",
    }),
    agent_extension: Some(AgentExtension {
        uri: A2A_X402,
        description: "If the balance is insufficient, a task can be paid for in USDC (x402).",
    }),
    page: PaymentForm::Wallet(WalletForm {
        script: "wallet_script",
        title: "In USDC, with a wallet",
        hint: "Your wallet signs a transfer of this amount; it pays no network fee.",
        protocol: "x402",
    }),
    reconciliation: RailJob {
        name: "reconcile deposits",
        period: Duration::from_secs(10),
        about: "Looks up deposits with unknown outcome on the chain.",
    },
    comparisons: &[
        Comparison {
            job: RailJob {
                name: "compare deposits with the chain",
                period: Duration::from_mins(15),
                about: "Compares settled deposits of the last six hours with the chain. Recent blocks are replaced most \
                        often.",
            },
            past: Duration::from_hours(6),
        },
        Comparison {
            job: RailJob {
                name: "compare deposits with the chain",
                period: Duration::from_hours(24),
                about: "Compares settled deposits of the last 30 days with the chain.",
            },
            past: Duration::from_hours(24 * 30),
        },
    ],
    counters: &[
        ("ep_usdc_deposits_total", "USDC deposits credited"),
        (
            "ep_usdc_deposits_unknown_total",
            "USDC deposits with an expired authorization and an unknown outcome",
        ),
        (
            "ep_usdc_deposits_vanished_total",
            "Credited USDC deposits with a transaction removed from the chain: their accounts are frozen",
        ),
    ],
};

/// Name of the route that takes deposits.
const DEPOSIT: &str = "deposit";
/// URI of the A2A extension by which a task is paid for (a2a-x402, version 0.2).
pub const A2A_X402: &str = "https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2";

impl Rail {
    /// Returns the rail with this identifier.
    pub fn find(id: &str) -> Option<&'static Self> {
        RAILS.into_iter().find(|rail| rail.id == id)
    }

    /// Returns the rail whose payments the ledger books from this account.
    pub fn of_ledger(account: &str) -> Option<&'static Self> {
        Self::find(account.strip_prefix("sys:")?)
    }

    /// Returns the form that this route takes, if it begins a payment on a processor's page.
    pub fn checkout_form(route: &str) -> Option<&'static CheckoutForm> {
        RAILS.into_iter().filter_map(|rail| rail.page.checkout()).find(|form| form.form == route)
    }

    /// Returns the reason for a refusal if the rail is not configured, as a clause.
    pub const fn missing(&self) -> &'static str {
        self.settings.missing
    }

    /// Returns the fault for a payment if the rail is not configured.
    pub fn not_configured(&self) -> Fault {
        let RailSettings { missing, variables, .. } = self.settings;
        Fault::new(Kind::NotConfigured, format!("{missing}: the operator sets {variables}"))
    }

    /// True if a program can pay without a person at a processor's page.
    pub const fn is_for_programs(&self) -> bool {
        matches!(self.arrival, Arrival::Proof(_))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn identifiers_and_routes_are_unique() {
        let ids: BTreeSet<&str> = RAILS.iter().map(|rail| rail.id).collect();
        let paths: BTreeSet<&str> = RAILS.iter().map(|rail| rail.receiver.path).collect();
        let names: BTreeSet<&str> = RAILS.iter().map(|rail| rail.receiver.name).collect();
        assert_eq!((ids.len(), paths.len(), names.len()), (RAILS.len(), RAILS.len(), RAILS.len()));
        assert!(RAILS.iter().all(|rail| Rail::find(rail.id) == Some(*rail)));
    }

    #[test]
    fn examples_are_json() {
        for rail in RAILS {
            assert!(serde_json::from_str::<serde_json::Value>(rail.example).is_ok(), "{}", rail.id);
        }
    }
}
