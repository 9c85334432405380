//! The worker of batches, with rows that fail, panic, wait for money, or have begun when their batch ends early.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::batches::line::BatchLine;
use ep_kernel::batches::{Ports, RETENTION};
use ep_kernel::testing::{ManualClock, SeededEntropy, until};
use ep_kernel::{
    BatchRequest, BatchRows, BatchSettings, Batches, Fault, Kind, RowResponse, RowRunner, Tasks,
};
use ep_polling::{MicroUsd, TokenUsage};
use ep_store::{BatchId, BatchRecord, BatchStatus, BatchTerms, RequestId, RowKind, UserId};
use serde_json::{Value, json};

use ep_store::testing::test_database::{TestDatabase, usd};

on_both_engines!(
    a_batch_without_charges_keeps_its_maximum,
    a_row_that_is_not_asked_returns_what_it_reserved,
    rows_that_fail_for_a_time_do_not_keep_a_batch_open,
    a_row_that_has_begun_is_finished_by_a_batch_that_ends_early,
    a_row_that_panics_fails_alone,
    a_batch_that_cannot_be_priced_expires,
    a_stopping_worker_leaves_its_rows_to_others,
);

const ENDPOINT: &str = "/v1/chat/completions";

/// The behaviour of a row when it is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    Answers,
    FailsForATime,
    Panics,
    Hangs,
}

/// A runner of rows with a behaviour by their custom id.
struct Script {
    asked: AtomicUsize,
    /// References with polls.
    begun: Mutex<HashSet<String>>,
    /// The behaviour of rows with an id that begins with `later`.
    later: Mutex<Row>,
    prices: bool,
}

impl Script {
    fn new(later: Row) -> Self {
        Self { asked: AtomicUsize::new(0), begun: Mutex::default(), later: Mutex::new(later), prices: true }
    }
}

#[async_trait]
impl RowRunner for Script {
    async fn at_most(&self, _: &BatchRecord, _: &BatchLine) -> Result<MicroUsd, Fault> {
        if self.prices { Ok(usd(10)) } else { Err(Fault::new(Kind::Unavailable, "no models now")) }
    }

    async fn run(
        &self,
        _: &BatchRecord,
        row: &BatchLine,
        reference: String,
        _: RequestId,
    ) -> Result<RowResponse, Fault> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let does =
            if row.custom_id.starts_with("later") { *self.later.lock().unwrap() } else { Row::Answers };
        if row.custom_id == "later-begun" {
            self.begun.lock().unwrap().insert(reference);
        }
        match does {
            Row::Answers => Ok(RowResponse {
                body: json!({ "id": row.custom_id }),
                answer: None,
                usage: TokenUsage::default(),
            }),
            Row::FailsForATime => {
                Err(Fault::new(Kind::Unavailable, "not now").retry_after(Duration::from_secs(1)))
            }
            Row::Panics => panic!("a row of the test"),
            Row::Hangs => std::future::pending().await,
        }
    }

    async fn cost(&self, _: &str) -> Result<MicroUsd, Fault> {
        Ok(usd(3))
    }

    async fn has_begun(&self, reference: &str) -> Result<bool, Fault> {
        Ok(self.begun.lock().unwrap().contains(reference))
    }

    fn error(&self, _: &BatchRecord, fault: &Fault, _: RequestId) -> Value {
        json!({ "error": fault.message() })
    }
}

/// A worker, its clock and its account.
struct World {
    batches: Arc<Batches>,
    clock: Arc<ManualClock>,
    script: Arc<Script>,
    user: UserId,
    tasks: Tasks,
}

impl World {
    async fn start(db: &TestDatabase, script: Script) -> Self {
        let user = db.user(1_000).await;
        let world = Self::beside(db, Arc::new(script), user, "one");
        world.work();
        world
    }

    /// A process on the same database, which does not work yet.
    fn beside(db: &TestDatabase, script: Arc<Script>, user: UserId, worker: &str) -> Self {
        let (clock, tasks) = (Arc::new(ManualClock::default()), Tasks::default());
        let ports = Ports {
            store: db.store.clone(),
            clock: clock.clone(),
            entropy: Arc::new(SeededEntropy::new(worker.len() as u64)),
            ended_tasks: Arc::default(),
            tasks: tasks.clone(),
        };
        let settings = BatchSettings {
            billing: false,
            worker: worker.to_owned(),
            lease: Duration::from_secs(60),
            at_once: 4,
            max_stored: 1 << 30,
            endpoints: vec![ENDPOINT],
        };
        let batches = Arc::new(Batches::new(ports, settings));
        Self { batches, clock, script, user, tasks }
    }

