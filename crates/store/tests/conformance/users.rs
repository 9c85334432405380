//! Users and their starter credit.

use ep_kernel::caller::UserId;
use ep_kernel::email::Email;
use ep_kernel::ports::{CreditOutcome, NewUser, StoreError};

use crate::test_database::{SETTLED_WITHIN, TestDatabase, at, random, usd};

on_both_engines!(an_address_belongs_to_one_user, starter_credit_is_given_once);

fn email(text: &str) -> Email {
    text.parse().unwrap()
}

fn new_user(address: &str) -> NewUser {
    NewUser {
        id: UserId::from_random(random()),
        email: email(address),
        starter_credit: usd(1_000_000),
        created_at: at(0),
    }
}

async fn an_address_belongs_to_one_user(db: TestDatabase) {
    let first = new_user("Zoë@Example.com");
    db.users.create_user(&first).await.unwrap();
    for same in ["Zoë@Example.com", "zoë@example.COM", " ZOË@EXAMPLE.COM "] {
        assert_eq!(db.users.user_by_email(&email(same)).await.unwrap(), Some(first.id), "{same}");
        let again = db.users.create_user(&new_user(same)).await;
        assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    }
    assert_eq!(db.users.user_by_email(&email("zoe@example.com")).await.unwrap(), None);
    let audit = db.ledger.audit(SETTLED_WITHIN).await.unwrap();
    assert_eq!((audit.accounts, audit.transfers), (1, 1));
}

async fn starter_credit_is_given_once(db: TestDatabase) {
    let user = new_user("a@example.com");
    db.users.create_user(&user).await.unwrap();
    assert_eq!(db.money(user.id).await, [1_000_000, 0, 0]);
    let reference = format!("starter:{}", user.id);
    let again = db.ledger.credit(user.id, usd(1_000_000), &reference, at(1)).await.unwrap();
    assert_eq!(again, CreditOutcome::AlreadyCredited);
    assert_eq!(db.money(user.id).await, [1_000_000, 0, 0]);
    let without = NewUser { starter_credit: usd(0), ..new_user("b@example.com") };
    db.users.create_user(&without).await.unwrap();
    assert_eq!(db.money(without.id).await, [0, 0, 0]);
    let audit = db.ledger.audit(SETTLED_WITHIN).await.unwrap();
    assert_eq!((audit.accounts, audit.transfers, audit.is_clean()), (2, 1, true));
}
