//! Adopting the polls of processes that died.

use std::collections::HashSet;

use ep_kernel::ports::NewPoll;
use ep_polling::money::Settlement;
use futures::future::join_all;

use crate::test_database::{TestDatabase, at, closing, lease, new_poll, usd};

on_both_engines!(
    a_poll_with_an_ended_lease_is_adopted,
    settled_polls_are_not_adopted,
    closed_unsettled_polls_are_adopted,
    a_renewed_lease_is_kept,
    concurrent_workers_adopt_each_poll_once,
);

async fn open(db: &TestDatabase, until: i64) -> NewPoll {
    let poll = new_poll(None, None);
    db.polls.open(&poll, &lease("crashed", until)).await.unwrap();
    poll
}

async fn a_poll_with_an_ended_lease_is_adopted(db: TestDatabase) {
    let (old, young) = (open(&db, 1_000).await, open(&db, 3_000).await);
    assert_eq!(db.polls.adopt(&lease("successor", 9_000), at(999), 10).await.unwrap(), []);
    let adopted = db.polls.adopt(&lease("successor", 9_000), at(2_000), 10).await.unwrap();
    assert_eq!(adopted.len(), 1);
    assert_eq!(Some(&adopted[0]), db.polls.poll(&old.id).await.unwrap().as_ref());
    assert_eq!(db.polls.adopt(&lease("other", 9_000), at(2_000), 10).await.unwrap(), []);
    let adopted = db.polls.adopt(&lease("other", 19_000), at(9_001), 10).await.unwrap();
    let adopted: HashSet<_> = adopted.into_iter().map(|poll| poll.id).collect();
    assert_eq!(adopted, HashSet::from([old.id, young.id]));
}

async fn settled_polls_are_not_adopted(db: TestDatabase) {
    let poll = open(&db, 1_000).await;
    db.polls.close(&poll.id, &closing(Some(0)), Settlement::Capture(usd(0))).await.unwrap();
    assert_eq!(db.polls.adopt(&lease("successor", 9_000), at(2_000), 10).await.unwrap(), []);
    assert_eq!(db.polls.renew(&lease("crashed", 9_000)).await.unwrap(), 0);
}

async fn closed_unsettled_polls_are_adopted(db: TestDatabase) {
    let poll = open(&db, 1_000).await;
    db.polls.close(&poll.id, &closing(None), Settlement::Later).await.unwrap();
    assert_eq!(db.polls.adopt(&lease("successor", 9_000), at(999), 10).await.unwrap(), []);
    let adopted = db.polls.adopt(&lease("successor", 9_000), at(2_000), 10).await.unwrap();
    assert_eq!(adopted[0].closing, Some(closing(None)));
    assert!(db.polls.settle(&poll.id, usd(0), usd(0), at(2_000)).await.unwrap());
    assert_eq!(db.polls.adopt(&lease("successor", 9_000), at(10_000), 10).await.unwrap(), []);
}

async fn a_renewed_lease_is_kept(db: TestDatabase) {
    for _ in 0..3 {
        open(&db, 1_000).await;
    }
    assert_eq!(db.polls.renew(&lease("crashed", 5_000)).await.unwrap(), 3);
    assert_eq!(db.polls.renew(&lease("nobody", 5_000)).await.unwrap(), 0);
    assert_eq!(db.polls.adopt(&lease("successor", 9_000), at(2_000), 10).await.unwrap(), []);
    assert_eq!(db.polls.adopt(&lease("successor", 9_000), at(5_000), 2).await.unwrap().len(), 2);
    assert_eq!(db.polls.renew(&lease("crashed", 6_000)).await.unwrap(), 1);
    assert_eq!(db.polls.renew(&lease("successor", 9_500)).await.unwrap(), 2);
}

async fn concurrent_workers_adopt_each_poll_once(db: TestDatabase) {
    for _ in 0..40 {
        open(&db, 1_000).await;
    }
    let adopting = (0..16).map(|worker| {
        let polls = db.polls.clone();
        tokio::spawn(async move {
            let lease = lease(&format!("worker-{worker}"), 9_000);
            let mut mine = Vec::new();
            loop {
                let adopted = polls.adopt(&lease, at(2_000), 3).await.unwrap();
                if adopted.is_empty() {
                    return mine;
                }
                mine.extend(adopted.into_iter().map(|poll| poll.id));
            }
        })
    });
    let taken: Vec<_> = join_all(adopting).await.into_iter().flat_map(|mine| mine.unwrap()).collect();
    assert_eq!(taken.len(), 40);
    assert_eq!(taken.iter().collect::<HashSet<_>>().len(), 40);
}
