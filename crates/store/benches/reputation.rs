//! The cost of reputation: `cargo bench -p ep-store --bench reputation -- [sqlite|postgres]`.
//!
//! Measures reading the sums of 500 models with votes for every position of two to ten options, counting
//! polls of 50 ballots, and closing such polls with and without the trigger that marks them for counting.
#![expect(clippy::unwrap_used, reason = "a measurement that fails may stop")]

mod sample;

use std::time::{Duration, Instant};

use ep_polling::{Ballot, MicroUsd, Settlement};
use ep_store::{DatabaseUrl, Epoch, Lease, NewPoll, PollStore, StoreOptions, testing};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use sample::{ballot, closing, now, plan};

const MODELS: u32 = 500;
const BALLOTS: u32 = 50;
const POLLS: u32 = 200;

#[tokio::main]
async fn main() {
    let names = std::env::args().nth(1).unwrap_or_default();
    if names != "postgres" {
        let folder = tempfile::tempdir().unwrap();
        measure(&format!("sqlite://{}", folder.path().join("bench.db").display())).await;
    }
    if names != "sqlite" {
        let database = testing::Postgres::start().unwrap().database().await.unwrap();
        measure(database.url()).await;
    }
}

async fn measure(url: &str) {
    let database: DatabaseUrl = url.parse().unwrap();
    let store = ep_store::connect(&database, StoreOptions::default()).await.unwrap();
    println!("{}", store.runtime.engine());
    let (polls, reputation) = (store.runtime.polls(), &store.runtime);
    let is_sqlite = url.starts_with("sqlite:");
    let (make, drop) = if is_sqlite {
        (
            "CREATE TRIGGER polls_that_end_are_counted AFTER UPDATE OF closing ON polls \
             WHEN OLD.closing IS NULL AND NEW.closing IS NOT NULL \
             BEGIN INSERT INTO reputation_polls (poll_id) VALUES (NEW.id); END",
            "DROP TRIGGER polls_that_end_are_counted",
        )
    } else {
        (
            "ALTER TABLE polls ENABLE TRIGGER polls_that_end_are_counted",
            "ALTER TABLE polls DISABLE TRIGGER polls_that_end_are_counted",
        )
    };
    for (what, change) in [("with the trigger", None), ("without", Some(drop)), ("with it again", Some(make))]
    {
        if let Some(sql) = change {
            execute(url, sql).await;
        }
        close_polls(&*polls, what).await;
    }
    let (mut counted, started) = (0, Instant::now());
    loop {
        match reputation.count_polls(20).await.unwrap() {
            0 => break,
            some => counted += some,
        }
    }
    let each = started.elapsed() / counted;
    println!("  count a poll of {BALLOTS} ballots, 20 at once: {:.2} ms each", millis(each));

    for sql in sums(is_sqlite) {
        execute(url, &sql).await;
    }
    median(&format!("read the sums of {MODELS} models"), async || {
        let sums = reputation.sums().await.unwrap();
        assert!(sums.models.len() as u32 >= MODELS);
    })
    .await;
    store.runtime.close().await;
}

/// Closes polls one after the other.
async fn close_polls(polls: &dyn PollStore, what: &str) {
    let mut all = Vec::new();
    let ballots: Vec<Ballot> = (1..=BALLOTS).map(ballot).collect();
    for number in 0..POLLS {
        let mut plan = plan(BALLOTS);
        plan.simulated = false;
        let id = format!("EP-20260131-{:010}", number + POLLS * u32::from(what.len() as u8)).parse().unwrap();
        let poll = NewPoll {
            id,
            owner: None,
            plan,
            created_at: now(),
            request_ref: None,
            hold: None,
            capped: None,
            notify: None,
            batch: None,
            time: None,
        };
        let lease = Lease { worker: "bench".into(), lasts: Duration::from_secs(60) };
        polls.open(&poll, &lease).await.unwrap();
        polls.record(&poll.id, Epoch::FIRST, &ballots).await.unwrap();
        let (capture, started) = (Settlement::Capture(MicroUsd::ZERO), Instant::now());
        polls.close(&poll.id, Epoch::FIRST, &[], &closing(), capture).await.unwrap();
        all.push(started.elapsed());
    }
    report(&format!("close a poll, {what}"), all);
}

/// Returns statements that write the sums of many models directly.
fn sums(is_sqlite: bool) -> [String; 2] {
    let series = |name: &str, from: u32, to: u32| {
        if is_sqlite {
            format!("{name} (n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM {name} WHERE n < {to})")
        } else {
            format!("{name} (n) AS (SELECT generate_series({from}, {to}))")
        }
    };
    let with = if is_sqlite { "WITH RECURSIVE" } else { "WITH" };
    let models = series("models", 1, MODELS);
    [
        format!(
            "INSERT INTO reputation_models (model, stored, calls, votes, refused, unreadable, latency_ms, priced, cost, \
                 decided, with_outcome, judged, agreed) {with} {models} SELECT 'maker/model-' || CAST(n AS TEXT), 1, \
                 200000, 190000, 1000, 1000, 170000000, 200000, 24000000, 180000, 120000, 100, 60000000 FROM models"
        ),
        format!(
            "INSERT INTO reputation_slots (model, options, slot, stored, votes) {with} {models}, {}, {} \
                 SELECT 'maker/model-' || CAST(models.n AS TEXT), options.n, slots.n, 1, 3500 \
                 FROM models, options, slots WHERE slots.n < options.n",
            series("options", 2, 10),
            series("slots", 0, 9),
        ),
    ]
}

async fn execute(url: &str, sql: &str) {
    if let Some(file) = url.strip_prefix("sqlite://") {
        rusqlite::Connection::open(file).unwrap().execute_batch(sql).unwrap();
    } else {
        let sql = AssertSqlSafe(sql.to_owned());
        PgConnection::connect(url).await.unwrap().execute(sql).await.unwrap();
    }
}

async fn median(what: &str, run: impl AsyncFn()) {
    let mut all = Vec::new();
    for _ in 0..21 {
        let started = Instant::now();
        run().await;
        all.push(started.elapsed());
    }
    report(what, all);
}

fn report(what: &str, mut all: Vec<Duration>) {
    all.sort();
    println!(
        "  {what}: median {:.2} ms, longest {:.2} ms",
        millis(all[all.len() / 2]),
        millis(all[all.len() - 1])
    );
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
