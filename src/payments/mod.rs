//! Payment rails: the code behind each entry of [`RAILS`].
//!
//! A rail is a file here that implements [`PaymentRail`], and a line in [`Rails::assemble`].

mod card;
mod x402;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::cards::Cards;
use ep_kernel::deposits::Deposits;
use ep_kernel::fault::Fault;
use ep_kernel::ports::{Clock, Entropy};
use ep_kernel::sign_in::SignUps;
use ep_kernel::tool::Rate;
use ep_outgoing::Node;
use ep_outside::payments::Usdc;
use ep_site::config::{Config, ConfigError};
use ep_site::http::Handler;
use ep_site::rails::{Arrival, Receiver};
use ep_site::{RAILS, Rail, Route, RouteKind};
use ep_store::Store;
use reqwest::Client;

use self::card::CardRail;
use self::x402::X402Rail;

/// Deadline of a payment: longer than its verification and settlement on a chain.
const PAYMENT_DEADLINE: Duration = Duration::from_secs(90);

/// A rail with its resources.
#[async_trait]
pub trait PaymentRail: Send + Sync {
    /// The entry of the table.
    fn rail(&self) -> &'static Rail;

    /// Returns the handler of the rail's route. Without settings it returns 503.
    fn handler(&self) -> Handler;

    /// Resolves payments with unknown outcome. Returns the number of payments that were looked up.
    async fn reconcile(&self) -> Result<usize, Fault>;

    /// Looks up all open payments, for the operator. Returns their number.
    async fn reconcile_all(&self) -> Result<usize, Fault> {
        self.reconcile().await
    }

    /// Returns the deposits that a chain proves; `None` if the rail has no chain or no settings.
    fn deposits(&self) -> Option<&Arc<Deposits>> {
        None
    }
}

/// Resources that rails are made of.
pub struct RailParts<'a> {
    /// The settings.
    pub config: &'a Config,
    /// The database.
    pub store: &'a Store,
    /// The time of day.
    pub clock: &'a Arc<dyn Clock>,
    /// Randomness.
    pub entropy: &'a Arc<dyn Entropy>,
    /// HTTP client for processors.
    pub client: &'a Client,
    /// The chain's node, if configured.
    pub node: Option<&'a Node>,
    /// Creates the accounts of new payers.
    pub sign_ups: &'a Arc<SignUps>,
    /// Returns the absolute URL of a route.
    pub url: &'a dyn Fn(&str) -> String,
}

/// All rails with their resources.
#[derive(Clone)]
pub struct Rails {
    all: Arc<[Box<dyn PaymentRail>]>,
    cards: Arc<Cards>,
    usdc: Option<Usdc>,
}

impl Rails {
    /// Assembles every rail of the table.
    pub fn assemble(parts: &RailParts<'_>) -> Result<Self, ConfigError> {
        let card = CardRail::new(parts);
        let x402 = X402Rail::new(parts)?;
        let (cards, usdc) = (Arc::clone(&card.cards), x402.usdc.clone());
        Ok(Self { all: Arc::new([Box::new(card), Box::new(x402)]), cards, usdc })
    }

    /// Returns every rail.
    pub fn all(&self) -> impl Iterator<Item = &dyn PaymentRail> {
        self.all.iter().map(|rail| &**rail)
    }

    /// Returns the rail of this entry of the table.
    pub fn of(&self, rail: &Rail) -> Option<&dyn PaymentRail> {
        self.all().find(|running| running.rail() == rail)
    }

    /// Returns card payments, for the operation that begins one.
    pub fn cards(&self) -> &Arc<Cards> {
        &self.cards
    }

    /// Returns the deposits that payments in agents' messages become; `None` without settings.
    pub fn task_payments(&self) -> Option<&Usdc> {
        self.usdc.as_ref()
    }

    /// Returns the deposits that a chain proves. Fails if no rail with a chain is configured.
    pub fn deposits(&self) -> Result<&Arc<Deposits>, Fault> {
        let missing = || {
            let on_chain = RAILS.into_iter().find(|rail| rail.settings.on_chain);
            on_chain.map_or_else(|| Fault::internal("no rail has a chain"), Rail::not_configured)
        };
        self.all().find_map(PaymentRail::deposits).ok_or_else(missing)
    }

    /// Returns the routes with their handlers.
    pub fn endpoints(&self) -> impl Iterator<Item = (Route, Handler)> {
        self.all().map(|running| (route(running.rail()), running.handler()))
    }
}

/// Returns the route of every rail.
pub fn routes() -> impl Iterator<Item = Route> {
    RAILS.into_iter().map(route)
}

/// Returns the route of a rail. It identifies its caller from the content of the request, not from a credential.
fn route(rail: &'static Rail) -> Route {
    let Receiver { name, path, summary } = rail.receiver;
    match rail.arrival {
        Arrival::Webhook(_) => Route::post(name, path, RouteKind::Webhook(rail), summary).rate(Rate::Exempt),
        Arrival::Proof(_) => Route::post(name, path, RouteKind::Payment(rail), summary)
            .rate(Rate::Default)
            .deadline(PAYMENT_DEADLINE),
    }
}
