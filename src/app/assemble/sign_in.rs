//! Sign-in: sessions, wallets and the identity provider.

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::{
    AccessTokens, ChallengeNonces, Keys, Lifetimes, Sealer, Sessions, SignUps, StarterCredit, Tasks,
    WalletParts, Wallets,
};
use ep_outside::identity::{
    ContractWallets, IssuerTokens, Oidc, OidcConfig, OidcPorts, Provider, Siwe, SiweSite,
};
use ep_pages::web;
use ep_site::Site;
use ep_site::config::Auth;
use ep_site::names::CALLBACK;
use ep_store::StarterCreditLimits;

use super::AssemblyContext;

/// The parts of sign-in.
pub(super) struct SignIn {
    pub(super) sessions: Arc<Sessions>,
    pub(super) sign_ups: Arc<SignUps>,
    pub(super) wallets: Wallets,
}

pub(super) fn assemble(shared: &AssemblyContext<'_>, keys: &Arc<Keys>) -> anyhow::Result<SignIn> {
    let AssemblyContext { config, secret, node, .. } = shared;
    let (clock, entropy) = (|| Arc::clone(shared.clock), || Arc::clone(shared.entropy));
    let lifetimes = Lifetimes {
        idle: Duration::from_hours(config.sessions.idle_hours.max(1).into()),
        absolute: Duration::from_hours(24 * u64::from(config.sessions.max_days.max(1))),
    };
    let sealer = Sealer::derive(secret, "sessions");
    let sessions = Arc::new(Sessions::new(shared.vault.clone(), clock(), entropy(), sealer, lifetimes));
    let limits = StarterCreditLimits {
        per_day: config.accounts.starter_credits_per_day,
        per_network_and_day: config.starter_credits_per_network(),
        per_address_and_day: config.accounts.starter_credits_per_address,
    };
    let starter_credit = StarterCredit { amount: config.starter_credit()?, limits };
    let treasury = shared.treasury.clone();
    let sign_ups = Arc::new(SignUps::new(treasury, Arc::clone(keys), clock(), entropy(), starter_credit));
    let site = SiweSite { base_url: config.base_url().parse()?, chain_id: config.chain_id()? };
    let siwe = Siwe::new(site, node.clone().map(ContractWallets::new));
    let wallets = WalletParts {
        nonces: ChallengeNonces::derive(secret, siwe.domain()),
        messages: Arc::new(siwe),
        vault: shared.vault.clone(),
        treasury: shared.treasury.clone(),
        sign_ups: Arc::clone(&sign_ups),
        sessions: Arc::clone(&sessions),
        keys: Arc::clone(keys),
        clock: clock(),
        entropy: entropy(),
    };
    Ok(SignIn { sessions, sign_ups, wallets: wallets.into() })
}

/// Returns the identity provider, if configured.
pub(super) fn provider(shared: &AssemblyContext<'_>, tasks: &Tasks) -> anyhow::Result<Option<Provider>> {
    let provider = |issuer: &str| Provider::new(issuer.to_owned(), shared.client.clone(), tasks.clone());
    Ok(shared.config.issuer().map(provider).transpose()?)
}

/// Returns the provider's client for signing people in, if configured.
pub(super) fn oidc(
    shared: &AssemblyContext<'_>,
    site: &Site,
    provider: &Provider,
) -> anyhow::Result<Option<Arc<Oidc>>> {
    let Auth { client_id, client_secret, .. } = shared.config.auth.clone();
    if client_id.is_empty() {
        return Ok(None);
    }
    let redirect_url = site.links.url(CALLBACK, &[]);
    let signed_out_url = web::start_page(&shared.config.base_url());
    let config = OidcConfig { client_id, client_secret, redirect_url, signed_out_url };
    let ports = OidcPorts {
        used_nonces: shared.vault.clone(),
        sealer: Sealer::derive(shared.secret, "sign-ins at the provider"),
        clock: Arc::clone(shared.clock),
        entropy: Arc::clone(shared.entropy),
    };
    Ok(Some(Arc::new(Oidc::new(provider.clone(), config, ports)?)))
}

/// Returns the verifier of the provider's access tokens.
pub(super) fn access_tokens(
    shared: &AssemblyContext<'_>,
    site: &Site,
    provider: &Provider,
    sign_ups: &Arc<SignUps>,
) -> AccessTokens {
    let resources = site.protected_resources();
    let resources = resources.iter().map(|resource| resource.identifier(&site.links)).collect();
    let tokens = IssuerTokens::new(provider.clone(), resources, Arc::clone(shared.clock));
    AccessTokens { verifier: Arc::new(tokens), sign_ups: Arc::clone(sign_ups) }
}
