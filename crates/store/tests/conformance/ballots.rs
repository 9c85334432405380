//! Keeping ballots.

use ep_kernel::ports::StoreError;
use ep_polling::money::Settlement;
use futures::future::join_all;

use crate::site::{Site, ballot, ballots, closing, usd};

on_both_engines!(
    reads_back_what_it_was_given,
    keeps_all_or_none,
    a_member_votes_once,
    keeps_nothing_of_a_poll_that_does_not_run,
    one_who_is_refused_takes_nobody_along,
    many_at_once_are_all_kept,
);

async fn reads_back_what_it_was_given(site: Site) {
    let poll = site.running(None, None).await;
    let kept = ballots(1..=12);
    site.polls.record(&poll, &kept[7..]).await.unwrap();
    site.polls.record(&poll, &[]).await.unwrap();
    site.polls.record(&poll, &kept[..7]).await.unwrap();
    assert_eq!(site.polls.ballots(&poll, 0).await.unwrap(), kept);
    assert_eq!(site.polls.ballots(&poll, 9).await.unwrap(), kept[9..]);
    assert_eq!(site.polls.ballots(&poll, 12).await.unwrap(), []);
    let unknown = "EP-20260131-ZZZZZZZZZZ".parse().unwrap();
    assert_eq!(site.polls.ballots(&unknown, 0).await.unwrap(), []);
}

async fn keeps_all_or_none(site: Site) {
    let poll = site.running(None, None).await;
    site.polls.record(&poll, &[ballot(1, 4)]).await.unwrap();
    let refused = site.polls.record(&poll, &[ballot(2, 1), ballot(3, 4), ballot(4, 2)]).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    assert_eq!(site.polls.ballots(&poll, 0).await.unwrap(), [ballot(1, 4)]);
}

async fn a_member_votes_once(site: Site) {
    let poll = site.running(None, None).await;
    let voting = (1..=16).map(|seq| {
        let (polls, poll) = (site.polls.clone(), poll.clone());
        tokio::spawn(async move { polls.record(&poll, &[ballot(seq, 3)]).await })
    });
    let votes: Vec<_> = join_all(voting).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(votes.iter().filter(|vote| vote.is_ok()).count(), 1);
    assert_eq!(votes.iter().filter(|vote| matches!(vote, Err(StoreError::Conflict(_)))).count(), 15);
    // Nor is a number given twice.
    let kept = site.polls.ballots(&poll, 0).await.unwrap()[0].seq;
    let twice = site.polls.record(&poll, &[ballot(kept, 5)]).await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))), "{twice:?}");
}

async fn keeps_nothing_of_a_poll_that_does_not_run(site: Site) {
    let unknown = "EP-20260131-ZZZZZZZZZZ".parse().unwrap();
    let kept = site.polls.record(&unknown, &[ballot(1, 0)]).await;
    assert!(matches!(kept, Err(StoreError::NotFound(_))), "{kept:?}");
    let poll = site.running(None, None).await;
    site.polls.record(&poll, &[ballot(1, 0)]).await.unwrap();
    site.polls.close(&poll, &closing(Some(0)), Settlement::Capture(usd(0))).await.unwrap();
    let late = site.polls.record(&poll, &[ballot(2, 1)]).await;
    assert!(matches!(late, Err(StoreError::NotFound(_))), "{late:?}");
    assert_eq!(site.polls.ballots(&poll, 0).await.unwrap().len(), 1);
}

async fn one_who_is_refused_takes_nobody_along(site: Site) {
    let poll = site.running(None, None).await;
    site.polls.record(&poll, &[ballot(1, 0)]).await.unwrap();
    // Enough at once that many share a commit, with errands of other kinds among them.
    let recording = (0..400_u32).map(|number| {
        let (site_polls, accounts, poll) = (site.polls.clone(), site.accounts.clone(), poll.clone());
        tokio::spawn(async move {
            match number % 4 {
                0 => assert!(site_polls.record(&poll, &[ballot(10_000 + number, 0)]).await.is_err()),
                1 => {
                    let stranger = ep_kernel::caller::UserId::from_random([9; 16]);
                    let reference = format!("credit:{number}");
                    let now = crate::site::at(0);
                    assert!(accounts.credit(stranger, usd(1), &reference, now).await.is_err());
                }
                _ => site_polls.record(&poll, &[ballot(number, number)]).await.unwrap(),
            }
        })
    });
    for recorded in join_all(recording).await {
        recorded.unwrap();
    }
    assert_eq!(site.polls.ballots(&poll, 0).await.unwrap().len(), 201);
    assert_eq!(site.accounts.audit().await.unwrap().transfers, 0);
}

async fn many_at_once_are_all_kept(site: Site) {
    let polls = join_all((0..8).map(|_| site.running(None, None))).await;
    let recording = polls.iter().flat_map(|poll| {
        (0..10_u32).map(|batch| {
            let (store, poll) = (site.polls.clone(), poll.clone());
            tokio::spawn(async move {
                store.record(&poll, &ballots(batch * 5 + 1..=batch * 5 + 5)).await.unwrap();
            })
        })
    });
    for recorded in join_all(recording).await {
        recorded.unwrap();
    }
    let site = site.reopened().await;
    for poll in &polls {
        assert_eq!(site.polls.ballots(poll, 0).await.unwrap(), ballots(1..=50));
    }
}
