//! Failures of the database during polls, and processes that pause or stop. Polls continue, and models that
//! have responded are not called again.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ep_kernel::{Billing, Kind, Opener};
use ep_polling::{MicroUsd, Pace, Plan, TerminationReason};
use ep_store::Epoch;
use tokio::time::{Instant, sleep};

use super::memory::{DEADLINE, Database, LEASE, Replica};
use super::scripted::{Case, Script};

/// A poll that calls all its models, a few at a time. Each call takes this many seconds.
fn long(members: usize, takes: u64) -> (Case, Arc<Script>, Arc<Database>) {
    let votes: Vec<Option<usize>> = (0..members).map(|i| Some(i % 2)).collect();
    let mut case = Case::new(&votes);
    (case.threshold, case.takes) = (1.0, Duration::from_secs(takes));
    let script = Arc::new(case.script());
    (case, script, Arc::default())
}

fn called(script: &Script) -> usize {
    script.called.lock().unwrap().len()
}

#[tokio::test(start_paused = true)]
async fn a_poll_survives_every_failing_write() {
    for fails_every in [2, 3, 4, 5, 7] {
        let (case, script, database) = long(30, 1);
        let replica = Replica::new(1, &database, &script);
        replica.store.fails_every.store(fails_every, Ordering::SeqCst);
        let id = replica.executor.open(case.plan(), Opener::default()).await.unwrap();
        replica.ended(&id).await;
        let state = replica.executor.state(&id).await.unwrap().unwrap();
        let stored = database.row(&id).ballots;
        assert_eq!((state.ballots.len(), stored.len()), (30, 30), "memory and database agree, {fails_every}");
        let mut positions: Vec<u32> = stored.iter().map(|ballot| ballot.position).collect();
        positions.sort_unstable();
        assert_eq!(positions, (0..30).collect::<Vec<_>>());
        assert_eq!(called(&script), 30, "the process calls no model twice, {fails_every}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_opening_with_a_lost_response_is_found_and_run() {
    let (case, script, database) = long(10, 1);
    let replica = Replica::new(1, &database, &script);
    replica.store.loses_opening.store(true, Ordering::SeqCst);
    let store = Arc::clone(&replica.store);
    let heals = async {
        sleep(Duration::from_secs(2)).await;
        store.down.store(false, Ordering::SeqCst);
    };
    let (opened, ()) = tokio::join!(replica.executor.open(case.plan(), Opener::default()), heals);
    replica.ended(&opened.unwrap()).await;
    assert_eq!(called(&script), 10);
}

#[tokio::test(start_paused = true)]
async fn a_poll_with_a_failed_response_is_closed_unless_its_request_can_be_repeated() {
    for request_ref in [None, Some("request".to_owned())] {
        let (case, script, database) = long(10, 1);
        let replica = Replica::new(1, &database, &script);
        replica.store.loses_opening.store(true, Ordering::SeqCst);
        let rejected = replica
            .executor
            .open(
                case.plan(),
                Opener { billing: Billing::Owner, request_ref: request_ref.clone(), ..Opener::default() },
            )
            .await
            .unwrap_err();
        assert_eq!(rejected.kind(), Kind::Unavailable);
        replica.store.down.store(false, Ordering::SeqCst);
        sleep(LEASE).await;
        let rows: Vec<_> = database.rows().values().cloned().collect();
        assert!(rows[0].record.settled, "{request_ref:?}");
        let expected = if request_ref.is_some() { 10 } else { 0 };
        assert_eq!((rows.len(), rows[0].ballots.len(), called(&script)), (1, expected, expected));
    }
}

/// The transaction of a stalled database may be committed after its caller was refused.
#[tokio::test(start_paused = true)]
async fn an_opening_of_a_stalled_database_is_refused_and_its_poll_closed_or_found() {
    for request_ref in [None, Some("request".to_owned())] {
        let (case, script, database) = long(10, 1);
        let replica = Replica::new(1, &database, &script);
        replica.store.stalled.send_replace(true);
        let opener =
            Opener { billing: Billing::Owner, request_ref: request_ref.clone(), ..Opener::default() };
        let refused = replica.executor.open(case.plan(), opener).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Unavailable);
        assert!(database.rows().is_empty(), "the transaction still waits");
        replica.store.stalled.send_replace(false);
        sleep(LEASE).await;
        let rows: Vec<_> = database.rows().values().cloned().collect();
        assert!(rows[0].record.settled, "{request_ref:?}");
        let asked = if request_ref.is_some() { 10 } else { 0 };
        assert_eq!((rows.len(), rows[0].ballots.len(), called(&script)), (1, asked, asked));
        assert_eq!(rows[0].captured.unwrap().is_zero(), request_ref.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_poll_does_not_prevent_others_from_resuming() {
    let (case, script, database) = long(10, 1);
    let dead = Replica::new(1, &database, &script);
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(dead.executor.open(case.plan(), Opener::default()).await.unwrap());
    }
    dead.executor.release().await.unwrap();
    database.unreadable.lock().unwrap().insert(ids[1].clone());
    let successor = Replica::new(2, &database, &script);
    assert_eq!(successor.executor.resume().await.unwrap(), 2);
    for id in [&ids[0], &ids[2]] {
        successor.ended(id).await;
    }
    // No process that does not run it keeps its lease.
    sleep(LEASE).await;
    database.unreadable.lock().unwrap().clear();
    assert_eq!(successor.executor.resume().await.unwrap(), 1);
    successor.ended(&ids[1]).await;
}

#[tokio::test(start_paused = true)]
async fn a_stalled_replica_stops_calling_models_and_another_one_finishes() {
    let (mut case, script, database) = long(50, 5);
    case.pace = Pace::Thrifty;
    let (slow, other) = (Replica::new(1, &database, &script), Replica::new(2, &database, &script));
    let id = slow.executor.open(case.plan(), Opener::default()).await.unwrap();
    sleep(Duration::from_secs(7)).await;
    let in_flight = script.in_flight.load(Ordering::SeqCst);
    assert!(in_flight > 0 && called(&script) < 50, "the poll must be under way");
    slow.store.stalled.send_replace(true);
    other.resumes();
    let watching = slow.executor.follow(&id).await.unwrap().unwrap();
    other.ended(&id).await;
    slow.store.stalled.send_replace(false);
    sleep(LEASE).await;
    let row = database.row(&id);
    assert_eq!((row.ballots.len(), row.epoch), (50, Epoch::new(2)));
    let lost = called(&script) - 50;
    assert!(lost <= in_flight, "{lost} more calls than members, {in_flight} were in flight");
    // Watchers at the slow replica receive the end from the database.
    let mut watching = watching;
    while !watching.next().await.unwrap().is_empty() {}
    assert!(watching.state().record.closing.is_some());
    assert_eq!(slow.executor.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_ended_unnoticed_is_renewed() {
    let (case, script, database) = long(50, 5);
    let replica = Replica::new(1, &database, &script);
    let id = replica.executor.open(case.plan(), Opener::default()).await.unwrap();
    sleep(Duration::from_secs(7)).await;
    replica.store.stalled.send_replace(true);
    sleep(LEASE + Duration::from_secs(5)).await;
    let calls = called(&script);
    sleep(LEASE).await;
    assert_eq!(called(&script), calls, "no model is called without a lease");
    replica.store.stalled.send_replace(false);
    replica.ended(&id).await;
    let row = database.row(&id);
    assert_eq!((row.ballots.len(), row.epoch, row.record.settled), (50, Epoch::FIRST, true));
    assert_eq!(called(&script), 50, "responses that arrived meanwhile count");
}

fn billed() -> Opener {
    Opener { billing: Billing::Owner, ..Opener::default() }
}

/// Lets the lease of this replica's polls end unnoticed, as a pause of its process does.
async fn pause(replica: &Replica) {
    replica.store.stalled.send_replace(true);
    sleep(LEASE * 2).await;
    replica.store.stalled.send_replace(false);
}

#[tokio::test(start_paused = true)]
async fn after_a_pause_responses_in_flight_count_and_are_charged_as_reported() {
    for resumes in [false, true] {
        let (mut case, script, database) = long(40, 10);
        case.pace = Pace::Fast;
        let replica = Replica::new(1, &database, &script);
        if resumes {
            replica.resumes();
        }
        let id = replica.executor.open(case.plan(), billed()).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        pause(&replica).await;
        let closing = replica.ended(&id).await;
        let row = database.row(&id);
        assert_eq!((row.ballots.len(), called(&script)), (40, 40), "{resumes}");
        assert_eq!(
            (row.captured.unwrap().micro(), closing.unused_calls_cost),
            (40 * 50, Some(MicroUsd::ZERO))
        );
        assert_eq!(row.epoch, Epoch::FIRST, "a process does not adopt its own poll");
    }
}

#[tokio::test(start_paused = true)]
async fn responses_in_flight_count_even_after_the_deadline() {
    let (mut case, script, database) = long(40, 170);
    case.pace = Pace::Fast;
    let replica = Replica::new(1, &database, &script);
    let id = replica.executor.open(case.plan(), billed()).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    replica.store.stalled.send_replace(true);
    sleep(DEADLINE + LEASE).await;
    replica.store.stalled.send_replace(false);
    replica.ended(&id).await;
    let row = database.row(&id);
    assert_eq!((row.ballots.len(), called(&script)), (40, 40));
    assert!(row.ballots.iter().all(|ballot| ballot.vote.is_ok()));
    assert_eq!(row.captured.unwrap().micro(), 40 * 50);
}

/// Fifty models that agree. Seven respond immediately, and the others after a minute.
fn seven_quick() -> (Plan, Arc<Script>, Arc<Database>) {
    let mut case = Case::new(&vec![Some(0); 50]);
    case.pace = Pace::Fast;
    let plan = case.plan();
    let mut script = case.script();
    for member in plan.roster.iter().skip(7) {
        script.lines.get_mut(member.model.as_str()).unwrap().takes = Duration::from_secs(60);
    }
    (plan, Arc::new(script), Arc::default())
}

/// Closes a poll after seven responses, while 43 calls are in flight for a minute.
async fn unused_calls_are_charged_as_reported(interrupt: impl AsyncFn(&Replica)) {
    let (plan, script, database) = seven_quick();
    let replica = Replica::new(1, &database, &script);
    let id = replica.executor.open(plan, billed()).await.unwrap();
    interrupt(&replica).await;
    replica.ended(&id).await;
    sleep(LEASE * 3).await;
    let row = database.row(&id);
    assert_eq!((row.ballots.len(), called(&script), row.captured.unwrap().micro()), (7, 50, 50 * 50));
    assert_eq!(row.record.closing.unwrap().unused_calls, 43);
}

#[tokio::test(start_paused = true)]
async fn a_pause_after_the_close_is_not_charged_by_estimate() {
    unused_calls_are_charged_as_reported(async |replica| {
        sleep(Duration::from_secs(2)).await;
        pause(replica).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_close_is_not_charged_by_estimate() {
    for fails_every in [2, 3] {
        unused_calls_are_charged_as_reported(async |replica| {
            replica.store.fails_every.store(fails_every, Ordering::SeqCst);
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_adopted_poll_is_released_by_a_process_that_missed_the_end_of_its_lease() {
    let (case, script, database) = long(30, 5);
    let former = Replica::new(1, &database, &script);
    let id = former.executor.open(case.plan(), Opener::default()).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let in_flight = script.in_flight.load(Ordering::SeqCst);
    // Its lease ends only in the database, as after an unnoticed pause of the process.
    database.rows().get_mut(&id).unwrap().lease_until = Instant::now();
    let successor = Replica::new(2, &database, &script);
    assert_eq!(successor.executor.resume().await.unwrap(), 1);
    successor.ended(&id).await;
    assert_eq!(database.row(&id).ballots.len(), 30);
    assert!(called(&script) <= 30 + in_flight, "{} calls", called(&script));
}

#[tokio::test(start_paused = true)]
async fn a_poll_keeps_its_first_deadline_through_failures() {
    let (case, script, database) = long(60, 170);
    let replica = Replica::new(1, &database, &script);
    let opened = Instant::now();
    let id = replica.executor.open(case.plan(), Opener::default()).await.unwrap();
    sleep(DEADLINE / 2).await;
    replica.store.down.store(true, Ordering::SeqCst);
    sleep((DEADLINE / 2).saturating_sub(Duration::from_secs(5))).await;
    replica.store.down.store(false, Ordering::SeqCst);
    replica.ended(&id).await;
    let took = opened.elapsed();
    assert!(took <= DEADLINE + Duration::from_secs(5), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_poll_past_its_deadline_is_closed_with_its_votes_so_far() {
    let (case, script, database) = long(40, 5);
    let dead = Replica::new(1, &database, &script);
    let id = dead.executor.open(case.plan(), Opener::default()).await.unwrap();
    sleep(Duration::from_secs(8)).await;
    dead.executor.release().await.unwrap();
    sleep(Duration::from_hours(72)).await;
    let (had, calls) = (database.row(&id).ballots.len(), called(&script));
    assert!(had > 0);
    let successor = Replica::new(2, &database, &script);
    successor.executor.resume().await.unwrap();
    let closing = successor.ended(&id).await;
    assert_eq!((closing.reason, database.row(&id).ballots.len()), (None, had));
    assert_eq!(called(&script), calls, "no further model is called");
    assert!(database.row(&id).record.settled);
}

/// A model with a lost response was asked, although no process waits for it any more.
#[tokio::test(start_paused = true)]
async fn calls_lost_in_an_interruption_count_as_unused() {
    let mut case = Case::new(&vec![Some(0); 50]);
    (case.threshold, case.pace) = (1.0, Pace::Thrifty);
    let plan = case.plan();
    let mut script = case.script();
    for (position, member) in plan.roster.iter().enumerate() {
        let seconds = if position == 0 { 3_600 } else { 2 };
        script.lines.get_mut(member.model.as_str()).unwrap().takes = Duration::from_secs(seconds);
    }
    let (script, database) = (Arc::new(script), Arc::default());
    let dead = Replica::new(1, &database, &script);
    let id = dead.executor.open(plan, Opener::default()).await.unwrap();
    sleep(Duration::from_secs(3)).await;
    dead.executor.release().await.unwrap();
    sleep(Duration::from_hours(72)).await;
    let had = database.row(&id).ballots.len();
    assert!(had > 0);
    let successor = Replica::new(2, &database, &script);
    successor.executor.resume().await.unwrap();
    let closing = successor.ended(&id).await;
    let row = database.row(&id);
    let last = row.ballots.iter().map(|ballot| ballot.position as usize + 1).max().unwrap();
    assert_eq!((row.ballots.len(), last), (had, had + 1), "the first model did not respond");
    assert_eq!(closing.unused_calls, 1);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_poll_has_only_the_remaining_time() {
    let (case, script, database) = long(60, 170);
    let dead = Replica::new(1, &database, &script);
    let opened = Instant::now();
    let id = dead.executor.open(case.plan(), Opener::default()).await.unwrap();
    sleep(Duration::from_secs(100)).await;
    dead.executor.release().await.unwrap();
    let successor = Replica::new(2, &database, &script);
    successor.executor.resume().await.unwrap();
    let closing = successor.ended(&id).await;
    assert!(opened.elapsed() <= DEADLINE + Duration::from_secs(3), "{:?}", opened.elapsed());
    assert_eq!(closing.reason, Some(TerminationReason::RosterExhausted));
}

/// The clock of the process that opened the poll was ahead.
#[tokio::test(start_paused = true)]
async fn a_resumed_poll_never_has_more_time_than_a_new_one() {
    let (case, script, database) = long(60, 170);
    let dead = Replica::new(1, &database, &script);
    let id = dead.executor.open(case.plan(), Opener::default()).await.unwrap();
    dead.executor.release().await.unwrap();
    database.rows().get_mut(&id).unwrap().deadline = Some(Instant::now() + Duration::from_hours(10));
    let (successor, resumed) = (Replica::new(2, &database, &script), Instant::now());
    successor.executor.resume().await.unwrap();
    successor.ended(&id).await;
    assert!(resumed.elapsed() <= DEADLINE + Duration::from_secs(3), "{:?}", resumed.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_stopping_service_runs_its_polls_until_its_grace_period_ends() {
    let (case, script, database) = long(40, 20);
    let stopping = Replica::new(1, &database, &script);
    let id = stopping.executor.open(case.plan(), Opener::default()).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let other = Replica::new(2, &database, &script);
    other.resumes();
    let grace = LEASE * 2;
    assert!(!stopping.tasks.shut_down(grace).await, "the poll takes longer");
    assert_eq!(database.row(&id).epoch, Epoch::FIRST, "no other process has run it meanwhile");
    stopping.executor.release().await.unwrap();
    let calls = called(&script);
    sleep(LEASE / 2).await;
    assert_eq!((stopping.executor.running(), database.row(&id).epoch), (0, Epoch::new(2)));
    assert!(called(&script) > calls, "the other one calls the models that have not responded");
    other.ended(&id).await;
    let models: HashSet<_> = database.row(&id).ballots.iter().map(|ballot| ballot.position).collect();
    assert_eq!(models.len(), 40);
}

#[tokio::test(start_paused = true)]
async fn calls_lost_with_their_process_are_charged_by_estimate() {
    let (plan, script, database) = seven_quick();
    let dead = Replica::new(1, &database, &script);
    let id = dead.executor.open(plan.clone(), billed()).await.unwrap();
    dead.ended(&id).await;
    assert!(!database.row(&id).record.settled, "43 calls are still in flight");
    dead.executor.release().await.unwrap();
    let successor = Replica::new(2, &database, &script);
    assert_eq!(successor.executor.resume().await.unwrap(), 1);
    let row = database.row(&id);
    let estimate = plan.charged(0, ep_polling::money::Spend::UNKNOWN).amount.micro();
    assert!(estimate > 0);
    assert_eq!(row.captured.unwrap().micro(), 7 * 50 + 43 * estimate);
    assert!(row.record.settled);
}

#[tokio::test(start_paused = true)]
async fn calls_lost_in_the_middle_of_a_poll_are_charged_by_estimate() {
    let mut case = Case::new(&[Some(0); 20]);
    (case.threshold, case.pace) = (1.0, Pace::Fast);
    let plan = case.plan();
    let mut script = case.script();
    for (position, member) in plan.roster.iter().enumerate() {
        let line = script.lines.get_mut(member.model.as_str()).unwrap();
        // Every third member of the order responds late; the others are split.
        line.vote = Some(position % 2);
        if position % 3 == 0 {
            line.takes = Duration::from_secs(60);
        }
    }
    let (script, database) = (Arc::new(script), Arc::<Database>::default());
    let dead = Replica::new(1, &database, &script);
    let id = dead
        .executor
        .open(plan.clone(), Opener { billing: Billing::Owner, ..Opener::default() })
        .await
        .unwrap();
    sleep(Duration::from_secs(1)).await;
    dead.executor.release().await.unwrap();
    assert_eq!((database.row(&id).ballots.len(), called(&script)), (13, 20));
    let successor = Replica::new(2, &database, &script);
    assert_eq!(successor.executor.resume().await.unwrap(), 1);
    let closing = successor.ended(&id).await;
    // Seven were called twice: both the received and the lost responses are charged.
    assert_eq!((database.row(&id).ballots.len(), called(&script)), (20, 27));
    let lost = 7 * plan.charged(0, ep_polling::money::Spend::UNKNOWN).amount.micro();
    assert_eq!(closing.unused_calls_cost.unwrap().micro(), lost);
    assert_eq!(database.row(&id).captured.unwrap().micro(), 20 * 50 + lost);
}

#[tokio::test(start_paused = true)]
async fn calls_of_complete_polls_that_nobody_pays_are_counted_after_each_interruption() {
    let mut case = Case::new(&[Some(0); 5]);
    (case.complete, case.takes) = (true, Duration::from_secs(20));
    let (plan, script, database) = (case.plan(), Arc::new(case.script()), Arc::<Database>::default());
    let first = Replica::new(1, &database, &script);
    let id = first.executor.open(plan.clone(), Opener::default()).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    first.executor.release().await.unwrap();
    let second = Replica::new(2, &database, &script);
    assert_eq!(second.executor.resume().await.unwrap(), 1);
    sleep(Duration::from_secs(1)).await;
    second.executor.release().await.unwrap();
    let third = Replica::new(3, &database, &script);
    assert_eq!(third.executor.resume().await.unwrap(), 1);
    let closing = third.ended(&id).await;
    assert_eq!((database.row(&id).ballots.len(), called(&script)), (5, 15));
    let estimate = plan.charged(0, ep_polling::money::Spend::UNKNOWN).amount.micro();
    assert_eq!(closing.unused_calls_cost.unwrap().micro(), 10 * estimate);
}

/// The process of a poll closes it within a second and calls no further model. A process that adopts it does
/// the same.
#[tokio::test(start_paused = true)]
async fn a_poll_is_cancelled_in_any_process() {
    let (case, script, database) = long(40, 10);
    let (runs, cancels) = (Replica::new(1, &database, &script), Replica::new(2, &database, &script));
    let id = runs.executor.open(case.plan(), Opener::default()).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let before = called(&script);
    assert!(cancels.executor.cancel(&id).await.unwrap());
    let since = Instant::now();
    let closing = runs.ended(&id).await;
    assert!(since.elapsed() <= Duration::from_secs(1), "{:?}", since.elapsed());
    assert_eq!((closing.reason, closing.cancelled, called(&script)), (None, true, before));
    assert!(cancels.executor.cancel(&id).await.unwrap(), "the cancellation ended it");

    let id = runs.executor.open(case.plan(), Opener::default()).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let before = called(&script);
    runs.store.down.store(true, Ordering::SeqCst);
    assert!(cancels.executor.cancel(&id).await.unwrap());
    sleep(LEASE + Duration::from_secs(1)).await;
    let during = called(&script);
    // The first poll may be settled late, too.
    assert!(cancels.executor.resume().await.unwrap() >= 1);
    assert!(cancels.ended(&id).await.cancelled);
    assert_eq!(called(&script), during, "of {before}");
}
