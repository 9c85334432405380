//! The sections of the settings. `default.toml` documents each setting.

#![expect(missing_docs, reason = "every setting is documented in default.toml")]

use std::net::SocketAddr;
use std::path::PathBuf;

use ep_polling::PollId;
use ep_polling::options::MAX_LEVELS;
use ep_upstream::DecisionRule;
use ipnet::IpNet;
use secrecy::SecretString;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    pub listen: SocketAddr,
    pub base_url: String,
    pub secret_key: SecretString,
    pub card_key: u32,
    pub trusted_proxies: Vec<IpNet>,
    pub allowed_origins: Vec<String>,
    pub data_dir: PathBuf,
    pub max_connections: usize,
    pub max_connections_per_address: usize,
    pub first_request_s: u64,
    pub next_request_s: u64,
    pub shutdown_grace_s: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    pub name: String,
    pub url: String,
    pub contact: String,
    pub documentation_url: String,
    pub add_funds_url: String,
    pub terms_url: String,
    pub privacy_url: String,
    pub refunds: String,
    pub law: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    pub search: bool,
    pub ai_input: bool,
    pub ai_train: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    pub url: SecretString,
    pub max_stored_mib: u32,
    pub stalled_after_ms: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    pub url: String,
    pub api_key: SecretString,
    pub demo: Demo,
    pub demo_pace: f64,
    pub timeout_ms: u64,
    pub max_concurrent: usize,
    pub requests_per_minute: u32,
    pub free_requests_per_minute: i64,
    pub unpriced_is_free: bool,
    pub decision_models: Vec<DecisionRule>,
    pub presets: PathBuf,
}

/// Use of the demo roster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Demo {
    /// Used if no upstream is configured.
    Auto,
    /// Never used.
    Off,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Billing {
    pub mode: BillingMode,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accounts {
    pub keys_read_account: bool,
    pub mcp_accept_user_id: bool,
    pub starter_credit_usd: String,
    pub starter_credits_per_address: u32,
    pub starter_credits_per_day: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    pub idle_hours: u32,
    pub max_days: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stripe {
    pub secret_key: SecretString,
    pub webhook_secrets: Vec<SecretString>,
    pub api_url: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    pub issuer_url: String,
    pub client_id: String,
    pub client_secret: SecretString,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    pub network: String,
    pub rpc_url: SecretString,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct X402 {
    pub facilitator_url: String,
    pub pay_to: String,
    pub asset: String,
    pub asset_name: String,
    pub asset_version: String,
    pub confirmations: i64,
}

/// The payer of polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BillingMode {
    /// The calling account.
    Prepaid,
    /// The operator.
    Off,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhooks {
    pub allowed_networks: Vec<IpNet>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub per_minute: u32,
    pub anonymous_per_minute: u32,
    pub sign_in_per_minute: u32,
    pub free_per_minute: u32,
    pub results_per_minute: u32,
    pub public_per_minute: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Polls {
    pub deadline_ms: u64,
    pub lease_ms: u64,
    pub max_running: usize,
    pub max_waiting: usize,
    pub max_batch_rows: usize,
    pub mcp_wait_ms: u64,
    pub keep_anonymous_days: u32,
    pub featured: Vec<PollId>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenAi {
    pub aliases: Vec<ModelAlias>,
}

/// The name of another provider's model that stands for a panel: `gpt-4o-mini=poll`, or `gpt-4.1=poll:0-10` for requests of
/// a score in words.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ModelAlias {
    /// The name in requests.
    pub model: String,
    /// `poll`, or the name of a preset.
    pub panel: String,
    /// The lowest and the highest level of a score that requests without a schema ask for.
    pub scale: Option<(u32, u32)>,
}

/// The form of aliases.
pub const ALIAS: &str = "a list of models, each with its panel, and possibly with the levels of a score, for example gpt-4o-mini=poll or \
     gpt-4.1=poll:0-10";

impl TryFrom<String> for ModelAlias {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (model, panel) = text.split_once('=').ok_or(ALIAS)?;
        let (panel, scale) = match panel.split_once(':') {
            None => (panel, None),
            Some((panel, levels)) => {
                let level = |text: &str| text.trim().parse::<u32>().ok();
                let (lowest, highest) = levels.split_once('-').ok_or(ALIAS)?;
                let scale = level(lowest).zip(level(highest)).ok_or(ALIAS)?;
                (panel, Some(scale))
            }
        };
        let (model, panel) = (model.trim().to_owned(), panel.trim().to_owned());
        let is_scale = scale.is_none_or(|(lowest, highest)| {
            highest.checked_sub(lowest).is_some_and(|steps| (1..MAX_LEVELS as u32).contains(&steps))
        });
        if model.is_empty() || panel.is_empty() || !is_scale {
            return Err(ALIAS);
        }
        Ok(Self { model, panel, scale })
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    pub metrics_listen: String,
    pub log: String,
    pub log_format: LogFormat,
}

/// Log output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// Text.
    Text,
    /// One JSON object per line.
    Json,
}

impl Telemetry {
    /// Reads the log settings from the environment alone, to report errors in the other settings.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let log_format = match variable("EP_LOG_FORMAT").as_deref() {
            Some("text") => LogFormat::Text,
            Some("json") => LogFormat::Json,
            _ => LogFormat::Auto,
        };
        let log = variable("EP_LOG").unwrap_or_else(|| "info".into());
        Self { metrics_listen: String::new(), log, log_format }
    }
}
