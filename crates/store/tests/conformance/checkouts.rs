//! Card payments: credited once and reversed once, whatever the order of the reports.

use ep_store::{
    Cents, CheckoutId, FailedRefund, NewCheckout, PaidCheckout, Reversal, Settled, StoreError, UserId,
};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use ep_store::testing::test_database::{TestDatabase, at, hold, lease, new_poll, random, tamper};

on_both_engines!(
    a_payment_is_credited_once,
    reports_without_a_matching_payment_change_nothing,
    a_payment_is_reversed_once,
    an_unavailable_amount_is_bad_debt_and_freezes_the_account,
    a_won_dispute_is_credited_back,
    failed_refunds_are_credited_back_once,
    the_order_of_events_does_not_matter,
    the_audit_finds_credits_without_payments,
);

const CENT: i64 = 10_000;

pub fn new_checkout(user: UserId, cents: u32) -> NewCheckout {
    NewCheckout { id: CheckoutId::from_random(random()), user, amount: Cents(cents), created_at: at(0) }
}

pub async fn checkout(db: &TestDatabase, user: UserId, cents: u32) -> NewCheckout {
    let new = new_checkout(user, cents);
    db.treasury.add_checkout(&new).await.unwrap();
    new
}

pub fn paid(checkout: &NewCheckout) -> PaidCheckout {
    PaidCheckout {
        checkout: checkout.id,
        session: format!("cs_test_{}", checkout.id),
        payment: Some(format!("pi_{}", checkout.id)),
        amount: checkout.amount,
    }
}

fn refund(checkout: &NewCheckout, cents: u32) -> Reversal {
    Reversal {
        reference: format!("refund:ch_{}", checkout.id),
        checkout: Some(checkout.id),
        payment: None,
        amount: Cents(cents),
        lifted: false,
        reported_at: at(6),
    }
}

fn dispute(checkout: &NewCheckout, cents: u32, lifted: bool) -> Reversal {
    Reversal {
        reference: format!("dispute:dp_{}", checkout.id),
        checkout: None,
        payment: Some(format!("pi_{}", checkout.id)),
        amount: Cents(cents),
        lifted,
        reported_at: at(6),
    }
}

fn failed(checkout: &NewCheckout, refund: &str, cents: u32, at_ms: i64) -> FailedRefund {
    FailedRefund {
        refund: format!("re_{refund}_{}", checkout.id),
        reversal: format!("refund:ch_{}", checkout.id),
        payment: Some(format!("pi_{}", checkout.id)),
        amount: Cents(cents),
        failed_at: at(at_ms),
    }
}

async fn settle(db: &TestDatabase, paid: &PaidCheckout) -> Settled {
    db.treasury.settle_checkout(paid, at(5)).await.unwrap()
}

async fn a_payment_is_credited_once(db: TestDatabase) {
    let user = db.user(0).await;
    let first = checkout(&db, user, 500).await;
    let waiting = db.treasury.open_checkouts(at(1), 10).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].checkout.amount, &waiting[0].session), (1, Cents(500), &None));
    assert!(db.treasury.open_checkouts(at(0), 10).await.unwrap().is_empty());
    let paid = paid(&first);
    db.treasury.checkout_opened(first.id, &paid.session).await.unwrap();
    let waiting = db.treasury.open_checkouts(at(1), 10).await.unwrap();
    assert_eq!(waiting[0].session.as_deref(), Some(paid.session.as_str()));

    let times = futures::future::join_all((0..12).map(|_| settle(&db, &paid))).await;
    assert_eq!(times.iter().filter(|&&settled| settled == Settled::Credited).count(), 1);
    assert_eq!(times.iter().filter(|&&settled| settled == Settled::Before).count(), 11);
    assert_eq!(db.money(user).await, [500 * CENT, 0, 0]);
    assert!(db.treasury.open_checkouts(at(1), 10).await.unwrap().is_empty());
    // A closed page cannot be paid, but a payment that still arrives is credited.
    let second = checkout(&db, user, 100).await;
    db.treasury.close_checkout(second.id).await.unwrap();
    assert!(db.treasury.open_checkouts(at(1), 10).await.unwrap().is_empty());
    assert_eq!(settle(&db, &super::checkouts::paid(&second)).await, Settled::Credited);
    db.treasury.close_checkout(second.id).await.unwrap();
    assert_eq!(settle(&db, &super::checkouts::paid(&second)).await, Settled::Before);
    assert_eq!(db.money(user).await, [600 * CENT, 0, 0]);
    db.assert_consistent().await;

    let unknown =
        NewCheckout { user: UserId::from_random([9; 16]), id: CheckoutId::from_random(random()), ..first };
    let rejected = db.treasury.add_checkout(&unknown).await;
    assert!(matches!(rejected, Err(StoreError::NotFound(_))), "{rejected:?}");
}

