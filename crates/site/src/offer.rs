//! The features that a configuration offers. Every document takes its words from here.

use ep_kernel::{Effect, Entry, Kind, Spec, Tool};
use ep_polling::MicroUsd;
use ep_tools::account::{GetBalance, GetConfirmation, ListSpending, SetConfirmation};
use ep_tools::keys::FundKey;
use ep_tools::models::ListModels;
use ep_tools::polls::EstimatePoll;

use super::rail::{Arrival, CheckoutForm, Rail};
use super::route::{Needs, Route};
use crate::config::{Config, Demo};

/// The message of the 404 response without OAuth metadata.
pub const NO_ISSUER: &str = "this service has no OAuth issuer, so there is no login to begin: send Authorization: Bearer \
                             ep_k_… with an API key; the operator can configure an issuer in EP_AUTH_ISSUER_URL";

/// The source of the models of polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Models {
    /// An upstream.
    Upstream,
    /// The demo roster: no data leaves the process.
    Simulated,
    /// No models: polls return 503.
    None,
}

/// The features of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// True if polls are charged to accounts.
    pub charges: bool,
    /// Every payment rail, in the order in which pages and guides show them.
    known: &'static [&'static Rail],
    /// The configured payment rails, in the same order. They fund accounts only while polls are charged.
    configured: Vec<&'static Rail>,
    /// The chain of payments (CAIP-2); empty if no payment is made on a chain.
    pub network: String,
    /// The source of the models.
    pub models: Models,
    /// The issuer of access tokens, if one is configured.
    pub issuer: Option<String>,
    /// True if people sign in at the issuer with a browser.
    pub sign_in: bool,
    /// The starter credit of an account created by its holder; zero if polls are not charged.
    pub starter_credit: MicroUsd,
}

/// The reason why an operation has no use in this configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavailable {
    /// The reason, as a clause.
    pub reason: &'static str,
    /// The HTTP status of its response; `None` if the operation succeeds but has no effect.
    pub status: Option<u16>,
}

impl Unavailable {
    const fn new(kind: Kind, reason: &'static str) -> Self {
        let status = if matches!(kind, Kind::NotFound) { 404 } else { 503 };
        Self { reason, status: Some(status) }
    }

    /// The sentence that documents show.
    pub fn sentence(self) -> String {
        match self.status {
            Some(status) => format!("Not offered here (answers {status}): {}.", self.reason),
            None => format!("Not offered here: {}.", self.reason),
        }
    }
}

/// The operations that only paid polls need.
const OF_MONEY: [&str; 5] = [
    GetBalance::SPEC.name,
    ListSpending::SPEC.name,
    FundKey::SPEC.name,
    GetConfirmation::SPEC.name,
    SetConfirmation::SPEC.name,
];

