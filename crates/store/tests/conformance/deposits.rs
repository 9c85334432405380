//! Deposits of USDC: credited once, to the caller's account or to the payer's.

use ep_kernel::caller::{DepositId, UserId};
use ep_kernel::identity::{Identity, WalletAddress};
use ep_kernel::ports::{BegunDeposit, DepositState, NewDeposit, Payment, StoreError};

use crate::test_database::{TestDatabase, at, random, sign_up, tamper, usd, wallet};

on_both_engines!(
    a_deposit_is_credited_once,
    a_payer_without_an_account_gets_one,
    a_deposit_that_failed_may_begin_anew,
    deposits_under_way_are_found,
    the_audit_finds_deposits_without_credit,
);

/// A deposit by a payer of its own.
pub fn deposit_for(user: Option<UserId>) -> NewDeposit {
    deposit(wallet(), user)
}

fn deposit(payer: WalletAddress, user: Option<UserId>) -> NewDeposit {
    let nonce = u128::from_be_bytes(random());
    let payment = Payment {
        reference: format!("eip155:84532:0xasset:{}:0x{nonce:x}", payer.lower_case()),
        payer,
        amount: usd(5_000_000),
        valid_before: at(1000),
        body: "{}".into(),
    };
    NewDeposit { id: DepositId::from_random(random()), payment, user, since: 7, created_at: at(0) }
}

async fn state(db: &TestDatabase, deposit: &NewDeposit) -> Option<DepositState> {
    Some(db.deposits.deposit(&deposit.payment.reference).await.unwrap()?.state)
}

async fn a_deposit_is_credited_once(db: TestDatabase) {
    let user = db.user(0).await;
    let new = deposit(wallet(), Some(user));
    assert_eq!(state(&db, &new).await, None);
    let begun = futures::future::join_all((0..8).map(|_| db.deposits.begin_deposit(&new))).await;
    let news = begun.iter().filter(|begun| matches!(begun, Ok(BegunDeposit::New))).count();
    assert_eq!(news, 1);
    let known = db.deposits.deposit(&new.payment.reference).await.unwrap().unwrap();
    assert_eq!((&known.deposit.payment, known.deposit.id, known.deposit.since), (&new.payment, new.id, 7));
    assert_eq!(known.state, DepositState::Settling);

    let payer = sign_up(new.payment.payer, 0);
    let credits = (0..8).map(|_| db.deposits.credit_deposit(&new.payment.reference, "0xabc", &payer, at(5)));
    let credits = futures::future::join_all(credits).await;
    let credits: Vec<_> = credits.into_iter().map(Result::unwrap).collect();
    assert!(credits.iter().all(|credited| credited.user == user && !credited.is_new_user));
    assert_eq!(credits.iter().filter(|credited| credited.now).count(), 1);
    let settled = DepositState::Settled { user, transaction: "0xabc".into() };
    assert_eq!(state(&db, &new).await, Some(settled.clone()));
    assert_eq!(db.money(user).await, [5_000_000, 0, 0]);

    // What is settled neither fails nor begins anew.
    db.deposits.fail_deposit(&new.payment.reference).await.unwrap();
    let BegunDeposit::Known(known) = db.deposits.begin_deposit(&new).await.unwrap() else { panic!() };
    assert_eq!(known.state, settled);
    let unknown = db.deposits.credit_deposit("eip155:1:0x0:0x0:0x0", "0xabc", &payer, at(5)).await;
    assert!(matches!(unknown, Err(StoreError::NotFound(_))), "{unknown:?}");
    db.assert_consistent().await;
}

async fn a_payer_without_an_account_gets_one(db: TestDatabase) {
    let payer = wallet();
    let mut user = None;
    for n in 1..=3 {
        let new = deposit(payer, None);
        db.deposits.begin_deposit(&new).await.unwrap();
        let credited = db
            .deposits
            .credit_deposit(&new.payment.reference, "0xa", &sign_up(payer, 0), at(1))
            .await
            .unwrap();
        assert_eq!((credited.now, credited.is_new_user), (true, n == 1));
        assert_eq!(*user.get_or_insert(credited.user), credited.user);
        assert_eq!(db.money(credited.user).await, [n * 5_000_000, 0, 0]);
    }
    assert_eq!(db.users.user_of(&Identity::Wallet(payer)).await.unwrap(), user);
    db.assert_consistent().await;
}

async fn a_deposit_that_failed_may_begin_anew(db: TestDatabase) {
    let new = deposit(wallet(), None);
    db.deposits.begin_deposit(&new).await.unwrap();
    db.deposits.fail_deposit(&new.payment.reference).await.unwrap();
    assert_eq!(state(&db, &new).await, Some(DepositState::Failed));
    assert!(db.deposits.settling_deposits(at(9), 9).await.unwrap().is_empty());
    let again = futures::future::join_all((0..4).map(|_| db.deposits.begin_deposit(&new))).await;
    assert_eq!(again.iter().filter(|begun| matches!(begun, Ok(BegunDeposit::New))).count(), 1);
    assert_eq!(state(&db, &new).await, Some(DepositState::Settling));
    // Late news that the money has moved after all.
    db.deposits.fail_deposit(&new.payment.reference).await.unwrap();
    let payer = sign_up(new.payment.payer, 0);
    assert!(db.deposits.credit_deposit(&new.payment.reference, "0xa", &payer, at(1)).await.unwrap().now);
    db.assert_consistent().await;
}

async fn deposits_under_way_are_found(db: TestDatabase) {
    let [first, second, third] =
        [3, 1, 2].map(|created| NewDeposit { created_at: at(created), ..deposit(wallet(), None) });
    for new in [&first, &second, &third] {
        db.deposits.begin_deposit(new).await.unwrap();
    }
    let found = async |before, limit| {
        let found = db.deposits.settling_deposits(at(before), limit).await.unwrap();
        found.into_iter().map(|found| found.deposit.id).collect::<Vec<_>>()
    };
    assert_eq!(found(9, 9).await, [second.id, third.id, first.id]);
    assert_eq!(found(3, 9).await, [second.id, third.id]);
    assert_eq!(found(9, 1).await, [second.id]);
}

async fn the_audit_finds_deposits_without_credit(db: TestDatabase) {
    let user = db.user(0).await;
    let new = deposit(wallet(), Some(user));
    db.deposits.begin_deposit(&new).await.unwrap();
    db.deposits
        .credit_deposit(&new.payment.reference, "0xa", &sign_up(new.payment.payer, 0), at(1))
        .await
        .unwrap();
    db.assert_consistent().await;
    tamper(&db.url, "UPDATE deposits SET amount = amount + 1").await.unwrap();
    let audit = db.ledger.audit(crate::test_database::SETTLED_WITHIN).await.unwrap();
    assert_eq!(audit.unproven_credits, [format!("x402:{}", new.payment.reference)]);
    tamper(&db.url, "UPDATE deposits SET ref = 'other'").await.unwrap();
    let audit = db.ledger.audit(crate::test_database::SETTLED_WITHIN).await.unwrap();
    assert_eq!(audit.unproven_credits.len(), 2, "{audit:?}");
}
