//! The account service, on a database.

use std::sync::Arc;

use ep_kernel::testing::{ManualClock, SeededEntropy};
use ep_kernel::{Accounts, ApiKey, Keys, Kind, Pepper};
use ep_polling::{MicroUsd, Settlement};
use ep_store::{
    Creator, CreditOutcome, Epoch, Identity, KeyOwner, KeyTerms, MAX_ACTIVE_KEYS, NewSession,
    RevokedCredentials, TokenHash, UserId,
};
use futures::future::join_all;

use ep_store::testing::test_database::{
    SETTLED_WITHIN, TestDatabase, at, closing, delete_account, hold, key_id, sign_up, usd, wallet,
};

on_both_engines!(
    a_user_has_one_email_address_and_one_starter_credit,
    an_issued_key_identifies_its_user_until_it_is_revoked,
    a_repeated_request_issues_one_key,
    a_known_reference_credits_once,
    an_amount_is_debited_once_and_only_if_available,
    users_are_listed_frozen_and_locked_out,
    identities_can_be_moved_to_another_account,
    personal_data_is_erased_and_the_ledger_stays,
);

fn accounts(db: &TestDatabase) -> Accounts {
    Accounts {
        treasury: db.treasury.clone(),
        store: db.store.clone(),
        clock: Arc::new(ManualClock::default()),
        entropy: Arc::new(SeededEntropy::new(1)),
    }
}

fn keys(db: &TestDatabase, pepper: &[u8]) -> Keys {
    let (clock, entropy) = (Arc::new(ManualClock::default()), Arc::new(SeededEntropy::new(1)));
    Keys::new(db.vault.clone(), clock, entropy, Pepper::derive(pepper))
}

async fn a_user_has_one_email_address_and_one_starter_credit(db: TestDatabase) {
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
    assert!(accounts.treasury.audit(SETTLED_WITHIN).await.unwrap().is_clean());
}

