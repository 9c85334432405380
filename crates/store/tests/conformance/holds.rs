//! Setting money aside, capturing it, giving the rest back.

use ep_kernel::ports::{Opened, StoreError};
use ep_polling::money::Settlement;
use futures::future::join_all;

use crate::site::{Site, at, closing, hold, lease, new_poll, usd};

on_both_engines!(
    takes_what_is_there_and_refuses_too_little,
    concurrent_polls_never_hold_more_than_there_is,
    a_hold_of_nothing_is_no_hold,
    strangers_hold_nothing,
    captures_once_whoever_closes,
    captures_never_more_than_the_hold,
    settles_once_when_calls_have_ended,
    settles_only_what_is_closed,
);

async fn takes_what_is_there_and_refuses_too_little(site: Site) {
    let user = site.user(1_000).await;
    let open = async |at_least, at_most| {
        site.polls.open(&new_poll(Some(user), Some(hold(at_least, at_most))), &lease("a", 10)).await
    };
    assert_eq!(open(100, 700).await.unwrap(), Opened::New { held: Some(usd(700)) });
    assert_eq!(open(100, 700).await.unwrap(), Opened::New { held: Some(usd(300)) });
    match open(100, 700).await {
        Err(StoreError::InsufficientBalance { available, needed }) => {
            assert_eq!((available, needed), (usd(0), usd(100)));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(site.money(user).await, [1_000, 1_000, 0]);
    site.assert_books().await;
}

async fn concurrent_polls_never_hold_more_than_there_is(site: Site) {
    let user = site.user(100_000).await;
    let opening = (0..48).map(|_| {
        let polls = site.polls.clone();
        let poll = new_poll(Some(user), Some(hold(10_000, 10_000)));
        tokio::spawn(async move { polls.open(&poll, &lease("a", 10)).await })
    });
    let opened: Vec<_> = join_all(opening).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(opened.iter().filter(|opened| opened.is_ok()).count(), 10);
    let refused =
        |opened: &&Result<Opened, StoreError>| matches!(opened, Err(StoreError::InsufficientBalance { .. }));
    assert_eq!(opened.iter().filter(refused).count(), 38);
    assert_eq!(site.money(user).await, [100_000, 100_000, 0]);
    site.assert_books().await;
}

async fn a_hold_of_nothing_is_no_hold(site: Site) {
    let user = site.user(0).await;
    let poll = new_poll(Some(user), Some(hold(0, 500)));
    let opened = site.polls.open(&poll, &lease("a", 10)).await.unwrap();
    assert_eq!(opened, Opened::New { held: Some(usd(0)) });
    assert_eq!(site.polls.poll(&poll.id).await.unwrap().unwrap().held, Some(usd(0)));
    site.polls.close(&poll.id, &closing(Some(0)), Settlement::Capture(usd(9))).await.unwrap();
    assert_eq!(site.money(user).await, [0, 0, 0]);
    site.assert_books().await;
}

async fn strangers_hold_nothing(site: Site) {
    let stranger = ep_kernel::caller::UserId::from_random([9; 16]);
    for owner in [Some(stranger), None] {
        let poll = new_poll(owner, Some(hold(0, 500)));
        let opened = site.polls.open(&poll, &lease("a", 10)).await;
        assert!(matches!(opened, Err(StoreError::NotFound(_))), "{opened:?}");
        assert_eq!(site.polls.poll(&poll.id).await.unwrap(), None);
    }
}

async fn captures_once_whoever_closes(site: Site) {
    let user = site.user(1_000).await;
    let poll = site.running(Some(user), Some(hold(1, 600))).await;
    let closers = (0..24).map(|_| {
        let (polls, poll) = (site.polls.clone(), poll.clone());
        tokio::spawn(async move {
            polls.close(&poll, &closing(Some(0)), Settlement::Capture(usd(250))).await.is_ok()
        })
    });
    let closed = join_all(closers).await.into_iter().filter(|closed| *closed.as_ref().unwrap()).count();
    assert_eq!(closed, 1);
    assert_eq!(site.money(user).await, [750, 0, 250]);
    site.assert_books().await;
}

async fn captures_never_more_than_the_hold(site: Site) {
    let user = site.user(1_000).await;
    let poll = site.running(Some(user), Some(hold(1, 600))).await;
    site.polls.close(&poll, &closing(Some(0)), Settlement::Capture(usd(601))).await.unwrap();
    assert_eq!(site.money(user).await, [400, 0, 600]);
    let free = site.running(Some(user), Some(hold(1, 600))).await;
    site.polls.close(&free, &closing(Some(0)), Settlement::Capture(usd(0))).await.unwrap();
    assert_eq!(site.money(user).await, [400, 0, 600]);
    site.assert_books().await;
}

async fn settles_once_when_calls_have_ended(site: Site) {
    let user = site.user(1_000).await;
    let poll = site.running(Some(user), Some(hold(1, 600))).await;
    site.polls.close(&poll, &closing(None), Settlement::Later).await.unwrap();
    assert_eq!(site.money(user).await, [1_000, 600, 0]);
    assert!(!site.polls.poll(&poll).await.unwrap().unwrap().settled);
    site.assert_books().await;

    let settling = (0..24).map(|_| {
        let (polls, poll) = (site.polls.clone(), poll.clone());
        tokio::spawn(async move { polls.settle(&poll, usd(300), usd(20), at(9_000)).await.unwrap() })
    });
    let settled = join_all(settling).await.into_iter().filter(|settled| *settled.as_ref().unwrap()).count();
    assert_eq!(settled, 1);
    assert_eq!(site.money(user).await, [700, 0, 300]);
    let record = site.polls.poll(&poll).await.unwrap().unwrap();
    assert_eq!((record.settled, record.closing.unwrap().unused_calls_cost), (true, Some(usd(20))));
    site.assert_books().await;
}

async fn settles_only_what_is_closed(site: Site) {
    let user = site.user(1_000).await;
    let poll = site.running(Some(user), Some(hold(1, 600))).await;
    let early = site.polls.settle(&poll, usd(1), usd(0), at(0)).await;
    assert!(matches!(early, Err(StoreError::NotFound(_))), "{early:?}");
    site.polls.close(&poll, &closing(Some(0)), Settlement::Capture(usd(5))).await.unwrap();
    assert!(!site.polls.settle(&poll, usd(1), usd(0), at(0)).await.unwrap());
    assert_eq!(site.money(user).await, [995, 0, 5]);
}
