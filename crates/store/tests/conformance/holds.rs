//! Reserving money for polls, capturing it, and releasing the rest.

use ep_polling::Settlement;
use ep_store::{Epoch, Opened, StoreError};
use futures::future::join_all;

use ep_store::testing::test_database::{TestDatabase, at, closing, hold, lease, new_poll, usd};

on_both_engines!(
    holds_the_available_amount_and_rejects_too_little,
    concurrent_polls_never_hold_more_than_the_balance,
    a_hold_of_zero_moves_nothing,
    holds_need_a_known_owner,
    concurrent_closes_capture_once,
    captures_at_most_the_hold,
    concurrent_settlements_capture_once,
    settles_only_closed_polls,
);

async fn holds_the_available_amount_and_rejects_too_little(db: TestDatabase) {
    let user = db.user(1_000).await;
    let open = async |at_least, at_most| {
        db.polls.open(&new_poll(Some(user), Some(hold(at_least, at_most))), &lease("a", 10)).await
    };
    assert_eq!(open(100, 700).await.unwrap(), Opened::New { held: Some(usd(700)), notifies: false });
    assert_eq!(open(100, 700).await.unwrap(), Opened::New { held: Some(usd(300)), notifies: false });
    match open(100, 700).await {
        Err(StoreError::InsufficientBalance { available, needed }) => {
            assert_eq!((available, needed), (usd(0), usd(100)));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(db.money(user).await, [1_000, 1_000, 0]);
    db.assert_consistent().await;
}

async fn concurrent_polls_never_hold_more_than_the_balance(db: TestDatabase) {
    let user = db.user(100_000).await;
    let opening = (0..48).map(|_| {
        let polls = db.polls.clone();
        let poll = new_poll(Some(user), Some(hold(10_000, 10_000)));
        tokio::spawn(async move { polls.open(&poll, &lease("a", 10)).await })
    });
    let opened: Vec<_> = join_all(opening).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(opened.iter().filter(|opened| opened.is_ok()).count(), 10);
    let rejected =
        |opened: &&Result<Opened, StoreError>| matches!(opened, Err(StoreError::InsufficientBalance { .. }));
    assert_eq!(opened.iter().filter(rejected).count(), 38);
    assert_eq!(db.money(user).await, [100_000, 100_000, 0]);
    db.assert_consistent().await;
}

async fn a_hold_of_zero_moves_nothing(db: TestDatabase) {
    let user = db.user(0).await;
    let poll = new_poll(Some(user), Some(hold(0, 500)));
    let opened = db.polls.open(&poll, &lease("a", 10)).await.unwrap();
    assert_eq!(opened, Opened::New { held: Some(usd(0)), notifies: false });
    assert_eq!(db.polls.poll(&poll.id).await.unwrap().unwrap().held, Some(usd(0)));
    db.polls
        .close(&poll.id, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(9)))
        .await
        .unwrap();
    assert_eq!(db.money(user).await, [0, 0, 0]);
    db.assert_consistent().await;
}

async fn holds_need_a_known_owner(db: TestDatabase) {
    let unknown = ep_store::UserId::from_random([9; 16]);
    for owner in [Some(unknown), None] {
        let poll = new_poll(owner, Some(hold(0, 500)));
        let opened = db.polls.open(&poll, &lease("a", 10)).await;
        assert!(matches!(opened, Err(StoreError::NotFound(_))), "{opened:?}");
        assert_eq!(db.polls.poll(&poll.id).await.unwrap(), None);
    }
}

async fn concurrent_closes_capture_once(db: TestDatabase) {
    let user = db.user(1_000).await;
    let poll = db.running(Some(user), Some(hold(1, 600))).await;
    let closers = (0..24).map(|_| {
        let (polls, poll) = (db.polls.clone(), poll.clone());
        tokio::spawn(async move {
            polls
                .close(&poll, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(250)))
                .await
                .is_ok()
        })
    });
    let closed = join_all(closers).await.into_iter().filter(|closed| *closed.as_ref().unwrap()).count();
    assert_eq!(closed, 1);
    assert_eq!(db.money(user).await, [750, 0, 250]);
    db.assert_consistent().await;
}

async fn captures_at_most_the_hold(db: TestDatabase) {
    let user = db.user(1_000).await;
    let poll = db.running(Some(user), Some(hold(1, 600))).await;
    db.polls.close(&poll, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(601))).await.unwrap();
    assert_eq!(db.money(user).await, [400, 0, 600]);
    let free = db.running(Some(user), Some(hold(1, 600))).await;
    db.polls.close(&free, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(0))).await.unwrap();
    assert_eq!(db.money(user).await, [400, 0, 600]);
    db.assert_consistent().await;
}

async fn concurrent_settlements_capture_once(db: TestDatabase) {
    let user = db.user(1_000).await;
    let poll = db.running(Some(user), Some(hold(1, 600))).await;
    db.polls.close(&poll, Epoch::FIRST, &[], &closing(None), Settlement::Later).await.unwrap();
    assert_eq!(db.money(user).await, [1_000, 600, 0]);
    assert!(!db.polls.poll(&poll).await.unwrap().unwrap().settled);
    db.assert_consistent().await;

    let settling = (0..24).map(|_| {
        let (polls, poll) = (db.polls.clone(), poll.clone());
        tokio::spawn(
            async move { polls.settle(&poll, Epoch::FIRST, usd(300), usd(20), at(9_000)).await.unwrap() },
        )
    });
    let settled = join_all(settling).await.into_iter().filter(|settled| *settled.as_ref().unwrap()).count();
    assert_eq!(settled, 1);
    assert_eq!(db.money(user).await, [700, 0, 300]);
    let record = db.polls.poll(&poll).await.unwrap().unwrap();
    assert_eq!((record.settled, record.closing.unwrap().unused_calls_cost), (true, Some(usd(20))));
    db.assert_consistent().await;
}

async fn settles_only_closed_polls(db: TestDatabase) {
    let user = db.user(1_000).await;
    let poll = db.running(Some(user), Some(hold(1, 600))).await;
    let early = db.polls.settle(&poll, Epoch::FIRST, usd(1), usd(0), at(0)).await;
    assert!(matches!(early, Err(StoreError::NotFound(_))), "{early:?}");
    db.polls.close(&poll, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(5))).await.unwrap();
    assert!(!db.polls.settle(&poll, Epoch::FIRST, usd(1), usd(0), at(0)).await.unwrap());
    assert_eq!(db.money(user).await, [995, 0, 5]);
}
