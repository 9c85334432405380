//! Puts the service together: settings in, a running [`App`] out.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ep_kernel::accounts::{self, Accounts};
use ep_kernel::api_key::Pepper;
use ep_kernel::app::{App, Settings, Tasks};
use ep_kernel::executor::{PollExecutor, Ports};
use ep_kernel::fault::Fault;
use ep_kernel::ports::{Clock, Entropy, Limiter, Models};
use ep_store::{DatabaseUrl, Store, StoreOptions};
use ep_upstream::{Demo, DemoConfig, FreeLimit, NotConfigured, Upstream, UpstreamConfig};
use secrecy::ExposeSecret;

use crate::clock::{SystemClock, SystemEntropy};
use crate::config::{self, BillingMode, Config};
use crate::limiter::MemoryLimiter;

/// The service and what must be closed after it.
pub struct Running {
    /// The service.
    pub app: Arc<App>,
    store: Store,
    lease: Duration,
}

/// Opens the database, finds the models and puts the service together. Nothing runs in the background yet.
pub async fn assemble(config: &Config) -> anyhow::Result<Running> {
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let secret = config::secret_key(config, &*entropy)?;
    let url: DatabaseUrl = config.database_url()?.expose_secret().parse()?;
    let store =
        ep_store::connect(&url, StoreOptions::default()).await.context("the database cannot be opened")?;
    let tasks = Tasks::default();
    let models = models(config, &store, &clock, &tasks)?;
    let lease = Duration::from_millis(config.polls.lease_ms.max(1000));
    let ports = Ports {
        polls: store.polls(),
        models: Arc::clone(&models),
        clock: Arc::clone(&clock),
        entropy: Arc::clone(&entropy),
        tasks: tasks.clone(),
    };
    let accounts = accounts::Ports {
        users: store.users(),
        keys: store.keys(),
        ledger: store.ledger(),
        clock: Arc::clone(&clock),
        entropy: Arc::clone(&entropy),
    };
    let limiter = store.limiter().unwrap_or_else(|| Arc::new(MemoryLimiter::default()) as Arc<dyn Limiter>);
    let app = App {
        settings: Settings {
            base_url: config.base_url(),
            billing: config.billing.mode == BillingMode::Prepaid,
            rate_limit: config.limits.per_minute,
            anonymous_rate_limit: config.limits.anonymous_per_minute,
            free_rate_limit: config.limits.free_per_minute,
            poll_deadline: config.poll_deadline(),
            mcp_wait: Duration::from_millis(config.polls.mcp_wait_ms),
            version: env!("CARGO_PKG_VERSION"),
            commit: option_env!("EP_GIT_COMMIT"),
        },
        executor: PollExecutor::new(ports, lease, config.poll_deadline()),
        clock,
        entropy,
        limiter,
        accounts: Accounts::new(accounts, Pepper::derive(secret.expose_secret())),
        balances: store.balances(),
        polls: store.polls(),
        idempotency: store.idempotency(),
        models,
        tasks,
        key_uses: ep_kernel::admission::KeyUses::default(),
    };
    Ok(Running { app: Arc::new(app), store, lease })
}

fn models(
    config: &Config,
    store: &Store,
    clock: &Arc<dyn Clock>,
    tasks: &Tasks,
) -> anyhow::Result<Arc<dyn Models>> {
    let settings = &config.upstream;
    let presets_path = Some(settings.presets.clone()).filter(|path| !path.as_os_str().is_empty());
    if settings.url.is_empty() {
        return Ok(match settings.demo {
            config::Demo::Auto => {
                let demo = DemoConfig { latency_scale: settings.demo_pace, presets_path };
                Arc::new(Demo::new(&demo, Arc::clone(clock))?)
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
        max_concurrent: settings.max_concurrent,
        requests_per_minute: per_minute,
        free_requests_per_minute: free,
        treat_unpriced_as_free: settings.unpriced_is_free,
        ..UpstreamConfig::default()
    };
    Ok(Arc::new(Upstream::new(
        upstream,
        store.upstream_cache(),
        Arc::clone(clock),
        tasks.tracker(),
        tasks.token(),
    )?))
}

impl Running {
    /// Begins the background work of a server: heartbeats, taking up what was left behind, sweeping.
    pub fn begin_upkeep(&self) {
        let tasks = &self.app.tasks;
        let app = Arc::clone(&self.app);
        tasks.every("renew leases", self.lease / 3, move || {
            let app = Arc::clone(&app);
            async move { app.executor.renew().await }
        });
        let app = Arc::clone(&self.app);
        tasks.every("take up polls", self.lease / 2, move || {
            let app = Arc::clone(&app);
            async move { app.executor.resume().await.map(drop) }
        });
        let app = Arc::clone(&self.app);
        tasks.every("note key uses", Duration::from_secs(15), move || {
            let app = Arc::clone(&app);
            async move { note_key_uses(&app).await }
        });
        let app = Arc::clone(&self.app);
        tasks.every("sweep replies", Duration::from_mins(10), move || {
            let app = Arc::clone(&app);
            async move { Ok(app.idempotency.sweep(app.clock.now()).await.map(drop)?) }
        });
    }

    /// Stops: running polls get `grace` to end; the rest is left to the next start.
    pub async fn stop(self, grace: Duration) {
        let ended = self.app.tasks.shut_down(grace).await;
        if !ended {
            tracing::warn!(
                polls = self.app.executor.running(),
                "stopping with polls running; the next start resumes them"
            );
            if let Err(fault) = self.app.executor.release().await {
                tracing::warn!(error = %fault, "leases could not be released; they end by themselves");
            }
        }
        if let Err(fault) = note_key_uses(&self.app).await {
            tracing::debug!(error = %fault, "key uses could not be noted");
        }
        self.store.close().await;
    }
}

async fn note_key_uses(app: &App) -> Result<(), Fault> {
    let uses = app.key_uses.take();
    if uses.is_empty() { Ok(()) } else { app.accounts.record_key_uses(&uses).await }
}
