//! What one call of one tool is given: who calls, and the ports that operations need.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::account_data::AccountData;
use crate::caller::{Caller, RequestId, UserId};
use crate::cards::Cards;
use crate::event::{Progress, ProgressSink};
use crate::executor::PollExecutor;
use crate::fault::{Fault, Kind};
use crate::feedback::Feedback;
use crate::keys::Keys;
use crate::links::Links;
use crate::ports::{Balances, Clock, Confirmations, Models, PollHistory, PollStore, Profiles};
use crate::reputation::Reputation;
use crate::sign_in::Wallets;
use crate::webhooks::Webhooks;

/// What operations may reach. Nothing here can read another's secrets or credit an account, but for the starter
/// credit of a new one.
pub struct ToolPorts {
    /// Settings that operations need.
    pub settings: Arc<Settings>,
    /// Absolute links.
    pub links: Arc<Links>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// The models that vote.
    pub models: Arc<dyn Models>,
    /// Opens, runs and follows polls.
    pub polls: PollExecutor,
    /// Lists polls.
    pub history: Arc<dyn PollHistory>,
    /// What accounts say of polls.
    pub feedback: Feedback,
    /// What polls tell about the service and its models.
    pub reputation: Reputation,
    /// Exports and deletes the data of accounts.
    pub account_data: AccountData,
    /// Reads balances.
    pub balances: Arc<dyn Balances>,
    /// Issues, lists and revokes API keys.
    pub keys: Arc<Keys>,
    /// Reads what is known of users.
    pub profiles: Arc<dyn Profiles>,
    /// Which polls accounts want to confirm.
    pub confirmations: Arc<dyn Confirmations>,
    /// Signs wallets in.
    pub wallets: Arc<Wallets>,
    /// Begins payments by card.
    pub cards: Arc<Cards>,
    /// Tells accounts that their polls have ended.
    pub webhooks: Arc<Webhooks>,
    /// Says whether the database answers.
    pub health: DatabaseHealth,
}

/// Says whether the database answers. Asked often, it asks the database once a second.
pub struct DatabaseHealth {
    store: Arc<dyn PollStore>,
    last: Arc<Mutex<Option<LastAnswer>>>,
}

/// What the database answered, and when.
struct LastAnswer {
    at: Instant,
    answer: Result<(), Fault>,
}

/// How long an answer is repeated.
const HEALTH_TTL: Duration = Duration::from_secs(1);
/// How long the database may take: a probe is answered within a second, and identifying its caller may take
/// a part of that.
const HEALTH_TIMEOUT: Duration = Duration::from_millis(500);

impl DatabaseHealth {
    /// Asks this store.
    pub fn new(store: Arc<dyn PollStore>) -> Self {
        Self { store, last: Arc::default() }
    }

    /// Fails if the database cannot be read and written, or takes too long.
    pub async fn check(&self) -> Result<(), Fault> {
        let too_slow = || Err(Fault::new(Kind::Unavailable, "the database takes too long; try again later"));
        let answer = async {
            let mut last = self.last.lock().await;
            if let Some(LastAnswer { at, answer }) = &*last
                && at.elapsed() < HEALTH_TTL
            {
                return answer.clone();
            }
            let asked = tokio::time::timeout(HEALTH_TIMEOUT, self.store.ping()).await;
            let answer = asked.map_or_else(|_| too_slow(), |answer| Ok(answer?));
            *last = Some(LastAnswer { at: Instant::now(), answer: answer.clone() });
            answer
        };
        // Another caller's question may be under way.
        tokio::time::timeout(HEALTH_TIMEOUT, answer).await.unwrap_or_else(|_| too_slow())
    }
}

/// The operator's settings that operations need.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whether polls are charged to prepaid balances. Without, anyone with a key polls at the
    /// operator's expense.
    pub billing: bool,
    /// How long one poll may take.
    pub poll_deadline: Duration,
    /// How long an MCP client waits for a poll unless it says otherwise.
    pub mcp_wait: Duration,
    /// The service's version.
    pub version: &'static str,
    /// The commit it was built from, shortened, where known.
    pub commit: Option<&'static str>,
}

