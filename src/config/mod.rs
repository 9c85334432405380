//! Settings: defaults, then `ep.toml`, then the environment, then flags.
//!
//! `default.toml` is embedded and parsed as the actual defaults, so its documentation cannot drift from them.

mod checks;
mod error;
mod expected;
mod layers;
mod networks;
mod origins;
mod secret;
mod secret_variables;
mod sections;
mod spelling;
mod unknown_variables;
mod variables;

use std::path::PathBuf;
use std::time::Duration;

use ep_payments::X402Config;
use ep_polling::money::{MicroUsd, UsdFigure};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

pub use error::ConfigError;
pub use expected::ADDRESS;
pub use layers::{DEFAULTS, load};
pub use origins::Origins;
pub use secret::{create_secret_key, key_file, secret_key};
pub use secret_variables::read_variable;
pub use sections::{
    Accounts, Auth, Billing, BillingMode, Chain, Content, Database, Demo, Limits, LogFormat, ModelAlias,
    OpenAi, Operator, Polls, Server, Sessions, Stripe, Telemetry, Upstream, Webhooks, X402,
};
pub use spelling::nearest;
pub use unknown_variables::unknown_variables;

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

    /// Settings of USDC deposits, if configured; `resource` is the URL that is paid for.
    pub fn x402(&self, resource: String) -> Result<Option<X402Config>, ConfigError> {
        let X402 { facilitator_url, pay_to, asset, asset_name, asset_version, confirmations } = &self.x402;
        let refused = |variable, expected| self.refused(variable, expected);
        if facilitator_url.is_empty() {
            let unused = refused("EP_X402_PAY_TO", "empty if EP_X402_FACILITATOR_URL is empty");
            return if pay_to.is_empty() { Ok(None) } else { Err(unused) };
        }
        if !is_http_url(facilitator_url) {
            return Err(refused("EP_X402_FACILITATOR_URL", "a URL that begins with https://"));
        }
        let chain_id = self.chain_id()?;
        // Circle's contracts and their EIP-712 domain names.
        let (known_asset, known_name) = match chain_id {
            8453 => ("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin"),
            84532 => ("0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC"),
            _ => ("", ""),
        };
        let or =
            |given: &str, known: &str| if given.is_empty() { known.to_owned() } else { given.to_owned() };
        let asset_name = or(asset_name, if asset.is_empty() { known_name } else { "" });
        if asset_name.is_empty() {
            return Err(refused("EP_X402_ASSET_NAME", "set if EP_X402_ASSET is set"));
        }
        let address = "an address: 0x and 40 hexadecimal digits";
        let confirmations = match *confirmations {
            -1 => networks::confirmations(chain_id),
            given => u64::try_from(given).map_err(|_| {
                refused("EP_X402_CONFIRMATIONS", "a number of blocks, or -1 for the network's default")
            })?,
        };
        Ok(Some(X402Config {
            facilitator_url: facilitator_url.clone(),
            chain_id,
            asset: or(asset, known_asset).parse().map_err(|_| refused("EP_X402_ASSET", address))?,
            asset_name,
            asset_version: asset_version.clone(),
            pay_to: pay_to.parse().map_err(|_| refused("EP_X402_PAY_TO", address))?,
            resource,
            confirmations,
        }))
    }

    /// Requires a chain node if USDC is accepted. Without one, a settlement with a lost response can never be
    /// decided. A missing node is an error on a mainnet, and a warning on a known test network.
    pub fn check_chain_node(&self) -> Result<(), ConfigError> {
        if self.x402.facilitator_url.is_empty() || self.rpc_url()?.is_some() {
            return Ok(());
        }
        if networks::is_test_network(self.chain_id()?) {
            tracing::warn!(
                network = self.chain.network,
                "USDC is accepted without a chain node: lost settlements cannot be decided and transfers are not \
                 confirmed; set EP_X402_RPC_URL"
            );
            return Ok(());
        }
        let expected = "set if EP_X402_FACILITATOR_URL is set: real USDC requires a node of its chain, which decides \
                        whether a payment was made (test networks work without)";
        Err(self.refused("EP_X402_RPC_URL", expected))
    }

    /// Time limit for one poll.
    pub fn poll_deadline(&self) -> Duration {
        Duration::from_millis(self.polls.deadline_ms)
    }
}

/// True for a valid HTTP URL with a host.
fn is_http_url(text: &str) -> bool {
    url::Url::parse(text)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
}
