//! Response times for an account with many polls: `cargo bench -p ep-store --bench account --
//! [sqlite|postgres] [million]`.
//!
//! The account has 1,000 polls, then 100,000, then optionally a million, with as many holds and captures and
//! three ballots each. The first size is the baseline. Rows are copied directly in the database, from one
//! poll written by the store.
//! store has made.
#![expect(clippy::unwrap_used, reason = "a measurement that fails may stop")]

mod sample;

use std::time::{Duration, Instant};

use ep_polling::{Hold, MicroUsd, PollId, Settlement};
use ep_store::{DatabaseUrl, Epoch, Lease, NewPoll, NewUser, OpenDatabase, StoreOptions, UserId, testing};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use sample::{ballot, closing, now, plan};

const FIRST: &str = "EP-20260131-0000000000";

#[tokio::main]
async fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let wants = |word: &str| names.iter().any(|names| names == word);
    let sizes: &[u32] = if wants("million") { &[1_000, 100_000, 1_000_000] } else { &[1_000, 100_000] };
    if !wants("postgres") {
        let folder = tempfile::tempdir().unwrap();
        measure(&format!("sqlite://{}", folder.path().join("bench.db").display()), sizes).await;
    }
    if !wants("sqlite") {
        let database = testing::Postgres::start().unwrap().database().await.unwrap();
        measure(database.url(), sizes).await;
    }
}

async fn measure(url: &str, sizes: &[u32]) {
    let database: DatabaseUrl = url.parse().unwrap();
    let store = ep_store::connect(&database, StoreOptions::default()).await.unwrap();
    println!("{}", store.runtime.engine());
    let user = make_first_poll(&store).await;
    let mut polls = 1;
    for &size in sizes {
        copy(url, polls, size).await;
        polls = size;
        println!("  {size} polls");
        let (balances, history) = (store.store.clone(), &store.store);
        median("balance", async || {
            let used = balances.balance(user).await.unwrap().unwrap().used.micro();
            assert_eq!(used, 70 * i64::from(size));
        })
        .await;
        for (what, limit, offset) in [
            ("the 5 newest", 5, 0),
            ("the first page", 20, 0),
            ("the largest page", 100, 0),
            ("a page in the middle", 20, size / 2),
            ("the last page", 20, size - 20),
        ] {
            median(what, async || {
                let listed = history.polls_of(user, limit, offset).await.unwrap();
                assert_eq!((listed.len() as u32, listed[0].models.counted()), (limit, 3));
            })
            .await;
        }
    }
    store.runtime.close().await;
}

async fn median(what: &str, run: impl AsyncFn()) {
    const TIMES: usize = 51;
    let mut all = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let started = Instant::now();
        run().await;
        all.push(started.elapsed());
    }
    all.sort();
    let shown = |time: Duration| time.as_secs_f64() * 1e3;
    println!("    {what}: median {:.2} ms, longest {:.2} ms", shown(all[TIMES / 2]), shown(all[TIMES - 1]));
}

/// Creates a user with enough money for all polls, and one poll with three paid ballots.
async fn make_first_poll(store: &OpenDatabase) -> UserId {
    let user = UserId::from_random([1; 16]);
    let new_user = NewUser {
        id: user,
        email: "bench@example.com".parse().unwrap(),
        starter_credit: MicroUsd::new(1_000_000_000_000),
        created_at: now(),
    };
    store.treasury.create_user(&new_user).await.unwrap();
    for number in 0..20 {
        store
            .treasury
            .credit(user, MicroUsd::new(5_000_000), &format!("card:{number}"), now())
            .await
            .unwrap();
    }
    let id: PollId = FIRST.parse().unwrap();
    let poll = NewPoll {
        id: id.clone(),
        owner: Some(user),
        plan: plan(3),
        created_at: now(),
        request_ref: None,
        hold: Some(Hold { at_least: MicroUsd::new(1), at_most: MicroUsd::new(100) }),
        capped: None,
        notify: None,
        batch: None,
        time: None,
    };
    let lease = Lease { worker: "bench".into(), lasts: Duration::from_secs(60) };
    let polls = store.runtime.polls();
    polls.open(&poll, &lease).await.unwrap();
    polls.record(&id, Epoch::FIRST, &[ballot(1), ballot(2), ballot(3)]).await.unwrap();
    let capture = Settlement::Capture(MicroUsd::new(70));
    polls.close(&id, Epoch::FIRST, &[], &closing(), capture).await.unwrap();
    user
}

/// Copies the first poll and its rows until there are `to` polls.
async fn copy(url: &str, from: u32, to: u32) {
    let is_sqlite = url.starts_with("sqlite:");
    let series = if is_sqlite {
        format!(
            "WITH RECURSIVE copies (n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM copies WHERE n + 1 < {to})"
        )
    } else {
        format!("WITH copies (n) AS (SELECT generate_series({from}, {to} - 1))")
    };
    let id = "'EP-20260131-' || CAST(1000000000 + n AS TEXT)";
    let copies = [
        format!(
            "INSERT INTO plans (roster, seed, question, options, rules) \
                 {series} SELECT roster, seed, question, options, rules FROM plans, copies WHERE number = 1 ORDER BY n"
        ),
        format!(
            "INSERT INTO polls (id, owner, created_at, billed, settled, lease_until, lease_worker, unused_cost, \
                 closing, lease_epoch, form, number) {series} SELECT {id}, owner, created_at + n, billed, settled, \
                 lease_until, lease_worker, unused_cost, closing, lease_epoch, form, n + 1 \
                 FROM polls, copies WHERE id = '{FIRST}'"
        ),
        format!(
            "INSERT INTO votes (poll, position, seq, choice, latency_ms, at_ms, cost, basis) \
                 {series} SELECT n + 1, position, seq, choice, latency_ms, at_ms, cost, basis \
                 FROM votes, copies WHERE poll = 1"
        ),
        format!(
            "INSERT INTO holds (ref, account, amount, captured, status) \
                 {series} SELECT {id}, account, amount, captured, status FROM holds, copies WHERE ref = '{FIRST}'"
        ),
        format!(
            "INSERT INTO transfers (ref, debit_account, credit_account, amount, created_at) \
                 {series} SELECT 'hold:' || {id}, debit_account, credit_account, amount, created_at \
                 FROM transfers, copies WHERE ref = 'hold:{FIRST}'"
        ),
        format!("UPDATE accounts SET posted = posted - 70 * {}", to - from),
        if is_sqlite { "PRAGMA optimize" } else { "VACUUM ANALYZE" }.to_owned(),
    ];
    if let Some(file) = url.strip_prefix("sqlite://") {
        let db = rusqlite::Connection::open(file).unwrap();
        for sql in copies {
            db.execute_batch(&sql).unwrap();
        }
    } else {
        let mut db = PgConnection::connect(url).await.unwrap();
        for sql in copies {
            db.execute(AssertSqlSafe(sql)).await.unwrap();
        }
    }
}