/// One call of one tool.
#[derive(Clone)]
pub struct Ctx {
    /// Who calls.
    pub caller: Caller,
    /// The request's id in logs.
    pub request_id: RequestId,
    /// How long the caller waits for models before it prefers an interim answer.
    pub wait_limit: Option<Duration>,
    /// Whether the caller drops the single votes of a result, so that they need not be gathered.
    pub without_votes: bool,
    /// Key of the idempotent request, the same for every repetition, even after a restart; `None` without an
    /// Idempotency-Key.
    pub request_ref: Option<String>,
    pub(crate) ports: Arc<ToolPorts>,
    pub(crate) progress: Option<ProgressSink>,
    pub(crate) withdrawn: CancellationToken,
    pub(crate) upstream_us: Arc<AtomicU64>,
}

impl Ctx {
    /// A call by this caller that nobody watches, for tests of single operations.
    pub fn new(ports: Arc<ToolPorts>, caller: Caller, request_id: RequestId) -> Self {
        Self {
            caller,
            request_id,
            wait_limit: None,
            without_votes: false,
            request_ref: None,
            ports,
            progress: None,
            withdrawn: CancellationToken::new(),
            upstream_us: Arc::default(),
        }
    }

    /// The caller's account. [`Kind::NotFound`] where there is none: in the operator's own process.
    pub fn account(&self) -> Result<UserId, Fault> {
        let message = "calls in process have no account: nothing is charged, and ep admin manages accounts";
        self.caller.user().ok_or_else(|| Fault::new(Kind::NotFound, message))
    }

    /// Settings that operations need.
    pub fn settings(&self) -> &Settings {
        &self.ports.settings
    }

    /// Absolute links.
    pub fn links(&self) -> &Links {
        &self.ports.links
    }

    /// The time of day.
    pub fn clock(&self) -> &dyn Clock {
        &*self.ports.clock
    }

    /// The models that vote.
    pub fn models(&self) -> &dyn Models {
        &*self.ports.models
    }

    /// Opens, runs and follows polls.
    pub fn polls(&self) -> &PollExecutor {
        &self.ports.polls
    }

    /// Lists polls.
    pub fn history(&self) -> &dyn PollHistory {
        &*self.ports.history
    }

    /// What accounts say of polls.
    pub fn feedback(&self) -> &Feedback {
        &self.ports.feedback
    }

    /// What polls tell about the service and its models.
    pub fn reputation(&self) -> &Reputation {
        &self.ports.reputation
    }

    /// Exports and deletes the data of accounts.
    pub fn account_data(&self) -> &AccountData {
        &self.ports.account_data
    }

    /// The ports of this call, for code that the command line shares.
    pub fn ports(&self) -> &ToolPorts {
        &self.ports
    }

    /// Reads balances.
    pub fn balances(&self) -> &dyn Balances {
        &*self.ports.balances
    }

    /// Issues, lists and revokes API keys.
    pub fn keys(&self) -> &Keys {
        &self.ports.keys
    }

    /// Reads what is known of users.
    pub fn profiles(&self) -> &dyn Profiles {
        &*self.ports.profiles
    }

    /// Which polls accounts want to confirm.
    pub fn confirmations(&self) -> &dyn Confirmations {
        &*self.ports.confirmations
    }

    /// Signs wallets in.
    pub fn wallets(&self) -> &Wallets {
        &self.ports.wallets
    }

    /// Begins payments by card.
    pub fn cards(&self) -> &Cards {
        &self.ports.cards
    }

    /// Tells accounts that their polls have ended.
    pub fn webhooks(&self) -> &Webhooks {
        &self.ports.webhooks
    }

    /// Says whether the database answers.
    pub fn health(&self) -> &DatabaseHealth {
        &self.ports.health
    }

    /// Whether anybody watches this call's progress.
    pub const fn is_watched(&self) -> bool {
        self.progress.is_some()
    }

    /// Resolves when the caller takes the request back: it has gone and will not come back for the answer.
    pub async fn withdrawn(&self) {
        self.withdrawn.cancelled().await;
    }

    /// Reports a step to whoever watches.
    pub fn report(&self, progress: Progress) {
        if let Some(sink) = &self.progress {
            sink.report(progress);
        }
    }

    /// Notes how long this call waited for models, so that the time the service adds can be measured.
    pub fn waited_for_models(&self, time: Duration) {
        self.upstream_us.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
    }
}
