//! The models that vote: those of an upstream, or the demo roster.

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::{Clock, Models, Tasks};
use ep_outgoing::HttpClients;
use ep_site::config;
use ep_site::config::Config;
use ep_store::Runtime;
use ep_upstream::{Demo, DemoConfig, FreeLimit, NotConfigured, SetupError, Upstream, UpstreamConfig};
use secrecy::ExposeSecret;

use crate::app::open_files;

pub(super) fn models(
    config: &Config,
    runtime: &Runtime,
    clock: &Arc<dyn Clock>,
    tasks: &Tasks,
    http: HttpClients,
) -> anyhow::Result<Arc<dyn Models>> {
    let settings = &config.upstream;
    let presets_path = Some(settings.presets.clone()).filter(|path| !path.as_os_str().is_empty());
    if settings.url.is_empty() {
        return Ok(match settings.demo {
            config::Demo::Auto => {
                let demo = DemoConfig { latency_scale: settings.demo_pace, presets_path };
                Arc::new(Demo::new(&demo, Arc::clone(clock)).map_err(|error| named(config, error))?)
            }
            config::Demo::Off => Arc::new(NotConfigured),
        });
    }
    let per_minute = std::num::NonZeroU32::new(settings.requests_per_minute);
    let free = match u32::try_from(settings.free_requests_per_minute) {
        Ok(limit) => std::num::NonZeroU32::new(limit).map_or(FreeLimit::Unlimited, FreeLimit::PerMinute),
        Err(_) => FreeLimit::Known,
    };
    let key = Some(settings.api_key.clone()).filter(|key| !key.expose_secret().is_empty());
    let upstream = UpstreamConfig {
        base_url: settings.url.clone(),
        api_key: key,
        public_url: Some(config.base_url()),
        presets_path,
        model_timeout: Duration::from_millis(settings.timeout_ms),
        max_concurrent: open_files::model_calls(config),
        requests_per_minute: per_minute,
        free_requests_per_minute: free,
        charges: config.charges(),
        treat_unpriced_as_free: settings.unpriced_is_free,
        decision_models: settings.decision_models.clone(),
        http,
        ..UpstreamConfig::default()
    };
    let upstream =
        Upstream::new(upstream, runtime.upstream_cache(), Arc::clone(clock), tasks.tracker(), tasks.token());
    Ok(Arc::new(upstream.map_err(|error| named(config, error))?))
}

/// Returns an error of the setup with the name of the setting that is wrong.
fn named(config: &Config, error: SetupError) -> anyhow::Error {
    let variable = match error {
        SetupError::BaseUrl(_) => "EP_UPSTREAM_URL",
        SetupError::ApiKey => "EP_UPSTREAM_API_KEY",
        SetupError::PublicUrl => "EP_BASE_URL",
        SetupError::Presets(_) => "EP_PRESETS",
        SetupError::Client(_) => return error.into(),
    };
    config.unusable(variable, error).into()
}
