//! The service of accounts, on a database.

use std::sync::Arc;

use ep_kernel::accounts::{Accounts, Ports};
use ep_kernel::api_key::{ApiKey, Pepper};
use ep_kernel::caller::UserId;
use ep_kernel::fault::Kind;
use ep_kernel::keys::Keys;
use ep_kernel::ports::{CreditOutcome, KeyOwner};
use ep_kernel::testing::{ManualClock, SeededEntropy};

use crate::test_database::{SETTLED_WITHIN, TestDatabase, key_id, usd};

on_both_engines!(
    a_user_has_one_address_and_one_starter_credit,
    an_issued_key_identifies_its_user_until_it_is_revoked,
    a_known_reference_credits_once,
);

fn accounts(db: &TestDatabase) -> Accounts {
    let ports = Ports {
        users: db.users.clone(),
        ledger: db.ledger.clone(),
        clock: Arc::new(ManualClock::default()),
        entropy: Arc::new(SeededEntropy::new(1)),
    };
    Accounts::new(ports)
}

fn keys(db: &TestDatabase, pepper: &[u8]) -> Keys {
    let (clock, entropy) = (Arc::new(ManualClock::default()), Arc::new(SeededEntropy::new(1)));
    Keys::new(db.keys.clone(), clock, entropy, Pepper::derive(pepper))
}

async fn a_user_has_one_address_and_one_starter_credit(db: TestDatabase) {
    let accounts = accounts(&db);
    let user = accounts.create_user("a@example.com".parse().unwrap(), usd(1_000)).await.unwrap();
    assert_eq!(accounts.user_by_email(&"A@example.com".parse().unwrap()).await.unwrap(), user);
    let again = accounts.create_user("A@Example.com".parse().unwrap(), usd(1_000)).await;
    assert_eq!(again.unwrap_err().kind(), Kind::Conflict);
    let unknown = accounts.user_by_email(&"b@example.com".parse().unwrap()).await.unwrap_err();
    assert_eq!(unknown.kind(), Kind::NotFound);
    assert!(unknown.message().contains("b@example.com"));
    assert_eq!(accounts.balance(user).await.unwrap().available(), usd(1_000));
    assert_eq!(accounts.balance(UserId::from_random([9; 16])).await.unwrap_err().kind(), Kind::NotFound);
    assert!(accounts.audit(SETTLED_WITHIN).await.unwrap().is_clean());
}

async fn an_issued_key_identifies_its_user_until_it_is_revoked(db: TestDatabase) {
    let keys = keys(&db, b"pepper");
    let user = db.user(0).await;
    let first = keys.issue(user, "laptop".parse().unwrap()).await.unwrap();
    let second = keys.issue(user, "laptop".parse().unwrap()).await.unwrap();
    assert_eq!((first.prefix.as_str(), first.label.as_str()), (&first.key.reveal()[..10], "laptop"));
    assert_ne!(first.key.reveal(), second.key.reveal());

    let presented = ApiKey::parse(first.key.reveal()).unwrap();
    let owner = KeyOwner { key: first.id, user };
    assert_eq!(keys.owner(&presented).await.unwrap(), Some(owner));
    assert_eq!(self::keys(&db, b"other pepper").owner(&presented).await.unwrap(), None);

    keys.revoke(user, first.id).await.unwrap();
    assert_eq!(keys.owner(&presented).await.unwrap(), None);
    for key in [first.id, key_id()] {
        assert_eq!(keys.revoke(user, key).await.unwrap_err().kind(), Kind::NotFound);
    }
    let without_user = keys.issue(UserId::from_random([9; 16]), "x".parse().unwrap()).await;
    assert_eq!(without_user.unwrap_err().kind(), Kind::NotFound);
}

async fn a_known_reference_credits_once(db: TestDatabase) {
    let accounts = accounts(&db);
    let user = db.user(0).await;
    let credit = async |amount| accounts.credit(user, usd(amount), "gift").await;
    assert_eq!(credit(500).await.unwrap(), CreditOutcome::Credited);
    assert_eq!(credit(500).await.unwrap(), CreditOutcome::AlreadyCredited);
    assert_eq!(credit(700).await.unwrap_err().kind(), Kind::Conflict);
    assert_eq!(credit(0).await.unwrap_err().kind(), Kind::InvalidInput);
    assert_eq!(accounts.balance(user).await.unwrap().available(), usd(500));
}
