//! Spending caps of keys, and pre-funded keys.

use ep_polling::{PollId, Settlement, Timestamp};
use ep_store::{
    Added, CappedKey, Cents, Email, Epoch, KeyAccount, KeyFunds, KeySpending, KeyTerms, MAX_ACTIVE_KEYS,
    NewKey, NewPoll, Opened, Reversal, SpendingCaps, StoreError, UserId,
};
use futures::future::join_all;

use crate::checkouts::{checkout, paid};
use crate::deposits::{deposit_for, final_transfer};
use crate::keys::new_key;
use ep_store::testing::test_database::{
    TestDatabase, at, closing, delete_account, hold, lease, new_poll, number, random, sign_up, usd,
};

on_both_engines!(
    a_capped_key_respects_its_total_and_daily_caps,
    a_cap_holds_for_concurrent_polls,
    a_pre_funded_key_spends_its_own_balance,
    the_balance_returns_on_revocation,
    a_held_amount_returns_once_the_poll_is_settled,
    a_frozen_account_cannot_fund_keys_and_its_keys_are_frozen,
    pre_funded_keys_count_and_end_with_their_account,
    concurrent_changes_of_a_key_lose_no_money,
    a_credit_to_a_revoked_key_returns,
    a_reversed_payment_debits_the_keys,
);

/// Adds a key with these caps.
pub async fn capped_key(
    db: &TestDatabase,
    user: UserId,
    total: Option<i64>,
    daily: Option<i64>,
) -> (UserId, CappedKey) {
    let caps = SpendingCaps { total: total.map(usd), daily: daily.map(usd) };
    let key = NewKey { terms: KeyTerms { caps, ..KeyTerms::default() }, ..new_key(user) };
    db.vault.add_key(&key).await.unwrap();
    let owner = db.vault.key_owner(&key.hash, at(0)).await.unwrap().unwrap();
    (user, CappedKey { key: owner.key, caps: owner.terms.caps })
}

/// Returns a key pre-funded by this account.
pub fn funded_key(funder: UserId, amount: i64) -> (NewKey, KeyAccount) {
    let key = new_key(UserId::from_random(random()));
    let account = KeyAccount { funder, amount: usd(amount), email: Email::of_key(key.id) };
    (key, account)
}

async fn open(db: &TestDatabase, poll: NewPoll) -> Result<PollId, StoreError> {
    let opened = db.polls.open(&poll, &lease("a", 60_000)).await?;
    assert!(matches!(opened, Opened::New { .. }));
    Ok(poll.id)
}

async fn capture(db: &TestDatabase, poll: &PollId, amount: i64) {
    let settlement = Settlement::Capture(usd(amount));
    db.polls.close(poll, Epoch::FIRST, &[], &closing(Some(0)), settlement).await.unwrap();
}

async fn spent(db: &TestDatabase, (user, key): (UserId, CappedKey), now: Timestamp) -> [i64; 2] {
    let keys = db.vault.keys_of(user, now).await.unwrap();
    let KeySpending { total, today } = keys.iter().find(|listed| listed.id == key.key).unwrap().spent;
    [total.micro(), today.micro()]
}

async fn funds(db: &TestDatabase, funder: UserId, key: &NewKey) -> [i64; 2] {
    let keys = db.vault.keys_of(funder, at(9)).await.unwrap();
    let KeyFunds { available, held } = keys.iter().find(|listed| listed.id == key.id).unwrap().funds.unwrap();
    [available.micro(), held.micro()]
}

async fn a_capped_key_respects_its_total_and_daily_caps(db: TestDatabase) {
    const DAY: i64 = 86_400_000;
    let user = db.user(100_000).await;
    let key = capped_key(&db, user, Some(1_500), Some(1_000)).await;
    let poll = |least, most, time| NewPoll {
        capped: Some(key.1),
        created_at: at(time),
        ..new_poll(Some(user), Some(hold(least, most)))
    };
    let first = open(&db, poll(100, 600, 0)).await.unwrap();
    assert_eq!(spent(&db, key, at(DAY - 1)).await, [600, 600]);
    let second = open(&db, poll(100, 600, DAY - 1)).await.unwrap();
    assert_eq!(db.polls.poll(&second).await.unwrap().unwrap().held, Some(usd(400)));
    match open(&db, poll(1, 600, DAY - 1)).await {
        Err(StoreError::CapReached { left, needed }) => assert_eq!((left, needed), (usd(0), usd(1))),
        other => panic!("{other:?}"),
    }
    // Unused money of a poll may be spent again, and a new day begins with no spending.
    capture(&db, &first, 100).await;
    capture(&db, &second, 400).await;
    assert_eq!(spent(&db, key, at(DAY - 1)).await, [500, 500]);
    assert_eq!(spent(&db, key, at(DAY)).await, [500, 0]);
    let third = open(&db, poll(1, 5_000, DAY)).await.unwrap();
    capture(&db, &third, 1_000).await;
    assert_eq!(spent(&db, key, at(DAY)).await, [1_500, 1_000]);
    assert!(matches!(open(&db, poll(1, 5, 2 * DAY)).await, Err(StoreError::CapReached { .. })));
    // A free poll needs no cap, and another key of the account is not affected.
    open(&db, poll(0, 0, 2 * DAY)).await.unwrap();
    open(&db, new_poll(Some(user), Some(hold(500, 500)))).await.unwrap();
    assert_eq!(db.money(user).await, [98_500, 500, 1_500]);
    db.assert_consistent().await;
}

