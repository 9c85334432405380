//! The settings of an upstream.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use ep_outgoing::HttpClients;
use secrecy::SecretString;

use crate::decision_rules::DecisionRule;

/// The settings of one OpenAI-compatible upstream. All except the URL have defaults.
#[derive(Clone)]
pub struct UpstreamConfig {
    /// The base URL, to which `/models` and `/chat/completions` are appended, for example
    /// `https://openrouter.ai/api/v1`.
    pub base_url: String,
    /// The API key, sent as a bearer token.
    pub api_key: Option<SecretString>,
    /// The public URL of this service, to which OpenRouter attributes requests.
    pub public_url: Option<String>,
    /// A file of presets that replaces the built-in ones.
    pub presets_path: Option<PathBuf>,
    /// Maximum duration of a vote, from its first request on.
    pub model_timeout: Duration,
    /// Maximum duration of opening a connection.
    pub connect_timeout: Duration,
    /// Maximum duration of fetching the model list.
    pub registry_timeout: Duration,
    /// Age at which a model list is fetched again.
    pub registry_ttl: Duration,
    /// Maximum number of requests in flight, over all polls.
    pub max_concurrent: usize,
    /// The upstream's limit for all requests, if it has one.
    pub requests_per_minute: Option<NonZeroU32>,
    /// The upstream's limit for free models; [`FreeLimit::Known`] by default.
    pub free_requests_per_minute: FreeLimit,
    /// True if polls are charged. The advice in errors depends on it.
    pub charges: bool,
    /// True if models without a listed price are free, as on a self-hosted server.
    pub treat_unpriced_as_free: bool,
    /// The decision models that the model list does not mark. The first matching rule decides.
    pub decision_models: Vec<DecisionRule>,
    /// The factory of HTTP clients.
    pub http: HttpClients,
}

/// Omits the URL, which may contain a password.
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

/// The upstream's limit of requests per minute for all free models together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FreeLimit {
    /// The known limit: 20 for OpenRouter, none for others.
    #[default]
    Known,
    /// This number of requests per minute.
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
            max_concurrent: 2048,
            requests_per_minute: None,
            free_requests_per_minute: FreeLimit::Known,
            charges: true,
            treat_unpriced_as_free: false,
            decision_models: Vec::new(),
            http: HttpClients::default(),
        }
    }
}

/// The error of setting up an upstream or a demo roster.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The URL is invalid.
    #[error("{0}")]
    BaseUrl(&'static str),
    /// The key contains characters that a header cannot contain.
    #[error("the key contains characters that cannot be sent in a header")]
    ApiKey,
    /// The public URL contains characters that a header cannot contain.
    #[error("the URL contains characters that cannot be sent in a header")]
    PublicUrl,
    /// The presets file cannot be read, or is invalid.
    #[error("{0}")]
    Presets(String),
    /// The HTTP client could not be built, for example because no root certificate is installed.
    #[error("the HTTP client could not be set up")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
}
