//! Random changes by concurrent callers, some of them cancelled half-way, leave the ledger consistent.

use std::time::Duration;

use ep_polling::{PollId, Settlement};
use ep_store::{
    CappedKey, Cents, Epoch, FailedRefund, NewCheckout, NewDeposit, NewKey, Opened, PaidCheckout, Reversal,
    UserId,
};
use futures::future::join_all;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use crate::checkouts::checkout;
use crate::deposits::{deposit_for, final_transfer};
use crate::key_money::{capped_key, funded_key};
use ep_store::testing::test_database::{
    TestDatabase, at, ballot, closing, hold, lease, new_poll, sign_up, usd,
};

on_both_engines!(the_ledger_is_consistent_after_concurrent_changes);

const WORKERS: u64 = 8;
const STEPS: u64 = 150;

async fn the_ledger_is_consistent_after_concurrent_changes(db: TestDatabase) {
    let users = join_all((0..3).map(|_| db.user(20_000))).await;
    // All workers report the same payments, each of them several times.
    let checkouts = join_all((0..20).map(|n| checkout(&db, users[n % users.len()], 10 + n as u32))).await;
    let deposits: Vec<NewDeposit> =
        (0..10).map(|n| deposit_for((n % 2 == 0).then_some(users[n % users.len()]))).collect();
    let capped = join_all(users.iter().map(|user| capped_key(&db, *user, Some(9_000), Some(5_000)))).await;
    let shared = Workload { users: &users, checkouts: &checkouts, deposits: &deposits, capped: &capped };
    join_all((0..WORKERS).map(|seed| work(&db, &shared, seed))).await;
    db.treasury.apply_reversals(at(2)).await.unwrap();
    for credits in [
        "SELECT count(*) FROM transfers WHERE debit_account = 'sys:card'",
        "SELECT count(*) FROM transfers WHERE debit_account = 'sys:usdc'",
    ] {
        assert!(ep_store::testing::test_database::number(&db.url, credits).await > 3, "{credits}");
    }
    db.assert_consistent().await;

    // Once every poll is settled, nothing is held any more.
    db.pass(600_000).await;
    loop {
        let adopted = db.polls.adopt(&lease("successor", 900_000), Duration::ZERO, 50).await.unwrap();
        if adopted.is_empty() {
            break;
        }
        for poll in adopted {
            let stored = db.polls.poll(&poll.id).await.unwrap().unwrap();
            if stored.closing.is_none() {
                db.polls.close(&poll.id, poll.epoch, &[], &closing(None), Settlement::Later).await.unwrap();
            }
            db.polls.settle(&poll.id, poll.epoch, usd(17), usd(0), at(0)).await.unwrap();
        }
    }
    db.assert_consistent().await;
    for key in capped {
        let spent = "SELECT CAST(COALESCE(SUM(captured), 0) AS BIGINT) FROM holds WHERE key_id IS NOT NULL";
        assert!(ep_store::testing::test_database::number(&db.url, spent).await > 0);
        let keys = db.vault.keys_of(key.0, at(7)).await.unwrap();
        let listed = keys.iter().find(|listed| listed.id == key.1.key).unwrap();
        assert!(listed.spent.total <= usd(9_000) && listed.spent.today <= usd(5_000), "{listed:?}");
    }
    let funded = "SELECT count(*) FROM transfers WHERE ref LIKE 'return:%'";
    assert!(ep_store::testing::test_database::number(&db.url, funded).await > 3);
    let mut used = 0;
    let accounts: Vec<UserId> = all_accounts(&db).await;
    for user in accounts {
        let balance = db.store.balance(user).await.unwrap().unwrap();
        assert!(balance.held.is_zero());
        used += balance.used.micro();
    }
    let revenue =
        "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM transfers WHERE credit_account = 'sys:revenue'";
    assert_eq!(ep_store::testing::test_database::number(&db.url, revenue).await, used);
    let captured = "SELECT CAST(COALESCE(SUM(captured), 0) AS BIGINT) FROM holds";
    assert_eq!(ep_store::testing::test_database::number(&db.url, captured).await, used);
}

/// Reports a random event of a card payment.
async fn pay_by_card(db: &TestDatabase, checkout: &NewCheckout, rng: &mut ChaCha12Rng) {
    let reversal = |kind: &str, cents: u32, lifted| Reversal {
        reference: format!("{kind}:{}", checkout.id),
        checkout: (kind == "refund").then_some(checkout.id),
        payment: Some(format!("pi_{}", checkout.id)),
        amount: Cents(cents),
        lifted,
        reported_at: at(6),
    };
    match rng.random_range(0..7) {
        0..=2 => {
            let paid = PaidCheckout {
                checkout: checkout.id,
                session: format!("cs_test_{}", checkout.id),
                payment: Some(format!("pi_{}", checkout.id)),
                amount: checkout.amount,
            };
            drop(db.treasury.settle_checkout(&paid, at(1)).await);
        }
        3 => drop(
            db.treasury.reverse_checkout(&reversal("refund", rng.random_range(1..5), false), at(1)).await,
        ),
        4 => drop(db.treasury.reverse_checkout(&reversal("dispute", 5, rng.random_bool(0.3)), at(1)).await),
        5 => {
            let failed = FailedRefund {
                refund: format!("re_{}_{}", rng.random_range(0..3), checkout.id),
                reversal: format!("refund:{}", checkout.id),
                payment: Some(format!("pi_{}", checkout.id)),
                amount: Cents(rng.random_range(1..4)),
                failed_at: at(rng.random_range(5..8)),
            };
            drop(db.treasury.refund_failed(&failed, at(1)).await);
        }
        _ => drop(db.treasury.close_checkout(checkout.id).await),
    }
}

