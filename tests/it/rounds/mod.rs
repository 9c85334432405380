//! Rounds of `kill -9`, pauses and cut connections while polls, batches, streams, cancellations, tasks, webhooks and push
//! notifications are in flight. Every accepted poll and every row of a batch ends once, each model is called at most once beyond the calls
//! in flight, notifications are delivered at least once, and the books balance.
//!
//! `EP_TEST_KILLS` sets the number of kills in each of the eight lanes (`scripts/long/rounds`). `EP_TEST_SEED` repeats the decisions of a failed run, as far as the timing of the processes allows.

mod callers;
mod dice;
mod lane;
mod proxy;
mod receiver;
pub mod stored;

use std::sync::Arc;

use futures::future::join_all;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::crash::signal;
use crate::harness::Engine;
use dice::Dice;
use lane::{LEASE, Lane};
use proxy::Proxy;

/// Concurrent lanes, each with a separate database.
const LANES: u64 = 8;
/// Kills in each lane, unless `EP_TEST_KILLS` is set.
const KILLS: u64 = 13;
/// Callers that start in each round.
const CALLERS: u64 = 2;

/// The maximum number of concurrent processes, for two cores.
static PROCESSES: Semaphore = Semaphore::const_new(8);

/// Runs a hundred kills of processes, with `replicas` processes per database.
async fn kills(engine: Engine, replicas: usize) {
    let dice = Dice::new(Dice::seed());
    let lanes = (0..LANES).map(|number| {
        let dice = Dice::new(dice.below(u64::MAX));
        async move {
            let _running = PROCESSES.acquire_many(replicas as u32).await.unwrap();
            let lane = Arc::new(Lane::new(dice, engine, replicas, async |url: &str| url.to_owned()).await);
            // In the last lane of replicas, some processes are paused instead.
            killed(lane, replicas, replicas > 1 && number == LANES - 1).await;
        }
    });
    join_all(lanes).await;
}

async fn killed(lane: Arc<Lane>, replicas: usize, pauses: bool) {
    let mut callers = JoinSet::new();
    let mut processes: Vec<_> = (0..replicas).map(|replica| lane.serve(replica)).collect();
    lane.set_webhook().await;
    let kills = std::env::var("EP_TEST_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    for round in 0..kills {
        lane.begin(&mut callers, CALLERS);
        match lane.dice.below(4) {
            0 => lane.dice.pause(0, 150).await,
            1 | 2 => lane.dice.pause(150, 800).await,
            _ => lane.dice.pause(800, 1800).await,
        }
        let victim = lane.dice.below(replicas as u64) as usize;
        if pauses && round % 4 == 0 {
            signal(&processes[victim], "-STOP").await;
            tokio::time::sleep(LEASE * 2).await;
            signal(&processes[victim], "-CONT").await;
            lane.dice.pause(0, 600).await;
        }
        lane.kill(&mut processes[victim]).await;
        let both = replicas > 1 && lane.dice.below(5) == 0;
        if both {
            let other = (victim + 1) % replicas;
            lane.kill(&mut processes[other]).await;
            processes[other] = lane.serve(other);
        }
        lane.note_ballots().await;
        if replicas > 1 {
            lane.dice.pause(0, 300).await;
        }
        processes[victim] = lane.serve(victim);
    }
    lane.end(callers, processes, pauses).await;
}

#[tokio::test]
async fn hundred_kills_on_sqlite() {
    kills(Engine::Sqlite, 1).await;
}

#[tokio::test]
async fn hundred_kills_on_postgres() {
    kills(Engine::Postgres, 1).await;
}

#[tokio::test]
async fn hundred_kills_of_two_replicas() {
    kills(Engine::Postgres, 2).await;
}

/// The service cannot know the outcome of a commit if the connection was cut.
#[tokio::test]
async fn connections_are_cut_at_commit() {
    let dice = Dice::new(Dice::seed());
    let cut = || {
        let (of_proxy, of_lane) = (Dice::new(dice.below(u64::MAX)), Dice::new(dice.below(u64::MAX)));
        async {
            let _running = PROCESSES.acquire().await.unwrap();
            let mut proxy = None;
            let reach = async |url: &str| proxy.insert(Proxy::start(of_proxy, url).await).url.clone();
            let lane = Arc::new(Lane::new(of_lane, Engine::Postgres, 1, reach).await);
            let proxy = proxy.unwrap();
            let process = lane.serve(0);
            lane.set_webhook().await;
            proxy.cut(true);
            let mut callers = JoinSet::new();
            for _ in 0..12 {
                lane.begin(&mut callers, CALLERS);
                lane.dice.pause(100, 600).await;
                lane.note_ballots().await;
            }
            proxy.cut(false);
            lane.end(callers, vec![process], false).await;
            proxy.cuts()
        }
    };
    let cuts = join_all([cut(), cut(), cut()]).await;
    println!("cut before and after: {cuts:?}");
    let sum = |part: fn(&(usize, usize)) -> usize| cuts.iter().map(part).sum::<usize>();
    assert!(sum(|cuts| cuts.0) > 10 && sum(|cuts| cuts.1) > 10, "{cuts:?}");
}
