//! Opening, reading and closing polls.

use std::time::Duration;

use ep_polling::{
    Ballot, Explanation, ExplanationText, MicroUsd, Plan, Settlement, Spend, SpendBasis, TieRule,
};
use ep_store::{Closing, Epoch, NewPoll, Opened, PollProgress, StoreError};

use ep_store::testing::test_database::{
    TestDatabase, at, ballot, closing, hold, lease, new_poll, number, plan, usd,
};

on_both_engines!(
    stored_polls_are_read_unchanged,
    polls_are_opened_together_or_not_at_all,
    one_request_opens_one_poll,
    concurrent_requests_open_one_poll,
    the_opening_of_a_request_tells_whether_its_process_ended,
    an_id_is_used_once,
    a_poll_is_closed_once,
    a_poll_is_closed_with_its_last_ballots_or_not_at_all,
    a_decision_is_stored_with_its_explanations_until_the_close,
    deleted_polls_keep_no_explanation,
    explanations_are_part_of_the_cost,
    reports_the_progress_of_a_poll,
    the_lease_holder_sees_a_cancellation,
    pings_succeed_until_the_store_is_closed,
    old_anonymous_polls_are_deleted_in_batches,
    a_poll_survives_reopening_the_database,
);

async fn stored_polls_are_read_unchanged(db: TestDatabase) {
    let user = db.user(1_000).await;
    let poll = new_poll(Some(user), Some(hold(10, 400)));
    let opened = db.polls.open(&poll, &lease("a", 10)).await.unwrap();
    assert_eq!(opened, Opened::New { held: Some(usd(400)), notifies: false });
    let record = db.polls.poll(&poll.id).await.unwrap().unwrap();
    assert_eq!((&record.id, record.owner, &record.plan), (&poll.id, poll.owner, &poll.plan));
    assert_eq!((record.created_at, record.held), (poll.created_at, Some(usd(400))));
    assert_eq!((record.closing, record.settled), (None, false));

    let closing = closing(Some(0));
    db.polls.close(&poll.id, Epoch::FIRST, &[], &closing, Settlement::Capture(usd(33))).await.unwrap();
    let record = db.polls.poll(&poll.id).await.unwrap().unwrap();
    assert_eq!((record.closing, record.settled, record.held), (Some(closing), true, Some(usd(400))));

    let free = db.running(None, None).await;
    let record = db.polls.poll(&free).await.unwrap().unwrap();
    assert_eq!((record.owner, record.held, record.plan), (None, None, plan(50)));

    for on_tie in [TieRule::Report, TieRule::Strongest] {
        let complete = Plan { complete: true, on_tie, ..plan(50) };
        let poll = NewPoll { plan: complete.clone(), ..new_poll(None, None) };
        db.polls.open(&poll, &lease("a", 10)).await.unwrap();
        assert_eq!(db.polls.poll(&poll.id).await.unwrap().unwrap().plan, complete);
    }

    let unknown = "EP-20260131-ZZZZZZZZZZ".parse().unwrap();
    assert_eq!(db.polls.poll(&unknown).await.unwrap(), None);
}

async fn polls_are_opened_together_or_not_at_all(db: TestDatabase) {
    let user = db.user(1_000).await;
    let poll = |at_least| new_poll(Some(user), Some(hold(at_least, at_least)));
    let both = [poll(400), poll(500)];
    let opened = db.polls.open_all(&both, &lease("a", 10)).await.unwrap();
    let held = |amount| Opened::New { held: Some(usd(amount)), notifies: false };
    assert_eq!(opened, [held(400), held(500)]);

    // Each would fit alone.
    let others = [poll(60), poll(60)];
    let refused = db.polls.open_all(&others, &lease("a", 10)).await.unwrap_err();
    assert!(matches!(refused, StoreError::InsufficientBalance { .. }), "{refused:?}");
    for other in &others {
        assert_eq!(db.polls.poll(&other.id).await.unwrap(), None);
    }
    let last = db.polls.open(&poll(100), &lease("a", 10)).await.unwrap();
    assert_eq!(last, held(100));
}

