//! Callers cancelled at each await point of a change: no change is lost or doubled, and it can be repeated.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use ep_polling::Settlement;
use ep_store::{Cents, Epoch, Reversal};

use crate::checkouts::{checkout, paid};
use crate::deposits::{deposit_for, final_transfer};
use crate::key_money::funded_key;
use crate::reputation::real;
use ep_store::testing::test_database::{
    TestDatabase, at, ballots, closing, hold, lease, new_poll, sign_up, usd, wallet,
};

on_both_engines!(a_change_cancelled_at_any_await_point_can_be_repeated);

/// The maximum number of await points of a change.
const MOST: usize = 300;

/// Polls a future at most this often, and drops it if it has not completed by then.
async fn up_to<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Makes a change, cancels it after this many polls, and makes it again. Returns `true` if the first attempt
/// completed. The second attempt may be rejected, or find the change already made.
macro_rules! twice {
    ($polls:expr, $change:expr) => {{
        let ended = up_to($polls, async { drop($change.await) }).await.is_some();
        drop($change.await);
        ended
    }};
}

async fn open_a_poll(db: &TestDatabase, polls: usize) -> bool {
    let user = db.user(1_000).await;
    let mut poll = new_poll(Some(user), Some(hold(1, 600)));
    poll.request_ref = Some(format!("request of {}", poll.id));
    let lease = lease("a", 60_000);
    let ended = twice!(polls, db.polls.open(&poll, &lease));
    assert_eq!(db.money(user).await, [1_000, 600, 0]);
    ended
}

async fn close_a_poll(db: &TestDatabase, polls: usize) -> bool {
    let user = db.user(1_000).await;
    let poll = db.running(Some(user), Some(hold(1, 600))).await;
    let closing = closing(Some(0));
    let ended =
        twice!(polls, db.polls.close(&poll, Epoch::FIRST, &[], &closing, Settlement::Capture(usd(250))));
    assert_eq!(db.money(user).await, [750, 0, 250]);
    ended
}

async fn settle_a_poll(db: &TestDatabase, polls: usize) -> bool {
    let user = db.user(1_000).await;
    let poll = db.running(Some(user), Some(hold(1, 600))).await;
    db.polls.close(&poll, Epoch::FIRST, &[], &closing(None), Settlement::Later).await.unwrap();
    let ended = twice!(polls, db.polls.settle(&poll, Epoch::FIRST, usd(300), usd(20), at(9)));
    assert_eq!(db.money(user).await, [700, 0, 300]);
    ended
}

async fn credit_an_account(db: &TestDatabase, polls: usize) -> bool {
    let user = db.user(0).await;
    let reference = format!("gift to {user}");
    let ended = twice!(polls, db.treasury.credit(user, usd(500), &reference, at(1)));
    assert_eq!(db.money(user).await, [500, 0, 0]);
    ended
}

async fn debit_an_account(db: &TestDatabase, polls: usize) -> bool {
    let (user, operator) = (db.user(900).await, db.treasury.clone());
    let reference = format!("fine of {user}");
    let ended = twice!(polls, operator.debit(user, usd(500), &reference, at(1)));
    assert_eq!(db.money(user).await, [400, 0, 0]);
    ended
}

async fn settle_a_card_payment(db: &TestDatabase, polls: usize) -> bool {
    let user = db.user(0).await;
    let paid = paid(&checkout(db, user, 7).await);
    let ended = twice!(polls, db.treasury.settle_checkout(&paid, at(1)));
    assert_eq!(db.money(user).await, [70_000, 0, 0]);
    ended
}

async fn reverse_a_card_payment(db: &TestDatabase, polls: usize) -> bool {
    let user = db.user(0).await;
    let checkout = checkout(db, user, 7).await;
    db.treasury.settle_checkout(&paid(&checkout), at(1)).await.unwrap();
    let (key, account) = funded_key(user, 50_000);
    db.vault.add_funded_key(&key, &account).await.unwrap();
    let reversal = Reversal {
        reference: format!("refund:{}", checkout.id),
        checkout: Some(checkout.id),
        payment: None,
        amount: Cents(6),
        lifted: false,
        reported_at: at(6),
    };
    let ended = twice!(polls, async {
        drop(db.treasury.reverse_checkout(&reversal, at(2)).await);
        db.treasury.apply_reversals(at(3)).await
    });
    assert_eq!([db.money(user).await[0], db.money(key.user).await[0]], [0, 10_000]);
    ended
}

