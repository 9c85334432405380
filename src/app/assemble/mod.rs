//! Assembles the service: turns settings and an environment into a running [`App`].

mod models;
mod secret_key;
mod sign_in;
mod stop;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ep_kernel::app::{App, Pushes};
use ep_kernel::batches;
use ep_kernel::executor;
use ep_kernel::guard::{Guard, Limits};
use ep_kernel::{
    AccountData, Accounts, BatchSettings, Batches, Clock, DatabaseHealth, Entropy, Entry, Idempotency,
    KeyUses, Keys, Links, Pepper, PollExecutor, PollLimits, Proposals, Reputation, Sealer, Settings,
    SigningKeys, Tasks, ToolPorts, WebhookParts, WebhookSecrets, WebhookSender, Webhooks,
};
use ep_outgoing::{HttpClients, HttpWebhooks, Node, PublicTargets};
use ep_outside::identity::{Oidc, Provider};
use ep_protocols::batch_rows::batch_endpoints;
use ep_protocols::openai;
use ep_site::config::{Config, ConfigError};
use ep_site::{Site, SiteSettings};
use ep_store::{DatabaseUrl, Limiter, OpenDatabase, Runtime, Store, StoreOptions, Treasury, Vault};
use ep_tools::polls::PollCompleted;
use metrics_exporter_prometheus::PrometheusHandle;
use secrecy::ExposeSecret;

use self::models::models;
use self::secret_key::secret_key;
pub(super) use self::stop::store_key_uses;
use super::clock::{SystemClock, SystemEntropy};
use super::limiter::MemoryLimiter;
use super::routes;
use crate::payments::{RAILS, RailParts, Rails};

/// The service's environment; tests replace it.
pub struct Environment {
    /// Source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Source of randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Factory of HTTP client builders.
    pub http: HttpClients,
    /// The available operations.
    pub tools: &'static [Entry],
    /// True if outputs link to the service even without a base URL; false if nothing listens.
    pub links: bool,
}

impl Environment {
    /// Returns the system clock, system randomness and all operations.
    pub fn system() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            http: HttpClients::default(),
            tools: &ep_tools::TOOLS,
            links: true,
        }
    }

    /// Returns the environment of a process that listens on no address.
    pub fn without_server() -> Self {
        Self { links: false, ..Self::system() }
    }
}

/// The assembled service and its resources.
#[derive(Clone)]
pub struct Assembled {
    /// The service.
    pub app: Arc<App>,
    /// The routes, and the documents that describe them.
    pub site: Arc<Site>,
    /// The identity provider, if configured.
    pub provider: Option<Provider>,
    /// Signs people in at the provider, if the service is its client.
    pub oidc: Option<Arc<Oidc>>,
    /// The payment rails.
    pub payments: Rails,
    pub(super) runtime: Runtime,
    pub(super) lease: Duration,
    /// Retention of anonymous polls; `None` stores them forever.
    pub(super) keep_anonymous: Option<Duration>,
    /// The metrics of this process, set when jobs start.
    pub(super) metrics: Option<PrometheusHandle>,
}

/// Inputs of the assembly steps.
struct AssemblyContext<'a> {
    config: &'a Config,
    secret: &'a [u8],
    store: &'a Store,
    treasury: &'a Treasury,
    vault: &'a Vault,
    clock: &'a Arc<dyn Clock>,
    entropy: &'a Arc<dyn Entropy>,
    /// HTTP client for all servers except the models'.
    client: reqwest::Client,
    /// The chain's node, if configured.
    node: Option<Node>,
}

