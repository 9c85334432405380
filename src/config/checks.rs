//! Checks of settings that depend on each other.

use std::net::SocketAddr;

use ep_site::config::{Auth, Config, ConfigError, Operator, Stripe, Telemetry, is_http_url};
use ep_store::DatabaseUrl;
use secrecy::ExposeSecret;
use tracing_subscriber::EnvFilter;

use super::expected::ADDRESS;

/// The maximum number of featured polls: the start page reads them one after another until one can be shown.
const MOST_FEATURED: usize = 20;

/// Rejects a database URL that names no database.
pub fn check_database_url(config: &Config) -> Result<(), ConfigError> {
    let url = config.database.url.expose_secret();
    match url.parse::<DatabaseUrl>() {
        Err(error) if !url.is_empty() => Err(config.unusable("EP_DATABASE_URL", error)),
        _ => Ok(()),
    }
}

fn ensure(
    config: &Config,
    is_right: bool,
    variable: &'static str,
    expected: &'static str,
) -> Result<(), ConfigError> {
    if is_right { Ok(()) } else { Err(config.refused(variable, expected)) }
}

pub(super) fn check_telemetry(config: &Config) -> Result<(), ConfigError> {
    let Telemetry { metrics_listen, log, .. } = &config.telemetry;
    let is_address = metrics_listen.is_empty() || metrics_listen.parse::<SocketAddr>().is_ok();
    ensure(config, is_address, "EP_METRICS_LISTEN", ADDRESS)?;
    let expected = "a list of filter directives, for example info or ep_upstream=debug";
    ensure(config, EnvFilter::try_new(log).is_ok(), "EP_LOG", expected)
}

pub(super) fn check_demo_pace(config: &Config) -> Result<(), ConfigError> {
    let pace = config.upstream.demo_pace;
    ensure(config, pace.is_finite() && pace >= 0.0, "EP_DEMO_PACE", "a number, 0 or more")
}

/// Rejects a public base URL that clients could not use.
pub fn check_base_url(config: &Config) -> Result<(), ConfigError> {
    let expected = "a URL that begins with http:// or https:// and has a host";
    ensure(config, is_http_url(&config.base_url()), "EP_BASE_URL", expected)
}

pub(super) fn check_allowed_origins(config: &Config) -> Result<(), ConfigError> {
    let is_origin =
        |text: &String| text == "*" || url::Url::parse(text).is_ok_and(|url| url.origin().is_tuple());
    let are_origins = config.server.allowed_origins.iter().all(is_origin);
    ensure(config, are_origins, "EP_ALLOWED_ORIGINS", "origins such as https://app.example, or *")
}

pub(super) fn check_featured_polls(config: &Config) -> Result<(), ConfigError> {
    let fits = config.polls.featured.len() <= MOST_FEATURED;
    ensure(config, fits, "EP_FEATURED_POLLS", "a list of at most 20 polls")
}

/// Rejects Stripe settings with which payments could not be credited.
pub(super) fn check_stripe(config: &Config) -> Result<(), ConfigError> {
    let Stripe { secret_key, webhook_secrets, api_url } = &config.stripe;
    let webhook = "EP_STRIPE_WEBHOOK_SECRET";
    if secret_key.expose_secret().is_empty() {
        let expected = "empty if EP_STRIPE_SECRET_KEY is empty";
        return ensure(config, webhook_secrets.is_empty(), webhook, expected);
    }
    ensure(config, !webhook_secrets.is_empty(), webhook, "set if EP_STRIPE_SECRET_KEY is set")?;
    ensure(config, is_http_url(api_url), "EP_STRIPE_API_URL", "a URL that begins with https://")
}

/// Rejects an incomplete provider, or one that a network attacker could impersonate.
pub(super) fn check_auth(config: &Config) -> Result<(), ConfigError> {
    let Auth { issuer_url, client_id, client_secret } = &config.auth;
    let given = [issuer_url, client_id, client_secret.expose_secret()].map(|text| !text.is_empty());
    if given == [false; 3] {
        return Ok(());
    }
    let issuer = url::Url::parse(issuer_url).ok();
    let is_safe = issuer.is_some_and(|url| match (url.scheme(), url.host()) {
        ("https", Some(_)) => true,
        ("http", Some(url::Host::Domain(name))) => name == "localhost",
        ("http", Some(url::Host::Ipv4(address))) => address.is_loopback(),
        ("http", Some(url::Host::Ipv6(address))) => address.is_loopback(),
        _ => false,
    });
    let expected = "a URL that begins with https:// (http:// on this machine)";
    ensure(config, is_safe, "EP_AUTH_ISSUER_URL", expected)?;
    let [_, has_id, has_secret] = given;
    ensure(config, has_id || !has_secret, "EP_AUTH_CLIENT_ID", "set if EP_AUTH_CLIENT_SECRET is set")?;
    ensure(config, has_secret || !has_id, "EP_AUTH_CLIENT_SECRET", "set if EP_AUTH_CLIENT_ID is set")
}

pub(super) fn check_operator(config: &Config) -> Result<(), ConfigError> {
    let Operator { url, documentation_url, add_funds_url, terms_url, privacy_url, contact, .. } =
        &config.operator;
    let pages = [
        ("EP_OPERATOR_URL", url),
        ("EP_DOCUMENTATION_URL", documentation_url),
        ("EP_ADD_FUNDS_URL", add_funds_url),
        ("EP_OPERATOR_TERMS_URL", terms_url),
        ("EP_OPERATOR_PRIVACY_URL", privacy_url),
    ];
    let is_page = |text: &str| {
        url::Url::parse(text).is_ok_and(|page| matches!(page.scheme(), "http" | "https" | "mailto"))
    };
    let is_mailbox = |text: &str| {
        let parts = text.rsplit_once('@').filter(|(name, host)| !name.is_empty() && !host.is_empty());
        parts.is_some() && !text.contains(|c: char| c.is_whitespace() || c.is_control())
    };
    let is_contact = contact.is_empty() || is_page(contact) || is_mailbox(contact);
    let expected = "an email address, or a URL that begins with https:// or mailto:";
    ensure(config, is_contact, "EP_CONTACT", expected)?;
    let expected = "a URL that begins with http://, https:// or mailto:";
    pages
        .into_iter()
        .try_for_each(|(variable, page)| ensure(config, page.is_empty() || is_page(page), variable, expected))
}