async fn an_issued_key_identifies_its_user_until_it_is_revoked(db: TestDatabase) {
    let keys = keys(&db, b"pepper");
    let user = db.user(0).await;
    let first = keys.issue(user, "laptop".parse().unwrap()).await.unwrap();
    let second = keys.issue(user, "laptop".parse().unwrap()).await.unwrap();
    assert_eq!((first.prefix.as_str(), first.label.as_str()), (&first.key.reveal()[..10], "laptop"));
    assert_ne!(first.key.reveal(), second.key.reveal());

    let presented = ApiKey::parse(first.key.reveal()).unwrap();
    let owner = KeyOwner { key: first.id, user, terms: KeyTerms::default() };
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

/// Simulates attempts of one idempotent request, each unaware of the earlier ones after an interruption.
async fn a_repeated_request_issues_one_key(db: TestDatabase) {
    let keys = keys(&db, b"pepper");
    for funds in [None, Some(usd(70))] {
        let user = db.user(1_000).await;
        let issue = async |request: &str| {
            let request = format!("{user} {request}");
            keys.issue_on(
                user,
                "x".parse().unwrap(),
                KeyTerms::default(),
                funds,
                Creator::Proof,
                Some(&request),
            )
            .await
        };
        let issued = join_all((0..8).map(|_| issue("one"))).await;
        let issued: Vec<_> = issued.into_iter().map(Result::unwrap).collect();
        let first = &issued[0];
        assert!(issued.iter().all(|key| key.key.reveal() == first.key.reveal() && key.id == first.id));
        assert!(keys.owner(&first.key).await.unwrap().is_some());
        assert_eq!(keys.of_user(user).await.unwrap().len(), 1);
        assert_eq!(db.money(user).await[0], 1_000 - funds.map_or(0, MicroUsd::micro));
        let other = issue("two").await.unwrap();
        assert_ne!(other.key.reveal(), first.key.reveal());
        // It is the same request, even at the limit of active keys.
        for number in 2..MAX_ACTIVE_KEYS {
            keys.issue(user, format!("{number}").parse().unwrap()).await.unwrap();
        }
        assert_eq!(issue("one").await.unwrap().id, first.id);
        assert_eq!(issue("three").await.unwrap_err().kind(), Kind::Conflict);
    }
    db.assert_consistent().await;
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

async fn an_amount_is_debited_once_and_only_if_available(db: TestDatabase) {
    let accounts = accounts(&db);
    let (user, other) = (db.user(1_000).await, db.user(1_000).await);
    db.running(Some(user), Some(hold(1, 400))).await;
    for _ in 0..2 {
        let rejected = accounts.debit(user, usd(601), "fine-1").await.unwrap_err();
        assert_eq!(rejected.kind(), Kind::Conflict);
    }
    assert_eq!(accounts.debit(user, usd(600), "fine-1").await.unwrap(), CreditOutcome::Credited);
    assert_eq!(accounts.debit(user, usd(600), "fine-1").await.unwrap(), CreditOutcome::AlreadyCredited);
    for (user, amount, reference) in [(user, 500, "fine-1"), (other, 600, "fine-1"), (user, 0, "fine-2")] {
        assert!(accounts.debit(user, usd(amount), reference).await.is_err());
    }
    // A credit with the reference of a debit is rejected.
    assert!(accounts.credit(user, usd(600), "fine-1").await.is_err());
    assert_eq!((db.money(user).await, db.money(other).await), ([400, 400, 0], [1_000, 0, 0]));
    let unknown = accounts.debit(UserId::from_random([9; 16]), usd(1), "x").await.unwrap_err();
    assert_eq!(unknown.kind(), Kind::NotFound);
    let transfers = db.store.transfers_after(user, 0, 9).await.unwrap();
    let references: Vec<String> = transfers.into_iter().map(|transfer| transfer.transfer.reference).collect();
    assert_eq!(references, [format!("starter:{user}"), "fine-1".to_owned()]);
    db.assert_consistent().await;
}

async fn users_are_listed_frozen_and_locked_out(db: TestDatabase) {
    let accounts = accounts(&db);
    let operator = &accounts.treasury;
    let mut users = vec![db.user(0).await, db.user(0).await, db.user(0).await];
    users.sort_by_key(ToString::to_string);
    let listed: Vec<UserId> = operator.users(None).await.unwrap().into_iter().map(|user| user.id).collect();
    assert_eq!(listed, users);
    let rest = operator.users(Some(users[0])).await.unwrap();
    assert_eq!(rest.len(), 2);
    assert!(!rest[0].frozen && rest[0].identities.is_empty());
    operator.freeze(users[1], true).await.unwrap();
    assert!(operator.user(users[1]).await.unwrap().frozen);
    operator.freeze(users[1], false).await.unwrap();
    assert!(!operator.user(users[1]).await.unwrap().frozen);

    let keys = keys(&db, b"pepper");
    let issued = keys.issue(users[0], "laptop".parse().unwrap()).await.unwrap();
    keys.issue(users[0], "server".parse().unwrap()).await.unwrap();
    let hash = TokenHash::of("token");
    let session = NewSession { hash: hash.clone(), user: users[0], created_at: at(0), provider_token: None };
    db.vault.start_session(&session).await.unwrap();
    assert_eq!(accounts.lock_out(users[0]).await.unwrap(), RevokedCredentials { keys: 2, sessions: 1 });
    assert_eq!(accounts.lock_out(users[0]).await.unwrap(), RevokedCredentials { keys: 0, sessions: 0 });
    assert_eq!(keys.owner(&issued.key).await.unwrap(), None);
    assert_eq!(db.vault.session(&hash).await.unwrap(), None);

    let unknown_user = UserId::from_random([9; 16]);
    assert!(operator.user(unknown_user).await.is_err() && operator.freeze(unknown_user, true).await.is_err());
    assert_eq!(accounts.lock_out(unknown_user).await.unwrap_err().kind(), Kind::NotFound);
}

async fn signed_up(db: &TestDatabase) -> (UserId, Identity) {
    let new = sign_up(wallet(), 500);
    db.treasury.sign_up(&new).await.unwrap();
    (new.user.id, new.identity)
}

async fn identities_can_be_moved_to_another_account(db: TestDatabase) {
    let accounts = accounts(&db);
    let ((first, wallet), (second, _)) = (signed_up(&db).await, signed_up(&db).await);
    let unknown_user = UserId::from_random([9; 16]);
    assert!(accounts.treasury.merge_identities(first, unknown_user).await.is_err());
    assert_eq!(db.treasury.user_of(&wallet).await.unwrap(), Some(first));
    assert_eq!(accounts.treasury.merge_identities(first, second).await.unwrap(), 1);
    assert_eq!(db.treasury.user_of(&wallet).await.unwrap(), Some(second));
    assert_eq!(accounts.treasury.user(second).await.unwrap().identities.len(), 2);
    assert_eq!((db.money(first).await, db.money(second).await), ([500, 0, 0], [500, 0, 0]));
}

async fn personal_data_is_erased_and_the_ledger_stays(db: TestDatabase) {
    let accounts = accounts(&db);
    let (user, wallet) = signed_up(&db).await;
    let keys = keys(&db, b"pepper");
    let issued = keys.issue(user, "Zoë's laptop".parse().unwrap()).await.unwrap();
    let poll = db.running(Some(user), Some(hold(1, 100))).await;
    let ended = Settlement::Capture(usd(100));
    db.polls.close(&poll, Epoch::FIRST, &[], &closing(Some(0)), ended).await.unwrap();
    for _ in 0..2 {
        delete_account(&db, user, at(9)).await;
    }
    let left = accounts.treasury.user(user).await.unwrap();
    assert_eq!((left.email, left.identities), (format!("{user}@deleted.invalid"), Vec::new()));
    assert_eq!(keys.owner(&issued.key).await.unwrap(), None);
    assert!(keys.of_user(user).await.unwrap().iter().all(|key| key.label.is_empty()));
    assert_eq!(db.treasury.user_of(&wallet).await.unwrap(), None);
    // The ledger and the polls stay; the same wallet gets a new account.
    assert_eq!(db.money(user).await, [0, 0, 100]);
    assert_eq!(db.polls.poll(&poll).await.unwrap().unwrap().owner, Some(user));
    db.assert_consistent().await;
}
