//! What an operator can set about an upstream.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

/// Settings of one OpenAI-compatible upstream. `..Default::default()` gives everything but the address.
#[derive(Clone)]
pub struct UpstreamConfig {
    /// The address that `/models` and `/chat/completions` follow, for example
    /// `https://openrouter.ai/api/v1`.
    pub base_url: String,
    /// Sent as a bearer token, where there is one.
    pub api_key: Option<SecretString>,
    /// Our own public address; OpenRouter attributes requests to it.
    pub public_url: Option<String>,
    /// A file of presets that replaces the built-in ones.
    pub presets_path: Option<PathBuf>,
    /// The most that one vote may take, from its first request on.
    pub model_timeout: Duration,
    /// The most that opening a connection may take.
    pub connect_timeout: Duration,
    /// The most that fetching the model list may take.
    pub registry_timeout: Duration,
    /// How long a fetched model list is taken as current.
    pub registry_ttl: Duration,
    /// Requests in flight at any moment, over all polls.
    pub max_concurrent: usize,
    /// The upstream's limit for all requests; `None`: none.
    pub requests_per_minute: Option<NonZeroU32>,
    /// The upstream's limit for free models; [`FreeLimit::Known`] by default.
    pub free_requests_per_minute: FreeLimit,
    /// Whether models without a listed price cost nothing: true for servers of one's own.
    pub treat_unpriced_as_free: bool,
}

/// The address is left out: it may hold a password.
impl std::fmt::Debug for UpstreamConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamConfig")
            .field("public_url", &self.public_url)
            .field("presets_path", &self.presets_path)
            .field("model_timeout", &self.model_timeout)
            .field("max_concurrent", &self.max_concurrent)
            .finish_non_exhaustive()
    }
}

/// How many requests a minute the free models of an upstream take together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FreeLimit {
    /// What is known of the upstream: 20 for OpenRouter, none for others.
    #[default]
    Known,
    /// This many.
    PerMinute(NonZeroU32),
    /// No limit.
    Unlimited,
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        Self {
            base_url: String::new(),
            api_key: None,
            public_url: None,
            presets_path: None,
            model_timeout: Duration::from_secs(45),
            connect_timeout: Duration::from_secs(5),
            registry_timeout: Duration::from_secs(10),
            registry_ttl: Duration::from_hours(1),
            max_concurrent: 512,
            requests_per_minute: None,
            free_requests_per_minute: FreeLimit::Known,
            treat_unpriced_as_free: false,
        }
    }
}

/// Why an upstream or a demo roster could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The address is not one.
    #[error("the upstream address is not usable: {0}")]
    BaseUrl(&'static str),
    /// The key or the public address holds characters that no header can.
    #[error("the {0} holds characters that cannot be sent in a header")]
    Header(&'static str),
    /// The file of presets cannot be read, or breaks a rule.
    #[error("the presets cannot be used: {0}")]
    Presets(String),
    /// The HTTP client could not be built, for example without any root certificate.
    #[error("the HTTP client could not be set up")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
}