async fn reports_without_a_matching_payment_change_nothing(db: TestDatabase) {
    let user = db.user(0).await;
    let first = checkout(&db, user, 500).await;
    let right = paid(&first);
    db.treasury.checkout_opened(first.id, &right.session).await.unwrap();
    for wrong in [
        PaidCheckout { checkout: CheckoutId::from_random(random()), ..right.clone() },
        PaidCheckout { amount: Cents(499), ..right.clone() },
        PaidCheckout { amount: Cents(50_000), ..right.clone() },
        PaidCheckout { session: "cs_test_other".into(), ..right.clone() },
    ] {
        assert_eq!(settle(&db, &wrong).await, Settled::Unknown, "{wrong:?}");
    }
    db.treasury.reverse_checkout(&refund(&first, 100), at(6)).await.unwrap();
    let foreign = Reversal { payment: Some("pi_of_another_shop".into()), ..dispute(&first, 100, false) };
    db.treasury.reverse_checkout(&foreign, at(6)).await.unwrap();
    assert_eq!(db.money(user).await, [0, 0, 0]);
    db.assert_consistent().await;
}

async fn a_payment_is_reversed_once(db: TestDatabase) {
    let user = db.user(100 * CENT).await;
    let first = checkout(&db, user, 500).await;
    settle(&db, &paid(&first)).await;
    for (cents, left) in [(200, 400), (200, 400), (500, 100), (200, 100), (500, 100)] {
        let times = (0..3)
            .map(|_| async { db.treasury.reverse_checkout(&refund(&first, cents), at(7)).await.unwrap() });
        futures::future::join_all(times).await;
        // Reversals are not counted as used.
        assert_eq!(db.money(user).await, [left * CENT, 0, 0], "{cents} reversed in total");
        db.assert_consistent().await;
    }
}

async fn an_unavailable_amount_is_bad_debt_and_freezes_the_account(db: TestDatabase) {
    let user = db.user(0).await;
    let first = checkout(&db, user, 500).await;
    settle(&db, &paid(&first)).await;
    // Three dollars are held for a poll.
    let poll = db.running(Some(user), Some(hold(1, 300 * CENT))).await;
    db.treasury.reverse_checkout(&refund(&first, 500), at(7)).await.unwrap();
    assert_eq!(db.money(user).await, [300 * CENT, 300 * CENT, 0]);
    let bad_debt = "SELECT amount FROM transfers WHERE debit_account = 'sys:bad_debt'";
    assert_eq!(ep_store::testing::test_database::number(&db.url, bad_debt).await, 300 * CENT);
    db.assert_consistent().await;

    // The running poll ends normally; a new one begins only if it is free.
    let epoch = ep_store::Epoch::FIRST;
    let settlement =
        ep_polling::money::Settlement::Capture(ep_store::testing::test_database::usd(100 * CENT));
    db.polls
        .close(&poll, epoch, &[], &ep_store::testing::test_database::closing(Some(0)), settlement)
        .await
        .unwrap();
    assert_eq!(db.money(user).await, [200 * CENT, 0, 100 * CENT]);
    let next = new_poll(Some(user), Some(hold(1, CENT)));
    let rejected = db.polls.open(&next, &lease("a", 1000)).await;
    assert!(matches!(rejected, Err(StoreError::Frozen)), "{rejected:?}");
    let free = new_poll(Some(user), Some(hold(0, 0)));
    db.polls.open(&free, &lease("a", 1000)).await.unwrap();
    db.assert_consistent().await;
}

