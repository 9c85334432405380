//! Conversion of polls that earlier releases stored, and rosters that polls share.

use std::time::Duration;

use ep_kernel::ports::{Epoch, NewPoll, PollRecord, PollSearch};
use ep_polling::ballot::{Ballot, Casting};
use ep_polling::money::Settlement;
use ep_polling::plan::Plan;
use ep_polling::poll_id::PollId;
use serde_json::json;

use crate::test_database::{
    SETTLED_WITHIN, TestDatabase, at, ballots, closing, lease, new_poll, number, tamper, usd,
};

on_both_engines!(
    settled_polls_of_earlier_releases_are_converted,
    running_polls_of_earlier_releases_are_converted_when_adopted,
    a_poll_with_other_ballots_than_its_plan_keeps_its_form,
    polls_share_a_roster_until_the_last_is_deleted,
);

const PLANS: &str = "SELECT count(*) FROM plans";
const ROSTERS: &str = "SELECT count(*) FROM rosters";
const OLD_BALLOTS: &str = "SELECT count(*) FROM ballots";

/// Returns a plan as earlier releases stored it.
fn old_plan(plan: &Plan) -> String {
    json!({
        "question": plan.question,
        "options": plan.options,
        "preset": plan.preset,
        "threshold": plan.threshold,
        "max_cost_micro_usd": plan.budget.amount(),
        "pace": plan.pace,
        "private": plan.private,
        "simulated": plan.simulated,
        "roster": plan.roster.iter().collect::<Vec<_>>(),
        "seed": plan.seed,
        "deadline_ms": plan.deadline_ms,
        "notices": plan.notices,
    })
    .to_string()
}

/// Returns ballots of earlier releases, which stored no tokens, no probabilities and no second requests.
fn old_ballots(seqs: std::ops::RangeInclusive<u32>) -> Vec<Ballot> {
    let earlier = |ballot: Ballot| Ballot {
        tokens: None,
        probabilities: None,
        casting: ballot.casting.map(|casting| Casting { asked_again: false, ..casting }),
        ..ballot
    };
    ballots(seqs).into_iter().map(earlier).collect()
}

/// Stores a poll and its ballots again, as earlier releases did.
async fn store_as_before(db: &TestDatabase, poll: &NewPoll, cast: &[Ballot]) {
    let NewPoll { id, plan, .. } = poll;
    let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let mut changes = vec![
        format!("DELETE FROM votes WHERE poll = (SELECT number FROM polls WHERE id = '{id}')"),
        format!("DELETE FROM plans WHERE number = (SELECT number FROM polls WHERE id = '{id}')"),
        format!(
            "UPDATE polls SET form = 1, number = NULL, plan = {} WHERE id = '{id}'",
            text(&old_plan(plan))
        ),
    ];
    for ballot in cast {
        let (choice, reason, detail) = match &ballot.vote {
            Ok(option) => (option.to_string(), "NULL".to_owned(), "NULL".to_owned()),
            Err(no_vote) => ("NULL".to_owned(), text(no_vote.reason.as_str()), text(&no_vote.detail)),
        };
        let basis = json!(ballot.spend.basis);
        let mode = ballot.casting.map_or("NULL".to_owned(), |casting| text(casting.mode.as_str()));
        let reasoned = ballot.casting.and_then(|casting| casting.reasoned).map(u8::from);
        changes.push(format!(
            "INSERT INTO ballots (poll_id, seq, position, model, choice, reason, detail, option_order, latency_ms, \
                 at_ms, cost, basis, answered_by, ballot_mode, reasoned) \
             VALUES ('{id}', {}, {}, {}, {choice}, {reason}, {detail}, '{:?}', {}, {}, {}, {}, {}, {mode}, {})",
            ballot.seq,
            ballot.position,
            text(plan.model(ballot)),
            plan.option_order(ballot),
            ballot.latency_ms,
            ballot.at_ms,
            ballot.spend.amount.micro(),
            text(basis.as_str().unwrap()),
            ballot.answered_by.as_deref().map_or("NULL".to_owned(), text),
            reasoned.map_or("NULL".to_owned(), |reasoned| reasoned.to_string()),
        ));
    }
    for change in changes {
        tamper(&db.url, change).await.unwrap();
    }
}

async fn settled(db: &TestDatabase, cast: &[Ballot]) -> NewPoll {
    let poll = new_poll(Some(db.user(1_000).await), None);
    db.polls.open(&poll, &lease("worker", 60_000)).await.unwrap();
    db.polls.record(&poll.id, Epoch::FIRST, cast).await.unwrap();
    db.polls
        .close(&poll.id, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(0)))
        .await
        .unwrap();
    poll
}

async fn read(db: &TestDatabase, id: &PollId) -> (PollRecord, Vec<Ballot>, u32) {
    let progress = db.polls.progress(id).await.unwrap().unwrap();
    (db.polls.poll(id).await.unwrap().unwrap(), db.polls.ballots(id, 0).await.unwrap(), progress.ballots)
}

