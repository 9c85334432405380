//! Idempotency records.

use std::time::Duration;

use ep_store::{ClaimRecord, ClaimState};
use futures::future::join_all;

use ep_store::testing::test_database::{TestDatabase, at};

on_both_engines!(
    a_request_is_claimed_then_replayed,
    another_request_with_the_same_key_is_a_mismatch,
    an_expired_record_is_ignored,
    a_claim_past_its_lease_is_granted_again,
    an_abandoned_claim_is_granted_again,
    a_claim_that_ends_too_far_ahead_counts_as_ended,
    one_of_concurrent_requests_gets_the_claim,
    expired_records_are_deleted,
);

/// Returns a claim of this epoch, on a record created at `made`.
fn claim(epoch: i64, made: i64) -> ClaimRecord {
    ClaimRecord { epoch, expires_at: at(made + 10_000) }
}

/// Claims at `now` for a minute; the record expires after ten seconds of the caller's clock.
async fn begin(db: &TestDatabase, scope: &str, fingerprint: &str, now: i64) -> ClaimState {
    let lasts = Duration::from_mins(1);
    db.runtime.begin_claim(scope, fingerprint, at(now), lasts, at(now + 10_000)).await.unwrap()
}

async fn a_request_is_claimed_then_replayed(db: TestDatabase) {
    assert_eq!(begin(&db, "a", "f", 0).await, ClaimState::Claimed(claim(1, 0)));
    assert_eq!(begin(&db, "a", "f", 500).await, ClaimState::Running(claim(1, 0)));
    assert_eq!(begin(&db, "b", "f", 500).await, ClaimState::Claimed(claim(1, 500)));
    db.runtime.finish_claim("a", 1, "{\"pending\":true}").await.unwrap();
    db.runtime.finish_claim("a", 1, "{\"done\":\"é\"}").await.unwrap();
    let db = db.reopened().await;
    let done = ClaimState::Done(claim(1, 0), "{\"done\":\"é\"}".to_owned());
    assert_eq!(begin(&db, "a", "f", 5_000).await, done);
}

async fn another_request_with_the_same_key_is_a_mismatch(db: TestDatabase) {
    begin(&db, "a", "f", 0).await;
    assert_eq!(begin(&db, "a", "g", 500).await, ClaimState::Mismatch);
    db.pass(60_000).await;
    assert_eq!(begin(&db, "a", "g", 2_000).await, ClaimState::Mismatch, "even past its lease");
    db.runtime.finish_claim("a", 1, "done").await.unwrap();
    assert_eq!(begin(&db, "a", "g", 500).await, ClaimState::Mismatch);
}

async fn an_expired_record_is_ignored(db: TestDatabase) {
    begin(&db, "a", "f", 0).await;
    db.runtime.finish_claim("a", 1, "done").await.unwrap();
    assert_eq!(begin(&db, "a", "g", 10_000).await, ClaimState::Claimed(claim(2, 10_000)));
    assert_eq!(begin(&db, "a", "g", 10_001).await, ClaimState::Running(claim(2, 10_000)));
}

async fn a_claim_past_its_lease_is_granted_again(db: TestDatabase) {
    begin(&db, "a", "f", 0).await;
    db.pass(50_000).await;
    assert_eq!(begin(&db, "a", "f", 900).await, ClaimState::Running(claim(1, 0)));
    db.runtime.renew_claim("a", 1, Duration::from_mins(1)).await.unwrap();
    db.pass(50_000).await;
    assert_eq!(begin(&db, "a", "f", 1_000).await, ClaimState::Running(claim(1, 0)), "it was renewed");
    db.pass(10_000).await;
    // It is the same record, so that the earlier changes of the request are found again.
    assert_eq!(begin(&db, "a", "f", 1_001).await, ClaimState::Claimed(claim(2, 0)));
    assert_eq!(begin(&db, "a", "f", 1_500).await, ClaimState::Running(claim(2, 0)));
    // The first claimant may neither save a reply nor end the claim that it has lost.
    db.runtime.finish_claim("a", 1, "late").await.unwrap();
    db.runtime.renew_claim("a", 1, Duration::ZERO).await.unwrap();
    assert_eq!(begin(&db, "a", "f", 1_600).await, ClaimState::Running(claim(2, 0)));
}

async fn an_abandoned_claim_is_granted_again(db: TestDatabase) {
    begin(&db, "a", "f", 0).await;
    db.runtime.renew_claim("a", 1, Duration::ZERO).await.unwrap();
    assert_eq!(begin(&db, "a", "f", 1).await, ClaimState::Claimed(claim(2, 0)));
    db.runtime.finish_claim("a", 2, "done").await.unwrap();
    db.runtime.renew_claim("a", 2, Duration::ZERO).await.unwrap();
    let done = ClaimState::Done(claim(2, 0), "done".to_owned());
    assert_eq!(begin(&db, "a", "f", 2).await, done, "only claims without a reply are granted again");
}

async fn one_of_concurrent_requests_gets_the_claim(db: TestDatabase) {
    // A new request, one with a dead claimant, and one with an expired record.
    for (scope, now) in [("a", 0), ("a", 2_000), ("a", 20_000)] {
        let beginning = (0..32).map(|_| {
            let idempotency = db.runtime.clone();
            tokio::spawn(async move {
                let lasts = Duration::from_mins(1);
                idempotency.begin_claim(scope, "f", at(now), lasts, at(now + 10_000)).await.unwrap()
            })
        });
        let begun: Vec<_> = join_all(beginning).await.into_iter().map(Result::unwrap).collect();
        let count = |wanted: fn(&ClaimState) -> bool| begun.iter().filter(|begun| wanted(begun)).count();
        assert_eq!(count(|begun| matches!(begun, ClaimState::Claimed(_))), 1, "at {now}");
        assert_eq!(count(|begun| matches!(begun, ClaimState::Running(_))), 31, "at {now}");
        db.pass(60_000).await;
    }
}

async fn expired_records_are_deleted(db: TestDatabase) {
    for (scope, now) in [("a", 0), ("b", 0), ("c", 5_000)] {
        begin(&db, scope, "f", now).await;
    }
    db.runtime.finish_claim("b", 1, "done").await.unwrap();
    assert_eq!(db.runtime.sweep_claims(at(9_999)).await.unwrap(), 0);
    assert_eq!(db.runtime.sweep_claims(at(10_000)).await.unwrap(), 2);
    assert_eq!(begin(&db, "c", "f", 5_500).await, ClaimState::Running(claim(1, 5_000)));
}

/// A claim made while the clock was an hour ahead.
async fn a_claim_that_ends_too_far_ahead_counts_as_ended(db: TestDatabase) {
    begin(&db, "a", "f", 0).await;
    db.pass(-100_000).await;
    assert_eq!(begin(&db, "a", "f", 500).await, ClaimState::Running(claim(1, 0)));
    db.pass(-3_600_000).await;
    assert_eq!(begin(&db, "a", "f", 500).await, ClaimState::Claimed(claim(2, 0)));
}
