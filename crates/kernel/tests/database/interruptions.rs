//! Polls on a database that loses responses, run by processes that pause.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::executor::Ports;
use ep_kernel::testing::{ManualClock, SeededEntropy, until};
use ep_kernel::{
    AbandonPolicy, Billing, CallLimits, ExplanationResponse, Fault, Kind, Models, Opener, PollExecutor,
    PollLimits, PollState, Registry, Tasks,
};
use ep_polling::{
    Ballot, BallotView, ExplanationCount, ExplanationText, Member, MicroUsd, ModelChoice, ModelResponse,
    Pace, PicoUsd, Plan, PollId, Price, Roster, Settlement, Spend, SpendBasis, Threshold, Timestamp,
};
use ep_store::{
    AdoptedPoll, Closing, Epoch, Lease, NewPoll, Opened, PollDeletion, PollOpening, PollProgress, PollRecord,
    PollStore, StoreError,
};
use futures::future::join_all;
use tokio::sync::watch;
use tokio::time::sleep;

use ep_store::testing::test_database::{TestDatabase, connect, number, plan, usd};

on_both_engines!(
    commits_with_lost_responses_strand_no_poll,
    a_paused_replica_does_not_continue_an_adopted_poll,
    an_end_is_read_from_the_database_before_it_is_reported,
);

const MEMBERS: usize = 40;
/// The cost of each call.
const COST: i64 = 10;

/// The number of explanations, for two options.
const EXPLAINERS: u8 = 4;

/// Models that all vote after a delay.
struct Voters {
    takes: Duration,
    asked: AtomicUsize,
    in_flight: AtomicUsize,
}

impl Voters {
    fn new(takes: Duration) -> Arc<Self> {
        Arc::new(Self { takes, asked: AtomicUsize::new(0), in_flight: AtomicUsize::new(0) })
    }
}

#[async_trait]
impl Models for Voters {
    async fn registry(&self) -> Result<Registry, Fault> {
        Err(Fault::new(Kind::NotConfigured, "scripted"))
    }
    fn presets(&self) -> Vec<String> {
        Vec::new()
    }
    async fn roster(&self, _: &ModelChoice) -> Result<Roster, Fault> {
        Err(Fault::new(Kind::NotConfigured, "scripted"))
    }
    async fn vote(&self, member: &Member, _: &BallotView, _: CallLimits) -> ModelResponse {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        sleep(self.takes).await;
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        let _ = member;
        let spend = Spend { amount: usd(COST), basis: SpendBasis::Reported };
        ModelResponse::new(Ok(number % 2), spend)
    }
    async fn explain(&self, _: &Member, _: &BallotView, option: usize, _: CallLimits) -> ExplanationResponse {
        sleep(self.takes).await;
        let spend = Spend { amount: usd(COST), basis: SpendBasis::Reported };
        ExplanationResponse { text: ExplanationText::new(&format!("For {option}.")), spend }
    }
    fn abandon(&self, _: &Member) -> AbandonPolicy {
        AbandonPolicy::Drain
    }
}

/// A database connection that loses responses or stalls.
struct Connection {
    store: Arc<dyn PollStore>,
    writes: AtomicU32,
    /// The interval of writes with a lost response; 0 means none.
    loses_every: u32,
    stalled: watch::Sender<bool>,
    /// True if the response to a poll's end is delayed.
    ends_late: AtomicBool,
}

impl Connection {
    fn new(store: Arc<dyn PollStore>, loses_every: u32) -> Arc<Self> {
        let (writes, stalled, ends_late) =
            (AtomicU32::new(0), watch::Sender::new(false), AtomicBool::new(false));
        Arc::new(Self { store, writes, loses_every, stalled, ends_late })
    }

    async fn stall(&self) {
        let _ = self.stalled.subscribe().wait_for(|stalled| !stalled).await;
    }

    fn respond<T>(&self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        let number = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        if self.loses_every > 0 && number.is_multiple_of(self.loses_every) {
            return Err(StoreError::Failed("the connection was cut after the commit".into()));
        }
        done
    }
}

