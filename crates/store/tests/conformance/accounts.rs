//! Accounts, keys and credits.

use ep_kernel::api_key::{ApiKey, Pepper};
use ep_kernel::caller::UserId;
use ep_kernel::ports::{KeyOwner, NewKey, NewUser, StoreError};
use futures::future::join_all;

use crate::site::{Site, at, key_id, random, usd};

on_both_engines!(
    an_address_is_one_account_whatever_its_case,
    starter_credit_is_given_once,
    credits_once_per_reference,
    concurrent_credits_count_once,
    nobody_unknown_is_credited,
    a_key_leads_to_its_owner_until_it_is_revoked,
    uses_of_keys_are_noted,
);

fn new_user(email: &str) -> NewUser {
    NewUser {
        id: UserId::from_random(random()),
        email: email.to_owned(),
        starter_credit: usd(1_000_000),
        created_at: at(0),
    }
}

fn new_key(user: UserId) -> NewKey {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&random());
    let key = ApiKey::from_random(bytes);
    let hash = key.hash(&Pepper::derive(b"pepper"));
    let (prefix, label) = (key.prefix().to_owned(), "laptop".to_owned());
    NewKey { id: key_id(), user, hash, prefix, label, created_at: at(0) }
}

async fn an_address_is_one_account_whatever_its_case(site: Site) {
    let first = new_user("Zoë@Example.com");
    site.accounts.create_user(&first).await.unwrap();
    for same in ["Zoë@Example.com", "zoë@example.COM", " ZOË@EXAMPLE.COM "] {
        assert_eq!(site.accounts.user_by_email(same).await.unwrap(), Some(first.id), "{same}");
        let again = site.accounts.create_user(&new_user(same)).await;
        assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    }
    assert_eq!(site.accounts.user_by_email("zoe@example.com").await.unwrap(), None);
    assert_eq!(site.accounts.audit().await.unwrap().accounts, 1);
}

async fn starter_credit_is_given_once(site: Site) {
    let user = new_user("a@example.com");
    site.accounts.create_user(&user).await.unwrap();
    assert_eq!(site.money(user.id).await, [1_000_000, 0, 0]);
    let reference = format!("starter:{}", user.id);
    assert!(!site.accounts.credit(user.id, usd(1_000_000), &reference, at(1)).await.unwrap());
    assert_eq!(site.money(user.id).await, [1_000_000, 0, 0]);
    let poor = NewUser { starter_credit: usd(0), ..new_user("b@example.com") };
    site.accounts.create_user(&poor).await.unwrap();
    assert_eq!(site.money(poor.id).await, [0, 0, 0]);
    let audit = site.accounts.audit().await.unwrap();
    assert_eq!((audit.accounts, audit.transfers, audit.is_clean()), (2, 1, true));
}

async fn credits_once_per_reference(site: Site) {
    let user = site.user(0).await;
    assert!(site.accounts.credit(user, usd(500), "checkout:1", at(1)).await.unwrap());
    assert!(!site.accounts.credit(user, usd(500), "checkout:1", at(2)).await.unwrap());
    assert!(!site.accounts.credit(user, usd(700), "checkout:1", at(2)).await.unwrap());
    assert!(site.accounts.credit(user, usd(7), "checkout:2", at(3)).await.unwrap());
    assert!(!site.accounts.credit(user, usd(0), "checkout:3", at(3)).await.unwrap());
    assert_eq!(site.money(user).await, [507, 0, 0]);
    site.assert_books().await;
}

async fn concurrent_credits_count_once(site: Site) {
    let user = site.user(0).await;
    let crediting = (0..48).map(|number| {
        let (accounts, reference) = (site.accounts.clone(), format!("checkout:{}", number % 3));
        tokio::spawn(async move { accounts.credit(user, usd(10), &reference, at(1)).await.unwrap() })
    });
    let credited = join_all(crediting).await.into_iter().filter(|credited| *credited.as_ref().unwrap());
    assert_eq!(credited.count(), 3);
    assert_eq!(site.money(user).await, [30, 0, 0]);
    site.assert_books().await;
}

async fn nobody_unknown_is_credited(site: Site) {
    let stranger = UserId::from_random([9; 16]);
    let credited = site.accounts.credit(stranger, usd(5), "checkout:1", at(1)).await;
    assert!(matches!(credited, Err(StoreError::NotFound(_))), "{credited:?}");
    assert_eq!(site.accounts.balance(stranger).await.unwrap(), None);
    assert_eq!(site.accounts.audit().await.unwrap().transfers, 0);
}

async fn a_key_leads_to_its_owner_until_it_is_revoked(site: Site) {
    let (user, other) = (site.user(0).await, site.user(0).await);
    let key = new_key(user);
    site.accounts.add_key(&key).await.unwrap();
    let owner = KeyOwner { key: key.id, user };
    assert_eq!(site.accounts.key_owner(&key.hash).await.unwrap(), Some(owner));
    assert_eq!(site.accounts.key_owner(&new_key(user).hash).await.unwrap(), None);

    let again = site.accounts.add_key(&NewKey { id: key_id(), ..key.clone() }).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    let stray = site.accounts.add_key(&new_key(UserId::from_random([9; 16]))).await;
    assert!(matches!(stray, Err(StoreError::NotFound(_))), "{stray:?}");

    assert!(!site.accounts.revoke_key(other, key.id, at(1)).await.unwrap());
    assert!(site.accounts.revoke_key(user, key.id, at(1)).await.unwrap());
    assert!(!site.accounts.revoke_key(user, key.id, at(2)).await.unwrap());
    assert_eq!(site.accounts.key_owner(&key.hash).await.unwrap(), None);
}

async fn uses_of_keys_are_noted(site: Site) {
    let user = site.user(0).await;
    let key = new_key(user);
    site.accounts.add_key(&key).await.unwrap();
    let uses = [(key.id, at(5)), (key_id(), at(6)), (key.id, at(9)), (key.id, at(2))];
    site.accounts.touch_keys(&uses).await.unwrap();
    site.accounts.touch_keys(&[(key.id, at(3))]).await.unwrap();
    site.accounts.touch_keys(&[]).await.unwrap();
    let noted = crate::ledger::number(&site.url, "SELECT last_used_at FROM api_keys").await;
    assert_eq!(noted, at(9).millis());
}
