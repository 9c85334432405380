//! Polls run by one process and followed in others. Each is read once for all its followers in a process.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ep_kernel::testing::until;
use ep_kernel::{Kind, Opener};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::memory::{Database, LEASE, Replica};
use super::scripted::{Case, Script};

/// A poll that calls all its twenty models, a few at a time. Each call takes a little longer than `takes`.
fn case(takes: Duration) -> (Case, Arc<Script>) {
    let votes: Vec<Option<usize>> = (0..20).map(|i| Some(i % 2)).collect();
    let mut case = Case::new(&votes);
    (case.threshold, case.takes) = (1.0, takes);
    let mut script = case.script();
    for (number, line) in script.lines.values_mut().enumerate() {
        line.takes += Duration::from_millis(37 * number as u64);
    }
    (case, Arc::new(script))
}

/// Returns the number of database reads for this many followers, and the number of changes, after all have
/// seen the whole poll.
async fn reads_for(followers: usize, database: &Arc<Database>) -> (u32, u32) {
    let (case, script) = case(Duration::from_millis(300));
    let (runs, follows) = (Replica::new(1, database, &script), Replica::new(2, database, &script));
    sleep(Duration::from_millis(1)).await;
    let id = runs.executor.open(case.plan(), Opener::default()).await.unwrap();
    let mut watching = JoinSet::new();
    for _ in 0..followers {
        let (executor, id) = (follows.executor.clone(), id.clone());
        watching.spawn(async move {
            let mut follow = executor.follow(&id).await.unwrap().unwrap();
            let (mut seen, mut batches) = (0, 0);
            loop {
                let ballots = follow.next().await.unwrap();
                if ballots.is_empty() {
                    break;
                }
                (seen, batches) = (seen + ballots.len(), batches + 1);
            }
            assert!(follow.state().record.closing.is_some());
            assert_eq!(seen, 20);
            batches
        });
    }
    let batches = watching.join_all().await.into_iter().max().unwrap();
    (follows.store.reads.load(Ordering::SeqCst), batches)
}

#[tokio::test(start_paused = true)]
async fn one_read_per_change_serves_all_followers() {
    let (alone, changes) = reads_for(1, &Database::announcing()).await;
    let (many, _) = reads_for(1000, &Database::announcing()).await;
    // Each new follower reads the poll before it finds that it is already followed.
    assert!(changes >= 8, "{changes}");
    assert!(alone <= changes + 6, "{alone} reads for {changes} changes");
    assert!(many <= alone + 1000, "{many} reads for 1,000 followers, {alone} for one");
}

#[tokio::test(start_paused = true)]
async fn unannounced_changes_are_found_within_a_second() {
    let (case, script) = case(Duration::from_millis(2500));
    let database = Arc::default();
    let (runs, follows) = (Replica::new(1, &database, &script), Replica::new(2, &database, &script));
    let id = runs.executor.open(case.plan(), Opener::default()).await.unwrap();
    let mut follow = follows.executor.follow(&id).await.unwrap().unwrap();
    let mut seen = 0;
    loop {
        let stored = async || (database.row(&id).ballots.len(), database.row(&id).record.closing.is_some());
        until("a change is stored", stored, |(ballots, is_closed)| *ballots > seen || *is_closed).await;
        let ballots = timeout(Duration::from_millis(1010), follow.next()).await.unwrap().unwrap();
        if ballots.is_empty() {
            break;
        }
        seen += ballots.len();
    }
    assert_eq!((seen, follow.state().record.closing.is_some()), (20, true));
}

#[tokio::test(start_paused = true)]
async fn a_poll_without_followers_is_no_longer_read() {
    let (case, script) = case(Duration::from_secs(20));
    let database = Database::announcing();
    let (runs, follows) = (Replica::new(1, &database, &script), Replica::new(2, &database, &script));
    let id = runs.executor.open(case.plan(), Opener::default()).await.unwrap();
    let follow = follows.executor.follow(&id).await.unwrap().unwrap();
    sleep(Duration::from_secs(3)).await;
    assert!(follows.store.reads.load(Ordering::SeqCst) >= 3);
    drop(follow);
    sleep(Duration::from_millis(10)).await;
    let reads = follows.store.reads.load(Ordering::SeqCst);
    runs.ended(&id).await;
    assert_eq!(follows.store.reads.load(Ordering::SeqCst), reads);
}

#[tokio::test(start_paused = true)]
async fn polls_of_a_stopping_process_are_adopted_immediately() {
    let (case, script) = case(Duration::from_secs(2));
    let database = Database::announcing();
    let (stops, goes_on) = (Replica::new(1, &database, &script), Replica::new(2, &database, &script));
    sleep(Duration::from_millis(1)).await;
    let id = stops.executor.open(case.plan(), Opener::default()).await.unwrap();
    let mut follow = goes_on.executor.follow(&id).await.unwrap().unwrap();
    sleep(Duration::from_millis(500)).await;
    stops.tasks.shut_down(Duration::from_secs(3)).await;
    let released = Instant::now();
    stops.executor.release().await.unwrap();
    sleep(Duration::from_millis(20)).await;
    assert_eq!(goes_on.executor.running(), 1, "{:?}", released.elapsed());
    let mut seen = 0;
    loop {
        let ballots = follow.next().await.unwrap();
        if ballots.is_empty() {
            break;
        }
        seen += ballots.len();
    }
    assert_eq!(seen, 20, "every follower sees each vote once");
    assert!(released.elapsed() < LEASE);
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_reaches_other_processes_immediately() {
    let (case, script) = case(Duration::from_secs(5));
    let database = Database::announcing();
    let (runs, cancels) = (Replica::new(1, &database, &script), Replica::new(2, &database, &script));
    sleep(Duration::from_millis(1)).await;
    let id = runs.executor.open(case.plan(), Opener::default()).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    assert!(cancels.executor.cancel(&id).await.unwrap());
    let mut follow = cancels.executor.follow(&id).await.unwrap().unwrap();
    let ended = timeout(Duration::from_millis(100), follow.next()).await.unwrap().unwrap();
    assert!(
        ended.is_empty() && follow.state().record.closing.as_ref().is_some_and(|closing| closing.cancelled)
    );
}

#[tokio::test(start_paused = true)]
async fn followers_are_notified_when_their_process_stops() {
    let (case, script) = case(Duration::from_secs(20));
    let database = Database::announcing();
    let (runs, stops) = (Replica::new(1, &database, &script), Replica::new(2, &database, &script));
    let id = runs.executor.open(case.plan(), Opener::default()).await.unwrap();
    let mut follow = stops.executor.follow(&id).await.unwrap().unwrap();
    let (stopped, followed) = tokio::join!(stops.tasks.shut_down(Duration::from_secs(1)), follow.next());
    assert!(stopped, "no task is left");
    let fault = followed.unwrap_err();
    assert_eq!(fault.kind(), Kind::PollFailed);
    assert!(fault.message().contains("is stopping"), "{}", fault.message());
}