impl Offer {
    /// Returns the features of these settings, with these payment rails.
    pub fn new(config: &Config, known: &'static [&'static Rail]) -> Self {
        let configured: Vec<&'static Rail> =
            known.iter().copied().filter(|rail| (rail.settings.is_set)(config)).collect();
        let charges = config.charges();
        let on_chain = charges && configured.iter().any(|rail| rail.settings.on_chain);
        let issuer = config.issuer().map(str::to_owned);
        Self {
            charges,
            known,
            configured,
            network: if on_chain { config.chain.network.clone() } else { String::new() },
            models: match (config.upstream.url.is_empty(), config.upstream.demo) {
                (false, _) => Models::Upstream,
                (true, Demo::Auto) => Models::Simulated,
                (true, Demo::Off) => Models::None,
            },
            sign_in: issuer.is_some() && !config.auth.client_id.is_empty(),
            issuer,
            starter_credit: config.starter_credit().unwrap_or_default(),
        }
    }

    /// True if the models are simulated.
    pub fn simulated(&self) -> bool {
        self.models == Models::Simulated
    }

    /// True if no models are configured.
    pub fn without_models(&self) -> bool {
        self.models == Models::None
    }

    /// Returns the rails that fund accounts here, in the order of the table.
    pub fn rails(&self) -> impl Iterator<Item = &'static Rail> {
        self.configured.iter().copied().filter(|_| self.charges)
    }

    /// True if this rail funds accounts here.
    pub fn takes(&self, rail: &Rail) -> bool {
        self.rails().any(|taken| taken == rail)
    }

    /// Returns the rail with this identifier.
    fn rail(&self, id: &str) -> Option<&'static Rail> {
        self.known.iter().copied().find(|rail| rail.id == id)
    }

    /// Returns the rail whose payments the ledger books from this account.
    pub fn rail_of_ledger(&self, account: &str) -> Option<&'static Rail> {
        self.rail(account.strip_prefix("sys:")?)
    }

    /// Returns the form that this route takes, if it begins a payment on a processor's page.
    pub fn checkout_form(&self, route: &str) -> Option<&'static CheckoutForm> {
        self.known.iter().filter_map(|rail| rail.page.checkout()).find(|form| form.form == route)
    }

    /// True if any rail funds accounts here.
    pub fn takes_payments(&self) -> bool {
        self.rails().next().is_some()
    }

    /// Returns true if a condition of documents holds: `charges`, `starter_credit`, `issuer`, `sign_in`, or the
    /// identifier of a rail. `None` if the condition is unknown.
    pub fn meets(&self, condition: &str) -> Option<bool> {
        Some(match condition {
            // Text of the repository that pages leave out.
            "repository" => false,
            "charges" => self.charges,
            "starter_credit" => !self.starter_credit.is_zero(),
            "issuer" => self.issuer.is_some(),
            "sign_in" => self.sign_in,
            rail => self.takes(self.rail(rail)?),
        })
    }

    /// Returns the reason why an operation has no use here; `None` if it has a use.
    pub fn lacks(&self, spec: &Spec) -> Option<Unavailable> {
        if !self.charges && OF_MONEY.contains(&spec.name) {
            return Some(NO_CHARGES);
        }
        if let Some(rail) = self.known.iter().find(|rail| rail.begins == spec.name) {
            return self.without(rail);
        }
        let asks = spec.effect == Effect::Consult
            || [ListModels::SPEC.name, EstimatePoll::SPEC.name].contains(&spec.name);
        (asks && self.without_models()).then_some(NO_MODELS)
    }

    /// Returns the reason why a route has no use here; `None` if it has a use.
    pub fn lacks_route(&self, route: &Route) -> Option<Unavailable> {
        if let Some((entry, _)) = route.as_operation() {
            return self.lacks(&entry.spec);
        }
        if let Some(rail) = route.as_rail() {
            // A webhook takes reports of payments that were begun while polls were charged.
            let reports = matches!(rail.arrival, Arrival::Webhook(_)) && self.configured.contains(&rail);
            return if reports && !self.charges { Some(NO_CHARGES) } else { self.without(rail) };
        }
        match route.needs {
            Needs::SignIn if !self.sign_in => {
                Some(Unavailable::new(Kind::NotConfigured, "no identity provider is configured for browsers"))
            }
            Needs::Issuer if self.issuer.is_none() => Some(Unavailable::new(Kind::NotFound, NO_ISSUER)),
            Needs::Nothing | Needs::SignIn | Needs::Issuer => None,
        }
    }

    /// True if documents list this operation. Polls are listed even without models, with the
    /// [`caution`](Self::caution).
    pub fn has(&self, entry: &Entry) -> bool {
        self.lacks(&entry.spec).is_none_or(|lack| lack == NO_MODELS)
    }

    /// True if documents name this route.
    pub fn has_route(&self, route: &Route) -> bool {
        self.lacks_route(route).is_none_or(|lack| lack == NO_MODELS)
    }

    /// Returns the sentence about the models that every description of the service includes.
    pub const fn caution(&self) -> Option<&'static str> {
        match self.models {
            Models::Upstream => None,
            Models::Simulated => Some(
                "The models of this service are simulated, for trying it out: its results say nothing about any real \
                 model.",
            ),
            Models::None => Some("No models are configured here yet, so polls answer 503."),
        }
    }

    /// True if a kind of error can occur.
    pub fn has_error(&self, kind: Kind) -> bool {
        kind != Kind::InsufficientBalance || self.charges
    }

    /// Returns the reason why a rail takes no payments; `None` if it takes them.
    fn without(&self, rail: &Rail) -> Option<Unavailable> {
        let reason = if self.charges { rail.settings.missing } else { NO_CHARGES.reason };
        (!self.takes(rail)).then(|| Unavailable::new(Kind::NotConfigured, reason))
    }
}

const NO_CHARGES: Unavailable = Unavailable { reason: "this service does not charge", status: None };
const NO_MODELS: Unavailable =
    Unavailable::new(Kind::NotConfigured, "no models are configured, and the operator sets EP_UPSTREAM_URL");
