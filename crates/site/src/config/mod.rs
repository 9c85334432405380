//! The types of the settings. `default.toml` is parsed as the actual defaults, so its documentation cannot drift from them.

mod error;
mod origins;
mod sections;
mod variables;

use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use ep_polling::{MicroUsd, UsdFigure};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use toml::{Table, Value};

pub use error::ConfigError;
pub use origins::{Origins, line_of};
pub use sections::{
    ALIAS, Accounts, Auth, Billing, BillingMode, Chain, Content, Database, Demo, Limits, LogFormat,
    ModelAlias, OpenAi, Operator, Polls, Server, Sessions, Stripe, Telemetry, Upstream, Webhooks, X402,
};
pub use variables::VARIABLES;

/// The commented defaults.
pub const DEFAULTS: &str = include_str!("default.toml");

/// All settings. `default.toml` documents each one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "every setting is documented in default.toml")]
pub struct Config {
    pub server: Server,
    pub operator: Operator,
    pub content: Content,
    pub database: Database,
    pub upstream: Upstream,
    pub billing: Billing,
    pub accounts: Accounts,
    pub sessions: Sessions,
    pub stripe: Stripe,
    pub auth: Auth,
    pub chain: Chain,
    pub x402: X402,
    pub webhooks: Webhooks,
    pub limits: Limits,
    pub polls: Polls,
    pub openai: OpenAi,
    pub telemetry: Telemetry,
    #[serde(skip)]
    pub origins: Origins,
}

impl Config {
    /// Returns the defaults.
    pub fn defaults() -> Result<Self, String> {
        Self::decode(DEFAULTS.parse().map_err(|error: toml::de::Error| error.to_string())?)
    }

    /// Decodes the settings. The error is the path of the setting at which the decoder stopped: its message quotes values.
    pub fn decode(settings: Table) -> Result<Self, String> {
        serde_path_to_error::deserialize(Value::Table(settings))
            .map_err(|error: serde_path_to_error::Error<toml::de::Error>| error.path().to_string())
    }

    /// Returns the public base URL, without a trailing slash.
    pub fn base_url(&self) -> String {
        let given = self.server.base_url.trim_end_matches('/');
        if given.is_empty() { format!("http://{}", self.server.listen) } else { given.to_owned() }
    }

    /// Returns the default folder of the database and the secret key.
    pub fn data_dir(&self) -> Result<PathBuf, ConfigError> {
        use etcetera::BaseStrategy;
        if !self.server.data_dir.as_os_str().is_empty() {
            return Ok(self.server.data_dir.clone());
        }
        let strategy = etcetera::choose_base_strategy().map_err(|_| ConfigError::NoHome)?;
        Ok(strategy.data_dir().join("ensemble-poll"))
    }

    /// Returns the database URL, which may contain a password.
    pub fn database_url(&self) -> Result<SecretString, ConfigError> {
        if !self.database.url.expose_secret().is_empty() {
            return Ok(self.database.url.clone());
        }
        let file = self.data_dir()?.join("ensemble-poll.db");
        Ok(format!("sqlite://{}", file.display()).into())
    }

    /// Lease of a process on its polls.
    pub fn lease(&self) -> Duration {
        Duration::from_millis(self.polls.lease_ms.max(1000))
    }

    /// Longest time between a poll's deadline and its settlement, whichever process dies. It covers the end of the
    /// lease and the time until another, possibly busy, process finds the poll.
    pub fn settled_within(&self) -> Duration {
        self.lease() * 3
    }

    /// Daily starter credits per network: a tenth of the total, rounded up, so that one network cannot use up
    /// the whole budget. 0 means no limit.
    pub const fn starter_credits_per_network(&self) -> u32 {
        self.accounts.starter_credits_per_day.div_ceil(10)
    }

    /// True if polls are charged.
    pub fn charges(&self) -> bool {
        self.billing.mode == BillingMode::Prepaid
    }

    /// Starter credit of a new account; zero where polls are not charged.
    pub fn starter_credit(&self) -> Result<MicroUsd, ConfigError> {
        let credit: Option<UsdFigure> = self.accounts.starter_credit_usd.parse().ok();
        let credit = credit.filter(|credit| !credit.is_negative()).map(UsdFigure::floor_micro);
        let expected = "an amount in USD, for example 1.00";
        let credit = credit.ok_or_else(|| self.refused("EP_STARTER_CREDIT_USD", expected))?;
        Ok(if self.charges() { credit } else { MicroUsd::ZERO })
    }

    /// The chain id (EIP-155) of wallets and deposits.
    pub fn chain_id(&self) -> Result<u64, ConfigError> {
        let id = self.chain.network.strip_prefix("eip155:").and_then(|id| id.parse().ok());
        let expected = "eip155: and the number of a chain, for example eip155:8453";
        id.ok_or_else(|| self.refused("EP_X402_NETWORK", expected))
    }

    /// URL of the chain's node, if configured.
    pub fn rpc_url(&self) -> Result<Option<SecretString>, ConfigError> {
        let given = self.chain.rpc_url.expose_secret();
        if given.is_empty() || is_http_url(given) {
            return Ok((!given.is_empty()).then(|| self.chain.rpc_url.clone()));
        }
        let expected = "a URL that begins with http:// or https://";
        Err(self.refused("EP_X402_RPC_URL", expected))
    }

    /// Issuer URL of the identity provider, if configured.
    pub fn issuer(&self) -> Option<&str> {
        Some(self.auth.issuer_url.as_str()).filter(|issuer| !issuer.is_empty())
    }

    /// Returns the error of a setting, named by its variable. The message names what set it.
    pub fn refused(&self, variable: &'static str, expected: &'static str) -> ConfigError {
        ConfigError::Setting { name: self.origins.name_of(variable), expected }
    }

    /// Returns the error of a setting that cannot be used, named by its variable. The message names what set it.
    pub fn unusable(&self, variable: &'static str, problem: impl Display) -> ConfigError {
        ConfigError::Unusable {
            name: self.origins.name_of(variable),
            problem: format!("cannot be used: {problem}"),
        }
    }

    /// Time limit for one poll.
    pub fn poll_deadline(&self) -> Duration {
        Duration::from_millis(self.polls.deadline_ms)
    }
}

/// True for a valid HTTP URL with a host.
pub fn is_http_url(text: &str) -> bool {
    url::Url::parse(text)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
}
