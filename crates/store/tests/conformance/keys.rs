//! API keys.

use ep_store::{
    Added, Creator, KeyHash, KeyOwner, KeyScope, KeySpending, KeyTerms, MAX_ACTIVE_KEYS, NewKey, NewSession,
    StoreError, StoredKey, TokenHash, UserId,
};

use ep_store::testing::test_database::{TestDatabase, at, key_id, random};

on_both_engines!(
    a_key_identifies_its_user_until_it_is_revoked,
    the_last_use_of_a_key_is_stored,
    keys_are_listed_for_their_user,
    active_keys_are_limited,
    active_keys_are_limited_under_concurrent_additions,
    rotation_replaces_all_keys_with_one,
    a_key_is_valid_within_its_terms,
    no_key_added_before_a_rotation_survives_it,
    no_key_is_created_by_a_credential_that_has_ended,
);

pub fn new_key(user: UserId) -> NewKey {
    let hash = KeyHash::new(hex::encode(random()));
    let (prefix, label) = ("ep_live_abcd".to_owned(), "laptop".parse().unwrap());
    NewKey {
        id: key_id(),
        user,
        hash,
        prefix,
        label,
        terms: KeyTerms::default(),
        creator: Creator::Proof,
        created_at: at(0),
    }
}

async fn a_key_identifies_its_user_until_it_is_revoked(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let key = new_key(user);
    db.vault.add_key(&key).await.unwrap();
    let owner = KeyOwner { key: key.id, user, terms: KeyTerms::default() };
    assert_eq!(db.vault.key_owner(&key.hash, at(9)).await.unwrap(), Some(owner));
    assert_eq!(db.vault.key_owner(&new_key(user).hash, at(9)).await.unwrap(), None);

    let again = db.vault.add_key(&NewKey { id: key_id(), ..key.clone() }).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    let without_user = db.vault.add_key(&new_key(UserId::from_random([9; 16]))).await;
    assert!(matches!(without_user, Err(StoreError::NotFound(_))), "{without_user:?}");

    assert!(!db.vault.revoke_key(other, key.id, at(1)).await.unwrap());
    assert!(db.vault.revoke_key(user, key.id, at(1)).await.unwrap());
    assert!(!db.vault.revoke_key(user, key.id, at(2)).await.unwrap());
    assert_eq!(db.vault.key_owner(&key.hash, at(9)).await.unwrap(), None);
}

async fn keys_are_listed_for_their_user(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let older = new_key(user);
    let newer = NewKey { created_at: at(5), ..new_key(user) };
    for key in [&older, &newer, &new_key(other)] {
        db.vault.add_key(key).await.unwrap();
    }
    db.vault.revoke_key(user, older.id, at(7)).await.unwrap();
    db.vault.touch_keys(&[(newer.id, at(6))]).await.unwrap();
    let listed = |key: &NewKey, last_used_at, revoked_at| StoredKey {
        id: key.id,
        prefix: key.prefix.clone(),
        label: "laptop".into(),
        terms: key.terms,
        funds: None,
        spent: KeySpending::default(),
        last_used_at,
        revoked_at,
        created_at: key.created_at,
    };
    let expected = [listed(&newer, Some(at(6)), None), listed(&older, None, Some(at(7)))];
    assert_eq!(db.vault.keys_of(user, at(9)).await.unwrap(), expected);
    assert_eq!(db.vault.keys_of(UserId::from_random([9; 16]), at(9)).await.unwrap(), []);
}

async fn active_keys_are_limited(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let first = new_key(user);
    assert_eq!(db.vault.add_key(&first).await.unwrap(), Added::Active);
    for _ in 1..MAX_ACTIVE_KEYS {
        assert_eq!(db.vault.add_key(&new_key(user)).await.unwrap(), Added::Active);
    }
    assert_eq!(db.vault.add_key(&new_key(user)).await.unwrap(), Added::TooMany);
    assert_eq!(db.vault.add_key(&new_key(other)).await.unwrap(), Added::Active);
    db.vault.revoke_key(user, first.id, at(1)).await.unwrap();
    assert_eq!(db.vault.add_key(&new_key(user)).await.unwrap(), Added::Active);
}

async fn active_keys_are_limited_under_concurrent_additions(db: TestDatabase) {
    for _ in 0..5 {
        let user = db.user(0).await;
        for _ in 1..MAX_ACTIVE_KEYS {
            db.vault.add_key(&new_key(user)).await.unwrap();
        }
        let add = async |_| db.vault.add_key(&new_key(user)).await.unwrap();
        let added = futures::future::join_all((0..8).map(add)).await;
        assert_eq!(added.iter().filter(|&&added| added == Added::Active).count(), 1);
    }
}