async fn a_won_dispute_is_credited_back(db: TestDatabase) {
    for available in [500, 200] {
        let user = db.user(0).await;
        let first = checkout(&db, user, 500).await;
        settle(&db, &paid(&first)).await;
        let spent = 500 - available;
        if spent > 0 {
            let poll = db.running(Some(user), Some(hold(1, spent * CENT))).await;
            let settlement =
                ep_polling::money::Settlement::Capture(ep_store::testing::test_database::usd(spent * CENT));
            let closing = ep_store::testing::test_database::closing(Some(0));
            db.polls.close(&poll, ep_store::Epoch::FIRST, &[], &closing, settlement).await.unwrap();
        }
        db.treasury.reverse_checkout(&dispute(&first, 500, false), at(7)).await.unwrap();
        assert_eq!(db.money(user).await, [0, 0, spent * CENT]);
        for _ in 0..2 {
            db.treasury.reverse_checkout(&dispute(&first, 500, true), at(8)).await.unwrap();
            assert_eq!(db.money(user).await, [available * CENT, 0, spent * CENT], "the reversed amount");
        }
        // A late report of the dispute's beginning changes nothing.
        db.treasury.reverse_checkout(&dispute(&first, 500, false), at(9)).await.unwrap();
        assert_eq!(db.money(user).await, [available * CENT, 0, spent * CENT]);
        db.assert_consistent().await;
    }
    let bad_debt = "SELECT CAST(SUM(CASE debit_account WHEN 'sys:bad_debt' THEN amount ELSE -amount END) AS BIGINT) \
        FROM transfers WHERE 'sys:bad_debt' IN (debit_account, credit_account)";
    assert_eq!(ep_store::testing::test_database::number(&db.url, bad_debt).await, 0);
}

/// A failed refund is credited back. The same amount can be refunded and fail again, because each change of
/// the ledger has a unique reference.
async fn failed_refunds_are_credited_back_once(db: TestDatabase) {
    let user = db.user(0).await;
    let first = checkout(&db, user, 500).await;
    settle(&db, &paid(&first)).await;
    for round in 0..3 {
        let (refunded_at, failed_at) = (10 * round + 1, 10 * round + 2);
        let refund = Reversal { reported_at: at(refunded_at), ..refund(&first, 300) };
        let failed = failed(&first, &round.to_string(), 300, failed_at);
        for _ in 0..2 {
            db.treasury.reverse_checkout(&refund, at(7)).await.unwrap();
            assert_eq!(db.money(user).await, [200 * CENT, 0, 0], "round {round}");
        }
        let times = (0..3).map(|_| async { db.treasury.refund_failed(&failed, at(8)).await.unwrap() });
        futures::future::join_all(times).await;
        assert_eq!(db.money(user).await, [500 * CENT, 0, 0], "round {round}");
        // A late repetition of the refund's report changes nothing.
        db.treasury.reverse_checkout(&refund, at(9)).await.unwrap();
        assert_eq!(db.money(user).await, [500 * CENT, 0, 0], "round {round}");
        db.assert_consistent().await;
    }
    // The service's bad debt is repaid first.
    let poll = db.running(Some(user), Some(hold(1, 500 * CENT))).await;
    let settlement =
        ep_polling::money::Settlement::Capture(ep_store::testing::test_database::usd(400 * CENT));
    let closing = ep_store::testing::test_database::closing(Some(0));
    db.polls.close(&poll, ep_store::Epoch::FIRST, &[], &closing, settlement).await.unwrap();
    db.treasury
        .reverse_checkout(&Reversal { reported_at: at(50), ..refund(&first, 500) }, at(50))
        .await
        .unwrap();
    assert_eq!(db.money(user).await, [0, 0, 400 * CENT]);
    db.treasury.refund_failed(&failed(&first, "last", 500, 51), at(51)).await.unwrap();
    assert_eq!(db.money(user).await, [100 * CENT, 0, 400 * CENT]);
    db.assert_consistent().await;
    // A failure with unknown refund and payment waits for them.
    let second = checkout(&db, user, 100).await;
    db.treasury.refund_failed(&failed(&second, "early", 100, 60), at(60)).await.unwrap();
    db.treasury
        .reverse_checkout(&Reversal { reported_at: at(59), ..refund(&second, 100) }, at(61))
        .await
        .unwrap();
    settle(&db, &paid(&second)).await;
    db.treasury.apply_reversals(at(62)).await.unwrap();
    assert_eq!(db.money(user).await, [200 * CENT, 0, 400 * CENT]);
    db.assert_consistent().await;
}

