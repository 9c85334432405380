//! Crediting accounts.

use ep_store::{CreditOutcome, StoreError, UserId};
use futures::future::join_all;

use ep_store::testing::test_database::{SETTLED_WITHIN, TestDatabase, at, usd};

on_both_engines!(
    credits_once_per_reference,
    a_reference_is_bound_to_its_amount_and_account,
    concurrent_credits_count_once,
    unknown_users_are_not_credited,
    no_account_holds_more_than_the_limit,
);

async fn credits_once_per_reference(db: TestDatabase) {
    let user = db.user(0).await;
    for (amount, reference, outcome) in [
        (500, "checkout:1", CreditOutcome::Credited),
        (500, "checkout:1", CreditOutcome::AlreadyCredited),
        (7, "checkout:2", CreditOutcome::Credited),
        (500, "checkout:1", CreditOutcome::AlreadyCredited),
    ] {
        assert_eq!(db.treasury.credit(user, usd(amount), reference, at(1)).await.unwrap(), outcome);
    }
    assert_eq!(db.money(user).await, [507, 0, 0]);
    db.assert_consistent().await;
}

async fn a_reference_is_bound_to_its_amount_and_account(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    db.treasury.credit(user, usd(500), "checkout:1", at(1)).await.unwrap();
    for (user, amount, what) in [(user, 700, "another amount"), (other, 500, "another account")] {
        match db.treasury.credit(user, usd(amount), "checkout:1", at(2)).await {
            Err(StoreError::Conflict(message)) => assert!(message.contains(what), "{message}"),
            other => panic!("{other:?}"),
        }
    }
    assert!(db.treasury.credit(user, usd(0), "checkout:2", at(2)).await.is_err(), "zero cannot be credited");
    assert_eq!(db.money(user).await, [500, 0, 0]);
    assert_eq!(db.money(other).await, [0, 0, 0]);
    db.assert_consistent().await;
}

async fn concurrent_credits_count_once(db: TestDatabase) {
    let user = db.user(0).await;
    let crediting = (0..48).map(|number| {
        let (ledger, reference) = (db.treasury.clone(), format!("checkout:{}", number % 3));
        tokio::spawn(async move { ledger.credit(user, usd(10), &reference, at(1)).await.unwrap() })
    });
    let outcomes: Vec<_> = join_all(crediting).await.into_iter().map(Result::unwrap).collect();
    let credited = outcomes.iter().filter(|outcome| **outcome == CreditOutcome::Credited);
    assert_eq!(credited.count(), 3);
    assert_eq!(db.money(user).await, [30, 0, 0]);
    db.assert_consistent().await;
}

async fn unknown_users_are_not_credited(db: TestDatabase) {
    let unknown = UserId::from_random([9; 16]);
    let credited = db.treasury.credit(unknown, usd(5), "checkout:1", at(1)).await;
    assert!(matches!(credited, Err(StoreError::NotFound(_))), "{credited:?}");
    assert_eq!(db.store.balance(unknown).await.unwrap(), None);
    assert_eq!(db.treasury.audit(SETTLED_WITHIN).await.unwrap().transfers, 0);
}

async fn no_account_holds_more_than_the_limit(db: TestDatabase) {
    let user = db.user(1).await;
    let credit =
        async |amount: i64, reference: &str| db.treasury.credit(user, usd(amount), reference, at(1)).await;
    let limit = usd(i64::MAX).micro();
    for (amount, reference) in [(limit, "a"), (i64::MAX, "b")] {
        assert!(matches!(credit(amount, reference).await, Err(StoreError::BalanceLimit)), "{amount}");
        assert_eq!(db.money(user).await, [1, 0, 0]);
    }
    // The rejected reference is free.
    credit(limit - 1, "a").await.unwrap();
    assert_eq!(db.money(user).await, [limit, 0, 0]);
    assert!(matches!(credit(1, "c").await, Err(StoreError::BalanceLimit)));
    db.assert_consistent().await;
}
