//! A running service.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::map_request;
use ensemble_poll::app::assemble::{self, Environment};
use ensemble_poll::app::connections::ConnectionLimits;
use ensemble_poll::app::jobs;
use ensemble_poll::app::server;
use ensemble_poll::config;
use ensemble_poll::payments::Rails;
use ep_kernel::app::App;
use ep_kernel::output::SessionChange;
use ep_kernel::testing::{ManualClock, SeededEntropy, until};
use ep_kernel::{Clock, Entry};
use ep_outgoing::HttpClients;
use ep_polling::{MicroUsd, Timestamp};
use ep_site::Site;
use ep_site::config::Config;
use ep_store::testing::{Database, Postgres};
use ep_store::{KeyId, UserId};
use ep_upstream::testing::{Script, ScriptedUpstream};
use secrecy::ExposeSecret;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::Client;

/// The database engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// The configuration of a service.
pub struct Setup {
    pub engine: Engine,
    /// The script of the upstream. Without one, only `variables` is configured.
    pub script: Option<Script>,
    /// Environment variables.
    pub variables: Vec<(&'static str, String)>,
    pub tools: &'static [Entry],
    /// The listen address; any loopback port if not given.
    pub address: Option<String>,
    /// A clock and entropy controlled by the test.
    pub controlled: Option<(Arc<ManualClock>, Arc<SeededEntropy>)>,
    /// Milliseconds by which its clock is ahead.
    pub ahead_ms: i64,
    /// Creates the builders of outgoing HTTP clients.
    pub http: HttpClients,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            engine: Engine::Sqlite,
            script: Some(Script::panel(50)),
            variables: Vec::new(),
            tools: &ep_tools::TOOLS,
            address: None,
            controlled: None,
            ahead_ms: 0,
            http: HttpClients::default(),
        }
    }
}

impl Setup {
    /// Creates a service with an upstream that follows this script.
    pub fn scripted(script: Script) -> Self {
        Self { script: Some(script), ..Self::default() }
    }

    /// Creates a service with the demo roster and no latency.
    pub fn demo() -> Self {
        Self { script: None, ..Self::default() }.with("EP_DEMO_PACE", "0")
    }

    /// Sets an environment variable.
    pub fn with(mut self, variable: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    /// Uses a stopped clock and entropy derived from `seed`.
    pub fn seeded(mut self, seed: u64) -> Self {
        self.controlled = Some((Arc::default(), Arc::new(SeededEntropy::new(seed))));
        self
    }

    /// Uses an address that is known before the service runs, and returns its URL.
    pub fn at_known_address(mut self) -> (Self, String) {
        let address = format!("127.0.0.1:{}", free_port());
        let url = format!("http://{address}");
        self.address = Some(address);
        (self, url)
    }

    /// Uses this database engine.
    pub fn on(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    pub async fn boot(self) -> Service {
        Service::boot(self).await
    }
}

/// A clock that is ahead of another one.
struct Ahead {
    clock: Arc<dyn Clock>,
    ms: i64,
}

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now().millis() + self.ms)
    }
}

/// The number of requests to each path.
#[derive(Clone, Default)]
pub struct Requests(Arc<Mutex<HashMap<String, usize>>>);

impl Requests {
    /// Returns the number of requests to a path, including those without a response so far.
    pub fn to(&self, path: &str) -> usize {
        self.0.lock().unwrap().get(path).copied().unwrap_or_default()
    }

    fn counted(&self, router: Router) -> Router {
        let Self(requests) = self.clone();
        router.layer(map_request(move |request: Request| {
            *requests.lock().unwrap().entry(request.uri().path().to_owned()).or_default() += 1;
            std::future::ready(request)
        }))
    }
}

/// A running service and its resources.
pub struct Service {
    pub app: Arc<App>,
    /// The site of the service.
    pub site: Arc<Site>,
    /// The payment rails.
    pub payments: Rails,
    /// The clock, if the test controls it.
    pub clock: Option<Arc<ManualClock>>,
    /// The requests that it has received.
    pub requests: Requests,
    pub url: String,
    pub upstream: Option<ScriptedUpstream>,
    pub data: TempDir,
    /// Dropped with the service, which then stops gracefully.
    _stop: oneshot::Sender<()>,
    database: Option<Database>,
}

impl Service {
    /// Starts a service on SQLite with fifty cooperative models.
    pub async fn start() -> Self {
        Setup::default().boot().await
    }

