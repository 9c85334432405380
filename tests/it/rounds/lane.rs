//! A database with its processes, upstream, receiver and callers, and the final assertions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ep_store::testing::{Database, Postgres};
use ep_upstream::testing::{Script, ScriptedUpstream};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use super::callers::{Observed, call};
use super::dice::Dice;
use super::receiver::Receiver;
use super::stored::Stored;
use crate::crash::admin;
use crate::harness::{Client, Engine, free_port, until};

/// The number of models that each poll calls.
const MODELS: usize = 8;
/// The lease of a killed process.
pub const LEASE: Duration = Duration::from_millis(1500);
/// Callers that may wait in one lane. Kills that follow one another quickly leave a lane little time, so without this
/// limit, hundreds of rounds would end with more callers than the lane can serve until [`DRAIN`].
const MAX_WAITING: usize = 48;
/// The maximum time until everything has ended after the last round.
const DRAIN: Duration = Duration::from_mins(3);

/// The resources of a lane.
pub struct Lane {
    pub dice: Dice,
    pub receiver: Receiver,
    /// The pending request of each caller.
    pub calling: Mutex<BTreeMap<u64, String>>,
    clients: Vec<Client>,
    /// The URL of the database for the processes.
    reached_at: String,
    upstream: ScriptedUpstream,
    data: TempDir,
    stored: Stored,
    _database: Option<Database>,
    /// The latest time at which each ballot was recorded, by poll and model.
    recorded: Mutex<HashMap<(String, String), Instant>>,
    logged: Arc<Logged>,
}

/// The log output of the processes.
#[derive(Default)]
struct Logged {
    /// The number of times each poll was resumed.
    resumed: Mutex<HashMap<String, usize>>,
    /// The last lines of each process.
    last: Mutex<Vec<String>>,
}

impl Logged {
    /// Returns the number of times a poll was resumed.
    fn resumed(&self, poll: &str) -> usize {
        self.resumed.lock().unwrap().get(poll).copied().unwrap_or(0)
    }

    fn note(&self, line: String) {
        let again = ["resuming a poll", "the lease on this poll has ended", "poll interrupted"];
        if again.iter().any(|said| line.contains(said))
            && let Some(at) = line.find("EP-")
        {
            *self.resumed.lock().unwrap().entry(line[at..at + POLL_ID].to_owned()).or_default() += 1;
        }
        let mut last = self.last.lock().unwrap();
        if last.len() >= 40 {
            last.remove(0);
        }
        last.push(line);
    }
}

/// The length of a poll's id.
const POLL_ID: usize = "EP-20260131-7KQ2M4X9TB".len();

