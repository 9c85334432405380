//! The cost of storage: `cargo bench -p ep-store --bench store -- [sqlite|postgres]`.
//!
//! CPU time covers all threads of this process; on PostgreSQL, the server's CPU time comes on top. Times
//! depend on the disk: SQLite's file is in the temporary folder.
#![expect(clippy::unwrap_used, reason = "a measurement that fails may stop")]
#![expect(clippy::disallowed_methods, reason = "all spawned tasks are awaited")]

mod sample;

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use ep_polling::{Ballot, Hold, MicroUsd, Plan, PollId, Settlement};
use ep_store::{
    Creator, DatabaseUrl, Epoch, KeyHash, KeyId, KeyTerms, Lease, NewKey, NewPoll, NewUser, OpenDatabase,
    PollStore, StoreOptions, UserId, testing,
};

use sample::{closing, now};

const BALLOTS: u32 = 50;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let names = std::env::args().nth(1).unwrap_or_default();
    if names != "postgres" {
        let folder = tempfile::tempdir().unwrap();
        measure(&format!("sqlite://{}", folder.path().join("bench.db").display())).await;
    }
    if names == "postgres" {
        let database = testing::Postgres::start().unwrap().database().await.unwrap();
        measure(database.url()).await;
    }
}

async fn measure(url: &str) {
    let url: DatabaseUrl = url.parse().unwrap();
    let store = Arc::new(ep_store::connect(&url, StoreOptions::default()).await.unwrap());
    println!("{}", store.runtime.engine());
    let owner = UserId::from_random([1; 16]);
    let user = NewUser {
        id: owner,
        email: "bench@example.com".parse().unwrap(),
        starter_credit: MicroUsd::new(1_000_000_000_000),
        created_at: now(),
    };
    store.treasury.create_user(&user).await.unwrap();
    let hash = KeyHash::new("5".repeat(64));
    let new_key = NewKey {
        id: KeyId::from_random([2; 16]),
        user: owner,
        hash: hash.clone(),
        prefix: "ep_live_abcd".to_owned(),
        label: "bench".parse().unwrap(),
        terms: KeyTerms::default(),
        creator: Creator::Proof,
        created_at: now(),
    };
    store.vault.add_key(&new_key).await.unwrap();

    let polls = store.runtime.polls();
    latency("record one ballot, one at a time (durable after a process crash)", 2_000, async |number| {
        static POLL: Mutex<Option<PollId>> = Mutex::new(None);
        if (number as u32).is_multiple_of(BALLOTS) {
            let id = open(&*polls, None).await;
            *POLL.lock().unwrap() = Some(id);
        }
        let id = POLL.lock().unwrap().clone().unwrap();
        let started = Instant::now();
        polls.record(&id, Epoch::FIRST, &[ballot(number as u32 % BALLOTS + 1)]).await.unwrap();
        started.elapsed()
    })
    .await;
    let ledger = store.treasury.clone();
    latency("credit, one at a time (durable after a power loss)", 1_000, async |number| {
        let started = Instant::now();
        ledger.credit(owner, MicroUsd::new(1), &format!("credit:{number}"), now()).await.unwrap();
        started.elapsed()
    })
    .await;
    for at_once in [1, 8, 32, 128] {
        recorders(&store, at_once).await;
    }
    for (at_once, pause) in [(1, 0), (32, 0), (64, 5), (64, 20)] {
        whole_polls(&store, owner, at_once, Duration::from_millis(pause)).await;
    }

    let id = open(&*polls, Some(owner)).await;
    for seq in 1..=BALLOTS {
        polls.record(&id, Epoch::FIRST, &[ballot(seq)]).await.unwrap();
    }
    cpu("read a poll by id (50 members)", 10_000, async || drop(polls.poll(&id).await.unwrap().unwrap()))
        .await;
    cpu("read its 50 ballots", 10_000, async || assert_eq!(polls.ballots(&id, 0).await.unwrap().len(), 50))
        .await;
    let keys = store.vault.clone();
    cpu("read a key by its hash", 20_000, async || {
        assert!(keys.key_owner(&hash, now()).await.unwrap().is_some());
    })
    .await;
    cpu("read a balance", 20_000, async || assert!(store.store.balance(owner).await.unwrap().is_some()))
        .await;
    store.runtime.close().await;
}