async fn no_key_is_created_by_a_credential_that_has_ended(db: TestDatabase) {
    let user = db.user(0).await;
    let first = new_key(user);
    let created = async |creator| db.vault.add_key(&NewKey { creator, ..new_key(user) }).await.unwrap();
    db.vault.add_key(&first).await.unwrap();
    assert_eq!(created(Creator::Key(first.id)).await, Added::Active);
    assert_eq!(created(Creator::Session).await, Added::CreatorEnded);
    let session = NewSession { hash: TokenHash::of("token"), user, created_at: at(0), provider_token: None };
    db.vault.start_session(&session).await.unwrap();
    assert_eq!(created(Creator::Session).await, Added::Active);
    db.vault.rotate_keys(&new_key(user)).await.unwrap();
    assert_eq!(created(Creator::Key(first.id)).await, Added::CreatorEnded);
    let brief =
        NewKey { terms: KeyTerms { expires_at: Some(at(0)), ..KeyTerms::default() }, ..new_key(user) };
    db.vault.add_key(&brief).await.unwrap();
    assert_eq!(created(Creator::Key(brief.id)).await, Added::CreatorEnded, "it has expired");
}

async fn the_last_use_of_a_key_is_stored(db: TestDatabase) {
    let user = db.user(0).await;
    let key = new_key(user);
    db.vault.add_key(&key).await.unwrap();
    let uses = [(key.id, at(5)), (key_id(), at(6)), (key.id, at(9)), (key.id, at(2))];
    db.vault.touch_keys(&uses).await.unwrap();
    db.vault.touch_keys(&[(key.id, at(3))]).await.unwrap();
    db.vault.touch_keys(&[]).await.unwrap();
    let last_used =
        ep_store::testing::test_database::number(&db.url, "SELECT last_used_at FROM api_keys").await;
    assert_eq!(last_used, at(9).millis());
}

async fn rotation_replaces_all_keys_with_one(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let others = new_key(other);
    db.vault.add_key(&others).await.unwrap();
    for expected in [0, 1] {
        let key = NewKey { created_at: at(5), ..new_key(user) };
        assert_eq!(db.vault.rotate_keys(&key).await.unwrap(), expected);
        assert_eq!(
            db.vault.key_owner(&key.hash, at(9)).await.unwrap(),
            Some(KeyOwner { key: key.id, user, terms: KeyTerms::default() })
        );
    }
    for _ in 1..MAX_ACTIVE_KEYS {
        db.vault.add_key(&new_key(user)).await.unwrap();
    }
    assert_eq!(db.vault.rotate_keys(&new_key(user)).await.unwrap(), MAX_ACTIVE_KEYS);
    let active = db.vault.keys_of(user, at(9)).await.unwrap();
    assert_eq!(active.iter().filter(|key| key.revoked_at.is_none()).count(), 1);
    assert!(db.vault.key_owner(&others.hash, at(9)).await.unwrap().is_some());
    let unknown = db.vault.rotate_keys(&new_key(UserId::from_random([9; 16]))).await;
    assert!(matches!(unknown, Err(StoreError::NotFound(_))), "{unknown:?}");
}

async fn no_key_added_before_a_rotation_survives_it(db: TestDatabase) {
    for _ in 0..5 {
        let user = db.user(0).await;
        let keys: Vec<NewKey> = (0..6).map(|_| new_key(user)).collect();
        let rotated = new_key(user);
        let add = async |key: &NewKey| db.vault.add_key(key).await.map(drop);
        let adding = futures::future::join_all(keys.iter().map(add));
        let (added, rotation) = futures::future::join(adding, db.vault.rotate_keys(&rotated)).await;
        added.into_iter().for_each(Result::unwrap);
        let left = db.vault.keys_of(user, at(9)).await.unwrap();
        let revoked = left.iter().filter(|key| key.revoked_at.is_some()).count();
        assert_eq!(revoked, rotation.unwrap() as usize);
        assert_eq!(left.len(), 7);
    }
}

async fn a_key_is_valid_within_its_terms(db: TestDatabase) {
    let user = db.user(0).await;
    for scope in [KeyScope::All, KeyScope::Polls, KeyScope::Read] {
        let terms = KeyTerms { scope, expires_at: Some(at(100)), ..KeyTerms::default() };
        let key = NewKey { terms, ..new_key(user) };
        db.vault.add_key(&key).await.unwrap();
        let owner = Some(KeyOwner { key: key.id, user, terms });
        assert_eq!(db.vault.key_owner(&key.hash, at(99)).await.unwrap(), owner);
        assert_eq!(db.vault.key_owner(&key.hash, at(100)).await.unwrap(), None);
        assert!(db.vault.keys_of(user, at(9)).await.unwrap().iter().any(|listed| listed.terms == terms));
    }
    // Expired keys do not count as active.
    for _ in 3..MAX_ACTIVE_KEYS {
        assert_eq!(db.vault.add_key(&new_key(user)).await.unwrap(), Added::Active);
    }
    assert_eq!(db.vault.add_key(&new_key(user)).await.unwrap(), Added::TooMany);
    let later = NewKey { created_at: at(100), ..new_key(user) };
    assert_eq!(db.vault.add_key(&later).await.unwrap(), Added::Active);
}
