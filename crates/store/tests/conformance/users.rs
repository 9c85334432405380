//! Users, their identities, and their starter credit.

use ep_store::{
    CreditOutcome, Email, Identity, NewSignUp, NewUser, SignedUp, StarterCreditLimits, StoreError, UserId,
};

use crate::keys::new_key;
use ep_store::testing::test_database::{self, SETTLED_WITHIN, TestDatabase, at, random, usd};

on_both_engines!(
    an_email_address_may_belong_to_several_users,
    starter_credit_is_given_once,
    an_identity_belongs_to_one_user,
    one_of_concurrent_sign_ups_creates_the_user,
    starter_credits_are_limited_by_day,
    starter_credits_are_limited_by_network,
    starter_credits_are_limited_under_concurrent_sign_ups,
);

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

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

fn wallet() -> Identity {
    Identity::Wallet(test_database::wallet())
}

fn sign_up(identity: &Identity, limits: (u32, u32), client: &str) -> NewSignUp {
    let new = test_database::sign_up(test_database::wallet(), 1_000_000);
    let (per_day, per_address_and_day) = limits;
    NewSignUp {
        identity: identity.clone(),
        key: Some(new_key(new.user.id)),
        limits: StarterCreditLimits { per_day, per_network_and_day: per_day, per_address_and_day },
        client: client.into(),
        network: format!("network of {client}"),
        ..new
    }
}

async fn an_email_address_may_belong_to_several_users(db: TestDatabase) {
    let (first, second) = (new_user("Zoë@Example.com"), new_user("zoë@example.com"));
    db.treasury.create_user(&first).await.unwrap();
    assert_eq!(db.treasury.users_by_email(&email("ZOË@example.COM")).await.unwrap(), [first.id]);
    db.treasury.create_user(&NewUser { created_at: at(1), ..second.clone() }).await.unwrap();
    assert_eq!(db.treasury.users_by_email(&email("zoë@example.com")).await.unwrap(), [first.id, second.id]);
    assert_eq!(db.treasury.users_by_email(&email("zoe@example.com")).await.unwrap(), []);
    assert_eq!(db.store.email_of(second.id).await.unwrap(), Some(email("zoë@example.com")));
    assert_eq!(db.store.email_of(UserId::from_random([9; 16])).await.unwrap(), None);
    let again = db.treasury.create_user(&first).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    let audit = db.treasury.audit(SETTLED_WITHIN).await.unwrap();
    assert_eq!((audit.accounts, audit.transfers, audit.is_clean()), (2, 2, true));
}

async fn starter_credit_is_given_once(db: TestDatabase) {
    let user = new_user("a@example.com");
    db.treasury.create_user(&user).await.unwrap();
    assert_eq!(db.money(user.id).await, [1_000_000, 0, 0]);
    let reference = format!("starter:{}", user.id);
    let again = db.treasury.credit(user.id, usd(1_000_000), &reference, at(1)).await.unwrap();
    assert_eq!(again, CreditOutcome::AlreadyCredited);
    assert_eq!(db.money(user.id).await, [1_000_000, 0, 0]);
    let without = NewUser { starter_credit: usd(0), ..new_user("b@example.com") };
    db.treasury.create_user(&without).await.unwrap();
    assert_eq!(db.money(without.id).await, [0, 0, 0]);
    let audit = db.treasury.audit(SETTLED_WITHIN).await.unwrap();
    assert_eq!((audit.accounts, audit.transfers, audit.is_clean()), (2, 1, true));
}

async fn an_identity_belongs_to_one_user(db: TestDatabase) {
    let provider =
        |issuer: &str, subject: &str| Identity::Provider { issuer: issuer.into(), subject: subject.into() };
    let mut users = Vec::new();
    for identity in [
        wallet(),
        wallet(),
        provider("https://a", "1"),
        provider("https://b", "1"),
        provider("https://a", "2"),
    ] {
        assert_eq!(db.treasury.user_of(&identity).await.unwrap(), None);
        let first = sign_up(&identity, (0, 0), "client");
        let credited = SignedUp::New { starter_credit: usd(1_000_000) };
        assert_eq!(db.treasury.sign_up(&first).await.unwrap(), credited);
        let again = db.treasury.sign_up(&sign_up(&identity, (0, 0), "client")).await.unwrap();
        assert_eq!(again, SignedUp::Known(first.user.id));
        assert_eq!(db.treasury.user_of(&identity).await.unwrap(), Some(first.user.id));
        assert_eq!(db.money(first.user.id).await, [1_000_000, 0, 0]);
        let keys = db.vault.keys_of(first.user.id, at(9)).await.unwrap();
        assert_eq!(keys.iter().map(|key| key.id).collect::<Vec<_>>(), [first.key.unwrap().id]);
        users.push(first.user.id);
    }
    users.sort_unstable();
    users.dedup();
    assert_eq!(users.len(), 5);
    let audit = db.treasury.audit(SETTLED_WITHIN).await.unwrap();
    assert_eq!((audit.accounts, audit.transfers, audit.is_clean()), (5, 5, true));
}