async fn one_request_opens_one_poll(db: TestDatabase) {
    let user = db.user(1_000).await;
    let request_ref = Some("request".to_owned());
    let first =
        ep_store::NewPoll { request_ref: request_ref.clone(), ..new_poll(Some(user), Some(hold(1, 600))) };
    let second = ep_store::NewPoll { request_ref, ..new_poll(Some(user), Some(hold(1, 600))) };
    let opened = db.polls.open(&first, &lease("a", 10)).await.unwrap();
    assert_eq!(opened, Opened::New { held: Some(usd(600)), notifies: false });
    for _ in 0..2 {
        let again = db.polls.open(&second, &lease("b", 10)).await.unwrap();
        assert_eq!(again, Opened::Existing(first.id.clone()));
    }
    assert_eq!(db.money(user).await, [1_000, 600, 0]);
    assert_eq!(db.polls.poll(&second.id).await.unwrap(), None);
}

async fn the_opening_of_a_request_tells_whether_its_process_ended(db: TestDatabase) {
    let opening = async |request: &str| db.polls.opened_by(request).await.unwrap();
    let interrupted = async |request: &str| opening(request).await.map(|opening| opening.is_interrupted);
    assert_eq!(opening("request").await, None);
    let polls: Vec<NewPoll> = ["adopted", "closed"]
        .map(|request| NewPoll { request_ref: Some(request.to_owned()), ..new_poll(None, None) })
        .into();
    for poll in &polls {
        db.polls.open(poll, &lease("a", 60_000)).await.unwrap();
    }
    let adopted = opening("adopted").await.unwrap();
    assert_eq!((adopted.id, adopted.created_at), (polls[0].id.clone(), polls[0].created_at));
    assert_eq!(interrupted("adopted").await, Some(false));
    let settlement = Settlement::Capture(usd(0));
    db.polls.close(&polls[1].id, Epoch::FIRST, &[], &closing(Some(0)), settlement).await.unwrap();
    db.pass(60_000).await;
    assert_eq!((interrupted("adopted").await, interrupted("closed").await), (Some(true), Some(false)));
    let adopted = db.polls.adopt(&lease("b", 10), Duration::ZERO, 9).await.unwrap();
    assert_eq!(adopted.len(), 1);
    assert_eq!(interrupted("adopted").await, Some(true));
}

async fn concurrent_requests_open_one_poll(db: TestDatabase) {
    let user = db.user(1_000).await;
    let opening = (0..24).map(|_| {
        let polls = db.polls.clone();
        tokio::spawn(async move {
            let mut poll = new_poll(Some(user), Some(hold(1, 600)));
            poll.request_ref = Some("request".to_owned());
            (poll.id.clone(), polls.open(&poll, &lease("a", 10)).await.unwrap())
        })
    });
    let opened: Vec<_> =
        futures::future::join_all(opening).await.into_iter().map(|opened| opened.unwrap()).collect();
    let new: Vec<_> = opened.iter().filter(|(_, opened)| matches!(opened, Opened::New { .. })).collect();
    assert_eq!(new.len(), 1);
    let existing = Opened::Existing(new[0].0.clone());
    assert_eq!(opened.iter().filter(|(_, opened)| *opened == existing).count(), 23);
    assert_eq!(db.money(user).await, [1_000, 600, 0]);
}

async fn an_id_is_used_once(db: TestDatabase) {
    let user = db.user(1_000).await;
    let poll = new_poll(Some(user), Some(hold(1, 600)));
    db.polls.open(&poll, &lease("a", 10)).await.unwrap();
    let again = db.polls.open(&poll, &lease("a", 10)).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    assert_eq!(db.money(user).await, [1_000, 600, 0]);
}

