//! Payment rails, each in a folder: its data for documents and pages, and its code.
//!
//! A rail implements [`PaymentRail`]. It has an entry in [`RAILS`] and a line in [`Rails::assemble`].

mod card;
mod usdc;

use std::sync::Arc;

use async_trait::async_trait;
use ep_kernel::{Cards, Clock, Deposits, Entropy, Fault, SignUps};
use ep_outgoing::Node;
use ep_outside::payments::Usdc;
use ep_site::config::{Config, ConfigError};
use ep_site::http::Handler;
use ep_site::{Rail, Route};
use ep_store::Treasury;
use reqwest::Client;

use self::card::CardRail;
use self::usdc::UsdcRail;

/// Every payment rail, in the order in which pages and guides show them.
pub static RAILS: [&Rail; 2] = [&card::RAIL, &usdc::RAIL];

/// A rail with its resources.
#[async_trait]
pub trait PaymentRail: Send + Sync {
    /// Returns the rail's data.
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
    /// Adds money to the ledger.
    pub treasury: &'a Treasury,
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
        let usdc = UsdcRail::new(parts)?;
        let (cards, deposits) = (Arc::clone(&card.cards), usdc.usdc.clone());
        Ok(Self { all: Arc::new([Box::new(card), Box::new(usdc)]), cards, usdc: deposits })
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
        self.all().map(|running| (Route::rail(running.rail()), running.handler()))
    }
}

/// Returns the route of every rail.
pub fn routes() -> impl Iterator<Item = Route> {
    RAILS.into_iter().map(Route::rail)
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
    }

    #[test]
    fn examples_are_json() {
        for rail in RAILS {
            assert!(serde_json::from_str::<serde_json::Value>(rail.example).is_ok(), "{}", rail.id);
        }
    }
}