    fn work(&self) {
        let (batches, script) = (Arc::clone(&self.batches), Arc::clone(&self.script));
        self.tasks.spawn(batches.work(script, self.tasks.clone()));
    }

    /// Creates a batch with rows of these ids.
    async fn create(&self, ids: &[&str]) -> BatchId {
        self.create_with(ids, None).await
    }

    /// Creates a batch with rows of these ids and a maximum cost.
    async fn create_with(&self, ids: &[&str], max_cost: Option<MicroUsd>) -> BatchId {
        let lines = ids.iter().map(|id| {
            let line = json!({ "custom_id": id, "method": "POST", "url": ENDPOINT, "body": {} });
            format!("{line}\n\n")
        });
        let request = BatchRequest {
            user: self.user,
            key: None,
            terms: BatchTerms { endpoint: ENDPOINT.to_owned(), max_cost, ..BatchTerms::default() },
            keep: RETENTION,
            notify: None,
            request_ref: None,
        };
        let rows = BatchRows::Lines(lines.collect());
        self.batches.create(request, rows).await.unwrap().record.id
    }

    async fn batch(&self, id: BatchId) -> BatchRecord {
        self.batches.batch(self.user, id).await.unwrap()
    }

    /// Waits until a batch fits.
    async fn until(&self, id: BatchId, fits: impl Fn(&BatchRecord) -> bool) -> BatchRecord {
        until("the batch fits", async || self.batch(id).await, fits).await
    }

    async fn ended(&self, id: BatchId) -> BatchRecord {
        self.until(id, |batch| batch.ended_at.is_some()).await
    }

    /// Waits until this many rows were asked.
    async fn asked(&self, count: usize) {
        let asked = async || self.script.asked.load(Ordering::SeqCst);
        until("the rows are asked", asked, |asked| *asked >= count).await;
    }

    async fn errors(&self, batch: &BatchRecord) -> Vec<String> {
        let lines = self.batches.results(batch, RowKind::Failed, 0, 99).await.unwrap();
        lines.into_iter().map(|(_, line)| line).collect()
    }
}

/// A row is asked while 10 are left, and costs 3: the seventh finds 7.
async fn a_batch_without_charges_keeps_its_maximum(db: TestDatabase) {
    let world = World::start(&db, Script::new(Row::Answers)).await;
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let batch = world.create_with(&ids, Some(usd(25))).await;
    let batch = world.ended(batch).await;
    assert_eq!((batch.status, batch.rows.completed, batch.rows.failed), (BatchStatus::Completed, 6, 4));
    let errors = world.errors(&batch).await;
    assert!(errors.iter().all(|error| error.contains("max_cost_usd")), "{errors:?}");
    // A failed row costs what its polls did, which the script says of every row.
    assert_eq!(batch.spent, usd(30));
    let poor = world.create_with(&["a"], Some(usd(9))).await;
    let poor = world.ended(poor).await;
    assert_eq!((poor.status, &*poor.errors[0].code), (BatchStatus::Failed, "max_cost_too_low"));
    let unlimited = world.create(&["a", "b"]).await;
    assert_eq!(world.ended(unlimited).await.spent, usd(6));
}

/// The script says that every row costs 3, also the one that is left out.
async fn a_row_that_is_not_asked_returns_what_it_reserved(db: TestDatabase) {
    let world = World::start(&db, Script::new(Row::FailsForATime)).await;
    let id = world.create_with(&["a", "later"], Some(usd(25))).await;
    world.until(id, |batch| batch.rows.completed == 1).await;
    world.asked(2).await;
    world.batches.cancel(world.user, id).await.unwrap();
    let batch = world.ended(id).await;
    assert_eq!((batch.status, batch.rows.failed), (BatchStatus::Cancelled, 1));
    assert_eq!(batch.spent, usd(6));
    assert!(world.tasks.shut_down(Duration::from_secs(10)).await);
}

