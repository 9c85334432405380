//! The private polls of deleted batches.

use ep_polling::{PollId, Settlement};
use ep_store::{BatchId, Epoch, NewPoll, PollDeletion, UserId};

use crate::batches::{cancelled, started};
use ep_store::testing::test_database::{
    TestDatabase, at, ballots, closing, delete_account, lease, new_poll, number, usd,
};

on_both_engines!(
    polls_of_a_deleted_batch_are_deleted_in_steps,
    polls_are_deleted_with_the_file_or_the_account,
    an_unsettled_poll_delays_the_next_step,
    processes_can_delete_polls_at_once,
);

/// The time of the end of [`cancelled`], and the time for which the batch is stored.
const OVER: i64 = 400 + 1_000;

/// Opens the poll of a row.
async fn opened(db: &TestDatabase, user: UserId, batch: BatchId, row: u32, private: bool) -> PollId {
    let mut poll = NewPoll {
        request_ref: Some(batch.reference(row)),
        created_at: at(i64::from(row)),
        ..new_poll(Some(user), None)
    };
    poll.plan.private = private;
    db.polls.open(&poll, &lease("a", 60_000)).await.unwrap();
    poll.id
}

async fn ended(db: &TestDatabase, poll: &PollId) {
    db.polls.record(poll, Epoch::FIRST, &ballots(1..=3)).await.unwrap();
    db.polls.close(poll, Epoch::FIRST, &[], &closing(None), Settlement::Later).await.unwrap();
    db.polls.settle(poll, Epoch::FIRST, usd(0), usd(0), at(9)).await.unwrap();
}

/// Adds polls to the rows of a cancelled batch, in turns private and public; returns them.
async fn with_polls(db: &TestDatabase, user: UserId, batch: BatchId, count: u32) -> [Vec<PollId>; 2] {
    let mut polls = [Vec::new(), Vec::new()];
    for row in 1..=count {
        let is_public = row.is_multiple_of(3);
        let poll = opened(db, user, batch, row, !is_public).await;
        ended(db, &poll).await;
        polls[usize::from(is_public)].push(poll);
    }
    polls
}

async fn batch(db: &TestDatabase, user: UserId) -> BatchId {
    let id = started(db, user, &["1"], None).await;
    cancelled(db, user, id).await;
    id
}

/// Runs all steps; returns their sizes.
async fn steps(db: &TestDatabase, limit: u32) -> Vec<u64> {
    let mut sizes = Vec::new();
    while let Some(size) = db.runtime.erase_polls_of_batches(at(9), limit).await.unwrap() {
        sizes.push(size);
        assert!(sizes.len() < 99, "{sizes:?}");
    }
    sizes
}

async fn exist(db: &TestDatabase, polls: &[PollId]) -> Vec<bool> {
    let found = polls.iter().map(async |poll| db.polls.poll(poll).await.unwrap().is_some());
    futures::future::join_all(found).await
}

async fn polls_of_a_deleted_batch_are_deleted_in_steps(db: TestDatabase) {
    let user = db.user(0).await;
    let (first, second) = (batch(&db, user).await, batch(&db, user).await);
    let [private, public] = with_polls(&db, user, first, 11).await;
    let [other, _] = with_polls(&db, user, second, 2).await;
    let asked = opened(&db, user, BatchId::from_random([7; 16]), 1, true).await;
    assert!(steps(&db, 4).await.is_empty(), "nothing is deleted");
    let sums = db.runtime.sums().await.unwrap();
    assert_eq!(db.store.delete_old_batches(at(OVER), 1).await.unwrap(), 1);
    let is_first = db.store.batch(user, first).await.unwrap().is_none();
    let (gone, stay) = if is_first { (&private, &other) } else { (&other, &private) };
    let sizes = steps(&db, 4).await;
    assert!(sizes.iter().all(|size| *size <= 4), "{sizes:?}");
    assert_eq!(exist(&db, gone).await, vec![false; gone.len()]);
    assert_eq!(exist(&db, stay).await, vec![true; stay.len()]);
    assert_eq!(exist(&db, &public).await, vec![true; public.len()]);
    assert_eq!(exist(&db, &[asked]).await, [true]);
    let plans = number(&db.url, "SELECT COUNT(*) FROM plans").await;
    assert_eq!(plans as usize, stay.len() + public.len() + 1);
    let after = db.runtime.sums().await.unwrap();
    assert_eq!(after.service.polls, sums.service.polls);
    db.assert_consistent().await;
}

async fn polls_are_deleted_with_the_file_or_the_account(db: TestDatabase) {
    let (of_file, of_account) = (db.user(0).await, db.user(0).await);
    let file_batch = batch(&db, of_file).await;
    let [private, public] = with_polls(&db, of_file, file_batch, 3).await;
    let account_batch = batch(&db, of_account).await;
    let [questions, _] = with_polls(&db, of_account, account_batch, 3).await;
    delete_account(&db, of_account, at(10)).await;
    steps(&db, 2).await;
    assert_eq!(exist(&db, &questions).await, [false; 2]);
    assert_eq!(exist(&db, &private).await, [true; 2]);
    // Its owner reads the results until the batch is deleted.
    assert_eq!(db.store.delete_old_files(at(1_000_000), at(0), 9).await.unwrap(), 1);
    steps(&db, 2).await;
    assert_eq!(exist(&db, &private).await, [false; 2]);
    assert_eq!(exist(&db, &public).await, [true]);
    assert!(db.store.batch(of_file, file_batch).await.unwrap().is_some());
    assert_eq!(db.store.delete_old_batches(at(OVER), 9).await.unwrap(), 1);
    steps(&db, 2).await;
    db.assert_consistent().await;
}

async fn an_unsettled_poll_delays_the_next_step(db: TestDatabase) {
    let user = db.user(0).await;
    let id = batch(&db, user).await;
    let (first, second) = (opened(&db, user, id, 1, true).await, opened(&db, user, id, 2, true).await);
    ended(&db, &first).await;
    db.store.delete_old_batches(at(OVER), 9).await.unwrap();
    assert_eq!(db.runtime.erase_polls_of_batches(at(9), 9).await.unwrap(), Some(1));
    assert_eq!(db.runtime.erase_polls_of_batches(at(9), 9).await.unwrap(), Some(0));
    assert_eq!(exist(&db, &[first, second.clone()]).await, [false, true]);
    ended(&db, &second).await;
    steps(&db, 9).await;
    assert_eq!(exist(&db, &[second]).await, [false]);
}

async fn processes_can_delete_polls_at_once(db: TestDatabase) {
    let user = db.user(0).await;
    let id = batch(&db, user).await;
    let [private, public] = with_polls(&db, user, id, 12).await;
    assert_eq!(db.polls.delete(&private[0], at(9), "deleted").await.unwrap(), PollDeletion::Deleted);
    db.store.delete_old_batches(at(OVER), 9).await.unwrap();
    // A step that meets another one changes nothing.
    let both = async || steps(&db, 2).await;
    futures::future::join(both(), both()).await;
    assert_eq!(exist(&db, &private).await, vec![false; private.len()]);
    assert_eq!(exist(&db, &public).await, vec![true; public.len()]);
    db.assert_consistent().await;
}