    async fn boot(setup: Setup) -> Self {
        let data = tempfile::tempdir().unwrap();
        let upstream = setup.script.map(|script| ScriptedUpstream::start(script).unwrap());
        let listener = TcpListener::bind(setup.address.as_deref().unwrap_or("127.0.0.1:0")).await.unwrap();
        let address = listener.local_addr().unwrap();
        let database = match setup.engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(Postgres::start().unwrap().database().await.unwrap()),
        };
        let mut variables = vec![
            ("EP_LISTEN", address.to_string()),
            ("EP_DATA_DIR", data.path().display().to_string()),
            ("EP_RATE_LIMIT_PER_MINUTE", "0".into()),
            ("EP_RATE_LIMIT_ANONYMOUS_PER_MINUTE", "0".into()),
            ("EP_RATE_LIMIT_SIGN_IN_PER_MINUTE", "0".into()),
            ("EP_RATE_LIMIT_FREE_PER_MINUTE", "0".into()),
            ("EP_RATE_LIMIT_RESULTS_PER_MINUTE", "0".into()),
            ("EP_RATE_LIMIT_PUBLIC_PER_MINUTE", "0".into()),
            ("EP_CONFIG", "/dev/null".into()),
            // Other tests and builds keep the disk busy.
            ("EP_STALLED_AFTER_MS", "15000".into()),
        ];
        variables.extend(upstream.iter().map(|upstream| ("EP_UPSTREAM_URL", upstream.base_url())));
        variables.extend(database.iter().map(|database| ("EP_DATABASE_URL", database.url().to_owned())));
        variables.extend(setup.variables);
        let config = configured(&variables);
        let mut environment = Environment { tools: setup.tools, http: setup.http, ..Environment::system() };
        environment.clock = Arc::new(Ahead { clock: environment.clock, ms: setup.ahead_ms });
        let clock = setup.controlled.map(|(clock, entropy)| {
            environment.clock = clock.clone();
            environment.entropy = entropy;
            clock
        });
        let assembled = assemble::service(&config, environment).await.unwrap();
        jobs::start_all(&assembled, None);
        let (app, site) = (Arc::clone(&assembled.app), Arc::clone(&assembled.site));
        let payments = assembled.payments.clone();
        let requests = Requests::default();
        let router = requests.counted(server::router(&assembled, &config));
        let limits = ConnectionLimits::new(&config);
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(async move {
            let grace = Duration::from_secs(5);
            let stopped = async { drop(stopped.await) };
            let finish = async |deadline| assembled.stop(deadline).await;
            server::serve_on(listener, router, limits, stopped, grace, finish).await;
        });
        Self {
            app,
            site,
            payments,
            clock,
            requests,
            url: format!("http://{address}"),
            upstream,
            data,
            _stop: stop,
            database,
        }
    }

    /// Returns a client without credentials.
    pub fn anonymous(&self) -> Client {
        Client::new(&self.url, None)
    }

    /// Returns a client with a new account and a dollar of starter credit.
    pub async fn user(&self) -> Client {
        self.user_with(MicroUsd::STARTER_CREDIT).await.1
    }

    /// Returns a client with a new account and this much credit.
    pub async fn user_with(&self, credit: MicroUsd) -> (UserId, Client) {
        let name = hex::encode(self.app.ports.entropy.bytes::<8>());
        let email = format!("{name}@example.com").parse().unwrap();
        let user = self.app.accounts.create_user(email, credit).await.unwrap();
        (user, Client::new(&self.url, Some(self.key(user).await.1)))
    }

    /// Issues another key of this account.
    pub async fn key(&self, user: UserId) -> (KeyId, String) {
        let issued = self.app.ports.keys.issue(user, "test".parse().unwrap()).await.unwrap();
        (issued.id, issued.key.reveal().to_owned())
    }

    /// Starts a session of this account and returns its cookie.
    pub async fn cookie(&self, user: UserId) -> String {
        match self.app.guard.sessions.start(user, None).await.unwrap() {
            SessionChange::Start { token, .. } => format!("ep_session={}", token.expose_secret()),
            SessionChange::End => unreachable!(),
        }
    }

    /// Returns the upstream; panics if there is none.
    pub fn upstream(&self) -> &ScriptedUpstream {
        self.upstream.as_ref().expect("this service has no upstream")
    }

    /// Returns the PostgreSQL database; panics if there is none.
    pub fn database(&self) -> &Database {
        self.database.as_ref().expect("this service uses SQLite")
    }

    /// Waits until the account's holds are settled, then returns its spending.
    pub async fn settled_cost(&self, user: UserId) -> MicroUsd {
        let read = async || self.app.accounts.balance(user).await.unwrap();
        let balance = until("the account's holds are settled", read, |balance| balance.held.is_zero()).await;
        assert!(self.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().is_clean());
        balance.used
    }
}

/// Returns a free port below the system's ephemeral range (32,768 and above). Each call in this process returns a
/// different port.
pub fn free_port() -> u16 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    loop {
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + (std::process::id().wrapping_mul(61).wrapping_add(call) % 10_000) as u16;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Loads the settings from these variables.
pub fn configured(variables: &[(&'static str, String)]) -> Config {
    // The last value of a variable wins, like a later `export`.
    config::load(|name| {
        variables.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    })
    .unwrap()
}
