//! Taking up what others left behind.

use std::collections::HashSet;

use ep_kernel::ports::NewPoll;
use ep_polling::money::Settlement;
use futures::future::join_all;

use crate::site::{Site, at, closing, lease, new_poll, usd};

on_both_engines!(
    an_ended_lease_is_taken_up,
    what_is_settled_is_left_alone,
    what_is_closed_but_unsettled_is_taken_up,
    a_renewed_lease_is_kept,
    each_is_taken_by_one_of_many,
);

async fn open(site: &Site, until: i64) -> NewPoll {
    let poll = new_poll(None, None);
    site.polls.open(&poll, &lease("dead", until)).await.unwrap();
    poll
}

async fn an_ended_lease_is_taken_up(site: Site) {
    let (old, young) = (open(&site, 1_000).await, open(&site, 3_000).await);
    assert_eq!(site.polls.adopt(&lease("heir", 9_000), at(999), 10).await.unwrap(), []);
    let adopted = site.polls.adopt(&lease("heir", 9_000), at(2_000), 10).await.unwrap();
    assert_eq!(adopted.len(), 1);
    assert_eq!(Some(&adopted[0]), site.polls.poll(&old.id).await.unwrap().as_ref());
    assert_eq!(site.polls.adopt(&lease("other", 9_000), at(2_000), 10).await.unwrap(), []);
    let adopted = site.polls.adopt(&lease("other", 19_000), at(9_001), 10).await.unwrap();
    let adopted: HashSet<_> = adopted.into_iter().map(|poll| poll.id).collect();
    assert_eq!(adopted, HashSet::from([old.id, young.id]));
}

async fn what_is_settled_is_left_alone(site: Site) {
    let poll = open(&site, 1_000).await;
    site.polls.close(&poll.id, &closing(Some(0)), Settlement::Capture(usd(0))).await.unwrap();
    assert_eq!(site.polls.adopt(&lease("heir", 9_000), at(2_000), 10).await.unwrap(), []);
    assert_eq!(site.polls.renew(&lease("dead", 9_000)).await.unwrap(), 0);
}

async fn what_is_closed_but_unsettled_is_taken_up(site: Site) {
    let poll = open(&site, 1_000).await;
    site.polls.close(&poll.id, &closing(None), Settlement::Later).await.unwrap();
    assert_eq!(site.polls.adopt(&lease("heir", 9_000), at(999), 10).await.unwrap(), []);
    let adopted = site.polls.adopt(&lease("heir", 9_000), at(2_000), 10).await.unwrap();
    assert_eq!(adopted[0].closing, Some(closing(None)));
    assert!(site.polls.settle(&poll.id, usd(0), usd(0), at(2_000)).await.unwrap());
    assert_eq!(site.polls.adopt(&lease("heir", 9_000), at(10_000), 10).await.unwrap(), []);
}

async fn a_renewed_lease_is_kept(site: Site) {
    for _ in 0..3 {
        open(&site, 1_000).await;
    }
    assert_eq!(site.polls.renew(&lease("dead", 5_000)).await.unwrap(), 3);
    assert_eq!(site.polls.renew(&lease("nobody", 5_000)).await.unwrap(), 0);
    assert_eq!(site.polls.adopt(&lease("heir", 9_000), at(2_000), 10).await.unwrap(), []);
    assert_eq!(site.polls.adopt(&lease("heir", 9_000), at(5_000), 2).await.unwrap().len(), 2);
    assert_eq!(site.polls.renew(&lease("dead", 6_000)).await.unwrap(), 1);
    assert_eq!(site.polls.renew(&lease("heir", 9_500)).await.unwrap(), 2);
}

async fn each_is_taken_by_one_of_many(site: Site) {
    for _ in 0..40 {
        open(&site, 1_000).await;
    }
    let adopting = (0..16).map(|worker| {
        let polls = site.polls.clone();
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