async fn a_poll_is_closed_once(db: TestDatabase) {
    let poll = db.running(None, None).await;
    let settlement = Settlement::Capture(usd(0));
    db.polls.close(&poll, Epoch::FIRST, &[], &closing(Some(0)), settlement).await.unwrap();
    let again = db.polls.close(&poll, Epoch::FIRST, &[], &closing(Some(9)), settlement).await;
    assert!(matches!(again, Err(StoreError::NotFound(_))), "{again:?}");
    let unknown = "EP-20260131-ZZZZZZZZZZ".parse().unwrap();
    let unknown = db.polls.close(&unknown, Epoch::FIRST, &[], &closing(None), Settlement::Later).await;
    assert!(matches!(unknown, Err(StoreError::NotFound(_))), "{unknown:?}");
    let record = db.polls.poll(&poll).await.unwrap().unwrap();
    assert_eq!(record.closing.unwrap().unused_calls_cost, Some(usd(0)));
}

async fn a_poll_is_closed_with_its_last_ballots_or_not_at_all(db: TestDatabase) {
    let user = db.user(1_000).await;
    let poll = db.running(Some(user), Some(hold(10, 600))).await;
    db.polls.record(&poll, Epoch::FIRST, &[ballot(1, 0), ballot(2, 7)]).await.unwrap();
    let close = async |epoch: Epoch, last: &[Ballot]| {
        db.polls.close(&poll, epoch, last, &closing(Some(0)), Settlement::Capture(usd(99))).await
    };
    // This member already has a ballot.
    let repeated = close(Epoch::FIRST, &[ballot(3, 1), ballot(4, 7)]).await;
    assert!(matches!(repeated, Err(StoreError::Conflict(_))), "{repeated:?}");
    let elsewhere = close(Epoch::new(9), &[ballot(3, 1)]).await;
    assert!(matches!(elsewhere, Err(StoreError::NotFound(_))), "{elsewhere:?}");
    assert_eq!(db.polls.ballots(&poll, 0).await.unwrap().len(), 2);
    assert_eq!(db.polls.poll(&poll).await.unwrap().unwrap().closing, None);
    assert_eq!(db.money(user).await, [1_000, 600, 0]);

    let last = [ballot(3, 1), ballot(4, 2)];
    close(Epoch::FIRST, &last).await.unwrap();
    assert_eq!(db.polls.ballots(&poll, 2).await.unwrap(), last);
    assert!(db.polls.poll(&poll).await.unwrap().unwrap().settled);
    let again = close(Epoch::FIRST, &[ballot(5, 3)]).await;
    assert!(matches!(again, Err(StoreError::NotFound(_))), "{again:?}");
    assert_eq!(db.polls.ballots(&poll, 0).await.unwrap().len(), 4);
}

fn explanation(position: u32, text: &str) -> Explanation {
    let spend = Spend { amount: usd(7), basis: SpendBasis::Reported };
    Explanation { position, text: ExplanationText::new(text), spend }
}

async fn a_decision_is_stored_with_its_explanations_until_the_close(db: TestDatabase) {
    let poll = db.running(None, None).await;
    let mut decided = closing(None);
    decided.explanations = vec![explanation(0, "It is \"simpler\". 🦀"), explanation(1, "")];
    let last = [ballot(1, 0), ballot(2, 1)];
    for (epoch, accepted) in [(Epoch::new(9), false), (Epoch::FIRST, true)] {
        assert_eq!(db.polls.decide(&poll, epoch, &last, &decided).await.is_ok(), accepted);
    }
    let record = db.polls.poll(&poll).await.unwrap().unwrap();
    assert_eq!((record.decided.as_ref(), record.closing), (Some(&decided), None));
    assert_eq!(db.polls.ballots(&poll, 0).await.unwrap(), last);
    // Its ballots cannot be stored again.
    assert!(db.polls.decide(&poll, Epoch::FIRST, &last, &decided).await.is_err());
    decided.explanations[1] = explanation(1, "It is faster.");
    db.polls.decide(&poll, Epoch::FIRST, &[], &decided).await.unwrap();
    assert_eq!(db.polls.poll(&poll).await.unwrap().unwrap().decided.as_ref(), Some(&decided));
    let closed = Closing { unused_calls_cost: Some(usd(0)), ..decided };
    db.polls.close(&poll, Epoch::FIRST, &[], &closed, Settlement::Capture(usd(0))).await.unwrap();
    let record = db.polls.poll(&poll).await.unwrap().unwrap();
    assert_eq!((record.decided, record.closing.as_ref()), (None, Some(&closed)));
    assert_eq!(db.polls.progress(&poll).await.unwrap().unwrap().closing, Some(closed.clone()));
    assert!(db.polls.decide(&poll, Epoch::FIRST, &[], &closed).await.is_err());
}

