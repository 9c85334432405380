//! Checks of settings that depend on each other.

use std::net::SocketAddr;

use ep_store::DatabaseUrl;
use secrecy::ExposeSecret;
use tracing_subscriber::EnvFilter;

use super::error::ConfigError;
use super::expected::ADDRESS;
use super::{Auth, Config, Operator, Stripe, Telemetry, is_http_url};

/// The maximum number of featured polls: the start page reads them one after another until one can be shown.
const MOST_FEATURED: usize = 20;

impl Config {
    /// Returns the error of a setting, named by its variable. The message names what set it.
    pub(super) fn refused(&self, variable: &'static str, expected: &'static str) -> ConfigError {
        ConfigError::Setting { name: self.origins.name_of(variable), expected }
    }

    /// Returns the error of a setting that cannot be used, named by its variable. The message names what set it.
    pub fn unusable(&self, variable: &'static str, problem: impl std::fmt::Display) -> ConfigError {
        ConfigError::Unusable {
            name: self.origins.name_of(variable),
            problem: format!("cannot be used: {problem}"),
        }
    }

    /// Rejects a database URL that names no database.
    pub fn check_database_url(&self) -> Result<(), ConfigError> {
        let url = self.database.url.expose_secret();
        match url.parse::<DatabaseUrl>() {
            Err(error) if !url.is_empty() => Err(self.unusable("EP_DATABASE_URL", error)),
            _ => Ok(()),
        }
    }

    pub(super) fn check_telemetry(&self) -> Result<(), ConfigError> {
        let Telemetry { metrics_listen, log, .. } = &self.telemetry;
        if !metrics_listen.is_empty() && metrics_listen.parse::<SocketAddr>().is_err() {
            return Err(self.refused("EP_METRICS_LISTEN", ADDRESS));
        }
        if EnvFilter::try_new(log).is_err() {
            let expected = "a list of filter directives, for example info or ensemble_poll=debug";
            return Err(self.refused("EP_LOG", expected));
        }
        Ok(())
    }

    pub(super) fn check_demo_pace(&self) -> Result<(), ConfigError> {
        let pace = self.upstream.demo_pace;
        if pace.is_finite() && pace >= 0.0 {
            return Ok(());
        }
        Err(self.refused("EP_DEMO_PACE", "a number, 0 or more"))
    }

    /// Rejects a public base URL that clients could not use.
    pub fn check_base_url(&self) -> Result<(), ConfigError> {
        if !is_http_url(&self.base_url()) {
            let expected = "a URL that begins with http:// or https:// and has a host";
            return Err(self.refused("EP_BASE_URL", expected));
        }
        Ok(())
    }

    pub(super) fn check_allowed_origins(&self) -> Result<(), ConfigError> {
        let is_origin =
            |text: &String| text == "*" || url::Url::parse(text).is_ok_and(|url| url.origin().is_tuple());
        if self.server.allowed_origins.iter().all(is_origin) {
            return Ok(());
        }
        let expected = "origins such as https://app.example, or *";
        Err(self.refused("EP_ALLOWED_ORIGINS", expected))
    }

    pub(super) fn check_featured_polls(&self) -> Result<(), ConfigError> {
        if self.polls.featured.len() <= MOST_FEATURED {
            return Ok(());
        }
        Err(self.refused("EP_FEATURED_POLLS", "a list of at most 20 polls"))
    }

    /// Rejects Stripe settings with which payments could not be credited.
    pub(super) fn check_stripe(&self) -> Result<(), ConfigError> {
        let Stripe { secret_key, webhook_secrets, api_url } = &self.stripe;
        if secret_key.expose_secret().is_empty() {
            let expected = "empty if EP_STRIPE_SECRET_KEY is empty";
            let refused = self.refused("EP_STRIPE_WEBHOOK_SECRET", expected);
            return if webhook_secrets.is_empty() { Ok(()) } else { Err(refused) };
        }
        if webhook_secrets.is_empty() {
            let expected = "set if EP_STRIPE_SECRET_KEY is set";
            return Err(self.refused("EP_STRIPE_WEBHOOK_SECRET", expected));
        }
        if is_http_url(api_url) {
            return Ok(());
        }
        let expected = "a URL that begins with https://";
        Err(self.refused("EP_STRIPE_API_URL", expected))
    }

    /// Rejects an incomplete provider, or one that a network attacker could impersonate.
    pub(super) fn check_auth(&self) -> Result<(), ConfigError> {
        let Auth { issuer_url, client_id, client_secret } = &self.auth;
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
        let refused = |variable, expected| Err(self.refused(variable, expected));
        match given {
            _ if !is_safe => {
                refused("EP_AUTH_ISSUER_URL", "a URL that begins with https:// (http:// on this machine)")
            }
            [_, false, true] => refused("EP_AUTH_CLIENT_ID", "set if EP_AUTH_CLIENT_SECRET is set"),
            [_, true, false] => refused("EP_AUTH_CLIENT_SECRET", "set if EP_AUTH_CLIENT_ID is set"),
            _ => Ok(()),
        }
    }

    pub(super) fn check_operator(&self) -> Result<(), ConfigError> {
        let Operator { url, documentation_url, add_funds_url, terms_url, privacy_url, contact, .. } =
            &self.operator;
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
        if !contact.is_empty() && !is_page(contact) && !is_mailbox(contact) {
            let expected = "an email address, or a URL that begins with https:// or mailto:";
            return Err(self.refused("EP_CONTACT", expected));
        }
        for (variable, page) in pages {
            if !page.is_empty() && !is_page(page) {
                let expected = "a URL that begins with http://, https:// or mailto:";
                return Err(self.refused(variable, expected));
            }
        }
        Ok(())
    }
}
