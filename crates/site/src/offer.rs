//! The features that a configuration offers. Every document takes its words from here.

use ep_kernel::fault::Kind;
use ep_kernel::tool::{Effect, Entry, Spec, Tool};
use ep_polling::money::MicroUsd;
use ep_tools::account::{GetBalance, GetConfirmation, ListSpending, SetConfirmation};
use ep_tools::keys::FundKey;
use ep_tools::models::ListModels;
use ep_tools::polls::EstimatePoll;

use super::names::LOGIN;
use super::rails::{RAILS, Rail};
use super::route::{Route, RouteKind};
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
    /// The configured payment rails, in the order of the table. They fund accounts only while polls are charged.
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
    /// Returns the features of these settings.
    pub fn new(config: &Config) -> Self {
        let configured: Vec<&'static Rail> =
            RAILS.into_iter().filter(|rail| (rail.settings.is_set)(config)).collect();
        let charges = config.charges();
        let on_chain = charges && configured.iter().any(|rail| rail.settings.on_chain);
        let issuer = config.issuer().map(str::to_owned);
        Self {
            charges,
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
            rail => self.takes(Rail::find(rail)?),
        })
    }

    /// Returns the reason why an operation has no use here; `None` if it has a use.
    pub fn lacks(&self, spec: &Spec) -> Option<Unavailable> {
        if !self.charges && OF_MONEY.contains(&spec.name) {
            return Some(NO_CHARGES);
        }
        if let Some(rail) = RAILS.into_iter().find(|rail| rail.begins == spec.name) {
            return self.without(rail);
        }
        let asks = spec.effect == Effect::Consult
            || [ListModels::SPEC.name, EstimatePoll::SPEC.name].contains(&spec.name);
        (asks && self.without_models()).then_some(NO_MODELS)
    }

    /// Returns the reason why a route has no use here; `None` if it has a use.
    pub fn lacks_route(&self, route: &Route) -> Option<Unavailable> {
        match route.kind {
            RouteKind::Operation(entry, _) | RouteKind::Stream(entry, _) => self.lacks(&entry.spec),
            // It takes reports of payments that were begun while polls were charged.
            RouteKind::Webhook(rail) if !self.charges && self.configured.contains(&rail) => Some(NO_CHARGES),
            RouteKind::Webhook(rail) | RouteKind::Payment(rail) => self.without(rail),
            RouteKind::Redirect if !self.sign_in && route.name == LOGIN => {
                Some(Unavailable::new(Kind::NotConfigured, "no identity provider is configured for browsers"))
            }
            RouteKind::ProxiedDocument if self.issuer.is_none() => {
                Some(Unavailable::new(Kind::NotFound, NO_ISSUER))
            }
            _ => None,
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
        let reason = if self.charges { rail.missing() } else { NO_CHARGES.reason };
        (!self.takes(rail)).then(|| Unavailable::new(Kind::NotConfigured, reason))
    }
}

const NO_CHARGES: Unavailable = Unavailable { reason: "this service does not charge", status: None };
const NO_MODELS: Unavailable =
    Unavailable::new(Kind::NotConfigured, "no models are configured, and the operator sets EP_UPSTREAM_URL");
