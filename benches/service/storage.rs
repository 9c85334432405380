//! Measures what polls take in the SQLite file: its growth over many polls, the pages of the write-ahead log per
//! poll, and the start on a file with a million polls.

use std::path::Path;
use std::time::Duration;

use futures::future::join_all;
use reqwest::Client;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::polls::{Poll, upstream};
use crate::process::{Server, ep_json, median};

const POLLS: usize = 10_000;
const CONCURRENT: usize = 32;
/// The size of the file for the measurement of a start.
const MANY: u32 = 1_000_000;
/// The length of a page in the log: its header and its content.
const LOG_PAGE: u64 = 24 + 4096;

/// Measures storage.
pub(crate) async fn run() {
    println!("\nstorage on SQLite");
    for models in [50, 3] {
        let data = tempfile::tempdir().expect("a folder");
        let file = data.path().join("ensemble-poll.db");
        let key = account(&data);
        ask(&data, &key, models, 10).await;
        let before = length(&file);
        let pages = ask(&data, &key, models, POLLS).await;
        let bytes = (length(&file) - before) as f64 / POLLS as f64;
        println!("  polls of {models:>2} models: {bytes:>6.0} bytes each, {pages:.1} pages of the log each");
    }
    start().await;
}

fn account(data: &TempDir) -> String {
    let user = ["admin", "create-user", "--email", "bench@example.com", "--credit-usd", "1000", "--json"];
    ep_json(data, &user)["api_key"].as_str().expect("a key").to_owned()
}

/// Opens polls, several at a time. Returns the pages of the log per poll, over the last hundreds of them.
async fn ask(data: &TempDir, key: &str, models: usize, polls: usize) -> f64 {
    let upstream = upstream();
    let base_url = upstream.base_url();
    let server =
        Server::start(data, &[("EP_UPSTREAM_URL", base_url.as_str()), ("EP_LOG", "warn,ensemble_poll=info")]);
    let client = Client::builder().tcp_nodelay(true).no_proxy().build().expect("a client");
    let poll = Poll { client: &client, url: format!("{}/api/poll", server.url), key: key.to_owned() };
    let some = async |polls: usize| {
        join_all((0..CONCURRENT).map(|n| {
            let poll = &poll;
            async move {
                for _ in 0..polls / CONCURRENT + usize::from(n < polls % CONCURRENT) {
                    poll.ask_about(QUESTION, models).await;
                }
            }
        }))
        .await;
    };
    let last = polls.min(640);
    some(polls - last).await;
    let file = data.path().join("ensemble-poll.db");
    // The log starts empty, and a reader keeps it from starting again.
    let reader = Connection::open(file).expect("opens");
    reader.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("truncates");
    reader.execute_batch("BEGIN; SELECT count(*) FROM accounts").expect("reads");
    let log = data.path().join("ensemble-poll.db-wal");
    let before = length(&log);
    some(last).await;
    let pages = length(&log).saturating_sub(before) / LOG_PAGE;
    drop(reader);
    server.stop();
    pages as f64 / last as f64
}

/// Two hundred bytes.
const QUESTION: &str = "Which of the two is the better way to indent the source code of a program that a dozen people \
    with different editors will maintain for many years, if they also want to read it on small screens and paper?";

fn length(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |file| file.len())
}

/// Measures the start on a file with a million polls.
async fn start() {
    let data = tempfile::tempdir().expect("a folder");
    let key = account(&data);
    ask(&data, &key, 3, 1).await;
    let file = data.path().join("ensemble-poll.db");
    let db = Connection::open(&file).expect("opens");
    let copies = format!(
        "WITH RECURSIVE copies (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < {MANY})"
    );
    for copy in [
        "INSERT INTO plans (roster, seed, question, options, rules) {copies} \
             SELECT roster, seed, question, options, rules FROM plans, copies WHERE number = 1",
        "INSERT INTO polls (id, owner, created_at, billed, settled, lease_until, lease_worker, unused_cost, \
             closing, lease_epoch, form, number) {copies} SELECT 'EP-20260131-' || (1000000000 + n), owner, \
             created_at + n, 0, settled, lease_until, lease_worker, unused_cost, closing, lease_epoch, form, \
             n + 1 FROM polls, copies WHERE number = 1",
        "INSERT INTO votes (poll, position, seq, choice, latency_ms, at_ms, cost, basis) {copies} \
             SELECT n + 1, position, seq, choice, latency_ms, at_ms, cost, basis FROM votes, copies WHERE poll = 1",
    ] {
        db.execute_batch(&copy.replace("{copies}", &copies)).expect("copies");
    }
    db.close().expect("closes");
    let upstream = upstream();
    let base_url = upstream.base_url();
    let starts: Vec<Duration> = (0..9)
        .map(|_| {
            Server::start(
                &data,
                &[("EP_UPSTREAM_URL", base_url.as_str()), ("EP_LOG", "warn,ensemble_poll=info")],
            )
            .started_in
        })
        .collect();
    println!(
        "  start with {MANY} polls in {} MB: {:.1} ms",
        length(&file) / 1_000_000,
        median(starts).as_secs_f64() * 1e3
    );
}
