//! Storing ballots.

use ep_polling::Settlement;
use ep_store::{Epoch, StoreError};
use futures::future::join_all;

use ep_store::testing::test_database::{SETTLED_WITHIN, TestDatabase, ballot, ballots, closing, usd};

on_both_engines!(
    stored_ballots_are_read_unchanged,
    inserts_all_or_none,
    a_member_votes_once,
    an_audit_names_polls_with_gaps_in_their_sequence,
    rejects_ballots_of_polls_that_are_not_running,
    a_rejected_caller_fails_alone,
    concurrent_ballots_are_all_stored,
);

async fn stored_ballots_are_read_unchanged(db: TestDatabase) {
    let poll = db.running(None, None).await;
    let stored = ballots(1..=12);
    db.polls.record(&poll, Epoch::FIRST, &stored[7..]).await.unwrap();
    db.polls.record(&poll, Epoch::FIRST, &[]).await.unwrap();
    db.polls.record(&poll, Epoch::FIRST, &stored[..7]).await.unwrap();
    assert_eq!(db.polls.ballots(&poll, 0).await.unwrap(), stored);
    assert_eq!(db.polls.ballots(&poll, 9).await.unwrap(), stored[9..]);
    assert_eq!(db.polls.ballots(&poll, 12).await.unwrap(), []);
    let unknown = "EP-20260131-ZZZZZZZZZZ".parse().unwrap();
    assert_eq!(db.polls.ballots(&unknown, 0).await.unwrap(), []);
}

async fn inserts_all_or_none(db: TestDatabase) {
    let poll = db.running(None, None).await;
    db.polls.record(&poll, Epoch::FIRST, &[ballot(1, 4)]).await.unwrap();
    let rejected = db.polls.record(&poll, Epoch::FIRST, &[ballot(2, 1), ballot(3, 4), ballot(4, 2)]).await;
    assert!(matches!(rejected, Err(StoreError::Conflict(_))), "{rejected:?}");
    assert_eq!(db.polls.ballots(&poll, 0).await.unwrap(), [ballot(1, 4)]);
}

async fn a_member_votes_once(db: TestDatabase) {
    let poll = db.running(None, None).await;
    let voting = (1..=16).map(|seq| {
        let (polls, poll) = (db.polls.clone(), poll.clone());
        tokio::spawn(async move { polls.record(&poll, Epoch::FIRST, &[ballot(seq, 3)]).await })
    });
    let votes: Vec<_> = join_all(voting).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(votes.iter().filter(|vote| vote.is_ok()).count(), 1);
    assert_eq!(votes.iter().filter(|vote| matches!(vote, Err(StoreError::Conflict(_)))).count(), 15);
}

async fn an_audit_names_polls_with_gaps_in_their_sequence(db: TestDatabase) {
    let wrong = async || db.treasury.audit(SETTLED_WITHIN).await.unwrap().wrong_ballots;
    let whole = db.running(None, None).await;
    db.polls.record(&whole, Epoch::FIRST, &ballots(1..=3)).await.unwrap();
    assert_eq!(wrong().await, Vec::<String>::new());
    let (gap, twice) = (db.running(None, None).await, db.running(None, None).await);
    db.polls.record(&gap, Epoch::FIRST, &[ballot(1, 0), ballot(3, 1)]).await.unwrap();
    db.polls.record(&twice, Epoch::FIRST, &[ballot(1, 0), ballot(1, 1)]).await.unwrap();
    let mut broken = [gap.to_string(), twice.to_string()];
    broken.sort();
    let mut found = wrong().await;
    found.sort();
    assert_eq!(found, broken);
}

async fn rejects_ballots_of_polls_that_are_not_running(db: TestDatabase) {
    let unknown = "EP-20260131-ZZZZZZZZZZ".parse().unwrap();
    let recorded = db.polls.record(&unknown, Epoch::FIRST, &[ballot(1, 0)]).await;
    assert!(matches!(recorded, Err(StoreError::NotFound(_))), "{recorded:?}");
    let poll = db.running(None, None).await;
    db.polls.record(&poll, Epoch::FIRST, &[ballot(1, 0)]).await.unwrap();
    db.polls.close(&poll, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(0))).await.unwrap();
    let late = db.polls.record(&poll, Epoch::FIRST, &[ballot(2, 1)]).await;
    assert!(matches!(late, Err(StoreError::NotFound(_))), "{late:?}");
    assert_eq!(db.polls.ballots(&poll, 0).await.unwrap().len(), 1);
}

async fn a_rejected_caller_fails_alone(db: TestDatabase) {
    let poll = db.running(None, None).await;
    db.polls.record(&poll, Epoch::FIRST, &[ballot(1, 0)]).await.unwrap();
    // There are enough callers that many share a commit, and other writes among them.
    let recording = (0..400_u32).map(|number| {
        let (polls, ledger, poll) = (db.polls.clone(), db.treasury.clone(), poll.clone());
        tokio::spawn(async move {
            match number % 4 {
                0 => assert!(polls.record(&poll, Epoch::FIRST, &[ballot(10_000 + number, 0)]).await.is_err()),
                1 => {
                    let unknown = ep_store::UserId::from_random([9; 16]);
                    let reference = format!("credit:{number}");
                    let now = ep_store::testing::test_database::at(0);
                    assert!(ledger.credit(unknown, usd(1), &reference, now).await.is_err());
                }
                _ => polls.record(&poll, Epoch::FIRST, &[ballot(number, number)]).await.unwrap(),
            }
        })
    });
    for recorded in join_all(recording).await {
        recorded.unwrap();
    }
    assert_eq!(db.polls.ballots(&poll, 0).await.unwrap().len(), 201);
    assert_eq!(db.treasury.audit(SETTLED_WITHIN).await.unwrap().transfers, 0);
}

async fn concurrent_ballots_are_all_stored(db: TestDatabase) {
    let polls = join_all((0..8).map(|_| db.running(None, None))).await;
    let recording = polls.iter().flat_map(|poll| {
        (0..10_u32).map(|batch| {
            let (store, poll) = (db.polls.clone(), poll.clone());
            tokio::spawn(async move {
                store.record(&poll, Epoch::FIRST, &ballots(batch * 5 + 1..=batch * 5 + 5)).await.unwrap();
            })
        })
    });
    for recorded in join_all(recording).await {
        recorded.unwrap();
    }
    let db = db.reopened().await;
    for poll in &polls {
        assert_eq!(db.polls.ballots(poll, 0).await.unwrap(), ballots(1..=50));
    }
}