async fn one_of_concurrent_sign_ups_creates_the_user(db: TestDatabase) {
    for _ in 0..5 {
        let identity = wallet();
        let sign_ups: Vec<NewSignUp> = (0..8).map(|_| sign_up(&identity, (0, 0), "client")).collect();
        let done = futures::future::join_all(sign_ups.iter().map(|new| db.treasury.sign_up(new))).await;
        let done: Vec<SignedUp> = done.into_iter().map(Result::unwrap).collect();
        let user = db.treasury.user_of(&identity).await.unwrap().unwrap();
        let known = done.iter().filter(|&&done| done == SignedUp::Known(user)).count();
        assert_eq!(known, 7, "{done:?}");
        assert_eq!(db.money(user).await, [1_000_000, 0, 0]);
        assert_eq!(db.vault.keys_of(user, at(9)).await.unwrap().len(), 1);
    }
    assert_eq!(db.treasury.audit(SETTLED_WITHIN).await.unwrap().accounts, 5);
}

async fn starter_credits_are_limited_by_day(db: TestDatabase) {
    let credited = async |client: &str, day: i64| {
        let mut new = sign_up(&wallet(), (3, 2), client);
        new.user.created_at = at(day * DAY_MS);
        let SignedUp::New { starter_credit } = db.treasury.sign_up(&new).await.unwrap() else { panic!() };
        assert_eq!(db.money(new.user.id).await, [starter_credit.micro(), 0, 0]);
        !starter_credit.is_zero()
    };
    assert!(credited("a", 0).await && credited("a", 0).await);
    assert!(!credited("a", 0).await, "the third credit of one client");
    assert!(credited("b", 0).await, "a rejected client does not use up other credits");
    assert!(!credited("c", 0).await, "the fourth credit of the service");
    assert!(credited("a", 1).await, "the next day");
    db.treasury.delete_old_starter_credits(at(DAY_MS)).await.unwrap();
    assert!(credited("a", 1).await && !credited("a", 1).await, "today's counts stay");
    assert!(credited("a", 0).await, "older counts are deleted");
}

async fn starter_credits_are_limited_by_network(db: TestDatabase) {
    let credited = async |client: &str, network: &str| {
        let mut new = sign_up(&wallet(), (4, 2), client);
        new.limits.per_network_and_day = 3;
        new.network = network.into();
        let SignedUp::New { starter_credit } = db.treasury.sign_up(&new).await.unwrap() else { panic!() };
        !starter_credit.is_zero()
    };
    assert!(credited("a", "n").await && credited("a", "n").await);
    assert!(!credited("a", "n").await, "the third credit of one client");
    assert!(credited("b", "n").await);
    assert!(!credited("c", "n").await, "the fourth credit of one network");
    assert!(credited("d", "m").await, "a rejected network does not use up other credits");
    assert!(!credited("d", "m").await, "the fifth credit of the service");
}

async fn starter_credits_are_limited_under_concurrent_sign_ups(db: TestDatabase) {
    let sign_ups: Vec<NewSignUp> = (0..12).map(|n| sign_up(&wallet(), (5, 3), ["a", "b"][n % 2])).collect();
    let done = futures::future::join_all(sign_ups.iter().map(|new| db.treasury.sign_up(new))).await;
    let given = done
        .into_iter()
        .filter(|done| matches!(done, Ok(SignedUp::New { starter_credit }) if !starter_credit.is_zero()));
    assert_eq!(given.count(), 5);
    let audit = db.treasury.audit(SETTLED_WITHIN).await.unwrap();
    assert_eq!((audit.accounts, audit.transfers, audit.is_clean()), (12, 5, true));
}