#[async_trait]
impl PollStore for Connection {
    async fn open_all(&self, polls: &[NewPoll], lease: &Lease) -> Result<Vec<Opened>, StoreError> {
        self.stall().await;
        self.respond(self.store.open_all(polls, lease).await)
    }
    async fn start(&self, poll: &PollId, epoch: Epoch, time: Duration) -> Result<(), StoreError> {
        self.stall().await;
        self.respond(self.store.start(poll, epoch, time).await)
    }
    async fn record(&self, poll: &PollId, epoch: Epoch, ballots: &[Ballot]) -> Result<(), StoreError> {
        self.stall().await;
        self.respond(self.store.record(poll, epoch, ballots).await)
    }
    async fn decide(
        &self,
        poll: &PollId,
        epoch: Epoch,
        last: &[Ballot],
        decided: &Closing,
    ) -> Result<(), StoreError> {
        self.stall().await;
        self.respond(self.store.decide(poll, epoch, last, decided).await)
    }
    async fn close(
        &self,
        poll: &PollId,
        epoch: Epoch,
        last: &[Ballot],
        closing: &Closing,
        settlement: Settlement,
    ) -> Result<(), StoreError> {
        self.stall().await;
        let closed = self.store.close(poll, epoch, last, closing, settlement).await;
        if self.ends_late.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.respond(closed)
    }
    async fn settle(
        &self,
        poll: &PollId,
        epoch: Epoch,
        capture: MicroUsd,
        unused: MicroUsd,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.stall().await;
        self.respond(self.store.settle(poll, epoch, capture, unused, at).await)
    }
    async fn poll(&self, id: &PollId) -> Result<Option<PollRecord>, StoreError> {
        self.stall().await;
        self.store.poll(id).await
    }
    async fn opened_by(&self, request_ref: &str) -> Result<Option<PollOpening>, StoreError> {
        self.store.opened_by(request_ref).await
    }
    async fn progress(&self, id: &PollId) -> Result<Option<PollProgress>, StoreError> {
        self.stall().await;
        self.store.progress(id).await
    }
    async fn ballots(&self, id: &PollId, after: u32) -> Result<Vec<Ballot>, StoreError> {
        self.stall().await;
        self.store.ballots(id, after).await
    }
    async fn adopt(&self, lease: &Lease, ago: Duration, limit: u32) -> Result<Vec<AdoptedPoll>, StoreError> {
        self.stall().await;
        self.respond(self.store.adopt(lease, ago, limit).await)
    }
    async fn renew(&self, held: &[(PollId, Epoch)], lasts: Duration) -> Result<Vec<PollId>, StoreError> {
        self.stall().await;
        self.store.renew(held, lasts).await
    }
    async fn cancel(&self, id: &PollId, at: Timestamp) -> Result<bool, StoreError> {
        self.stall().await;
        self.respond(self.store.cancel(id, at).await)
    }
    async fn is_cancelled(&self, id: &PollId) -> Result<bool, StoreError> {
        self.stall().await;
        self.store.is_cancelled(id).await
    }
    async fn cancelled_of(&self, worker: &str) -> Result<Vec<PollId>, StoreError> {
        self.stall().await;
        self.store.cancelled_of(worker).await
    }
    async fn delete(&self, id: &PollId, at: Timestamp, reply: &str) -> Result<PollDeletion, StoreError> {
        self.store.delete(id, at, reply).await
    }
    async fn ping(&self) -> Result<(), StoreError> {
        self.store.ping().await
    }
}

fn replica(seed: u64, store: &Arc<Connection>, voters: &Arc<Voters>, lease: Duration) -> PollExecutor {
    let tasks = Tasks::default();
    let ports = Ports {
        polls: Arc::clone(store) as _,
        changes: None,
        models: Arc::clone(voters) as _,
        clock: Arc::<ManualClock>::default(),
        entropy: Arc::new(SeededEntropy::new(seed)),
        tasks: tasks.clone(),
    };
    let executor = PollExecutor::new(ports, lease, Duration::from_mins(1), PollLimits::default());
    let resuming = executor.clone();
    tasks.every("resume polls", lease / 2, move || {
        let executor = resuming.clone();
        async move { executor.resume().await.map(drop) }
    });
    executor
}

/// Returns a plan that asks every member, a few at a time, and some for explanations.
fn thrifty() -> Plan {
    let price = Price { prompt: PicoUsd::new(100_000), ..Price::FREE };
    let mut plan = plan(MEMBERS);
    (plan.threshold, plan.pace, plan.deadline_ms) = (Threshold::new(1.0).unwrap(), Pace::Thrifty, 60_000);
    plan.explanations = ExplanationCount::new(EXPLAINERS / 2).ok();
    plan.roster = plan.roster.iter().map(|member| Member { price: Some(price), ..member.clone() }).collect();
    plan
}

