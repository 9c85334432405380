//! Keeping replies for replay.

use ep_kernel::ports::ClaimState;
use futures::future::join_all;

use crate::site::{Site, at};

on_both_engines!(
    a_request_is_claimed_then_replayed,
    another_request_under_the_same_key_is_told_so,
    what_has_expired_is_as_none,
    a_dead_claim_is_taken_over,
    what_is_forgotten_can_be_sent_again,
    one_of_many_gets_the_claim,
    expired_entries_are_swept,
);

/// Claims at `now`, for a second, to be kept for ten.
async fn begin(site: &Site, scope: &str, fingerprint: &str, now: i64) -> ClaimState {
    site.idempotency.begin(scope, fingerprint, at(now), at(now + 1_000), at(now + 10_000)).await.unwrap()
}

async fn a_request_is_claimed_then_replayed(site: Site) {
    assert_eq!(begin(&site, "a", "f", 0).await, ClaimState::Fresh);
    assert_eq!(begin(&site, "a", "f", 500).await, ClaimState::Running);
    assert_eq!(begin(&site, "b", "f", 500).await, ClaimState::Fresh);
    site.idempotency.finish("a", "{\"pending\":true}").await.unwrap();
    site.idempotency.finish("a", "{\"done\":\"é\"}").await.unwrap();
    let site = site.reopened().await;
    assert_eq!(begin(&site, "a", "f", 5_000).await, ClaimState::Done("{\"done\":\"é\"}".to_owned()));
}

async fn another_request_under_the_same_key_is_told_so(site: Site) {
    assert_eq!(begin(&site, "a", "f", 0).await, ClaimState::Fresh);
    assert_eq!(begin(&site, "a", "g", 500).await, ClaimState::Mismatch);
    assert_eq!(begin(&site, "a", "g", 2_000).await, ClaimState::Mismatch, "also when its worker has died");
    site.idempotency.finish("a", "done").await.unwrap();
    assert_eq!(begin(&site, "a", "g", 500).await, ClaimState::Mismatch);
}

async fn what_has_expired_is_as_none(site: Site) {
    assert_eq!(begin(&site, "a", "f", 0).await, ClaimState::Fresh);
    site.idempotency.finish("a", "done").await.unwrap();
    assert_eq!(begin(&site, "a", "g", 10_000).await, ClaimState::Fresh);
    assert_eq!(begin(&site, "a", "g", 10_001).await, ClaimState::Running);
}

async fn a_dead_claim_is_taken_over(site: Site) {
    assert_eq!(begin(&site, "a", "f", 0).await, ClaimState::Fresh);
    assert_eq!(begin(&site, "a", "f", 999).await, ClaimState::Running);
    assert_eq!(begin(&site, "a", "f", 1_001).await, ClaimState::Fresh);
    assert_eq!(begin(&site, "a", "f", 1_500).await, ClaimState::Running);
}

async fn what_is_forgotten_can_be_sent_again(site: Site) {
    assert_eq!(begin(&site, "a", "f", 0).await, ClaimState::Fresh);
    site.idempotency.forget("a").await.unwrap();
    assert_eq!(begin(&site, "a", "g", 1).await, ClaimState::Fresh);
    site.idempotency.finish("a", "done").await.unwrap();
    site.idempotency.forget("a").await.unwrap();
    assert_eq!(begin(&site, "a", "g", 2).await, ClaimState::Done("done".to_owned()), "a reply is no claim");
}

async fn one_of_many_gets_the_claim(site: Site) {
    for (scope, now) in [("a", 0), ("a", 2_000), ("a", 20_000)] {
        let beginning = (0..32).map(|_| {
            let idempotency = site.idempotency.clone();
            tokio::spawn(async move {
                idempotency.begin(scope, "f", at(now), at(now + 1_000), at(now + 10_000)).await.unwrap()
            })
        });
        let begun: Vec<_> = join_all(beginning).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(begun.iter().filter(|begun| **begun == ClaimState::Fresh).count(), 1, "at {now}");
        assert_eq!(begun.iter().filter(|begun| **begun == ClaimState::Running).count(), 31, "at {now}");
    }
}

async fn expired_entries_are_swept(site: Site) {
    for (scope, now) in [("a", 0), ("b", 0), ("c", 5_000)] {
        begin(&site, scope, "f", now).await;
    }
    site.idempotency.finish("b", "done").await.unwrap();
    assert_eq!(site.idempotency.sweep(at(9_999)).await.unwrap(), 0);
    assert_eq!(site.idempotency.sweep(at(10_000)).await.unwrap(), 2);
    assert_eq!(begin(&site, "c", "f", 5_500).await, ClaimState::Running);
}
