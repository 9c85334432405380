//! Limits shared by replicas: PostgreSQL only.

use std::num::NonZeroU32;
use std::time::Duration;

use futures::future::join_all;

use ep_store::testing::test_database::{TestDatabase, at, connect};

const LIMIT: NonZeroU32 = NonZeroU32::new(30).unwrap();

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_has_no_shared_limiter() {
    assert!(TestDatabase::sqlite().await.runtime.limiter().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_share_one_allowance() {
    let db = TestDatabase::postgres().await;
    let other = connect(&db.url).await;
    let replicas = [db.runtime.limiter().unwrap(), other.runtime.limiter().unwrap()];
    let mut taken = Vec::new();
    // Only a few concurrent requests, because a limiter with a slow database lets callers pass.
    for _ in 0..25 {
        let taking = (0..4).map(|number| {
            let limiter = replicas[number % 2].clone();
            tokio::spawn(async move { limiter.take("default", "user:1", LIMIT).await })
        });
        taken.extend(join_all(taking).await.into_iter().map(Result::unwrap));
    }
    let allowed: Vec<_> = taken.iter().filter(|allowance| allowance.exhausted.is_none()).collect();
    // With a slow database, a request passes uncounted and looks like the first one.
    let counted = allowed.iter().filter(|allowance| allowance.remaining < 29).count();
    // One request is allowed again every two seconds.
    assert!((29..=32).contains(&counted), "{counted} after the first");
    for allowance in taken.iter().filter(|allowance| allowance.exhausted.is_some()) {
        assert_eq!((allowance.remaining, allowance.limit), (0, 30));
        assert!(allowance.exhausted.unwrap() <= Duration::from_secs(2), "{allowance:?}");
        assert!(allowance.reset <= allowance.window, "{allowance:?}");
    }
    let other_user = replicas[0].take("default", "user:2", LIMIT).await;
    assert_eq!((other_user.remaining, other_user.exhausted), (29, None));
    let other_policy = replicas[0].take("free", "user:1", LIMIT).await;
    assert_eq!((other_policy.remaining, other_policy.policy), (29, "free"));
    db.runtime.sweep_claims(at(0)).await.unwrap();
    assert!(
        replicas[1].take("default", "user:1", LIMIT).await.remaining <= 3,
        "a sweep deletes only full allowances"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_pass_while_the_database_is_down() {
    let db = TestDatabase::postgres().await;
    let limiter = db.runtime.limiter().unwrap();
    db.runtime.close().await;
    assert_eq!(limiter.take("default", "user:1", LIMIT).await.exhausted, None);
}