async fn a_cap_holds_for_concurrent_polls(db: TestDatabase) {
    let user = db.user(1_000_000).await;
    let key = capped_key(&db, user, None, Some(1_000)).await;
    let opening = (0..50).map(|_| {
        let poll = NewPoll { capped: Some(key.1), ..new_poll(Some(user), Some(hold(100, 100))) };
        open(&db, poll)
    });
    let opened = join_all(opening).await;
    assert_eq!(opened.iter().filter(|opened| opened.is_ok()).count(), 10);
    let reached = |opened: &&Result<PollId, StoreError>| matches!(opened, Err(StoreError::CapReached { .. }));
    assert_eq!(opened.iter().filter(reached).count(), 40);
    let capturing = opened.iter().flatten().map(|poll| capture(&db, poll, 30));
    join_all(capturing).await;
    assert_eq!(spent(&db, key, at(9)).await, [300, 300]);
    db.assert_consistent().await;
}

async fn a_pre_funded_key_spends_its_own_balance(db: TestDatabase) {
    let user = db.user(1_000).await;
    let (key, account) = funded_key(user, 300);
    assert_eq!(db.vault.add_funded_key(&key, &account).await.unwrap(), Added::Active);
    assert_eq!((db.money(user).await, db.money(key.user).await), ([700, 0, 0], [300, 0, 0]));
    let owner = db.vault.key_owner(&key.hash, at(0)).await.unwrap().unwrap();
    assert_eq!((owner.key, owner.user), (key.id, key.user));

    let poll = || new_poll(Some(key.user), Some(hold(200, 250)));
    let first = open(&db, poll()).await.unwrap();
    assert!(matches!(open(&db, poll()).await, Err(StoreError::InsufficientBalance { .. })));
    capture(&db, &first, 250).await;
    assert_eq!(funds(&db, user, &key).await, [50, 0]);

    let fund = async |amount, reference: &str| {
        db.vault.fund_key(user, key.id, usd(amount), reference, at(1)).await.map(|funds| funds.available)
    };
    assert_eq!(fund(150, "one").await.unwrap(), usd(200));
    assert_eq!(fund(150, "one").await.unwrap(), usd(200), "the same request moves the amount once");
    assert!(matches!(fund(151, "one").await, Err(StoreError::Conflict(_))));
    assert!(matches!(fund(551, "two").await, Err(StoreError::InsufficientBalance { .. })));
    assert_eq!((db.money(user).await, db.money(key.user).await), ([550, 0, 0], [200, 0, 250]));

    let other = db.user(1_000).await;
    let own = new_key(user);
    db.vault.add_key(&own).await.unwrap();
    for (funder, key) in [(other, key.id), (user, own.id), (user, new_key(user).id)] {
        let rejected = db.vault.fund_key(funder, key, usd(1), "three", at(1)).await;
        assert!(matches!(rejected, Err(StoreError::NotFound(_))), "{rejected:?}");
    }
    let (short, account) = funded_key(user, 1);
    let terms = KeyTerms { expires_at: Some(at(3)), ..KeyTerms::default() };
    db.vault.add_funded_key(&NewKey { terms, ..short.clone() }, &account).await.unwrap();
    db.vault.fund_key(user, short.id, usd(1), "in time", at(2)).await.unwrap();
    let rejected = db.vault.fund_key(user, short.id, usd(1), "too late", at(3)).await;
    assert!(matches!(rejected, Err(StoreError::NotFound(_))), "{rejected:?}");
    db.vault.revoke_key(user, short.id, at(4)).await.unwrap();

    let (poor, account) = funded_key(user, 551);
    let rejected = db.vault.add_funded_key(&poor, &account).await;
    assert!(matches!(rejected, Err(StoreError::InsufficientBalance { .. })), "{rejected:?}");
    assert_eq!(db.vault.key_owner(&poor.hash, at(0)).await.unwrap(), None);
    assert_eq!(db.vault.keys_of(user, at(9)).await.unwrap().len(), 3);
    assert_eq!(db.vault.keys_of(key.user, at(9)).await.unwrap().len(), 1);
    db.assert_consistent().await;
}

