//! The features that a configuration offers. Every document takes its words from here.

use ep_kernel::fault::Kind;
use ep_kernel::tool::{Effect, Entry, Spec, Tool};
use ep_polling::money::MicroUsd;
use ep_tools::account::{CreateCheckout, GetBalance, GetConfirmation, ListSpending, SetConfirmation};
use ep_tools::keys::FundKey;
use ep_tools::models::ListModels;
use ep_tools::polls::EstimatePoll;
use secrecy::ExposeSecret;

use super::NO_ISSUER;
use crate::config::{BillingMode, Config, Demo};
use crate::site::names::{DEPOSIT, LOGIN};
use crate::site::{Route, RouteKind};

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
    /// True if accounts are funded by card.
    pub cards: bool,
    /// True if the service accepts webhooks of the card processor.
    pub card_reports: bool,
    /// The chain of USDC deposits (CAIP-2), if deposits are accepted.
    pub usdc: Option<String>,
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
        let charges = config.billing.mode == BillingMode::Prepaid;
        let usdc = charges && !config.x402.facilitator_url.is_empty();
        let issuer = config.issuer().map(str::to_owned);
        let card_reports = !config.stripe.secret_key.expose_secret().is_empty();
        Self {
            charges,
            cards: charges && card_reports,
            card_reports,
            usdc: usdc.then(|| config.chain.network.clone()),
            models: match (config.upstream.url.is_empty(), config.upstream.demo) {
                (false, _) => Models::Upstream,
                (true, Demo::Auto) => Models::Simulated,
                (true, Demo::Off) => Models::None,
            },
            sign_in: issuer.is_some() && !config.auth.client_id.is_empty(),
            issuer,
            starter_credit: if charges {
                config.starter_credit().unwrap_or_default()
            } else {
                MicroUsd::ZERO
            },
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

    /// True if accounts can be funded by card or in USDC.
    pub const fn takes_payments(&self) -> bool {
        self.cards || self.usdc.is_some()
    }

    /// Returns the reason why an operation has no use here; `None` if it has a use.
    pub fn lacks(&self, spec: &Spec) -> Option<Unavailable> {
        if !self.charges && OF_MONEY.contains(&spec.name) {
            return Some(CHARGES_NOBODY);
        }
        if spec.name == CreateCheckout::SPEC.name {
            return self.without_cards();
        }
        let asks = spec.effect == Effect::Consult
            || [ListModels::SPEC.name, EstimatePoll::SPEC.name].contains(&spec.name);
        (asks && self.without_models()).then_some(NO_MODELS)
    }

    /// Returns the reason why a route has no use here; `None` if it has a use.
    pub fn lacks_route(&self, route: &Route) -> Option<Unavailable> {
        match route.kind {
            RouteKind::Operation(entry, _) | RouteKind::Stream(entry, _) => self.lacks(&entry.spec),
            RouteKind::Payment if route.name == DEPOSIT && self.usdc.is_none() => Some(Unavailable::new(
                Kind::NotConfigured,
                self.no_payment("deposits of USDC are not configured"),
            )),
            // It takes reports of payments that were begun while polls were charged.
            RouteKind::Webhook if !self.charges && self.card_reports => Some(CHARGES_NOBODY),
            RouteKind::Webhook => self.without_cards(),
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

    fn without_cards(&self) -> Option<Unavailable> {
        let reason = self.no_payment("payments by card are not configured");
        (!self.cards).then(|| Unavailable::new(Kind::NotConfigured, reason))
    }

    const fn no_payment(&self, reason: &'static str) -> &'static str {
        if self.charges { reason } else { "this service charges nobody" }
    }
}

const CHARGES_NOBODY: Unavailable = Unavailable { reason: "this service charges nobody", status: None };
const NO_MODELS: Unavailable =
    Unavailable::new(Kind::NotConfigured, "no models are configured, and the operator sets EP_UPSTREAM_URL");
