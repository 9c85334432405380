//! Browser sessions and used nonces.

use ep_store::{NewSession, StoreError, StoredSession, TokenHash, UserId};

use ep_store::testing::test_database::{TestDatabase, at, random};

on_both_engines!(a_session_lasts_until_it_is_ended, old_sessions_are_deleted, a_nonce_is_used_once,);

fn new_session(user: UserId) -> NewSession {
    let hash = TokenHash::of(&format!("{:?}", random()));
    NewSession { hash, user, created_at: at(10), provider_token: Some("sealed".into()) }
}

async fn a_session_lasts_until_it_is_ended(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let (first, second) = (new_session(user), NewSession { provider_token: None, ..new_session(other) });
    db.vault.start_session(&first).await.unwrap();
    db.vault.start_session(&second).await.unwrap();
    let stored = |new: &NewSession, used_at| StoredSession {
        user: new.user,
        created_at: new.created_at,
        used_at,
        provider_token: new.provider_token.clone(),
    };
    assert_eq!(db.vault.session(&first.hash).await.unwrap(), Some(stored(&first, at(10))));
    db.vault.touch_session(&first.hash, at(30)).await.unwrap();
    db.vault.touch_session(&first.hash, at(20)).await.unwrap();
    assert_eq!(db.vault.session(&first.hash).await.unwrap(), Some(stored(&first, at(30))));

    assert_eq!(db.vault.end_session(&first.hash).await.unwrap(), Some(stored(&first, at(30))));
    assert_eq!(db.vault.end_session(&first.hash).await.unwrap(), None);
    assert_eq!(db.vault.session(&first.hash).await.unwrap(), None);
    assert_eq!(db.vault.session(&second.hash).await.unwrap(), Some(stored(&second, at(10))));

    let unknown = db.vault.start_session(&new_session(UserId::from_random([9; 16]))).await;
    assert!(matches!(unknown, Err(StoreError::NotFound(_))), "{unknown:?}");
}

async fn old_sessions_are_deleted(db: TestDatabase) {
    let user = db.user(0).await;
    let sessions = [(10, 10), (10, 50), (40, 40)].map(|(created_at, used_at)| {
        (NewSession { created_at: at(created_at), ..new_session(user) }, at(used_at))
    });
    for (session, used_at) in &sessions {
        db.vault.start_session(session).await.unwrap();
        db.vault.touch_session(&session.hash, *used_at).await.unwrap();
    }
    let left = async || {
        let left = sessions.iter().map(|(session, _)| db.vault.session(&session.hash));
        futures::future::join_all(left)
            .await
            .into_iter()
            .map(|left| left.unwrap().is_some())
            .collect::<Vec<_>>()
    };
    assert_eq!(db.vault.delete_old_sessions(at(10), at(10), at(0)).await.unwrap(), 0);
    assert_eq!(db.vault.delete_old_sessions(at(40), at(10), at(0)).await.unwrap(), 1);
    assert_eq!(left().await, [false, true, true]);
    assert_eq!(db.vault.delete_old_sessions(at(40), at(40), at(0)).await.unwrap(), 1);
    assert_eq!(left().await, [false, false, true]);
}

async fn a_nonce_is_used_once(db: TestDatabase) {
    let uses = (0..8).map(|_| db.vault.use_nonce("nonce", at(100)));
    let uses = futures::future::join_all(uses).await;
    assert_eq!(uses.into_iter().filter(|used| *used.as_ref().unwrap()).count(), 1);
    assert!(db.vault.use_nonce("other", at(200)).await.unwrap());
    db.vault.delete_old_sessions(at(0), at(0), at(100)).await.unwrap();
    assert!(db.vault.use_nonce("nonce", at(300)).await.unwrap(), "an expired nonce is deleted");
    assert!(!db.vault.use_nonce("other", at(200)).await.unwrap());
}
