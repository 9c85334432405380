//! Deposits in USDC as data.

use std::time::Duration;

use ep_kernel::schema;
use ep_protocols::a2a::PAYMENT_EXTENSION;
use ep_site::rail::{
    AgentExtension, Arrival, Comparison, PaymentCredential, PaymentForm, Proof, Rail, RailGuide, RailJob,
    RailSettings, RailWords, Receiver, WalletForm,
};

use super::schemas::{DepositReceipt, DepositRequest, PaymentRequired};

/// Name of the route that takes deposits.
const DEPOSIT: &str = "deposit";

/// Deposits in USDC, by x402.
pub(in crate::payments) static RAIL: Rail = Rail {
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
        uri: PAYMENT_EXTENSION,
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