impl Lane {
    /// Creates a lane. `reach` returns the processes' database URL for the database's own URL.
    pub async fn new(
        dice: Dice,
        engine: Engine,
        replicas: usize,
        reach: impl AsyncFnOnce(&str) -> String,
    ) -> Self {
        let data = tempfile::tempdir().unwrap();
        let database = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(Postgres::start().unwrap().database().await.unwrap()),
        };
        let file = format!("sqlite://{}/ep.db", data.path().display());
        let url = database.as_ref().map_or(file, |database| database.url().to_owned());
        let mut script = Script::divided_panel(MODELS);
        (script.default.latency, script.default.jitter) =
            (Duration::from_millis(20), Duration::from_millis(80));
        let user = ["create-user", "--email", "a@example.com", "--credit-usd", "1000", "--json"];
        let user = admin(data.path(), Some(&url), &user).await;
        let key = user["api_key"].as_str().unwrap().to_owned();
        let addresses = (0..replicas).map(|_| format!("http://127.0.0.1:{}", free_port()));
        Self {
            receiver: Receiver::start(Dice::new(dice.below(u64::MAX))).await,
            calling: Mutex::default(),
            clients: addresses.map(|address| Client::new(&address, Some(key.clone()))).collect(),
            reached_at: reach(&url).await,
            upstream: ScriptedUpstream::start(script).unwrap(),
            stored: Stored(url),
            _database: database,
            recorded: Mutex::default(),
            logged: Arc::default(),
            data,
            dice,
        }
    }

    /// Returns a client of a random replica.
    pub fn client(&self) -> Client {
        self.clients[self.dice.below(self.clients.len() as u64) as usize].clone()
    }

    /// Starts a replica at its address without waiting for it.
    pub fn serve(&self, replica: usize) -> Child {
        let address = self.clients[replica].url.strip_prefix("http://").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
        command.args(["serve", "--listen", address]).env_clear().envs([
            ("EP_DATA_DIR", self.data.path().to_str().unwrap()),
            ("EP_BASE_URL", "https://polls.example.com"),
            ("EP_DATABASE_URL", &self.reached_at),
            ("EP_UPSTREAM_URL", &self.upstream.base_url()),
            ("EP_WEBHOOK_ALLOWED_NETWORKS", "127.0.0.0/8"),
            ("EP_LEASE_MS", &LEASE.as_millis().to_string()),
            ("EP_LOG_FORMAT", "json"),
            ("EP_RATE_LIMIT_PER_MINUTE", "0"),
        ]);
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.current_dir(self.data.path()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let logged = Arc::clone(&self.logged);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                logged.note(line);
            }
        });
        child
    }

    /// Kills a process, which must still be running.
    pub async fn kill(&self, process: &mut Child) {
        let ended = process.try_wait().unwrap();
        assert!(ended.is_none(), "it ended by itself: {ended:?}: {:#?}", self.logged.last.lock().unwrap());
        process.kill().await.unwrap();
    }

    /// Sets the account's webhook.
    pub async fn set_webhook(&self) {
        let body = json!({ "url": format!("{}/all", self.receiver.url) });
        let set = async || {
            let sent = self.client().request(Method::POST, "/api/account/webhook").json(&body).send().await;
            sent.is_ok_and(|response| response.status() == 200)
        };
        until("a process sets the webhook", set, |is_set| *is_set).await;
    }

    /// Notes that these ballots, by poll and model, were recorded by this time.
    pub fn recorded(&self, ballots: impl IntoIterator<Item = (String, String)>, by: Instant) {
        let mut recorded = self.recorded.lock().unwrap();
        for ballot in ballots {
            recorded.entry(ballot).or_insert(by);
        }
    }

    /// Notes the ballots that the database contains.
    pub async fn note_ballots(&self) {
        let ballots = self.stored.ballots(false).await;
        self.recorded(ballots, Instant::now());
    }

    /// Starts this many callers, unless many are waiting.
    pub fn begin(self: &Arc<Self>, callers: &mut JoinSet<Vec<Observed>>, count: u64) {
        if self.calling.lock().unwrap().len() >= MAX_WAITING {
            return;
        }
        // No caller is joined before the end.
        let first = callers.len() as u64;
        for case in first..first + count {
            callers.spawn(call(Arc::clone(self), case));
        }
    }

    /// Waits until all callers have their responses and everything is settled and notified, then checks the
    /// invariants. `paused`: true if processes were paused, which may still send requests in progress.
    pub async fn end(
        self: Arc<Self>,
        callers: JoinSet<Vec<Observed>>,
        mut processes: Vec<Child>,
        paused: bool,
    ) {
        self.receiver.recover();
        let Ok(observed) = tokio::time::timeout(DRAIN, callers.join_all()).await else {
            panic!("{:#?}\n{:#?}", self.calling.lock().unwrap(), self.logged.last.lock().unwrap());
        };
        let observed = observed.concat();
        let waiting = "SELECT (SELECT count(*) FROM polls WHERE settled = 0) \
             + (SELECT count(*) FROM notifications WHERE state = 'waiting') \
             + (SELECT count(*) FROM batch_notifications WHERE state = 'waiting') \
             + (SELECT count(*) FROM a2a_pushes WHERE state = 'waiting')";
        let since = Instant::now();
        while self.stored.number(waiting).await > 0 {
            assert!(
                since.elapsed() < DRAIN,
                "not all is settled and observed: {:#?}",
                self.logged.last.lock().unwrap()
            );
            self.stored.let_deliveries_be_due().await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        for process in &mut processes {
            self.kill(process).await;
        }
        self.assert_notified(&observed).await;
        self.assert_calls(&observed, paused);
        self.assert_books().await;
    }

    /// Asserts that every accepted poll ended once, as its caller was informed, and that its end was notified.
    async fn assert_notified(&self, observed: &[Observed]) {
        let stored: HashMap<String, String> =
            self.stored.pairs("SELECT id, closing FROM polls").await.into_iter().collect();
        let known: HashSet<&str> = observed.iter().map(|observed| observed.poll.as_str()).collect();
        assert_eq!(known.len(), observed.len(), "each caller has a poll of its own");
        assert_eq!(known, stored.keys().map(String::as_str).collect(), "no poll is lost, and none is double");
        let outcomes = "SELECT poll_id, state || ' ' || attempts || ' ' || COALESCE(last_error, '') || ' ' || url \
             FROM notifications";
        let notifications: HashMap<String, String> = self.stored.pairs(outcomes).await.into_iter().collect();
        let mut ballots: HashMap<String, Vec<String>> = HashMap::new();
        for (poll, model) in self.stored.ballots(true).await {
            ballots.entry(poll).or_default().push(model);
        }
        for Observed { poll, asked_to_cancel, cancelled, notified_at, batch, pushed_at, .. } in observed {
            let closing: Value = serde_json::from_str(&stored[poll]).unwrap();
            let votes = ballots.get(poll).map_or(&[][..], Vec::as_slice);
            let models: HashSet<&String> = votes.iter().collect();
            assert_eq!(models.len(), votes.len(), "a model has voted twice in {poll}: {votes:?}");
            if closing["cancelled"] == true {
                assert!(asked_to_cancel, "{poll} was cancelled by nobody");
            } else {
                // When a lease expires, the possible cost of calls in flight counts against the hold. On a
                // machine too slow to renew leases, a poll can therefore run out of budget.
                let slow = closing["reason"] == "budget" && self.logged.resumed(poll) > 1;
                assert!(slow || votes.len() == MODELS, "{poll} has {} votes: {closing}", votes.len());
                assert!(cancelled.is_none(), "{poll} was cancelled and is no longer");
            }
            if let Some(answered) = cancelled.as_ref().and_then(|observed| observed["answered"].as_u64()) {
                assert_eq!(votes.len() as u64, answered, "{poll} went on after it was cancelled");
            }
            let about = batch.as_ref().unwrap_or(poll);
            let notified = self.receiver.taken(notified_at, about);
            assert!(
                notified.is_some(),
                "{notified_at} was not observed of {about}: {:?}",
                notifications.get(about)
            );
            let is_alone = batch.is_none() || self.receiver.taken(notified_at, poll).is_none();
            assert!(is_alone, "{poll} of {about} was notified, too");
            if let Some(path) = pushed_at {
                let task = self
                    .receiver
                    .taken(path, poll)
                    .unwrap_or_else(|| panic!("{path} was not observed of {poll}"));
                let state = task["task"]["status"]["state"].as_str().unwrap();
                assert!(["TASK_STATE_COMPLETED", "TASK_STATE_CANCELED"].contains(&state), "{task}");
            }
        }
        let open = "SELECT count(*) FROM a2a_tasks WHERE state NOT IN ('completed', 'canceled')";
        assert_eq!(self.stored.number(open).await, 0);
    }

    /// Asserts that no model with a recorded response was called again, and that each was called at most once
    /// more per resumption of its poll.
    fn assert_calls(&self, observed: &[Observed], paused: bool) {
        let polls: HashMap<u64, &str> =
            observed.iter().map(|observed| (observed.case, observed.poll.as_str())).collect();
        let recorded = self.recorded.lock().unwrap();
        let mut calls: HashMap<(String, String), usize> = HashMap::new();
        for request in self.upstream.all_received() {
            let body = request.body.to_string();
            let case = body.split(" in case ").nth(1).unwrap().split('?').next().unwrap();
            let call = (polls[&case.parse().unwrap()].to_owned(), request.model);
            let late = recorded.get(&call).is_some_and(|recorded| request.at > *recorded);
            assert!(paused || !late, "{call:?} was asked although its answer was recorded");
            *calls.entry(call).or_default() += 1;
        }
        for ((poll, model), count) in &calls {
            let resumed = self.logged.resumed(poll);
            assert!(
                *count <= 1 + resumed,
                "{poll}: {model} was asked {count} times, resumed {resumed} times"
            );
        }
        let again = calls.values().filter(|count| **count > 1).count();
        println!("{} polls, {} models asked, {again} of them more than once", observed.len(), calls.len());
    }

    async fn assert_books(&self) {
        let url = Some(self.stored.0.as_str());
        let audit = admin(self.data.path(), url, &["audit", "--json"]).await;
        assert_eq!(audit["clean"], true, "{audit}");
        let balance = admin(self.data.path(), url, &["balance", "--email", "a@example.com", "--json"]).await;
        assert_eq!(balance["held_usd"].as_f64(), Some(0.0), "{balance}");
        assert!(balance["used_usd"].as_f64().unwrap() > 0.0);
    }
}
