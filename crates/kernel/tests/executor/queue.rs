//! Queued polls.

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::{Billing, Kind, Opener, PollLimits};
use ep_polling::PollId;
use ep_store::UserId;
use tokio::time::{Instant, sleep};

use super::memory::{DEADLINE, Database, LEASE, Replica};
use super::scripted::{Case, Script};

const LIMITS: PollLimits =
    PollLimits { running: 1, waiting: 4, of_batches: 0, stalled_after: Duration::from_secs(1) };

/// Polls that take fifteen seconds.
fn case() -> (Case, Arc<Script>, Arc<Database>) {
    let mut case = Case::new(&[Some(0); 3]);
    (case.threshold, case.takes, case.pace) =
        (1.0, Duration::from_secs(15), ep_polling::stopping::Pace::Fast);
    let script = Arc::new(case.script());
    (case, script, Arc::default())
}

async fn open(replica: &Replica, case: &Case, owner: u8) -> Result<PollId, Kind> {
    let opened = replica
        .executor
        .open(case.plan(), Opener { owner: Some(UserId::from_random([owner; 16])), ..Opener::default() })
        .await;
    opened.map_err(|fault| fault.kind())
}

async fn position(replica: &Replica, id: &PollId) -> Option<u32> {
    let state = replica.executor.state(id).await.unwrap().unwrap();
    replica.executor.position(&state.record)
}

#[tokio::test(start_paused = true)]
async fn accounts_take_turns_and_a_full_queue_rejects_polls() {
    let (case, script, database) = case();
    let replica = Replica::limited(1, &database, &script, LIMITS);
    let first = open(&replica, &case, 1).await.unwrap();
    let second = open(&replica, &case, 1).await.unwrap();
    let third = open(&replica, &case, 1).await.unwrap();
    assert_eq!(open(&replica, &case, 1).await, Err(Kind::Busy), "half of the queue is reserved for others");
    let other = open(&replica, &case, 2).await.unwrap();
    assert_eq!(position(&replica, &first).await, None);
    assert_eq!(position(&replica, &second).await, Some(2));
    assert_eq!(position(&replica, &third).await, Some(3));
    assert_eq!(position(&replica, &other).await, Some(2));
    assert_eq!(script.called.lock().unwrap().len(), 0);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(script.called.lock().unwrap().len(), 3, "one poll runs");
    replica.ended(&other).await;
    assert!(database.row(&third).record.closing.is_none(), "the other account was served first");
    replica.ended(&third).await;
    assert_eq!(database.rows().len(), 4, "a rejected poll is not opened");
    assert_eq!(script.called.lock().unwrap().len(), 12);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_poll_starts_with_its_turn() {
    let (mut case, _, database) = case();
    case.takes = DEADLINE.saturating_sub(Duration::from_secs(5));
    let script = Arc::new(case.script());
    let replica = Replica::limited(1, &database, &script, LIMITS);
    let opened = Instant::now();
    open(&replica, &case, 1).await.unwrap();
    let second = open(&replica, &case, 1).await.unwrap();
    assert_eq!(database.row(&second).deadline, None);
    replica.ended(&second).await;
    assert!(opened.elapsed() > DEADLINE + DEADLINE / 2);
    assert!(database.row(&second).ballots.iter().all(|ballot| ballot.vote.is_ok()));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_poll_leaves_the_queue() {
    let (case, script, database) = case();
    let replica = Replica::limited(1, &database, &script, LIMITS);
    open(&replica, &case, 1).await.unwrap();
    let (second, third) = (open(&replica, &case, 1).await.unwrap(), open(&replica, &case, 1).await.unwrap());
    assert!(replica.executor.cancel(&second).await.unwrap());
    let closing = replica.ended(&second).await;
    assert_eq!((closing.reason, database.row(&second).ballots.len()), (None, 0));
    assert_eq!(position(&replica, &third).await, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_stopping_service_releases_queued_polls_immediately() {
    let (case, script, database) = case();
    let stopping = Replica::limited(1, &database, &script, LIMITS);
    open(&stopping, &case, 1).await.unwrap();
    let waiting = open(&stopping, &case, 1).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    stopping.tasks.token().cancel();
    sleep(Duration::from_millis(1)).await;
    let other = Replica::limited(2, &database, &script, LIMITS);
    assert_eq!(other.executor.resume().await.unwrap(), 1);
    other.ended(&waiting).await;
    assert_eq!(database.row(&waiting).ballots.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_busy_process_adopts_abandoned_polls_only_after_a_while() {
    let (case, script, database) = case();
    let dead = Replica::new(1, &database, &script);
    let orphans = [open(&dead, &case, 1).await.unwrap(), open(&dead, &case, 2).await.unwrap()];
    dead.executor.release().await.unwrap();
    let busy = Replica::limited(2, &database, &script, LIMITS);
    assert_eq!(busy.executor.resume().await.unwrap(), 1);
    assert_eq!(busy.executor.resume().await.unwrap(), 0);
    // The busy process's own queue is never empty.
    let mut own = Vec::new();
    for _ in 0..8 {
        own.extend(open(&busy, &case, 3).await);
        sleep(Duration::from_secs(5)).await;
    }
    assert_eq!(busy.executor.resume().await.unwrap(), 1);
    for poll in own.iter().chain(&orphans) {
        busy.ended(poll).await;
    }
    for orphan in &orphans {
        assert_eq!(database.row(orphan).ballots.len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_poll_past_its_deadline_is_closed_without_a_turn() {
    let (case, script, database) = case();
    let dead = Replica::new(1, &database, &script);
    let orphan = open(&dead, &case, 1).await.unwrap();
    dead.executor.release().await.unwrap();
    sleep(DEADLINE + LEASE).await;
    let busy = Replica::limited(2, &database, &script, LIMITS);
    open(&busy, &case, 2).await.unwrap();
    let opened = Instant::now();
    assert_eq!(busy.executor.resume().await.unwrap(), 1);
    busy.ended(&orphan).await;
    assert!(opened.elapsed() < Duration::from_secs(1), "{:?}", opened.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_account_cannot_store_questions_without_end_by_polls_that_cost_nothing() {
    let (mut case, script, database) = case();
    (case.price, case.takes) = (Some(ep_polling::money::Price::FREE), Duration::ZERO);
    let replica = Replica::limited(1, &database, &script, LIMITS);
    let mut plan = case.plan();
    plan.question = "x".repeat(8 << 20).into();
    let open = async |owner: u8| {
        let owner = Some(UserId::from_random([owner; 16]));
        let opener = Opener { owner, billing: Billing::Owner, ..Opener::default() };
        let opened = replica.executor.open(plan.clone(), opener).await;
        if let Ok(id) = &opened {
            replica.ended(id).await;
        }
        opened.map_err(|fault| fault.kind())
    };
    for _ in 0..3 {
        open(1).await.unwrap();
    }
    assert_eq!(open(1).await, Err(Kind::RateLimited));
    open(2).await.unwrap();
}