async fn the_balance_returns_on_revocation(db: TestDatabase) {
    let (user, other) = (db.user(1_000).await, db.user(0).await);
    let (key, account) = funded_key(user, 300);
    db.vault.add_funded_key(&key, &account).await.unwrap();
    assert!(!db.vault.revoke_key(other, key.id, at(1)).await.unwrap());
    assert!(db.vault.revoke_key(user, key.id, at(1)).await.unwrap());
    assert!(!db.vault.revoke_key(user, key.id, at(2)).await.unwrap());
    assert_eq!(db.vault.key_owner(&key.hash, at(2)).await.unwrap(), None);
    assert_eq!((db.money(user).await, db.money(key.user).await), ([1_000, 0, 0], [0, 0, 0]));
    let rejected = db.vault.fund_key(user, key.id, usd(1), "late", at(3)).await;
    assert!(matches!(rejected, Err(StoreError::NotFound(_))), "{rejected:?}");
    db.assert_consistent().await;
}

async fn a_held_amount_returns_once_the_poll_is_settled(db: TestDatabase) {
    let user = db.user(1_000).await;
    let (key, account) = funded_key(user, 600);
    db.vault.add_funded_key(&key, &account).await.unwrap();
    let poll = || new_poll(Some(key.user), Some(hold(200, 200)));
    let (first, second) = (open(&db, poll()).await.unwrap(), open(&db, poll()).await.unwrap());
    assert!(db.vault.revoke_key(user, key.id, at(1)).await.unwrap());
    assert_eq!((db.money(user).await, funds(&db, user, &key).await), ([600, 0, 0], [0, 400]));
    capture(&db, &first, 150).await;
    assert_eq!((db.money(user).await, funds(&db, user, &key).await), ([650, 0, 0], [0, 200]));
    db.polls.close(&second, Epoch::FIRST, &[], &closing(None), Settlement::Later).await.unwrap();
    assert!(db.polls.settle(&second, Epoch::FIRST, usd(200), usd(0), at(2)).await.unwrap());
    assert_eq!((db.money(user).await, funds(&db, user, &key).await), ([650, 0, 0], [0, 0]));
    db.assert_consistent().await;
}

async fn a_frozen_account_cannot_fund_keys_and_its_keys_are_frozen(db: TestDatabase) {
    let user = db.user(1_000).await;
    let (key, account) = funded_key(user, 300);
    db.vault.add_funded_key(&key, &account).await.unwrap();
    db.treasury.freeze(user, true).await.unwrap();
    let (another, account) = funded_key(user, 300);
    let rejected = db.vault.add_funded_key(&another, &account).await;
    assert!(matches!(rejected, Err(StoreError::Frozen)), "{rejected:?}");
    let rejected = db.vault.fund_key(user, key.id, usd(1), "one", at(1)).await;
    assert!(matches!(rejected, Err(StoreError::Frozen)), "{rejected:?}");
    let poll = || new_poll(Some(key.user), Some(hold(1, 200)));
    assert!(matches!(open(&db, poll()).await, Err(StoreError::Frozen)));
    db.treasury.freeze(user, false).await.unwrap();
    open(&db, poll()).await.unwrap();
    db.assert_consistent().await;
}

async fn pre_funded_keys_count_and_end_with_their_account(db: TestDatabase) {
    let user = db.user(1_000).await;
    let adding = (0..MAX_ACTIVE_KEYS + 5).map(|_| async {
        let (key, account) = funded_key(user, 5);
        db.vault.add_funded_key(&key, &account).await.unwrap()
    });
    let added = join_all(adding).await;
    assert_eq!(added.iter().filter(|added| **added == Added::Active).count(), MAX_ACTIVE_KEYS as usize);
    assert_eq!(db.vault.add_key(&new_key(user)).await.unwrap(), Added::TooMany);
    assert_eq!(db.money(user).await, [500, 0, 0]);
    let users = db.treasury.users(None).await.unwrap();
    assert_eq!(users.iter().map(|user| user.id).collect::<Vec<_>>(), [user], "keys are not users");

    let rotated = db.vault.rotate_keys(&new_key(user)).await.unwrap();
    assert_eq!(rotated, MAX_ACTIVE_KEYS);
    assert_eq!(db.money(user).await, [1_000, 0, 0]);
    let (last, account) = funded_key(user, 5);
    db.vault.add_funded_key(&last, &account).await.unwrap();
    delete_account(&db, user, at(2)).await;
    assert_eq!(db.money(user).await, [0, 0, 0], "the balances of account and keys are forfeited");
    assert!(db.vault.keys_of(user, at(9)).await.unwrap().iter().all(|key| key.label.is_empty()));
    db.assert_consistent().await;
}