/// Makes a random step of a deposit.
async fn pay_in_usdc(db: &TestDatabase, deposit: &NewDeposit, rng: &mut ChaCha12Rng) {
    drop(db.treasury.begin_deposit(deposit, at(0)).await);
    let reference = &deposit.payment.reference;
    if rng.random_bool(0.3) {
        drop(db.treasury.fail_deposit(reference, None).await);
    } else {
        let payer = sign_up(deposit.payment.payer, 0);
        drop(db.treasury.credit_deposit(reference, &final_transfer(), &payer, at(1), at(9)).await);
    }
}

/// Returns every account that can have spent money.
async fn all_accounts(db: &TestDatabase) -> Vec<UserId> {
    let ids = ep_store::testing::test_database::texts(&db.url, "SELECT id FROM accounts").await;
    ids.iter().map(|id| id.parse().unwrap()).collect()
}

/// The accounts, polls and payments that all workers change.
struct Workload<'a> {
    users: &'a [UserId],
    checkouts: &'a [NewCheckout],
    deposits: &'a [NewDeposit],
    capped: &'a [(UserId, CappedKey)],
}

/// Makes a random change of pre-funded keys; adds a new key to `funded`.
async fn change_funded(
    db: &TestDatabase,
    user: UserId,
    amount: i64,
    step: u64,
    funded: &mut Vec<(UserId, NewKey)>,
    rng: &mut ChaCha12Rng,
) {
    let pick = (!funded.is_empty()).then(|| funded[rng.random_range(0..funded.len())].clone());
    match (rng.random_range(0..5), pick) {
        (0, _) | (_, None) => {
            let (key, account) = funded_key(user, amount);
            if db.vault.add_funded_key(&key, &account).await.is_ok() {
                funded.push((user, key));
            }
        }
        (1, Some((funder, key))) => {
            drop(db.vault.fund_key(funder, key.id, usd(amount), &format!("fund:{}", step % 40), at(1)).await);
        }
        (2, Some((funder, key))) => drop(db.vault.revoke_key(funder, key.id, at(1)).await),
        (_, Some((_, key))) => {
            let poll = new_poll(Some(key.user), Some(hold(amount / 3, amount)));
            if let Ok(Opened::New { .. }) = db.polls.open(&poll, &lease("a", 10)).await
                && rng.random_bool(0.5)
            {
                let settlement = Settlement::Capture(usd(amount / 2));
                drop(db.polls.close(&poll.id, Epoch::FIRST, &[], &closing(Some(0)), settlement).await);
            }
        }
    }
}

async fn work(db: &TestDatabase, shared: &Workload<'_>, seed: u64) {
    let Workload { users, checkouts, deposits, capped } = shared;
    let mut funded: Vec<(UserId, NewKey)> = Vec::new();
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let mut mine: Vec<PollId> = Vec::new();
    for step in 0..STEPS {
        let user = users[rng.random_range(0..users.len())];
        let amount = rng.random_range(0..3_000);
        let pick = (!mine.is_empty()).then(|| mine[rng.random_range(0..mine.len())].clone());
        let change = async {
            match (rng.random_range(0..16), pick) {
                (0..=3, _) | (_, None) => {
                    let mut poll = new_poll(Some(user), Some(hold(amount / 3, amount)));
                    poll.request_ref = (step % 5 == 0).then(|| format!("request:{}", step / 2));
                    let by_key = capped.iter().find(|(owner, _)| *owner == user && step % 2 == 0);
                    poll.capped = by_key.map(|(_, key)| *key);
                    if let Ok(Opened::New { .. }) = db.polls.open(&poll, &lease("a", 10)).await {
                        mine.push(poll.id);
                    }
                }
                (4, Some(poll)) => {
                    drop(db.polls.settle(&poll, Epoch::FIRST, usd(amount), usd(3), at(1)).await);
                }
                (5, Some(poll)) => {
                    drop(db.polls.close(&poll, Epoch::FIRST, &[], &closing(None), Settlement::Later).await);
                }
                (6 | 7, Some(poll)) => {
                    let settlement = Settlement::Capture(usd(amount));
                    drop(db.polls.close(&poll, Epoch::FIRST, &[], &closing(Some(0)), settlement).await);
                }
                (8, Some(poll)) => {
                    let position = step as u32 % 4;
                    drop(db.polls.record(&poll, Epoch::FIRST, &[ballot(position + 1, position)]).await);
                }
                (9, Some(_)) => {
                    let reference = format!("credit:{}", step % 40);
                    drop(db.treasury.credit(user, usd(amount), &reference, at(1)).await);
                }
                (10 | 11, Some(_)) => {
                    pay_by_card(db, &checkouts[rng.random_range(0..checkouts.len())], &mut rng).await;
                }
                (12, Some(_)) => {
                    pay_in_usdc(db, &deposits[rng.random_range(0..deposits.len())], &mut rng).await;
                }
                (14 | 15, Some(_)) => {
                    change_funded(db, user, amount.max(1), step, &mut funded, &mut rng).await;
                }
                _ => {
                    let reference = format!("debit:{}", step % 40);
                    drop(db.treasury.debit(user, usd(amount), &reference, at(1)).await);
                    drop(db.treasury.freeze(user, false).await);
                }
            }
        };
        // One caller in eight is cancelled before the response.
        if step % 8 == 7 {
            let _ = tokio::time::timeout(Duration::from_micros(300 * (step % 7)), change).await;
        } else {
            change.await;
        }
    }
}