async fn closed(db: &TestDatabase, id: &PollId) {
    let closing = async || db.polls.poll(id).await.unwrap().unwrap().closing;
    until("the poll is closed", closing, Option::is_some).await;
}

async fn all_settled(db: &TestDatabase) {
    let unsettled = async || {
        let polls = number(&db.url, "SELECT COUNT(*) FROM polls WHERE settled = 0").await;
        (polls, db.treasury.audit(Duration::ZERO).await.unwrap())
    };
    until("no poll is stranded", unsettled, |(polls, _)| *polls == 0).await;
    db.assert_consistent().await;
}

async fn commits_with_lost_responses_strand_no_poll(db: TestDatabase) {
    let user = db.user(1_000_000).await;
    let voters = Voters::new(Duration::from_millis(5));
    let executor = replica(1, &Connection::new(db.polls.clone(), 9), &voters, Duration::from_secs(5));
    let opening = (0..12).map(|_| {
        executor.open(thrifty(), Opener { owner: Some(user), billing: Billing::Owner, ..Opener::default() })
    });
    let opened: Vec<PollId> = join_all(opening).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(number(&db.url, "SELECT COUNT(*) FROM polls").await, opened.len() as i64);
    all_settled(&db).await;
    let ballots = number(&db.url, "SELECT COUNT(*) FROM votes").await;
    let [posted, held, used] = db.money(user).await;
    assert_eq!((posted + used, held), (1_000_000, 0));
    // The cost of the counted responses, plus the estimate for calls with lost responses.
    assert!(ballots > 0 && used >= ballots * COST, "{used} for {ballots} ballots");
}

async fn a_paused_replica_does_not_continue_an_adopted_poll(db: TestDatabase) {
    let user = db.user(1_000_000).await;
    let voters = Voters::new(Duration::from_millis(100));
    let lease = Duration::from_secs(1);
    let (store, other) = (db.polls.clone(), connect(&db.url).await);
    let (paused, successor) = (Connection::new(store, 0), Connection::new(other.runtime.polls(), 0));
    let executor = replica(1, &paused, &voters, lease);
    let id = executor
        .open(thrifty(), Opener { owner: Some(user), billing: Billing::Owner, ..Opener::default() })
        .await
        .unwrap();
    let ballots = async || db.polls.ballots(&id, 0).await.unwrap().len();
    until("a ballot is stored", ballots, |ballots| *ballots > 0).await;
    paused.stalled.send_replace(true);
    let in_flight = voters.in_flight.load(Ordering::SeqCst).max(MEMBERS / 2 + 1);
    let _successor = replica(2, &successor, &voters, lease);
    closed(&db, &id).await;
    paused.stalled.send_replace(false);
    all_settled(&db).await;
    until("the paused replica runs no poll", async || executor.running(), |running| *running == 0).await;
    assert_eq!(db.polls.ballots(&id, 0).await.unwrap().len(), MEMBERS);
    let asked = voters.asked.load(Ordering::SeqCst);
    assert!(asked <= MEMBERS + in_flight, "{asked} calls, {in_flight} were in flight");
    // The cost of the responses, plus an estimate for those lost in the pause.
    let [posted, held, used] = db.money(user).await;
    assert_eq!((posted + used, held), (1_000_000, 0));
    let estimate = thrifty().charged(0, Spend::UNKNOWN).amount.micro();
    let answers = MEMBERS as i64 * COST;
    let unknown = in_flight as i64 + i64::from(EXPLAINERS);
    assert!((answers..=answers + unknown * estimate.max(COST)).contains(&used), "{used} for {answers}");
}

/// Readers must not ask the process that runs the poll, because it learns of the end last.
async fn an_end_is_read_from_the_database_before_it_is_reported(db: TestDatabase) {
    let user = db.user(1_000_000).await;
    let connection = Connection::new(db.polls.clone(), 0);
    connection.ends_late.store(true, Ordering::SeqCst);
    let executor = replica(1, &connection, &Voters::new(Duration::ZERO), Duration::from_mins(1));
    let opener = Opener { owner: Some(user), billing: Billing::Owner, ..Opener::default() };
    let id = executor.open(thrifty(), opener).await.unwrap();
    closed(&db, &id).await;
    let closing = |state: Option<PollState>| state.unwrap().record.closing.clone();
    assert!(closing(executor.state(&id).await.unwrap()).is_none());
    assert!(closing(executor.stored(&id).await.unwrap()).is_some());
}