async fn deleted_polls_keep_no_explanation(db: TestDatabase) {
    let user = db.user(1_000).await;
    let poll = db.running(Some(user), None).await;
    let closed = Closing { explanations: vec![explanation(0, "A secret.")], ..closing(Some(0)) };
    db.polls.close(&poll, Epoch::FIRST, &[], &closed, Settlement::Capture(usd(0))).await.unwrap();
    let stored = "SELECT COUNT(*) FROM polls WHERE explanations LIKE '%secret%' OR closing LIKE '%secret%'";
    assert_eq!(number(&db.url, stored).await, 1);
    db.polls.delete(&poll, at(9_000), "deleted").await.unwrap();
    assert_eq!(number(&db.url, stored).await, 0);
}

async fn explanations_are_part_of_the_cost(db: TestDatabase) {
    let user = db.user(1_000).await;
    let spent = ballot(1, 0).spend.amount;
    let ended = Closing { explanations: vec![explanation(0, "A."), explanation(1, "")], ..closing(Some(0)) };
    let cost = spent.plus(ended.explanations_cost());
    let billed = db.running(Some(user), Some(hold(10, 600))).await;
    let unbilled = db.running(Some(user), None).await;
    for (poll, capture) in [(&billed, cost), (&unbilled, usd(0))] {
        let settlement = Settlement::Capture(capture);
        db.polls.close(poll, Epoch::FIRST, &[ballot(1, 0)], &ended, settlement).await.unwrap();
    }
    let audit = db.treasury.audit(Duration::ZERO).await.unwrap();
    assert!(audit.wrong_captures.is_empty(), "{:?}", audit.wrong_captures);
    let history = &db.store;
    let polls = history.polls_of(user, 20, 0).await.unwrap();
    let costs: Vec<_> = polls.iter().map(|poll| poll.end.unwrap().cost).collect();
    assert_eq!(costs, [cost, cost]);
    let days = history.spending(user, at(0)).await.unwrap();
    assert_eq!(days.iter().map(|day| day.cost).sum::<MicroUsd>(), cost.plus(cost));
}

async fn reports_the_progress_of_a_poll(db: TestDatabase) {
    let poll = db.running(None, None).await;
    let progress = || async { db.polls.progress(&poll).await.unwrap().unwrap() };
    assert_eq!(progress().await, PollProgress { ballots: 0, closing: None, settled: false });
    db.polls.record(&poll, Epoch::FIRST, &[ballot(1, 0), ballot(2, 7)]).await.unwrap();
    assert_eq!(progress().await.ballots, 2);
    let after: Vec<u32> = db.polls.ballots(&poll, 1).await.unwrap().iter().map(|ballot| ballot.seq).collect();
    assert_eq!(after, [2]);
    db.polls.close(&poll, Epoch::FIRST, &[], &closing(None), Settlement::Later).await.unwrap();
    assert_eq!(progress().await, PollProgress { ballots: 2, closing: Some(closing(None)), settled: false });
    db.polls.settle(&poll, Epoch::FIRST, usd(0), usd(5), at(9)).await.unwrap();
    let settled = progress().await;
    assert!(settled.settled);
    assert_eq!(settled.closing.unwrap().unused_calls_cost, Some(usd(5)));
    let unknown = "EP-20260131-ZZZZZZZZZZ".parse().unwrap();
    assert_eq!(db.polls.progress(&unknown).await.unwrap(), None);
}

