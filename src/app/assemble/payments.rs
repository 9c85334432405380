//! Payments: cards and USDC.

use std::sync::Arc;

use ep_kernel::cards::Cards;
use ep_kernel::deposits::Deposits;
use ep_kernel::ports::CardProcessor;
use ep_kernel::sign_in::SignUps;
use ep_payments::{Stripe, StripeConfig, StripeWebhooks, X402};
use secrecy::ExposeSecret;

use super::AssemblyContext;
use crate::config;
use crate::config::{BillingMode, ConfigError};
use crate::documents::Site;
use crate::payments::Usdc;
use crate::site::names::DEPOSIT;

/// Card payments.
pub(super) struct Card {
    pub(super) cards: Cards,
    /// Parser of Stripe webhooks, if card payments are enabled.
    pub(super) webhooks: Option<Arc<StripeWebhooks>>,
}

pub(super) fn card(shared: &AssemblyContext<'_>) -> Card {
    let config::Stripe { secret_key, webhook_secrets, api_url } = shared.config.stripe.clone();
    let mut processor = None;
    let mut webhooks = None;
    if !secret_key.expose_secret().is_empty() {
        webhooks = Some(Arc::new(StripeWebhooks::new(webhook_secrets, &secret_key)));
        let config = StripeConfig {
            api_url: api_url.trim_end_matches('/').to_owned(),
            secret_key,
            return_url: shared.config.base_url(),
            product: format!("Credit at {}", shared.config.operator.name),
        };
        // Webhooks still report payments that began while billing was prepaid.
        if shared.config.billing.mode == BillingMode::Prepaid {
            let stripe = Stripe::new(shared.client.clone(), config);
            processor = Some(Arc::new(stripe) as Arc<dyn CardProcessor>);
        }
    }
    let (clock, entropy) = (Arc::clone(shared.clock), Arc::clone(shared.entropy));
    Card { cards: Cards::new(processor, shared.store.checkouts(), clock, entropy), webhooks }
}

/// Returns USDC deposits, if configured.
pub(super) fn usdc(
    shared: &AssemblyContext<'_>,
    site: &Site,
    sign_ups: &Arc<SignUps>,
) -> Result<Option<Usdc>, ConfigError> {
    let settings = shared.config.x402(site.links.url(DEPOSIT, &[]))?;
    Ok(settings.map(|settings| {
        let x402 = Arc::new(X402::new(settings, shared.client.clone(), shared.node.clone()));
        let (clock, entropy) = (Arc::clone(shared.clock), Arc::clone(shared.entropy));
        let (network, store) = (Arc::<X402>::clone(&x402), shared.store.deposits());
        let deposits = Deposits::new(network, store, Arc::clone(sign_ups), clock, entropy);
        Usdc { x402, deposits: Arc::new(deposits) }
    }))
}