/// Reports on one payment.
#[derive(Debug, Clone)]
enum Event {
    Paid(PaidCheckout),
    Reversed(Reversal),
    Failed(FailedRefund),
}

async fn the_order_of_events_does_not_matter(db: TestDatabase) {
    for seed in 0..20 {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let user = db.user(0).await;
        let first = checkout(&db, user, 1000).await;
        let won = rng.random_bool(0.5);
        let events = [
            Event::Paid(paid(&first)),
            Event::Reversed(refund(&first, 100)),
            Event::Reversed(refund(&first, 300)),
            Event::Failed(failed(&first, "one", 50, 7)),
            // Later than the failure: 50 of the 350 refunded have returned.
            Event::Reversed(Reversal { reported_at: at(8), ..refund(&first, 300) }),
            Event::Failed(failed(&first, "two", 20, 9)),
            Event::Reversed(dispute(&first, 400, false)),
            Event::Reversed(dispute(&first, 400, won)),
        ];
        // Each report arrives one to three times, in any order, some concurrently.
        let mut reports: Vec<&Event> =
            events.iter().flat_map(|event| vec![event; rng.random_range(1..=3)]).collect();
        reports.shuffle(&mut rng);
        while !reports.is_empty() {
            let together = reports.split_off(reports.len().saturating_sub(rng.random_range(1..=4)));
            let hear = async |event: &Event| match event {
                Event::Paid(paid) => drop(settle(&db, paid).await),
                Event::Reversed(reversal) => db.treasury.reverse_checkout(reversal, at(7)).await.unwrap(),
                Event::Failed(failed) => db.treasury.refund_failed(failed, at(7)).await.unwrap(),
            };
            futures::future::join_all(together.into_iter().map(hear)).await;
        }
        // A dispute names no checkout. If it arrives during settlement, the next run applies it.
        db.treasury.apply_reversals(at(8)).await.unwrap();
        let left = if won { 720 } else { 320 };
        assert_eq!(db.money(user).await, [left * CENT, 0, 0], "seed {seed}");
        db.assert_consistent().await;
        assert_eq!(db.treasury.apply_reversals(at(9)).await.unwrap(), 0);
    }
}

async fn the_audit_finds_credits_without_payments(db: TestDatabase) {
    let user = db.user(0).await;
    let first = checkout(&db, user, 500).await;
    settle(&db, &paid(&first)).await;
    tamper(&db.url, "UPDATE checkouts SET status = 'open'").await.unwrap();
    let audit = db.treasury.audit(ep_store::testing::test_database::SETTLED_WITHIN).await.unwrap();
    assert_eq!(audit.unproven_credits, [format!("stripe:{}", paid(&first).session)]);
    tamper(&db.url, "UPDATE checkouts SET status = 'paid', session_id = 'cs_test_x'").await.unwrap();
    let audit = db.treasury.audit(ep_store::testing::test_database::SETTLED_WITHIN).await.unwrap();
    assert_eq!(audit.unproven_credits.len(), 2, "{audit:?}");
    assert!(!audit.is_clean());
}
