//! USDC deposits: credited once, to the caller's account or to the payer's.

use ep_store::{
    BegunDeposit, CreditedDeposit, DepositId, DepositState, Identity, NewDeposit, Payment, Received,
    StoreError, Transfer, UserId, WalletAddress,
};

use ep_store::testing::test_database::{TestDatabase, at, random, sign_up, tamper, usd, wallet};

on_both_engines!(
    a_deposit_is_credited_once,
    a_payer_without_an_account_gets_one,
    a_failed_deposit_may_begin_again,
    due_deposits_alternate_between_payers,
    open_deposits_are_listed_whether_due_or_not,
    a_transfer_is_credited_once_it_is_final,
    the_audit_finds_deposits_without_credit,
);

/// Returns a deposit by a new payer.
pub fn deposit_for(user: Option<UserId>) -> NewDeposit {
    deposit(wallet(), user)
}

/// Returns a final transfer.
pub fn final_transfer() -> Transfer {
    moved(7, true)
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

fn moved(block: u64, is_final: bool) -> Transfer {
    Transfer { transaction: "0xabc".into(), block: Some(block), is_final }
}

fn received(user: UserId, block: u64) -> Received {
    Received { user, transaction: "0xabc".into(), block: Some(block) }
}

/// Records a transfer; one that is not final is due again at 6.
async fn credit(db: &TestDatabase, deposit: &NewDeposit, transfer: &Transfer) -> CreditedDeposit {
    let payer = sign_up(deposit.payment.payer, 0);
    db.treasury.credit_deposit(&deposit.payment.reference, transfer, &payer, at(5), at(6)).await.unwrap()
}

/// Returns the ids of all open deposits, in pages of two.
async fn open(db: &TestDatabase) -> Vec<DepositId> {
    let (mut ids, mut after) = (Vec::new(), String::new());
    loop {
        let page = db.treasury.open_deposits(&after, 2).await.unwrap();
        let Some(last) = page.last() else { return ids };
        after.clone_from(&last.deposit.payment.reference);
        ids.extend(page.into_iter().map(|found| found.deposit.id));
    }
}

/// Returns the ids of the due deposits.
async fn due(db: &TestDatabase, now: i64, limit: u32, per_payer: u32) -> Vec<DepositId> {
    let found = db.treasury.due_deposits(at(now), limit, per_payer).await.unwrap();
    found.into_iter().map(|found| found.deposit.id).collect()
}

async fn state(db: &TestDatabase, deposit: &NewDeposit) -> Option<DepositState> {
    Some(db.treasury.deposit(&deposit.payment.reference).await.unwrap()?.state)
}

async fn a_deposit_is_credited_once(db: TestDatabase) {
    let user = db.user(0).await;
    let new = deposit(wallet(), Some(user));
    assert_eq!(state(&db, &new).await, None);
    let begun = futures::future::join_all((0..8).map(|_| db.treasury.begin_deposit(&new, at(0)))).await;
    let news = begun.iter().filter(|begun| matches!(begun, Ok(BegunDeposit::New))).count();
    assert_eq!(news, 1);
    let known = db.treasury.deposit(&new.payment.reference).await.unwrap().unwrap();
    assert_eq!((&known.deposit.payment, known.deposit.id, known.deposit.since), (&new.payment, new.id, 7));
    assert_eq!(known.state, DepositState::Settling);

    let final_transfer = moved(7, true);
    let credits = (0..8).map(|_| credit(&db, &new, &final_transfer));
    let credits = futures::future::join_all(credits).await;
    assert!(credits.iter().all(|credited| credited.user == user && !credited.is_new_user));
    assert_eq!(credits.iter().filter(|credited| credited.now).count(), 1);
    let settled = DepositState::Settled(received(user, 7));
    assert_eq!(state(&db, &new).await, Some(settled.clone()));
    assert_eq!(db.money(user).await, [5_000_000, 0, 0]);

    // A settled deposit neither fails nor begins again.
    db.treasury.fail_deposit(&new.payment.reference, None).await.unwrap();
    let BegunDeposit::Known(known) = db.treasury.begin_deposit(&new, at(0)).await.unwrap() else { panic!() };
    assert_eq!(known.state, settled);
    let unknown = db
        .treasury
        .credit_deposit("eip155:1:0x0:0x0:0x0", &final_transfer, &sign_up(wallet(), 0), at(5), at(6))
        .await;
    assert!(matches!(unknown, Err(StoreError::NotFound(_))), "{unknown:?}");
    db.assert_consistent().await;
}

async fn a_payer_without_an_account_gets_one(db: TestDatabase) {
    let payer = wallet();
    let mut user = None;
    for n in 1..=3 {
        let new = deposit(payer, None);
        db.treasury.begin_deposit(&new, at(0)).await.unwrap();
        let credited = credit(&db, &new, &moved(7, true)).await;
        assert_eq!((credited.now, credited.is_new_user), (true, n == 1));
        assert_eq!(*user.get_or_insert(credited.user), credited.user);
        assert_eq!(db.money(credited.user).await, [n * 5_000_000, 0, 0]);
    }
    assert_eq!(db.treasury.user_of(&Identity::Wallet(payer)).await.unwrap(), user);
    db.assert_consistent().await;
}

async fn a_failed_deposit_may_begin_again(db: TestDatabase) {
    let new = deposit(wallet(), None);
    db.treasury.begin_deposit(&new, at(0)).await.unwrap();
    db.treasury.fail_deposit(&new.payment.reference, None).await.unwrap();
    assert_eq!(state(&db, &new).await, Some(DepositState::Failed));
    assert!(db.treasury.due_deposits(at(9), 9, 9).await.unwrap().is_empty());
    let again = futures::future::join_all((0..4).map(|_| db.treasury.begin_deposit(&new, at(0)))).await;
    assert_eq!(again.iter().filter(|begun| matches!(begun, Ok(BegunDeposit::New))).count(), 1);
    assert_eq!(state(&db, &new).await, Some(DepositState::Settling));
    // A late report that the money has moved after all.
    db.treasury.fail_deposit(&new.payment.reference, None).await.unwrap();
    assert!(credit(&db, &new, &moved(7, true)).await.now);
    db.assert_consistent().await;
}

async fn open_deposits_are_listed_whether_due_or_not(db: TestDatabase) {
    let mut expected = Vec::new();
    for number in 0..5 {
        let new = deposit(wallet(), None);
        db.treasury.begin_deposit(&new, at(1_000 * number)).await.unwrap();
        expected.push(new);
    }
    let [settled, refused, ..] = &expected[..] else { panic!() };
    credit(&db, settled, &moved(7, true)).await;
    db.treasury.fail_deposit(&refused.payment.reference, None).await.unwrap();
    let mut expected: Vec<DepositId> = expected[2..].iter().map(|new| new.id).collect();
    let mut found = open(&db).await;
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(due(&db, 2_000, 9, 9).await.len(), 1);
}

async fn due_deposits_alternate_between_payers(db: TestDatabase) {
    let [first, second, third] =
        [3, 1, 2].map(|created| NewDeposit { created_at: at(created), ..deposit(wallet(), None) });
    for new in [&first, &second, &third] {
        db.treasury.begin_deposit(new, new.created_at).await.unwrap();
    }
    assert_eq!(due(&db, 9, 9, 9).await, [second.id, third.id, first.id]);
    assert_eq!(due(&db, 2, 9, 9).await, [second.id, third.id]);
    assert_eq!(due(&db, 9, 1, 9).await, [second.id]);
    // A hundred earlier deposits of one payer do not delay those of the others.
    let crowd = wallet();
    for _ in 0..100 {
        db.treasury.begin_deposit(&deposit(crowd, None), at(0)).await.unwrap();
    }
    let found = due(&db, 9, 4, 9).await;
    assert_eq!(found[1..], [second.id, third.id, first.id]);
    assert_eq!(due(&db, 9, 99, 2).await.len(), 5);

    // Every unsuccessful look-up is counted and postpones the next one.
    let reference = &second.payment.reference;
    db.treasury.postpone_deposit(reference, false, Some(at(20))).await.unwrap();
    assert_eq!(state(&db, &second).await, Some(DepositState::Settling));
    db.treasury.postpone_deposit(reference, true, Some(at(30))).await.unwrap();
    let known = db.treasury.deposit_by_id(second.id).await.unwrap().unwrap();
    assert_eq!((known.state, known.attempts), (DepositState::Unknown, 2));
    assert!(!due(&db, 29, 99, 2).await.contains(&second.id));
    assert!(due(&db, 30, 99, 2).await.contains(&second.id));
    let audit = db.treasury.audit(ep_store::testing::test_database::SETTLED_WITHIN).await.unwrap();
    assert_eq!(audit.unknown_deposits, [second.id.to_string()]);
    // It neither begins again nor is deleted.
    let again = db.treasury.begin_deposit(&second, at(0)).await.unwrap();
    assert!(matches!(again, BegunDeposit::Known(known) if known.state == DepositState::Unknown));
    assert!(credit(&db, &second, &moved(7, true)).await.credited);
    db.assert_consistent().await;
}

async fn a_transfer_is_credited_once_it_is_final(db: TestDatabase) {
    let new = deposit(wallet(), None);
    db.treasury.begin_deposit(&new, at(0)).await.unwrap();
    let seen = credit(&db, &new, &moved(7, false)).await;
    assert_eq!((seen.now, seen.is_new_user, seen.credited, seen.is_settled), (true, true, false, false));
    let user = seen.user;
    assert_eq!(state(&db, &new).await, Some(DepositState::Confirming(received(user, 7))));
    assert_eq!(db.money(user).await, [0, 0, 0]);
    db.assert_consistent().await;
    // Its block was replaced.
    let moved_on = credit(&db, &new, &moved(8, false)).await;
    assert_eq!((moved_on.user, moved_on.now, moved_on.credited), (user, false, false));
    assert_eq!((due(&db, 5, 9, 9).await, due(&db, 6, 9, 9).await), (vec![], vec![new.id]));
    let is_final = credit(&db, &new, &moved(8, true)).await;
    assert_eq!((is_final.now, is_final.credited, is_final.is_settled), (false, true, true));
    assert_eq!(db.money(user).await, [5_000_000, 0, 0]);
    let settled = db.treasury.settled_deposits((at(0), ""), 9).await.unwrap();
    assert_eq!(settled.iter().map(|known| known.deposit.id).collect::<Vec<_>>(), [new.id]);
    assert!(db.treasury.settled_deposits((at(0), &new.payment.reference), 9).await.unwrap().is_empty());

    // The transfer leaves the chain: the account is frozen, and the audit reports it.
    assert!(db.treasury.vanish_deposit(&new.payment.reference, at(9)).await.unwrap());
    assert!(!db.treasury.vanish_deposit(&new.payment.reference, at(9)).await.unwrap());
    assert!(db.treasury.user(user).await.unwrap().frozen);
    let audit = db.treasury.audit(ep_store::testing::test_database::SETTLED_WITHIN).await.unwrap();
    assert_eq!((audit.vanished_deposits, audit.unproven_credits), (vec![new.id.to_string()], vec![]));
    db.treasury.fail_deposit(&new.payment.reference, None).await.unwrap();
    assert!(!credit(&db, &new, &moved(20, false)).await.is_settled);
    assert_eq!(state(&db, &new).await, Some(DepositState::Vanished(received(user, 20))));
    let back = credit(&db, &new, &moved(20, true)).await;
    assert_eq!((back.credited, back.is_settled), (false, true));
    assert_eq!(db.money(user).await, [5_000_000, 0, 0]);
    db.assert_consistent().await;
}

async fn the_audit_finds_deposits_without_credit(db: TestDatabase) {
    let user = db.user(0).await;
    let new = deposit(wallet(), Some(user));
    db.treasury.begin_deposit(&new, at(0)).await.unwrap();
    credit(&db, &new, &moved(7, true)).await;
    db.assert_consistent().await;
    tamper(&db.url, "UPDATE deposits SET amount = amount + 1").await.unwrap();
    let audit = db.treasury.audit(ep_store::testing::test_database::SETTLED_WITHIN).await.unwrap();
    assert_eq!(audit.unproven_credits, [format!("x402:{}", new.payment.reference)]);
    tamper(&db.url, "UPDATE deposits SET ref = 'other'").await.unwrap();
    let audit = db.treasury.audit(ep_store::testing::test_database::SETTLED_WITHIN).await.unwrap();
    assert_eq!(audit.unproven_credits.len(), 2, "{audit:?}");
}