async fn settled_polls_of_earlier_releases_are_converted(db: TestDatabase) {
    let cast = old_ballots(1..=20);
    let mut polls = Vec::new();
    for _ in 0..5 {
        polls.push(settled(&db, &cast).await);
    }
    let mut before = Vec::new();
    let mut listed = Vec::new();
    for poll in &polls {
        let owner = poll.owner.unwrap();
        before.push(read(&db, &poll.id).await);
        listed.push(db.store.history().polls_of(owner, 5, 0).await.unwrap());
        store_as_before(&db, poll, &cast).await;
    }
    assert_eq!((number(&db.url, PLANS).await, number(&db.url, OLD_BALLOTS).await), (0, 100));
    let assert_unchanged = async || {
        for (index, poll) in polls.iter().enumerate() {
            assert_eq!(read(&db, &poll.id).await, before[index]);
            assert_eq!(db.polls.ballots(&poll.id, 19).await.unwrap(), old_ballots(20..=20));
            let owner = poll.owner.unwrap();
            assert_eq!(db.store.history().polls_of(owner, 5, 0).await.unwrap(), listed[index]);
            let found = db
                .store
                .history()
                .find_polls(owner, PollSearch { words: &["SPACES"], ..PollSearch::default() }, 5, 0)
                .await
                .unwrap();
            assert_eq!(found.len(), 1);
            assert_eq!(db.store.history().spending(owner, at(0)).await.unwrap()[0].polls, 1);
        }
        let audit = db.ledger.audit(SETTLED_WITHIN).await.unwrap();
        assert!(audit.is_clean(), "{audit:?}");
    };
    assert_unchanged().await;
    let mut last = None;
    let mut steps = 0;
    while let Some(converted) = db.store.convert_settled_polls(last.clone(), 2).await.unwrap() {
        (last, steps) = (Some(converted), steps + 1);
    }
    assert_eq!(steps, 3);
    assert_eq!((number(&db.url, PLANS).await, number(&db.url, OLD_BALLOTS).await), (5, 0));
    assert_eq!(number(&db.url, ROSTERS).await, 1);
    assert_unchanged().await;
}

async fn running_polls_of_earlier_releases_are_converted_when_adopted(db: TestDatabase) {
    let poll = new_poll(None, None);
    db.polls.open(&poll, &lease("crashed", 1_000)).await.unwrap();
    let cast = old_ballots(1..=3);
    store_as_before(&db, &poll, &cast).await;
    assert_eq!(db.store.convert_settled_polls(None, 10).await.unwrap(), Some(poll.id.clone()));
    assert_eq!(number(&db.url, OLD_BALLOTS).await, 3, "it is not settled");
    db.pass(2_000).await;
    let adopted = db.polls.adopt(&lease("successor", 60_000), Duration::ZERO, 10).await.unwrap();
    assert_eq!(adopted.len(), 1);
    assert_eq!(number(&db.url, OLD_BALLOTS).await, 0);
    db.polls.record(&poll.id, adopted[0].epoch, &old_ballots(4..=4)).await.unwrap();
    let (record, stored, _) = read(&db, &poll.id).await;
    assert_eq!((record.plan, stored), (poll.plan, old_ballots(1..=4)));
}

async fn a_poll_with_other_ballots_than_its_plan_keeps_its_form(db: TestDatabase) {
    let cast = old_ballots(1..=3);
    let poll = settled(&db, &cast).await;
    store_as_before(&db, &poll, &cast).await;
    tamper(&db.url, "UPDATE ballots SET model = 'maker/other' WHERE position = 1").await.unwrap();
    assert_eq!(db.store.convert_settled_polls(None, 10).await.unwrap(), Some(poll.id.clone()));
    assert_eq!(db.store.convert_settled_polls(Some(poll.id.clone()), 10).await.unwrap(), None);
    assert_eq!((number(&db.url, PLANS).await, number(&db.url, OLD_BALLOTS).await), (0, 3));
    let (record, stored, count) = read(&db, &poll.id).await;
    assert_eq!((record.plan, stored, count), (poll.plan, cast, 3));
}

async fn polls_share_a_roster_until_the_last_is_deleted(db: TestDatabase) {
    let polls = [settled(&db, &old_ballots(1..=2)).await, settled(&db, &old_ballots(1..=2)).await];
    let mut other = new_poll(None, None);
    other.plan.roster = other.plan.roster.iter().take(3).cloned().collect();
    db.polls.open(&other, &lease("worker", 60_000)).await.unwrap();
    assert_eq!(number(&db.url, ROSTERS).await, 2);
    assert_eq!(read(&db, &other.id).await.0.plan, other.plan);
    db.polls.delete(&polls[0].id, at(9)).await.unwrap();
    assert_eq!(db.store.delete_unused_rosters().await.unwrap(), 0);
    db.polls.delete(&polls[1].id, at(9)).await.unwrap();
    assert_eq!(db.store.delete_unused_rosters().await.unwrap(), 1);
    assert_eq!((number(&db.url, PLANS).await, number(&db.url, ROSTERS).await), (1, 1));
    let reopened = db.reopened().await;
    assert_eq!(read(&reopened, &other.id).await.0.plan, other.plan);
}
