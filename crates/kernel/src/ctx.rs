//! The context of one call of one tool: the caller and the ports of operations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use ep_polling::{Plan, PollId};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::account_data::AccountData;
use crate::batches::Batches;
use crate::caller::Caller;
use crate::cards::Cards;
use crate::event::{Progress, ProgressSink};
use crate::executor::{Opener, PollExecutor, stalled};
use crate::fault::{Fault, Kind, Result};
use crate::keys::Keys;
use crate::links::Links;
use crate::ports::{Clock, Entropy, Models};
use crate::proposals::Proposals;
use crate::reputation::Reputation;
use crate::sign_in::Wallets;
use crate::webhooks::Webhooks;
use ep_store::{PollStore, RequestId, Store, UserId};

/// The ports of operations. None can read another account's secrets or credit an account, except for the
/// starter credit of a new one:
///
/// ```compile_fail,E0616
/// fn operation(cx: &ep_kernel::Ctx) {
///     let parts = &cx.wallets().0;
/// }
/// ```
pub struct ToolPorts {
    /// Settings that operations need.
    pub settings: Arc<Settings>,
    /// Absolute links.
    pub links: Arc<Links>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// The models that vote.
    pub models: Arc<dyn Models>,
    /// Storage that can neither credit an account nor read a secret.
    pub store: Store,
    /// Opens, runs and follows polls.
    pub polls: PollExecutor,
    /// Asks models for options.
    pub proposals: Proposals,
    /// Figures about the service and its models.
    pub reputation: Reputation,
    /// Exports and deletes the data of accounts.
    pub account_data: AccountData,
    /// Issues, lists and revokes API keys.
    pub keys: Arc<Keys>,
    /// Signs wallets in.
    pub wallets: Arc<Wallets>,
    /// Starts card payments.
    pub cards: Arc<Cards>,
    /// Notifies accounts about ended polls.
    pub webhooks: Arc<Webhooks>,
    /// Stores files and works through batches.
    pub batches: Arc<Batches>,
    /// Checks the database.
    pub health: DatabaseHealth,
}

/// Checks the database, at most once a second.
pub struct DatabaseHealth {
    store: Arc<dyn PollStore>,
    last: Arc<Mutex<Option<LastCheck>>>,
    /// Time of the first of the failed checks since the last successful one.
    failing_since: std::sync::Mutex<Option<Instant>>,
}

/// The result of the last check.
struct LastCheck {
    at: Instant,
    result: Result<()>,
}

/// Time for which a result is repeated.
const HEALTH_TTL: Duration = Duration::from_secs(1);
/// Time limit of the database. A probe must get a response within a second, including the identification of
/// its caller.
const HEALTH_TIMEOUT: Duration = Duration::from_millis(500);
/// Time of failed checks after which the database is stalled.
const STALLED_AFTER: Duration = Duration::from_secs(10);

impl DatabaseHealth {
    /// Creates a check of this store.
    pub fn new(store: Arc<dyn PollStore>) -> Self {
        Self { store, last: Arc::default(), failing_since: std::sync::Mutex::default() }
    }

    /// Fails within half a second if all checks of the last ten seconds failed, and one more does. Without it, a new poll on a
    /// stalled disk waits until the store's own time limit. A busy machine fails single checks.
    pub async fn refuse_while_stalled(&self) -> Result<()> {
        let since = *self.failing_since.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_some_and(|since| since.elapsed() >= STALLED_AFTER) { self.check().await } else { Ok(()) }
    }

    /// Fails if the database cannot be read and written, or takes too long.
    pub async fn check(&self) -> Result<()> {
        let check = async {
            let mut last = self.last.lock().await;
            if let Some(LastCheck { at, result }) = &*last
                && at.elapsed() < HEALTH_TTL
            {
                return result.clone();
            }
            let ping = tokio::time::timeout(HEALTH_TIMEOUT, self.store.ping()).await;
            let result = ping.map_or_else(|_| Err(stalled()), |result| Ok(result?));
            *last = Some(LastCheck { at: Instant::now(), result: result.clone() });
            result
        };
        // Another caller's check may be in progress.
        let result = tokio::time::timeout(HEALTH_TIMEOUT, check).await.unwrap_or_else(|_| Err(stalled()));
        let mut since = self.failing_since.lock().unwrap_or_else(PoisonError::into_inner);
        *since = if result.is_err() { since.or_else(|| Some(Instant::now())) } else { None };
        result
    }
}

/// The operator's settings that operations need.
#[derive(Debug, Clone)]
pub struct Settings {
    /// True if polls are charged to prepaid balances. Otherwise, anyone with a key polls at the operator's
    /// expense.
    pub billing: bool,
    /// Time limit of a poll.
    pub poll_deadline: Duration,
    /// Default time that an MCP client waits for a poll.
    pub mcp_wait: Duration,
    /// Names that no panel may have, because a protocol gives them another meaning.
    pub reserved_names: Vec<String>,
    /// The service's version.
    pub version: &'static str,
    /// Short hash of the commit it was built from, if known.
    pub commit: Option<&'static str>,
}