async fn credit_a_deposit(db: &TestDatabase, polls: usize) -> bool {
    let deposit = deposit_for(None);
    let payer = sign_up(deposit.payment.payer, 0);
    let ended = twice!(polls, async {
        drop(db.treasury.begin_deposit(&deposit, at(0)).await);
        db.treasury.credit_deposit(&deposit.payment.reference, &final_transfer(), &payer, at(2), at(9)).await
    });
    let user = db.treasury.user_of(&payer.identity).await.unwrap().unwrap();
    assert_eq!(db.money(user).await, [deposit.payment.amount.micro(), 0, 0]);
    ended
}

async fn make_and_fund_a_key(db: &TestDatabase, polls: usize) -> bool {
    let user = db.user(1_000).await;
    let (key, account) = funded_key(user, 300);
    let reference = format!("fund {user}");
    let ended = twice!(polls, async {
        drop(db.vault.add_funded_key(&key, &account).await);
        db.vault.fund_key(user, key.id, usd(200), &reference, at(1)).await
    });
    assert_eq!([db.money(user).await[0], db.money(key.user).await[0]], [500, 500]);
    ended
}

async fn revoke_a_key(db: &TestDatabase, polls: usize) -> bool {
    let user = db.user(1_000).await;
    let (key, account) = funded_key(user, 300);
    db.vault.add_funded_key(&key, &account).await.unwrap();
    let ended = twice!(polls, db.vault.revoke_key(user, key.id, at(1)));
    assert_eq!([db.money(user).await[0], db.money(key.user).await[0]], [1_000, 0]);
    ended
}

async fn sign_a_wallet_up(db: &TestDatabase, polls: usize) -> bool {
    let sign_up = sign_up(wallet(), 700);
    let ended = twice!(polls, db.treasury.sign_up(&sign_up));
    let user = db.treasury.user_of(&sign_up.identity).await.unwrap().unwrap();
    assert_eq!(db.money(user).await, [700, 0, 0]);
    ended
}

async fn count_a_poll(db: &TestDatabase, polls: usize) -> bool {
    let (poll, reputation) = (real(None), db.runtime.clone());
    // The polls of earlier changes.
    while reputation.count_polls(50).await.unwrap() > 0 {}
    db.polls.open(&poll, &lease("a", 60_000)).await.unwrap();
    db.polls.record(&poll.id, Epoch::FIRST, &ballots(1..=4)).await.unwrap();
    let capture = Settlement::Capture(usd(0));
    db.polls.close(&poll.id, Epoch::FIRST, &[], &closing(Some(0)), capture).await.unwrap();
    let before = reputation.sums().await.unwrap().service.polls;
    let ended = twice!(polls, reputation.count_polls(1));
    // The cancelled caller may have counted the poll after it was read again.
    assert_eq!(reputation.count_polls(1).await.unwrap(), 0);
    assert_eq!(reputation.sums().await.unwrap().service.polls, before + 1);
    ended
}

async fn a_change_cancelled_at_any_await_point_can_be_repeated(db: TestDatabase) {
    macro_rules! at_each_point {
        ($($change:ident),* $(,)?) => {$(
            let mut points = 0;
            while !$change(&db, points).await {
                points += 1;
                assert!(points < MOST, "{} does not end", stringify!($change));
            }
            assert!(points > 0, "{} never waits", stringify!($change));
            db.assert_consistent().await;
        )*};
    }
    at_each_point!(
        open_a_poll,
        close_a_poll,
        settle_a_poll,
        credit_an_account,
        debit_an_account,
        settle_a_card_payment,
        reverse_a_card_payment,
        credit_a_deposit,
        make_and_fund_a_key,
        revoke_a_key,
        sign_a_wallet_up,
        count_a_poll,
    );
}