/// Opens the database, configures the models and assembles the service. Starts no background work.
pub async fn service(config: &Config, environment: Environment) -> anyhow::Result<Assembled> {
    let Environment { clock, entropy, http, tools, links } = environment;
    let url: DatabaseUrl = config.database_url()?.expose_secret().parse()?;
    let secret = secret_key(config, &url, &*entropy).await?;
    let secret = secret.expose_secret();
    let OpenDatabase { store, treasury, vault, runtime } =
        ep_store::connect(&url, StoreOptions::default()).await.context("failed to open the database")?;
    let tasks = Tasks::default();
    let models = models(config, &runtime, &clock, &tasks, http.clone())?;
    let lease = config.lease();
    let limits = PollLimits {
        running: config.polls.max_running,
        waiting: config.polls.max_waiting,
        of_batches: config.polls.max_batch_rows,
        stalled_after: Duration::from_millis(config.database.stalled_after_ms),
    };
    let ports = executor::Ports {
        polls: runtime.polls(),
        changes: runtime.poll_changes(),
        models: Arc::clone(&models),
        clock: Arc::clone(&clock),
        entropy: Arc::clone(&entropy),
        tasks: tasks.clone(),
    };
    let accounts = Accounts {
        treasury: treasury.clone(),
        store: store.clone(),
        clock: Arc::clone(&clock),
        entropy: Arc::clone(&entropy),
    };
    let pepper = Pepper::derive(secret);
    let keys = Arc::new(Keys::new(vault.clone(), Arc::clone(&clock), Arc::clone(&entropy), pepper));
    let client = http.builder().build()?;
    let node =
        config.rpc_url()?.map(|url| Ok::<_, ConfigError>(Node::new(client.clone(), url, config.chain_id()?)));
    let node = node.transpose()?;
    let shared = AssemblyContext {
        config,
        secret,
        store: &store,
        treasury: &treasury,
        vault: &vault,
        clock: &clock,
        entropy: &entropy,
        client,
        node,
    };
    let sign_in = sign_in::assemble(&shared, &keys)?;
    let limiter = runtime.limiter().unwrap_or_else(|| Arc::new(MemoryLimiter::default()) as Arc<dyn Limiter>);
    let settings = SiteSettings {
        since: Some(clock.now()),
        signing: Some(Arc::new(SigningKeys::derive(secret, config.server.card_key))),
        ..SiteSettings::new(config, &RAILS)
    };
    let site = Arc::new(routes::site(settings, tools).with_clock(Arc::clone(&clock)));
    let provider = sign_in::provider(&shared, &tasks)?;
    let oidc =
        provider.as_ref().map(|provider| sign_in::oidc(&shared, &site, provider)).transpose()?.flatten();
    let tokens =
        provider.as_ref().map(|provider| sign_in::access_tokens(&shared, &site, provider, &sign_in.sign_ups));
    let payments = Rails::assemble(&RailParts {
        config,
        treasury: &treasury,
        clock: &clock,
        entropy: &entropy,
        client: &shared.client,
        node: shared.node.as_ref(),
        sign_ups: &sign_in.sign_ups,
        url: &|name| site.links.url(name, &[]),
    })?;
    let links = links || !config.server.base_url.is_empty();
    let settings = Settings {
        billing: config.charges(),
        poll_deadline: config.poll_deadline(),
        mcp_wait: Duration::from_millis(config.polls.mcp_wait_ms),
        reserved_names: openai::model_names(&config.openai.aliases),
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("EP_GIT_COMMIT"),
    };
    let polls = PollExecutor::new(ports, lease, config.poll_deadline(), limits);
    let links = Arc::new(if links { site.links.clone() } else { Links::default() });
    let targets = PublicTargets::new(config.webhooks.allowed_networks.clone());
    let sender: Arc<dyn WebhookSender> = Arc::new(HttpWebhooks::new(targets, &http)?);
    let batches = batches(&shared, &polls, &tasks, lease);
    let webhooks = webhooks(&shared, &sender, &polls, &links);
    let app = App {
        ports: Arc::new(ToolPorts {
            settings: Arc::new(settings),
            links,
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
            proposals: Proposals::new(Arc::clone(&models), Arc::clone(&clock), Arc::clone(&entropy)),
            models,
            polls,
            store: store.clone(),
            reputation: Reputation::new(runtime.clone(), Arc::clone(&clock)),
            account_data: AccountData { store: store.clone(), clock: Arc::clone(&clock) },
            keys: Arc::clone(&keys),
            wallets: Arc::new(sign_in.wallets),
            cards: Arc::clone(payments.cards()),
            webhooks,
            batches,
            health: DatabaseHealth::new(runtime.polls()),
        }),
        guard: Guard {
            limits: Limits {
                account: config.limits.per_minute,
                anonymous: config.limits.anonymous_per_minute,
                sign_in: config.limits.sign_in_per_minute,
                free: config.limits.free_per_minute,
                results: config.limits.results_per_minute,
                public: config.limits.public_per_minute,
            },
            limiter,
            keys,
            sessions: sign_in.sessions,
            balances: store.clone(),
            tokens,
            clock: Arc::clone(&clock),
            key_uses: KeyUses::default(),
        },
        agent_pushes: Pushes { sender, sealer: Sealer::derive(secret, "agent pushes") },
        idempotency: Idempotency {
            runtime: runtime.clone(),
            clock,
            entropy: Arc::clone(&entropy),
            sealer: Sealer::derive(secret, "idempotent replies"),
            lease,
        },
        request_states: Sealer::derive(secret, "request states"),
        sign_ups: sign_in.sign_ups,
        accounts: Arc::new(accounts),
        tasks,
    };
    let days = config.polls.keep_anonymous_days;
    let keep_anonymous = (days > 0).then(|| Duration::from_hours(24 * u64::from(days)));
    Ok(Assembled {
        app: Arc::new(app),
        site,
        provider,
        oidc,
        payments,
        runtime,
        lease,
        keep_anonymous,
        metrics: None,
    })
}

/// Returns the files and batches of accounts.
fn batches(
    shared: &AssemblyContext<'_>,
    polls: &PollExecutor,
    tasks: &Tasks,
    lease: Duration,
) -> Arc<Batches> {
    let ports = batches::Ports {
        store: shared.store.clone(),
        clock: Arc::clone(shared.clock),
        entropy: Arc::clone(shared.entropy),
        ended_tasks: polls.ended_tasks(),
        tasks: tasks.clone(),
    };
    let settings = BatchSettings {
        billing: shared.config.charges(),
        worker: polls.worker().to_owned(),
        lease,
        at_once: shared.config.polls.max_batch_rows,
        max_stored: u64::from(shared.config.database.max_stored_mib) << 20,
        endpoints: batch_endpoints().collect(),
    };
    Arc::new(Batches::new(ports, settings))
}

/// Returns the webhooks that notify accounts of finished polls.
fn webhooks(
    shared: &AssemblyContext<'_>,
    sender: &Arc<dyn WebhookSender>,
    polls: &PollExecutor,
    links: &Arc<Links>,
) -> Arc<Webhooks> {
    let links = Arc::clone(links);
    let parts = WebhookParts {
        vault: shared.vault.clone(),
        sender: Arc::clone(sender),
        polls: polls.clone(),
        clock: Arc::clone(shared.clock),
        entropy: Arc::clone(shared.entropy),
        secrets: WebhookSecrets::derive(shared.secret),
        describe: Box::new(move |state| PollCompleted::json(&links, state)),
    };
    Arc::new(parts.into())
}