/// Records ballots one by one, with this many concurrent callers.
async fn recorders(store: &Arc<OpenDatabase>, at_once: usize) {
    let (started, spent) = (Instant::now(), cpu_time());
    let recorded = Arc::new(AtomicU64::new(0));
    let recording = (0..at_once).map(|_| {
        let (polls, recorded) = (store.runtime.polls(), recorded.clone());
        tokio::spawn(async move {
            let mut waiting = Duration::ZERO;
            while started.elapsed() < Duration::from_secs(3) {
                let id = open(&*polls, None).await;
                for seq in 1..=BALLOTS {
                    let calls = Instant::now();
                    polls.record(&id, Epoch::FIRST, &[ballot(seq)]).await.unwrap();
                    waiting += calls.elapsed();
                    recorded.fetch_add(1, Ordering::Relaxed);
                }
            }
            waiting
        })
    });
    let mut waiting = Duration::ZERO;
    for waited in futures::future::join_all(recording).await {
        waiting += waited.unwrap();
    }
    let recorded = recorded.load(Ordering::Relaxed);
    println!(
        "  {at_once:>3} recorders at once: {:>7.0} ballots/s, {:>6.0} µs each to wait, {:>5.1} µs of CPU each",
        recorded as f64 / started.elapsed().as_secs_f64(),
        micros(waiting) / recorded as f64,
        micros(cpu_time().saturating_sub(spent)) / recorded as f64,
    );
}

/// Opens polls with a hold, records 50 ballots one by one with pauses, and closes with a capture.
async fn whole_polls(store: &Arc<OpenDatabase>, owner: UserId, at_once: usize, pause: Duration) {
    let (started, spent) = (Instant::now(), cpu_time());
    let done = Arc::new(AtomicU64::new(0));
    let polling = (0..at_once).map(|_| {
        let (polls, done) = (store.runtime.polls(), done.clone());
        tokio::spawn(async move {
            while started.elapsed() < Duration::from_secs(3) {
                let id = open(&*polls, Some(owner)).await;
                for seq in 1..=BALLOTS {
                    if !pause.is_zero() {
                        tokio::time::sleep(pause).await;
                    }
                    polls.record(&id, Epoch::FIRST, &[ballot(seq)]).await.unwrap();
                }
                let capture = Settlement::Capture(MicroUsd::new(70));
                polls.close(&id, Epoch::FIRST, &[], &closing(), capture).await.unwrap();
                done.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    for polled in futures::future::join_all(polling).await {
        polled.unwrap();
    }
    let done = done.load(Ordering::Relaxed);
    println!(
        "  polls of 50 ballots, {at_once} at once, {pause:?} between ballots: {:.0}/s, {:.0} µs of CPU each",
        done as f64 / started.elapsed().as_secs_f64(),
        micros(cpu_time().saturating_sub(spent)) / done as f64,
    );
}

async fn latency(what: &str, times: usize, run: impl AsyncFn(usize) -> Duration) {
    let spent = cpu_time();
    let mut all = Vec::with_capacity(times);
    for number in 0..times {
        all.push(run(number).await);
    }
    let cpu = micros(cpu_time().saturating_sub(spent)) / times as f64;
    all.sort();
    let at = |share: f64| micros(all[(times as f64 * share) as usize]);
    println!("  {what}: median {:.0} µs, p99 {:.0} µs, {cpu:.0} µs of CPU", at(0.5), at(0.99));
}

async fn cpu<F: Future<Output = ()>>(what: &str, times: u32, run: impl Fn() -> F) {
    let (started, spent) = (Instant::now(), cpu_time());
    for _ in 0..times {
        run().await;
    }
    println!(
        "  {what}: {:.1} µs of CPU, {:.1} µs",
        micros(cpu_time().saturating_sub(spent)) / f64::from(times),
        micros(started.elapsed()) / f64::from(times),
    );
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Returns the CPU time of all running threads.
fn cpu_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let nanos = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

async fn open(polls: &dyn PollStore, owner: Option<UserId>) -> PollId {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let id: PollId = format!("EP-20260131-{number:010}").parse().unwrap();
    let hold = owner.map(|_| Hold { at_least: MicroUsd::new(1), at_most: MicroUsd::new(100) });
    let poll = NewPoll {
        id: id.clone(),
        owner,
        plan: plan(),
        created_at: now(),
        request_ref: None,
        hold,
        capped: None,
        notify: None,
        batch: None,
        time: None,
    };
    polls.open(&poll, &Lease { worker: "bench".into(), lasts: Duration::from_secs(60) }).await.unwrap();
    id
}

fn plan() -> Plan {
    static PLAN: LazyLock<Plan> = LazyLock::new(|| sample::plan(BALLOTS));
    PLAN.clone()
}

fn ballot(seq: u32) -> Ballot {
    static ALL: LazyLock<Vec<Ballot>> = LazyLock::new(|| (1..=BALLOTS).map(sample::ballot).collect());
    ALL[seq as usize - 1].clone()
}