async fn concurrent_changes_of_a_key_lose_no_money(db: TestDatabase) {
    let user = db.user(10_000).await;
    let (key, account) = funded_key(user, 1_000);
    db.vault.add_funded_key(&key, &account).await.unwrap();
    let polls = (0..12).map(|_| async {
        if let Ok(poll) = open(&db, new_poll(Some(key.user), Some(hold(50, 100)))).await {
            capture(&db, &poll, 40).await;
        }
    });
    let funding = (0..12).map(|n| {
        let (db, key) = (&db, &key);
        async move { drop(db.vault.fund_key(user, key.id, usd(10), &format!("fund:{n}"), at(1)).await) }
    });
    let rest = async {
        db.treasury.freeze(user, true).await.unwrap();
        db.treasury.freeze(user, false).await.unwrap();
        assert!(db.vault.revoke_key(user, key.id, at(1)).await.unwrap());
    };
    tokio::join!(join_all(polls), join_all(funding), rest);
    assert_eq!(funds(&db, user, &key).await, [0, 0]);
    let ([posted, held, _], [.., used]) = (db.money(user).await, db.money(key.user).await);
    assert_eq!((posted + used, held), (10_000, 0));
    db.assert_consistent().await;
}

async fn a_credit_to_a_revoked_key_returns(db: TestDatabase) {
    let user = db.user(1_000).await;
    let (key, account) = funded_key(user, 300);
    db.vault.add_funded_key(&key, &account).await.unwrap();
    let deposit = deposit_for(Some(key.user));
    db.treasury.begin_deposit(&deposit, at(0)).await.unwrap();
    db.vault.revoke_key(user, key.id, at(1)).await.unwrap();
    let payer = sign_up(deposit.payment.payer, 0);
    db.treasury
        .credit_deposit(&deposit.payment.reference, &final_transfer(), &payer, at(2), at(9))
        .await
        .unwrap();
    db.treasury.credit(key.user, usd(7), "for a revoked key", at(3)).await.unwrap();
    let paid = deposit.payment.amount.micro();
    assert_eq!((db.money(user).await, db.money(key.user).await), ([1_007 + paid, 0, 0], [0, 0, 0]));
    db.assert_consistent().await;
}

async fn a_reversed_payment_debits_the_keys(db: TestDatabase) {
    let user = db.user(0).await;
    let checkout = checkout(&db, user, 100).await;
    let cents = |cents: i64| cents * 10_000;
    db.treasury.settle_checkout(&paid(&checkout), at(1)).await.unwrap();
    let keys = [funded_key(user, cents(30)), funded_key(user, cents(50))];
    for (key, account) in &keys {
        db.vault.add_funded_key(key, account).await.unwrap();
    }
    let reversal = |amount| Reversal {
        reference: format!("refund:{}", checkout.id),
        checkout: Some(checkout.id),
        payment: None,
        amount: Cents(amount),
        lifted: false,
        reported_at: at(6),
    };
    db.treasury.reverse_checkout(&reversal(60), at(2)).await.unwrap();
    assert_eq!(db.money(user).await, [0, 0, 0]);
    let left: i64 = [db.money(keys[0].0.user).await[0], db.money(keys[1].0.user).await[0]].iter().sum();
    assert_eq!(left, cents(40));
    // Held amounts cannot be debited, so the account and its keys are frozen.
    let holder = &keys[usize::from(db.money(keys[0].0.user).await[0] == 0)].0;
    open(&db, new_poll(Some(holder.user), Some(hold(cents(10), cents(10))))).await.unwrap();
    db.treasury.reverse_checkout(&reversal(100), at(3)).await.unwrap();
    let bad_debt = "SELECT CAST(SUM(amount) AS BIGINT) FROM transfers WHERE debit_account = 'sys:bad_debt'";
    assert_eq!(number(&db.url, bad_debt).await, cents(10));
    let rejected = open(&db, new_poll(Some(holder.user), Some(hold(0, 1)))).await;
    assert!(matches!(rejected, Err(StoreError::Frozen)), "{rejected:?}");
    db.assert_consistent().await;
}
