//! A killed process loses no acknowledged change.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use ep_polling::{PollId, Settlement};
use ep_store::{Epoch, UserId};
use futures::future::join_all;

use ep_store::testing::test_database::{TestDatabase, ballots, closing, connect, hold, lease, new_poll, usd};

on_both_engines!(acknowledged_changes_survive_a_kill);

const URL: &str = "EP_TEST_CRASH_URL";
const OWNER: &str = "EP_TEST_CRASH_OWNER";
const CREDIT: i64 = 1_000_000_000;
const CAPTURED: i64 = 70;

/// Runs in the killed process; it is not a test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_process() {
    let (Ok(url), Ok(owner)) = (std::env::var(URL), std::env::var(OWNER)) else { return };
    let store = connect(&url).await;
    let owner: UserId = owner.parse().unwrap();
    join_all((0..8).map(|_| async {
        let polls = store.runtime.polls();
        loop {
            let poll = new_poll(Some(owner), Some(hold(1, 100)));
            polls.open(&poll, &lease("killed", 60_000)).await.unwrap();
            println!("\nOPENED {}", poll.id);
            for batch in 0..5 {
                polls.record(&poll.id, Epoch::FIRST, &ballots(batch * 4 + 1..=batch * 4 + 4)).await.unwrap();
                println!("\nSTORED {} {}", poll.id, batch * 4 + 4);
            }
            let settlement = Settlement::Capture(usd(CAPTURED));
            polls.close(&poll.id, Epoch::FIRST, &[], &closing(Some(0)), settlement).await.unwrap();
            println!("\nCLOSED {}", poll.id);
        }
    }))
    .await;
}

async fn acknowledged_changes_survive_a_kill(mut db: TestDatabase) {
    let owner = db.user(CREDIT).await;
    let (mut opened, mut closed) = (HashSet::new(), HashSet::new());
    let mut stored: HashMap<PollId, usize> = HashMap::new();
    for acknowledgements in [3, 150, 400] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::killed_process", "--nocapture", "--test-threads=1"])
            .env(URL, &db.url)
            .env(OWNER, owner.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut seen = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            let words: Vec<&str> = line.split(' ').collect();
            // A line cut short by the kill is ignored.
            match (words.as_slice(), words.get(1).and_then(|id| id.parse::<PollId>().ok())) {
                (["OPENED", _], Some(id)) => drop(opened.insert(id)),
                (["CLOSED", _], Some(id)) => drop(closed.insert(id)),
                (["STORED", _, count], Some(id)) => drop(stored.insert(id, count.parse().unwrap_or(0))),
                _ => continue,
            }
            seen += 1;
            if seen == acknowledgements {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        db = db.reopened().await;
        db.assert_consistent().await;
        for id in &opened {
            let poll = db.polls.poll(id).await.unwrap().unwrap();
            assert!(!closed.contains(id) || (poll.closing.is_some() && poll.settled), "{id}");
            let found = db.polls.ballots(id, 0).await.unwrap();
            assert!(found.len() >= stored.get(id).copied().unwrap_or(0), "{id}: {} ballots", found.len());
            assert_eq!(found, ballots(1..=found.len() as u32), "all or none, in order");
        }
    }
    assert!(opened.len() > 10 && !closed.is_empty());

    // The next process closes the remaining polls, and the money adds up.
    db.pass(60_000).await;
    for poll in db.polls.adopt(&lease("successor", 60_000), Duration::ZERO, 10_000).await.unwrap() {
        db.polls
            .close(&poll.id, poll.epoch, &[], &closing(Some(0)), Settlement::Capture(usd(CAPTURED)))
            .await
            .unwrap();
    }
    db.assert_consistent().await;
    let polls = ep_store::testing::test_database::number(&db.url, "SELECT count(*) FROM polls").await;
    assert_eq!(db.money(owner).await, [CREDIT - polls * CAPTURED, 0, polls * CAPTURED]);
}