/// One call of one tool.
#[derive(Clone)]
pub struct Ctx {
    /// The caller.
    pub caller: Caller,
    /// The request's id in logs.
    pub request_id: RequestId,
    /// Time that the caller waits for models before it prefers an interim result.
    pub wait_limit: Option<Duration>,
    /// True if the caller does not need the single votes of a result.
    pub without_votes: bool,
    /// Key of the idempotent request, the same for every repetition, even after a restart. `None` without an
    /// Idempotency-Key.
    pub request_ref: Option<String>,
    pub(crate) ports: Arc<ToolPorts>,
    pub(crate) progress: Option<ProgressSink>,
    pub(crate) cancelled: CancellationToken,
    pub(crate) upstream_us: Arc<AtomicU64>,
}

impl Ctx {
    /// Creates the context of a call by the service itself, or of a test: without progress reports.
    pub fn new(ports: Arc<ToolPorts>, caller: Caller, request_id: RequestId) -> Self {
        Self {
            caller,
            request_id,
            wait_limit: None,
            without_votes: false,
            request_ref: None,
            ports,
            progress: None,
            cancelled: CancellationToken::new(),
            upstream_us: Arc::default(),
        }
    }

    /// Returns the caller's account. [`Kind::NotFound`] in the operator's own process, which has none.
    pub fn account(&self) -> Result<UserId> {
        let message = "this process has no accounts, because it does not charge; use `ep admin`, or call a server with --server";
        self.caller.user().ok_or_else(|| Fault::new(Kind::NotFound, message))
    }

    /// Returns the settings that operations need.
    pub fn settings(&self) -> &Settings {
        &self.ports.settings
    }

    /// Returns absolute links.
    pub fn links(&self) -> &Links {
        &self.ports.links
    }

    /// Returns the clock.
    pub fn clock(&self) -> &dyn Clock {
        &*self.ports.clock
    }

    /// Returns random bytes, for an id.
    pub fn random(&self) -> [u8; 16] {
        self.ports.entropy.bytes()
    }

    /// Returns the models that vote.
    pub fn models(&self) -> &dyn Models {
        &*self.ports.models
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.ports.store
    }

    /// Returns the executor, which opens, runs and follows polls.
    pub fn polls(&self) -> &PollExecutor {
        &self.ports.polls
    }

    /// Opens a poll: see [`PollExecutor::open`]. Fails at once while the database is stalled.
    pub async fn open_poll(&self, plan: Plan, opener: Opener) -> Result<PollId> {
        self.refuse_while_stalled(&opener).await?;
        self.polls().open(plan, opener).await
    }

    /// Opens several polls: see [`PollExecutor::open_all`]. Fails at once while the database is stalled.
    pub async fn open_polls(&self, plans: Vec<Plan>, opener: Opener) -> Result<Vec<PollId>> {
        self.refuse_while_stalled(&opener).await?;
        self.polls().open_all(plans, opener).await
    }

    /// Fails while the database is stalled, except for rows of batches, which can wait.
    async fn refuse_while_stalled(&self, opener: &Opener) -> Result<()> {
        if opener.batch.is_none() { self.health().refuse_while_stalled().await } else { Ok(()) }
    }

    /// Returns the options that models propose.
    pub fn proposals(&self) -> &Proposals {
        &self.ports.proposals
    }

    /// Returns the figures about the service and its models.
    pub fn reputation(&self) -> &Reputation {
        &self.ports.reputation
    }

    /// Returns the export and deletion of accounts.
    pub fn account_data(&self) -> &AccountData {
        &self.ports.account_data
    }

    /// Returns the ports of this call, for code that the command line shares.
    pub fn ports(&self) -> &ToolPorts {
        &self.ports
    }

    /// Returns the API keys.
    pub fn keys(&self) -> &Keys {
        &self.ports.keys
    }

    /// Returns the sign-in with wallets.
    pub fn wallets(&self) -> &Wallets {
        &self.ports.wallets
    }

    /// Returns the card payments.
    pub fn cards(&self) -> &Cards {
        &self.ports.cards
    }

    /// Returns the notifications of accounts.
    pub fn webhooks(&self) -> &Webhooks {
        &self.ports.webhooks
    }

    /// Returns the files and batches of accounts.
    pub fn batches(&self) -> &Arc<Batches> {
        &self.ports.batches
    }

    /// Returns the check of the database.
    pub fn health(&self) -> &DatabaseHealth {
        &self.ports.health
    }

    /// True if the caller follows this call's progress.
    pub const fn is_watched(&self) -> bool {
        self.progress.is_some()
    }

    /// Resolves when the caller cancels the request by leaving for good.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// Reports a step to the caller, if it follows the progress.
    pub fn report(&self, progress: Progress) {
        if let Some(sink) = &self.progress {
            sink.report(progress);
        }
    }

    /// Adds to the time spent on waiting for models, so that the service's own latency can be measured.
    pub fn waited_for_models(&self, time: Duration) {
        self.upstream_us.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
    }
}
