//! The money of batches.

use ep_polling::Settlement;
use ep_store::{
    BatchId, BatchMoney, BatchStart, BatchStatus, Epoch, NewPoll, Opened, RowBudget, RowEnd, StoreError,
    UserId,
};
use futures::future::join_all;

use crate::batches::{cancelled, completed, file, leased, new_batch, rows, started};
use ep_store::testing::test_database::{TestDatabase, at, closing, hold, lease, limits, new_poll, usd};

on_both_engines!(
    polls_draw_from_the_money_of_their_batch,
    a_batch_needs_its_money,
    rows_reserve_a_budget_once_and_return_the_rest,
    concurrent_polls_of_a_batch_never_draw_more_than_it_has,
);

fn of_batch(user: UserId, batch: BatchId, at_least: i64, at_most: i64) -> NewPoll {
    NewPoll { batch: Some(batch), ..new_poll(Some(user), Some(hold(at_least, at_most))) }
}

async fn polls_draw_from_the_money_of_their_batch(db: TestDatabase) {
    let user = db.user(1_000).await;
    let batches = &db.store;
    let id = started(&db, user, &["1", "2", "3"], Some(700)).await;
    assert_eq!(db.money(user).await, [1_000, 700, 0]);
    let first = of_batch(user, id, 10, 400);
    let opened = db.polls.open(&first, &lease("a", 10)).await.unwrap();
    assert_eq!(opened, Opened::New { held: Some(usd(400)), notifies: false });
    let second = of_batch(user, id, 10, 400);
    let opened = db.polls.open(&second, &lease("a", 10)).await.unwrap();
    assert_eq!(opened, Opened::New { held: Some(usd(300)), notifies: false });
    assert_eq!(db.money(user).await, [1_000, 700, 0]);
    db.assert_consistent().await;
    match db.polls.open(&of_batch(user, id, 10, 400), &lease("a", 10)).await {
        Err(StoreError::BatchSpent { left, needed }) => assert_eq!((left, needed), (usd(0), usd(10))),
        other => panic!("{other:?}"),
    }
    let close = async |poll: &NewPoll, spent| {
        let settlement = Settlement::Capture(usd(spent));
        db.polls.close(&poll.id, Epoch::FIRST, &[], &closing(Some(0)), settlement).await.unwrap();
    };
    // The rest returns to the batch while it is open, then to the account.
    close(&first, 150).await;
    let batch = batches.batch(user, id).await.unwrap().unwrap();
    assert_eq!((batch.held, batch.spent), (usd(550), usd(150)));
    assert_eq!(db.money(user).await, [850, 550, 150]);
    db.assert_consistent().await;
    cancelled(&db, user, id).await;
    assert_eq!(db.money(user).await, [850, 300, 150]);
    close(&second, 0).await;
    assert_eq!(db.money(user).await, [850, 0, 150]);
    db.assert_consistent().await;
    let late = db.polls.open(&of_batch(user, id, 0, 4), &lease("a", 10)).await;
    assert!(matches!(late, Err(StoreError::NotFound(_))), "{late:?}");
}

async fn rows_reserve_a_budget_once_and_return_the_rest(db: TestDatabase) {
    let user = db.user(0).await;
    let batches = &db.store;
    let batch = new_batch(user, file(&db, user, &["1", "2", "3"]).await);
    batches.create_batch(&batch, limits(9)).await.unwrap();
    let id = batch.id;
    let money = BatchMoney::Budget(Some(usd(25)));
    batches.start_batch(id, rows(3), money, at(1)).await.unwrap();
    leased(&db, id, "a", 9, 300).await;
    let reserve = async |number| batches.reserve_row(id, number, usd(10)).await.unwrap();
    let spent = async || batches.batch(user, id).await.unwrap().unwrap().spent;
    for number in [1, 1, 2] {
        assert_eq!(reserve(number).await, RowBudget::Reserved);
    }
    assert_eq!((reserve(3).await, spent().await), (RowBudget::Waits, usd(0)));
    // A process that dies between the two writes repeats both.
    for _ in 0..2 {
        batches.set_row_cost(id, 1, usd(3)).await.unwrap();
        assert_eq!(reserve(1).await, RowBudget::Reserved);
    }
    batches.end_row(id, 1, completed("{}", None)).await.unwrap();
    batches.set_row_cost(id, 1, usd(9)).await.unwrap();
    assert_eq!((reserve(3).await, spent().await), (RowBudget::Reserved, usd(3)), "12 were left");
    batches.set_row_cost(id, 2, usd(10)).await.unwrap();
    batches.end_row(id, 2, RowEnd::Failed("{}".to_owned())).await.unwrap();
    batches.set_row_cost(id, 3, usd(0)).await.unwrap();
    batches.end_row(id, 3, RowEnd::Failed("{}".to_owned())).await.unwrap();
    batches.end_batch(id, at(400)).await.unwrap();
    assert_eq!(spent().await, usd(13));
    db.assert_consistent().await;
}

async fn a_batch_needs_its_money(db: TestDatabase) {
    let user = db.user(1_000).await;
    let batches = &db.store;
    let batch = new_batch(user, file(&db, user, &["1", "2"]).await);
    batches.create_batch(&batch, limits(9)).await.unwrap();
    let start = async |at_least, at_most| {
        let money = BatchMoney::Hold(hold(at_least, at_most));
        batches.start_batch(batch.id, rows(2), money, at(1)).await
    };
    let poor = start(1_001, 5_000).await;
    assert!(matches!(poor, Err(StoreError::InsufficientBalance { .. })), "{poor:?}");
    assert_eq!(batches.batch(user, batch.id).await.unwrap().unwrap().status, BatchStatus::Validating);
    assert_eq!(start(900, 5_000).await.unwrap(), BatchStart::Started);
    assert_eq!(start(900, 5_000).await.unwrap(), BatchStart::Ended);
    assert_eq!(db.money(user).await, [1_000, 1_000, 0]);
    db.assert_consistent().await;
}

async fn concurrent_polls_of_a_batch_never_draw_more_than_it_has(db: TestDatabase) {
    let user = db.user(10_000).await;
    let id = started(&db, user, &["1", "2"], Some(1_000)).await;
    let opening = (0..24).map(|_| {
        let (polls, poll) = (db.polls.clone(), of_batch(user, id, 100, 100));
        tokio::spawn(async move {
            let opened = polls.open(&poll, &lease("a", 10)).await.is_ok();
            if opened {
                let settlement = Settlement::Capture(usd(60));
                polls.close(&poll.id, Epoch::FIRST, &[], &closing(Some(0)), settlement).await.unwrap();
            }
            opened
        })
    });
    let opened = join_all(opening).await.into_iter().filter(|opened| *opened.as_ref().unwrap()).count();
    // 15 polls leave 100, and the sixteenth leaves 40.
    assert!((10..=16).contains(&opened), "{opened}");
    let spent = 60 * opened as i64;
    assert_eq!(db.money(user).await, [10_000 - spent, 1_000 - spent, spent]);
    db.assert_consistent().await;
}