async fn old_anonymous_polls_are_deleted_in_batches(db: TestDatabase) {
    let user = db.user(1_000).await;
    let running = db.running(None, None).await;
    let owned = db.running(Some(user), None).await;
    let mut old = Vec::new();
    for _ in 0..3 {
        old.push(db.running(None, None).await);
    }
    for poll in old.iter().chain([&owned]) {
        db.polls.record(poll, Epoch::FIRST, &[ballot(1, 0)]).await.unwrap();
        db.polls
            .close(poll, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(0)))
            .await
            .unwrap();
    }
    // Polls are counted first.
    assert_eq!(db.runtime.delete_anonymous_polls(at(8), 10).await.unwrap(), 0);
    assert_eq!(db.runtime.count_polls(10).await.unwrap(), 4);
    // All were opened at the same time.
    let delete = async |before, limit| db.runtime.delete_anonymous_polls(at(before), limit).await.unwrap();
    assert_eq!(delete(7, 10).await, 0, "none is older");
    assert_eq!((delete(8, 2).await, delete(8, 2).await, delete(8, 2).await), (2, 1, 0));
    for poll in &old {
        assert_eq!(db.polls.poll(poll).await.unwrap(), None);
        assert!(db.polls.ballots(poll, 0).await.unwrap().is_empty());
    }
    for remaining in [&running, &owned] {
        assert!(db.polls.poll(remaining).await.unwrap().is_some());
    }
    assert_eq!(db.polls.ballots(&owned, 0).await.unwrap().len(), 1);
}

async fn pings_succeed_until_the_store_is_closed(db: TestDatabase) {
    db.polls.ping().await.unwrap();
    let polls = db.polls.clone();
    db.runtime.close().await;
    assert!(matches!(polls.ping().await, Err(StoreError::Failed(_))));
    let user = ep_store::UserId::from_random([1; 16]);
    assert!(db.treasury.credit(user, usd(1), "late", ep_store::testing::test_database::at(0)).await.is_err());
}

async fn a_poll_survives_reopening_the_database(db: TestDatabase) {
    let poll = db.running(None, None).await;
    let engine = db.runtime.engine();
    let db = db.reopened().await;
    assert_eq!(db.runtime.engine(), engine);
    assert!(db.polls.poll(&poll).await.unwrap().is_some());
}

async fn the_lease_holder_sees_a_cancellation(db: TestDatabase) {
    let (polls, user) = (&db.polls, db.user(1_000).await);
    let poll = db.running(Some(user), Some(hold(1, 400))).await;
    let other = db.running(Some(user), None).await;
    assert!(!polls.is_cancelled(&poll).await.unwrap());
    assert!(polls.cancel(&poll, at(9)).await.unwrap());
    assert!(polls.cancel(&poll, at(10)).await.unwrap(), "a repeated cancellation succeeds");
    assert!(polls.is_cancelled(&poll).await.unwrap() && !polls.is_cancelled(&other).await.unwrap());
    assert_eq!(polls.cancelled_of("worker").await.unwrap(), std::slice::from_ref(&poll));
    assert_eq!(polls.cancelled_of("another").await.unwrap(), []);

    // Another process has adopted the poll.
    db.pass(100_000).await;
    let adopted = polls.adopt(&lease("another", 60_000), std::time::Duration::ZERO, 9).await.unwrap();
    let epoch = adopted.iter().find(|adopted| adopted.id == poll).unwrap().epoch;
    assert_eq!(polls.cancelled_of("worker").await.unwrap(), []);
    assert_eq!(polls.cancelled_of("another").await.unwrap(), std::slice::from_ref(&poll));
    polls.close(&poll, epoch, &[], &closing(Some(0)), Settlement::Capture(usd(33))).await.unwrap();
    assert_eq!(polls.cancelled_of("another").await.unwrap(), []);
    assert!(polls.cancel(&poll, at(11)).await.unwrap(), "the cancellation ended the poll");

    // A cancellation recorded in a closing is deleted; a pending one stays.
    assert!(polls.cancel(&other, at(11)).await.unwrap());
    assert_eq!(db.runtime.delete_cancellations().await.unwrap(), 1);
    assert!(!polls.is_cancelled(&poll).await.unwrap() && polls.is_cancelled(&other).await.unwrap());

    let ended = db.running(Some(user), None).await;
    polls.close(&ended, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(0))).await.unwrap();
    assert!(!polls.cancel(&ended, at(12)).await.unwrap());
    assert!(!polls.cancel(&new_poll(None, None).id, at(12)).await.unwrap());
}