async fn rows_that_fail_for_a_time_do_not_keep_a_batch_open(db: TestDatabase) {
    let world = World::start(&db, Script::new(Row::FailsForATime)).await;
    let (cancelled, expired) =
        (world.create(&["a", "later", "b"]).await, world.create(&["c", "later-too", "d"]).await);
    for id in [cancelled, expired] {
        world.until(id, |batch| batch.rows.completed == 2).await;
    }
    world.batches.cancel(world.user, cancelled).await.unwrap();
    let batch = world.ended(cancelled).await;
    assert_eq!((batch.status, batch.rows.failed), (BatchStatus::Cancelled, 1));
    let errors = world.errors(&batch).await;
    assert!(
        errors[0].contains(r#""custom_id":"later""#) && errors[0].contains("batch_cancelled"),
        "{errors:?}"
    );
    assert_eq!(world.batch(expired).await.status, BatchStatus::InProgress);
    world.clock.advance(Duration::from_hours(25));
    let batch = world.ended(expired).await;
    assert_eq!((batch.status, batch.rows.failed), (BatchStatus::Expired, 1));
    assert!(world.errors(&batch).await[0].contains("batch_expired"));
    assert!(world.tasks.shut_down(Duration::from_secs(10)).await);
}

async fn a_row_that_has_begun_is_finished_by_a_batch_that_ends_early(db: TestDatabase) {
    let world = World::start(&db, Script::new(Row::FailsForATime)).await;
    let id = world.create(&["a", "later-begun"]).await;
    world.until(id, |batch| batch.rows.completed == 1).await;
    let begun = async || world.script.begun.lock().unwrap().len();
    until("the row has begun", begun, |begun| *begun > 0).await;
    world.batches.cancel(world.user, id).await.unwrap();
    world.asked(world.script.asked.load(Ordering::SeqCst) + 1).await;
    assert_eq!(world.batch(id).await.status, BatchStatus::Cancelling);
    *world.script.later.lock().unwrap() = Row::Answers;
    let batch = world.ended(id).await;
    assert_eq!((batch.status, batch.rows.completed, batch.rows.failed), (BatchStatus::Cancelled, 2, 0));
    assert!(world.tasks.shut_down(Duration::from_secs(10)).await);
}

async fn a_row_that_panics_fails_alone(db: TestDatabase) {
    let world = World::start(&db, Script::new(Row::Panics)).await;
    let id = world.create(&["a", "later", "b"]).await;
    let batch = world.ended(id).await;
    assert_eq!((batch.status, batch.rows.completed, batch.rows.failed), (BatchStatus::Completed, 2, 1));
    let errors = world.errors(&batch).await;
    assert!(errors[0].contains(r#""status_code":500"#) && !errors[0].contains("of the test"), "{errors:?}");
    assert!(world.tasks.shut_down(Duration::from_secs(10)).await);
}

async fn a_batch_that_cannot_be_priced_expires(db: TestDatabase) {
    let world = World::start(&db, Script { prices: false, ..Script::new(Row::Answers) }).await;
    let id = world.create(&["a"]).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(world.batch(id).await.status, BatchStatus::Validating);
    world.clock.advance(Duration::from_hours(25));
    // The lease of the failed attempt ends.
    db.pass(61_000).await;
    let batch = world.ended(id).await;
    assert_eq!((batch.status, batch.errors[0].code.as_str()), (BatchStatus::Failed, "batch_expired"));
    assert_eq!(world.script.asked.load(Ordering::SeqCst), 0);
    assert!(world.tasks.shut_down(Duration::from_secs(10)).await);
}

async fn a_stopping_worker_leaves_its_rows_to_others(db: TestDatabase) {
    let world = World::start(&db, Script::new(Row::Hangs)).await;
    let id = world.create(&["later", "later-too"]).await;
    world.asked(2).await;
    assert!(world.tasks.shut_down(Duration::from_secs(10)).await);
    *world.script.later.lock().unwrap() = Row::Answers;
    // Long before the leases would have ended.
    let other = World::beside(&db, Arc::clone(&world.script), world.user, "other");
    other.work();
    let batch = other.ended(id).await;
    assert_eq!((batch.status, batch.rows.completed), (BatchStatus::Completed, 2));
    assert!(other.tasks.shut_down(Duration::from_secs(10)).await);
}
