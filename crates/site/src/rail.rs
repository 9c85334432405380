//! The type of a payment rail: settings, route, words, forms and jobs as data. Each rail is a folder of the program's
//! `src/payments`, and `Offer` has the rails that a configuration takes. Sentences for documents may contain `{network}`,
//! the chain of payments (CAIP-2).

use std::fmt;
use std::time::Duration;

use ep_kernel::{Fault, Kind};
use schemars::Schema;

use crate::config::Config;

/// A payment rail: a way to fund an account.
pub struct Rail {
    /// Identifier in conditions of documents and in reports to the operator.
    pub id: &'static str,
    /// The settings that turn the rail on.
    pub settings: RailSettings,
    /// The route that receives payments or reports of them.
    pub receiver: Receiver,
    /// The way in which a payment becomes known.
    pub arrival: Arrival,
    /// Name of the operation or route that begins a payment.
    pub begins: &'static str,
    /// Example of its request body, as JSON.
    pub example: &'static str,
    /// Words for documents and pages.
    pub words: RailWords,
    /// The text about the rail in the guide to funding.
    pub guide: RailGuide,
    /// Description of a payment that also identifies the payer.
    pub credential: Option<PaymentCredential>,
    /// The A2A extension by which a task is paid for.
    pub agent_extension: Option<AgentExtension>,
    /// The part of the account page where people pay.
    pub page: PaymentForm,
    /// The job that resolves payments with unknown outcome.
    pub reconciliation: RailJob,
    /// The jobs that compare settled payments with the chain.
    pub comparisons: &'static [Comparison],
    /// Names and descriptions of the rail's counters without labels.
    pub counters: &'static [(&'static str, &'static str)],
}

impl Rail {
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

/// The settings of a rail.
pub struct RailSettings {
    /// Returns true if the rail is configured.
    pub is_set: fn(&Config) -> bool,
    /// Reason for a refusal without these settings, as a clause.
    pub missing: &'static str,
    /// The environment variables that turn the rail on.
    pub variables: &'static str,
    /// True if payments are made on the configured chain.
    pub on_chain: bool,
}

/// The route of a rail.
pub struct Receiver {
    /// The route's name.
    pub name: &'static str,
    /// The route's path.
    pub path: &'static str,
    /// Purpose in one sentence.
    pub summary: &'static str,
}

/// The way in which a payment becomes known.
pub enum Arrival {
    /// A processor reports it to a webhook.
    Webhook(Webhook),
    /// The payer sends a proof with the request.
    Proof(Proof),
}

/// A processor's webhook.
pub struct Webhook {
    /// Name of the header with the signature.
    pub header: &'static str,
    /// Description of that header.
    pub signature: &'static str,
    /// Description of the body.
    pub event: &'static str,
}

/// A proof of payment in a request.
pub struct Proof {
    /// Names and descriptions of the headers with the proof.
    pub headers: &'static [(&'static str, &'static str)],
    /// Names of the response headers with the payment requirements and the outcome.
    pub response_headers: &'static [&'static str],
    /// Schema of the request body.
    pub request: fn() -> Schema,
    /// Schema of the response to a payment.
    pub receipt: fn() -> Schema,
    /// Schema of the response without a payment, with status 402.
    pub required: fn() -> Schema,
}

/// Words of a rail.
pub struct RailWords {
    /// Plural noun for its payments.
    pub payments: &'static str,
    /// Instruction for a program with too little balance.
    pub way: &'static str,
    /// Adverbial phrase for a payment by this rail.
    pub pay: &'static str,
    /// Data that is stored, for the privacy page.
    pub stored: &'static str,
    /// Recipient of data, for the privacy page.
    pub recipient: &'static str,
    /// Terms of payments, for the terms page.
    pub terms: &'static str,
    /// Data that stays after an account is deleted, in a sentence for the privacy page.
    pub after_deletion: Option<&'static str>,
}

/// The text about a rail in the guide to funding.
pub enum RailGuide {
    /// The manual of this operation.
    Operation(&'static str),
    /// The section of the guide to clients with this heading.
    Section(&'static str),
}

/// A payment that also identifies the payer.
pub struct PaymentCredential {
    /// Kind of the authentication method.
    pub kind: &'static str,
    /// Description in one sentence.
    pub description: &'static str,
}

/// An A2A extension.
pub struct AgentExtension {
    /// The extension's URI.
    pub uri: &'static str,
    /// Purpose in one sentence.
    pub description: &'static str,
}

/// The part of the account page where people pay.
pub enum PaymentForm {
    /// A form that begins a payment on the processor's page.
    Checkout(CheckoutForm),
    /// A script that pays from a wallet in the browser.
    Wallet(WalletForm),
}

/// A form that begins a payment on the processor's page.
pub struct CheckoutForm {
    /// Name of the route that takes the form.
    pub form: &'static str,
    /// Title of the button and of the page that leads to the processor.
    pub title: &'static str,
    /// Sentence about the processor, without its last words.
    pub entry: &'static str,
    /// The processor.
    pub processor: &'static str,
}

/// A script that pays from a wallet in the browser.
pub struct WalletForm {
    /// Name of the script's document.
    pub script: &'static str,
    /// Heading.
    pub title: &'static str,
    /// Hint beside the amount.
    pub hint: &'static str,
    /// The protocol by which programs pay.
    pub protocol: &'static str,
}

impl PaymentForm {
    /// Returns the form that begins a payment on the processor's page, if it is one.
    pub const fn checkout(&self) -> Option<&CheckoutForm> {
        match self {
            Self::Checkout(form) => Some(form),
            Self::Wallet(_) => None,
        }
    }

    /// Returns the script that pays from a wallet, if it is one.
    pub const fn wallet(&self) -> Option<&WalletForm> {
        match self {
            Self::Wallet(form) => Some(form),
            Self::Checkout(_) => None,
        }
    }
}

/// A background job of a rail.
pub struct RailJob {
    /// Name in logs.
    pub name: &'static str,
    /// Time between two runs.
    pub period: Duration,
    /// Purpose in one sentence.
    pub about: &'static str,
}

/// A comparison of settled payments with the chain.
pub struct Comparison {
    /// The job that runs it.
    pub job: RailJob,
    /// Maximum age of the compared payments.
    pub past: Duration,
}

impl fmt::Debug for Rail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rail").field(&self.id).finish()
    }
}

impl PartialEq for Rail {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Rail {}
