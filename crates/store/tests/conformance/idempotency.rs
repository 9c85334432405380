//! Idempotency records.

use ep_kernel::ports::ClaimState;
use futures::future::join_all;

use crate::test_database::{TestDatabase, at};

on_both_engines!(
    a_request_is_claimed_then_replayed,
    another_request_with_the_same_key_is_a_mismatch,
    an_expired_record_counts_as_none,
    a_claim_past_its_lease_is_granted_again,
    a_deleted_claim_can_be_made_again,
    one_of_concurrent_requests_gets_the_claim,
    expired_records_are_deleted,
);

/// Claims at `now` for one second; the record expires after ten.
async fn begin(db: &TestDatabase, scope: &str, fingerprint: &str, now: i64) -> ClaimState {
    db.idempotency.begin(scope, fingerprint, at(now), at(now + 1_000), at(now + 10_000)).await.unwrap()
}

async fn a_request_is_claimed_then_replayed(db: TestDatabase) {
    assert_eq!(begin(&db, "a", "f", 0).await, ClaimState::Fresh);
    assert_eq!(begin(&db, "a", "f", 500).await, ClaimState::Running);
    assert_eq!(begin(&db, "b", "f", 500).await, ClaimState::Fresh);
    db.idempotency.finish("a", "{\"pending\":true}").await.unwrap();
    db.idempotency.finish("a", "{\"done\":\"é\"}").await.unwrap();
    let db = db.reopened().await;
    assert_eq!(begin(&db, "a", "f", 5_000).await, ClaimState::Done("{\"done\":\"é\"}".to_owned()));
}

async fn another_request_with_the_same_key_is_a_mismatch(db: TestDatabase) {
    assert_eq!(begin(&db, "a", "f", 0).await, ClaimState::Fresh);
    assert_eq!(begin(&db, "a", "g", 500).await, ClaimState::Mismatch);
    assert_eq!(begin(&db, "a", "g", 2_000).await, ClaimState::Mismatch, "even past its lease");
    db.idempotency.finish("a", "done").await.unwrap();
    assert_eq!(begin(&db, "a", "g", 500).await, ClaimState::Mismatch);
}

async fn an_expired_record_counts_as_none(db: TestDatabase) {
    assert_eq!(begin(&db, "a", "f", 0).await, ClaimState::Fresh);
    db.idempotency.finish("a", "done").await.unwrap();
    assert_eq!(begin(&db, "a", "g", 10_000).await, ClaimState::Fresh);
    assert_eq!(begin(&db, "a", "g", 10_001).await, ClaimState::Running);
}

async fn a_claim_past_its_lease_is_granted_again(db: TestDatabase) {
    assert_eq!(begin(&db, "a", "f", 0).await, ClaimState::Fresh);
    assert_eq!(begin(&db, "a", "f", 999).await, ClaimState::Running);
    assert_eq!(begin(&db, "a", "f", 1_001).await, ClaimState::Fresh);
    assert_eq!(begin(&db, "a", "f", 1_500).await, ClaimState::Running);
}

async fn a_deleted_claim_can_be_made_again(db: TestDatabase) {
    assert_eq!(begin(&db, "a", "f", 0).await, ClaimState::Fresh);
    db.idempotency.forget("a").await.unwrap();
    assert_eq!(begin(&db, "a", "g", 1).await, ClaimState::Fresh);
    db.idempotency.finish("a", "done").await.unwrap();
    db.idempotency.forget("a").await.unwrap();
    assert_eq!(
        begin(&db, "a", "g", 2).await,
        ClaimState::Done("done".to_owned()),
        "only claims without a reply are deleted"
    );
}

async fn one_of_concurrent_requests_gets_the_claim(db: TestDatabase) {
    for (scope, now) in [("a", 0), ("a", 2_000), ("a", 20_000)] {
        let beginning = (0..32).map(|_| {
            let idempotency = db.idempotency.clone();
            tokio::spawn(async move {
                idempotency.begin(scope, "f", at(now), at(now + 1_000), at(now + 10_000)).await.unwrap()
            })
        });
        let begun: Vec<_> = join_all(beginning).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(begun.iter().filter(|begun| **begun == ClaimState::Fresh).count(), 1, "at {now}");
        assert_eq!(begun.iter().filter(|begun| **begun == ClaimState::Running).count(), 31, "at {now}");
    }
}

async fn expired_records_are_deleted(db: TestDatabase) {
    for (scope, now) in [("a", 0), ("b", 0), ("c", 5_000)] {
        begin(&db, scope, "f", now).await;
    }
    db.idempotency.finish("b", "done").await.unwrap();
    assert_eq!(db.idempotency.sweep(at(9_999)).await.unwrap(), 0);
    assert_eq!(db.idempotency.sweep(at(10_000)).await.unwrap(), 2);
    assert_eq!(begin(&db, "c", "f", 5_500).await, ClaimState::Running);
}
