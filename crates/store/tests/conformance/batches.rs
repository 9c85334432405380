//! Files, batches, and the leases of their rows.

use std::time::Duration;

use ep_polling::{Agreement, TokenUsage};
use ep_store::{
    AgentTask, AnswerCounts, AnswerRecord, AttemptOutcome, BatchError, BatchId, BatchLimits, BatchMoney,
    BatchStart, BatchStatus, BatchTerms, CheckedRows, ClaimLimits, FileContent, FileDeletion, FileId,
    LeasedRows, ListPosition, NewBatch, NewFile, NotificationState, RowAnswer, RowEnd, RowKind, RowResult,
    StoreError, TaskState, TaskWork, UserId, WebhookUrl,
};
use futures::future::join_all;

use ep_store::testing::test_database::{TestDatabase, at, hold, lease, limits, random};

on_both_engines!(
    files_are_lines_that_are_visible_once_complete,
    a_file_stays_while_an_open_batch_reads_it,
    a_batch_is_created_once_and_listed,
    each_row_goes_to_one_worker_until_its_lease_ends,
    a_batch_ends_when_its_rows_have_ended,
    answers_are_reviewed_in_the_order_of_their_doubt,
    a_batch_is_shared_by_its_owner,
    only_the_newest_failed_batches_stay,
    cancelled_and_expired_batches_finish_what_was_begun,
    ended_batches_and_old_files_are_deleted,
    the_end_of_a_batch_is_notified_once,
    a_task_follows_its_batch_to_the_end,
    a_task_added_while_its_batch_ends_gets_its_final_state,
);

/// Maximum number of files of an account.
const MOST: u32 = 5;
/// Maximum number of bytes of the files of an account.
const QUOTA: u64 = 1_000;

pub(crate) async fn file(db: &TestDatabase, user: UserId, lines: &[&str]) -> FileId {
    let files = &db.store;
    let id = FileId::from_random(random());
    let name = "rows.jsonl".to_owned();
    let new =
        NewFile { id, user, name, created_at: at(5), expires_at: at(10), quota: QUOTA, request_ref: None };
    files.begin_file(&new).await.unwrap();
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    let (first, rest) = lines.split_at(1);
    files.add_lines(id, 1, first, at(5)).await.unwrap();
    files.add_lines(id, 2, rest, at(5)).await.unwrap();
    let bytes = lines.iter().map(|line| line.len() as u64).sum();
    let size = FileContent { bytes, lines: lines.len() as u32, sha256: None };
    files.complete_file(id, size, at(1_000_000), MOST).await.unwrap();
    id
}

pub(crate) fn new_batch(user: UserId, file: FileId) -> NewBatch {
    let endpoint = "/v1/chat/completions".to_owned();
    NewBatch {
        id: BatchId::from_random(random()),
        user,
        file,
        terms: BatchTerms { endpoint, ..BatchTerms::default() },
        key: None,
        request_ref: None,
        created_at: at(100),
        expires_at: at(10_000),
        keep: Duration::from_secs(1),
        notify: None,
    }
}

pub(crate) fn rows(count: u32) -> CheckedRows {
    CheckedRows { lines: count, total: count, model: Some("trio".to_owned()) }
}

pub(crate) fn completed(line: &str, answer: Option<RowAnswer>) -> RowEnd {
    let usage = TokenUsage { prompt_tokens: 30, completion_tokens: 4 };
    RowEnd::Completed(RowResult { line: line.to_owned(), answer, usage })
}

/// Creates and starts a batch of these lines, with money for it.
pub(crate) async fn started(db: &TestDatabase, user: UserId, lines: &[&str], money: Option<i64>) -> BatchId {
    let batch = new_batch(user, file(db, user, lines).await);
    let batches = &db.store;
    batches.create_batch(&batch, limits(9)).await.unwrap();
    let count = lines.len() as u32;
    let money = money.map_or(BatchMoney::Budget(None), |money| BatchMoney::Hold(hold(money, money)));
    assert_eq!(
        batches.start_batch(batch.id, rows(count), money, at(200)).await.unwrap(),
        BatchStart::Started
    );
    batch.id
}

/// Leases rows; returns their numbers.
pub(crate) async fn leased(db: &TestDatabase, id: BatchId, worker: &str, limit: u32, now: i64) -> Vec<u32> {
    db.store.lease_rows(id, &lease(worker, 60_000), limit, at(now)).await.unwrap().numbers
}

/// Cancels a batch, and ends it without asking its further rows.
pub(crate) async fn cancelled(db: &TestDatabase, user: UserId, id: BatchId) {
    let batches = &db.store;
    batches.cancel_batch(user, id, at(300)).await.unwrap();
    for number in leased(db, id, "z", 99, 300).await {
        batches.end_row(id, number, RowEnd::NotAsked("{}".to_owned())).await.unwrap();
    }
    assert_eq!(batches.end_batch(id, at(400)).await.unwrap(), Some(BatchStatus::Cancelled));
}

async fn files_are_lines_that_are_visible_once_complete(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let files = &db.store;
    let new = NewFile {
        id: FileId::from_random(random()),
        user,
        name: "a".to_owned(),
        created_at: at(1),
        expires_at: at(9),
        quota: QUOTA,
        request_ref: None,
    };
    files.begin_file(&new).await.unwrap();
    let text = "{\"text\":\"\\u0000 \u{1F600}\"}\r\n".to_owned();
    files.add_lines(new.id, 1, &[text.clone(), "\n".to_owned()], at(2)).await.unwrap();
    assert_eq!(files.file(user, new.id).await.unwrap(), None);
    let size = |bytes| FileContent { bytes, lines: 2, sha256: None };
    let too_many = files.complete_file(new.id, size(900), at(20), 0).await;
    assert!(matches!(too_many, Err(StoreError::Conflict(_))), "{too_many:?}");
    files.complete_file(new.id, size(900), at(20), MOST).await.unwrap();
    let again = files.complete_file(new.id, size(1), at(20), MOST).await;
    assert!(matches!(again, Err(StoreError::NotFound(_))), "{again:?}");
    let stored = files.file(user, new.id).await.unwrap().unwrap();
    assert_eq!((stored.bytes, stored.lines, stored.expires_at), (900, 2, at(20)));
    assert_eq!(files.file(other, new.id).await.unwrap(), None);
    assert_eq!(files.lines(new.id, 0, 9).await.unwrap(), [(1, text), (2, "\n".to_owned())]);
    assert_eq!(files.lines(new.id, 1, 9).await.unwrap().len(), 1);

    let late = files.add_lines(new.id, 3, &["x\n".to_owned()], at(3)).await;
    assert!(matches!(late, Err(StoreError::NotFound("file"))), "{late:?}");

    let second = file(&db, user, &["x", "y"]).await;
    let listed = files.files_of(user, None, 9).await.unwrap();
    assert_eq!(listed.iter().map(|file| file.id).collect::<Vec<_>>(), [second, new.id]);
    let after = ListPosition { at: listed[0].created_at, id: second };
    assert_eq!(files.files_of(user, Some(after), 9).await.unwrap().len(), 1);
    assert_eq!(files.files_of(other, None, 9).await.unwrap(), []);
    let unknown = NewFile { user: UserId::from_random([9; 16]), id: FileId::from_random(random()), ..new };
    assert!(matches!(files.begin_file(&unknown).await, Err(StoreError::NotFound(_))));
}

async fn a_file_stays_while_an_open_batch_reads_it(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let (files, batches) = (&db.store, &db.store);
    let id = file(&db, user, &["a", "b"]).await;
    assert_eq!(files.delete_file(other, id).await.unwrap(), FileDeletion::Unknown);
    let batch = new_batch(user, id);
    batches.create_batch(&batch, limits(9)).await.unwrap();
    assert_eq!(files.delete_file(user, id).await.unwrap(), FileDeletion::InUse(batch.id));
    assert_eq!(files.delete_old_files(at(2_000_000), at(0), 9).await.unwrap(), 0);
    let error =
        BatchError { code: "empty_file".to_owned(), line: None, message: "m".to_owned(), param: None };
    batches.fail_batch(batch.id, std::slice::from_ref(&error), at(300)).await.unwrap();
    let failed = batches.batch(user, batch.id).await.unwrap().unwrap();
    assert_eq!(
        (failed.status, failed.errors, failed.ended_at),
        (BatchStatus::Failed, vec![error], Some(at(300)))
    );
    assert_eq!(files.delete_file(user, id).await.unwrap(), FileDeletion::Deleted);
    assert_eq!(files.lines(id, 0, 9).await.unwrap(), []);
    let gone = batches.create_batch(&new_batch(user, id), limits(9)).await;
    assert!(matches!(gone, Err(StoreError::NotFound("file"))), "{gone:?}");
}

async fn a_batch_is_created_once_and_listed(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let batches = &db.store;
    let file = file(&db, user, &["a", "b"]).await;
    let first = NewBatch { request_ref: Some("r".to_owned()), ..new_batch(user, file) };
    assert_eq!(batches.create_batch(&first, limits(2)).await.unwrap(), first.id);
    let repeated = NewBatch { request_ref: Some("r".to_owned()), ..new_batch(user, file) };
    assert_eq!(batches.create_batch(&repeated, limits(2)).await.unwrap(), first.id);
    let second = NewBatch { created_at: at(101), ..new_batch(user, file) };
    batches.create_batch(&second, limits(2)).await.unwrap();
    let third = batches.create_batch(&new_batch(user, file), limits(2)).await;
    assert!(matches!(third, Err(StoreError::Conflict(_))), "{third:?}");
    let foreign = batches.create_batch(&new_batch(other, file), limits(2)).await;
    assert!(matches!(foreign, Err(StoreError::NotFound("file"))), "{foreign:?}");
    let ids = |list: Vec<ep_store::BatchRecord>| list.into_iter().map(|b| b.id).collect::<Vec<_>>();
    assert_eq!(ids(batches.batches_of(user, None, 9).await.unwrap()), [second.id, first.id]);
    let after = ListPosition { at: at(101), id: second.id };
    assert_eq!(ids(batches.batches_of(user, Some(after), 9).await.unwrap()), [first.id]);
    assert_eq!(batches.batch(other, first.id).await.unwrap(), None);
    // The oldest one is validated first, and only by one worker.
    let validated = batches.lease_validation(&lease("a", 60_000)).await.unwrap().unwrap();
    assert_eq!(
        (validated.id, validated.terms, validated.status),
        (first.id, first.terms, BatchStatus::Validating)
    );
    assert_eq!(batches.lease_validation(&lease("b", 60_000)).await.unwrap(), None);
    assert!(batches.renew_validation(first.id, &lease("a", 60_000)).await.unwrap());
    assert!(!batches.renew_validation(first.id, &lease("b", 60_000)).await.unwrap());
    batches.release_rows("b").await.unwrap();
    assert_eq!(batches.lease_validation(&lease("c", 60_000)).await.unwrap(), None);
    batches.release_rows("a").await.unwrap();
    assert_eq!(batches.lease_validation(&lease("c", 60_000)).await.unwrap().map(|b| b.id), Some(first.id));
}

async fn each_row_goes_to_one_worker_until_its_lease_ends(db: TestDatabase) {
    let user = db.user(0).await;
    let batches = &db.store;
    let id = started(&db, user, &["1", "2", "3", "4", "5"], None).await;
    assert_eq!(batches.open_batches(9, at(300)).await.unwrap(), [(id, user)]);
    let leasing = ["a", "b", "c"].map(|worker| {
        let batches = batches.clone();
        tokio::spawn(async move {
            batches.lease_rows(id, &lease(worker, 60_000), 2, at(300)).await.unwrap().numbers
        })
    });
    let mut numbers: Vec<u32> = join_all(leasing).await.into_iter().flat_map(Result::unwrap).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert_eq!(leased(&db, id, "d", 9, 300).await, [0_u32; 0]);
    assert_eq!(batches.postpone_row(id, 3, Duration::ZERO).await.unwrap(), 0);
    assert_eq!(leased(&db, id, "d", 9, 300).await, [3]);
    batches.end_row(id, 3, completed("{}", None)).await.unwrap();
    batches.end_row(id, 3, RowEnd::Failed("late".to_owned())).await.unwrap();
    assert_eq!(batches.batch_results(id, RowKind::Completed, 0, 9).await.unwrap(), [(3, "{}".to_owned())]);
    // Renewed leases last longer than others.
    db.pass(40_000).await;
    for worker in ["a", "b", "c"] {
        batches.renew_rows(&lease(worker, 60_000)).await.unwrap();
    }
    db.pass(30_000).await;
    assert_eq!(leased(&db, id, "e", 9, 300).await, [0_u32; 0]);
    db.pass(31_000).await;
    assert_eq!(leased(&db, id, "e", 9, 300).await, [1, 2, 4, 5]);
}

async fn a_batch_ends_when_its_rows_have_ended(db: TestDatabase) {
    let user = db.user(0).await;
    let batches = &db.store;
    let id = started(&db, user, &["1", "2", "3"], None).await;
    assert_eq!(batches.end_batch(id, at(400)).await.unwrap(), None);
    assert_eq!(leased(&db, id, "a", 9, 300).await, [1, 2, 3]);
    batches.end_row(id, 1, completed("one", None)).await.unwrap();
    batches.end_row(id, 2, RowEnd::Blank).await.unwrap();
    assert_eq!(batches.end_batch(id, at(400)).await.unwrap(), None);
    let batch = batches.batch(user, id).await.unwrap().unwrap();
    assert_eq!((batch.model.as_deref(), batch.usage), (Some("trio"), None));
    batches.end_row(id, 3, RowEnd::Failed("drei €".to_owned())).await.unwrap();
    assert_eq!(batches.end_batch(id, at(400)).await.unwrap(), Some(BatchStatus::Completed));
    assert_eq!(batches.end_batch(id, at(401)).await.unwrap(), None);
    let batch = batches.batch(user, id).await.unwrap().unwrap();
    assert_eq!((batch.rows.total, batch.rows.completed, batch.rows.failed), (3, 1, 1));
    assert_eq!(batch.usage, Some(TokenUsage { prompt_tokens: 30, completion_tokens: 4 }));
    assert_eq!((batch.ended_at, batch.deleted_at), (Some(at(400)), Some(at(1_400))));
    assert_eq!(batches.results_size(id, RowKind::Completed).await.unwrap(), 4);
    assert_eq!(batches.results_size(id, RowKind::Failed).await.unwrap(), 9);
    // Stored results and the terms of batches have a limit, and the owner can delete results.
    let next = new_batch(user, file(&db, user, &["a"]).await);
    let terms = serde_json::to_string(&next.terms).unwrap();
    let limit = BatchLimits { results_bytes: 12 + 4 * terms.len() as u64, ..limits(9) };
    let refused = batches.create_batch(&next, limit).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    batches.erase_results(id, RowKind::Failed).await.unwrap();
    assert_eq!(batches.results_size(id, RowKind::Failed).await.unwrap(), 0);
    batches.create_batch(&next, limit).await.unwrap();
    assert_eq!(batches.open_batches(9, at(300)).await.unwrap(), []);
}

fn task(owner: UserId, batch: BatchId) -> AgentTask {
    AgentTask {
        id: batch.to_string(),
        owner,
        context: "conversation".to_owned(),
        client_id: None,
        opened_by: None,
        work: Some(TaskWork::Batch(batch)),
        state: TaskState::Working,
        since: at(1),
        revision: 1,
        content: "{}".to_owned(),
    }
}

async fn a_task_follows_its_batch_to_the_end(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let (batches, tasks) = (db.store.clone(), db.store.clone());
    let found = async |batch: BatchId| tasks.task(user, &batch.to_string()).await.unwrap().unwrap();
    let done = started(&db, user, &["1"], None).await;
    assert!(matches!(tasks.add_task(&task(other, done)).await, Err(StoreError::NotFound(_))));
    assert!(tasks.add_task(&task(user, done)).await.unwrap());
    assert!(!tasks.add_task(&AgentTask { id: "second".to_owned(), ..task(user, done) }).await.unwrap());
    let running = found(done).await;
    assert_eq!((running.state, running.since), (TaskState::Working, at(100)));
    assert_eq!(running.work, Some(TaskWork::Batch(done)));
    assert!(!tasks.change_task(&running).await.unwrap(), "its batch now determines its state");
    leased(&db, done, "a", 9, 300).await;
    batches.end_row(done, 1, completed("one", None)).await.unwrap();
    batches.end_batch(done, at(400)).await.unwrap();
    assert_eq!((found(done).await.state, found(done).await.since), (TaskState::Completed, at(400)));

    let stopped = started(&db, user, &["1"], None).await;
    tasks.add_task(&task(user, stopped)).await.unwrap();
    cancelled(&db, user, stopped).await;
    assert_eq!((found(stopped).await.state, found(stopped).await.since), (TaskState::Canceled, at(400)));

    let wrong = new_batch(user, file(&db, user, &["1"]).await);
    batches.create_batch(&wrong, limits(9)).await.unwrap();
    tasks.add_task(&task(user, wrong.id)).await.unwrap();
    batches.fail_batch(wrong.id, &[], at(500)).await.unwrap();
    assert_eq!((found(wrong.id).await.state, found(wrong.id).await.since), (TaskState::Failed, at(500)));

    // Neither the age of a task nor a deleted question removes it; the deletion of its batch does.
    assert_eq!(tasks.delete_abandoned_tasks(at(9_999)).await.unwrap(), 0);
    batches.delete_old_batches(at(5_000), 9).await.unwrap();
    assert_eq!(tasks.task(user, &done.to_string()).await.unwrap(), None);
}

async fn a_task_added_while_its_batch_ends_gets_its_final_state(db: TestDatabase) {
    let (batches, tasks) = (db.store.clone(), db.store.clone());
    let mut ending = Vec::new();
    for _ in 0..10 {
        let user = db.user(0).await;
        let id = started(&db, user, &["1"], None).await;
        leased(&db, id, "a", 9, 300).await;
        batches.end_row(id, 1, completed("one", None)).await.unwrap();
        ending.push((user, id));
    }
    let racing = ending.iter().map(|(user, id)| async {
        let new = task(*user, *id);
        let (added, ended) = tokio::join!(tasks.add_task(&new), batches.end_batch(*id, at(400)));
        assert_eq!((added.unwrap(), ended.unwrap()), (true, Some(BatchStatus::Completed)));
        let added = tasks.task(*user, &id.to_string()).await.unwrap().unwrap();
        assert_eq!(added.state, TaskState::Completed);
    });
    join_all(racing).await;
}

async fn answers_are_reviewed_in_the_order_of_their_doubt(db: TestDatabase) {
    let user = db.user(0).await;
    let batches = &db.store;
    let id = started(&db, user, &["1", "2", "3", "4", "5"], None).await;
    assert_eq!(leased(&db, id, "a", 9, 300).await, [1, 2, 3, 4, 5]);
    let votes = [[Some(0), Some(0), Some(0)], [Some(0), Some(1), Some(0)], [Some(0), Some(1), Some(2)]];
    let answers = [
        Some((Some("a"), Agreement::of(&votes[0], 0, true), false)),
        Some((None, Agreement::NONE, true)),
        Some((Some("b"), Agreement::of(&votes[1], 0, true), false)),
        Some((Some("a"), Agreement::of(&votes[1], 0, true), true)),
        None,
    ];
    for (number, answer) in (1..).zip(answers) {
        let answer = answer.map(|(option, agreement, contested)| RowAnswer {
            option: option.map(str::to_owned),
            agreement,
            contested,
        });
        for _ in 0..2 {
            let end = completed("{}", answer.clone());
            batches.end_row(id, number, end).await.unwrap();
        }
    }
    let numbers = |found: Vec<AnswerRecord>| found.iter().map(|answer| answer.number).collect::<Vec<u32>>();
    let queue = |after, limit| batches.answers_to_review(id, after, limit);
    let first = queue(None, 2).await.unwrap();
    let after = Some((first[1].answer.agreement, first[1].number));
    assert_eq!((numbers(first), numbers(queue(after, 9).await.unwrap())), (vec![2, 3], vec![4, 1]));
    assert_eq!(numbers(batches.answers(id, 2, 9).await.unwrap()), [3, 4]);
    let counts = AnswerCounts { all: 4, unanimous: 1, contested: 2, undecided: 1, reviewed: 0 };
    assert_eq!(batches.answer_counts(id).await.unwrap(), counts);

    assert!(batches.review_row(id, 2, Some("b"), at(400)).await.unwrap());
    assert!(batches.review_row(id, 3, Some("a"), at(401)).await.unwrap());
    assert!(batches.review_row(id, 3, None, at(402)).await.unwrap());
    assert!(!batches.review_row(id, 5, Some("a"), at(403)).await.unwrap());
    assert_eq!(numbers(queue(None, 9).await.unwrap()), [3, 4, 1]);
    let reviewed = batches.answers(id, 1, 1).await.unwrap();
    assert_eq!((reviewed[0].reviewed.as_deref(), &reviewed[0].answer.option), (Some("b"), &None));
    assert_eq!(batches.answer_counts(id).await.unwrap(), AnswerCounts { reviewed: 1, ..counts });

    batches.erase_results(id, RowKind::Failed).await.unwrap();
    assert_eq!(batches.answer_counts(id).await.unwrap().all, 4);
    batches.erase_results(id, RowKind::Completed).await.unwrap();
    assert_eq!(batches.answer_counts(id).await.unwrap(), AnswerCounts::default());
}

async fn a_batch_is_shared_by_its_owner(db: TestDatabase) {
    let (user, stranger) = (db.user(0).await, db.user(0).await);
    let batches = &db.store;
    let id = started(&db, user, &["1"], None).await;
    assert_eq!(batches.shared_batch(id).await.unwrap(), None);
    batches.share_batch(stranger, id, true).await.unwrap();
    assert_eq!(batches.shared_batch(id).await.unwrap(), None);
    batches.share_batch(user, id, true).await.unwrap();
    let shared = batches.shared_batch(id).await.unwrap().unwrap();
    assert_eq!((shared.id, shared.shared), (id, true));
    batches.share_batch(user, id, false).await.unwrap();
    assert_eq!(batches.shared_batch(id).await.unwrap(), None);
}

async fn cancelled_and_expired_batches_finish_what_was_begun(db: TestDatabase) {
    let user = db.user(1_000).await;
    let batches = &db.store;
    for (cancels, now, status) in [(true, 300, BatchStatus::Cancelled), (false, 10_000, BatchStatus::Expired)]
    {
        let id = started(&db, user, &["1", "2", "3"], Some(500)).await;
        assert_eq!(leased(&db, id, "a", 1, 300).await, [1]);
        if cancels {
            batches.cancel_batch(user, id, at(250)).await.unwrap();
            let batch = batches.batch(user, id).await.unwrap().unwrap();
            assert_eq!((batch.status, batch.cancelling_at), (BatchStatus::Cancelling, Some(at(250))));
        }
        let rest = batches.lease_rows(id, &lease("a", 60_000), 9, at(now)).await.unwrap();
        assert_eq!(rest, LeasedRows { numbers: vec![2, 3], ending: Some(status) });
        for number in rest.numbers {
            batches.end_row(id, number, RowEnd::NotAsked("{}".to_owned())).await.unwrap();
        }
        assert_eq!(batches.end_batch(id, at(now)).await.unwrap(), None);
        // Another worker finishes the row of one that is gone.
        db.pass(61_000).await;
        assert_eq!(leased(&db, id, "b", 9, now).await, [1]);
        batches.end_row(id, 1, completed("{}", None)).await.unwrap();
        assert_eq!(batches.end_batch(id, at(now)).await.unwrap(), Some(status));
        assert_eq!(batches.batch(user, id).await.unwrap().unwrap().rows.failed, 2);
        assert_eq!(db.money(user).await, [1_000, 0, 0]);
    }
    // A batch can be cancelled before it has started.
    let batch = new_batch(user, file(&db, user, &["1", "2"]).await);
    batches.create_batch(&batch, limits(9)).await.unwrap();
    batches.cancel_batch(user, batch.id, at(1)).await.unwrap();
    assert_eq!(
        batches.start_batch(batch.id, rows(2), BatchMoney::Budget(None), at(2)).await.unwrap(),
        BatchStart::Ended
    );
    assert_eq!(batches.end_batch(batch.id, at(3)).await.unwrap(), Some(BatchStatus::Cancelled));
    db.assert_consistent().await;
}

async fn the_end_of_a_batch_is_notified_once(db: TestDatabase) {
    let user = db.user(0).await;
    let (batches, webhooks) = (db.store.clone(), db.vault.clone());
    let silent = started(&db, user, &["1", "2"], None).await;
    webhooks.set_webhook_url(user, Some(&WebhookUrl::checked("https://example.com/all"))).await.unwrap();
    let usual = started(&db, user, &["1", "2"], None).await;
    let own = NewBatch {
        notify: Some(WebhookUrl::checked("https://example.com/own")),
        ..new_batch(user, file(&db, user, &["1", "2"]).await)
    };
    batches.create_batch(&own, limits(9)).await.unwrap();
    let limits = ClaimLimits { total: 9, per_account: 9, busy: &[], lasts: Duration::from_mins(1) };
    let due = async || webhooks.due_batch_notifications(limits).await.unwrap();
    assert_eq!(due().await, []);
    for id in [silent, usual, own.id] {
        cancelled(&db, user, id).await;
    }
    let mut found: Vec<(BatchId, String, u32)> =
        due().await.into_iter().map(|due| (due.about, due.url.as_str().to_owned(), due.attempts)).collect();
    found.sort_by(|a, b| a.1.cmp(&b.1));
    let expected =
        [(usual, "https://example.com/all".to_owned(), 1), (own.id, "https://example.com/own".to_owned(), 1)];
    assert_eq!(found, expected);
    assert_eq!(due().await, []);
    webhooks.batch_attempted(usual, &AttemptOutcome::Delivered).await.unwrap();
    let failed = AttemptOutcome::Failed { error: "410".to_owned() };
    webhooks.batch_attempted(own.id, &failed).await.unwrap();
    let notification = async |id| batches.batch(user, id).await.unwrap().unwrap().notification;
    assert_eq!(notification(silent).await, None);
    assert_eq!(notification(usual).await.unwrap().state, NotificationState::Delivered);
    assert_eq!(notification(own.id).await.unwrap().last_error.as_deref(), Some("410"));
    assert_eq!(batches.delete_old_batches(at(2_000), 9).await.unwrap(), 3);
}

async fn only_the_newest_failed_batches_stay(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let batches = &db.store;
    let others = new_batch(other, file(&db, other, &["1"]).await);
    batches.create_batch(&others, limits(9)).await.unwrap();
    batches.fail_batch(others.id, &[], at(9)).await.unwrap();
    let ended = started(&db, user, &["1"], None).await;
    cancelled(&db, user, ended).await;
    let rows = file(&db, user, &["1"]).await;
    let mut created = Vec::new();
    for number in 0..9 {
        let batch = NewBatch { created_at: at(1_000 + number), ..new_batch(user, rows) };
        batches.create_batch(&batch, limits(1)).await.unwrap();
        batches.fail_batch(batch.id, &[], at(2_000)).await.unwrap();
        created.insert(0, batch.id);
    }
    let found: Vec<BatchId> =
        batches.batches_of(user, None, 99).await.unwrap().into_iter().map(|batch| batch.id).collect();
    let with_results = async || -> Vec<BatchId> {
        let found = batches.batches_with_results(user, None, 99).await.unwrap();
        found.into_iter().map(|batch| batch.id).collect()
    };
    assert_eq!(with_results().await, [ended]);
    batches.erase_results(ended, RowKind::Failed).await.unwrap();
    assert!(with_results().await.is_empty());
    let stored = limits(1).failed as usize + 1;
    assert_eq!(found, [&created[..stored], &[ended]].concat(), "the newest failed ones, and all others");
    assert!(batches.batch(other, others.id).await.unwrap().is_some());
}

async fn ended_batches_and_old_files_are_deleted(db: TestDatabase) {
    let user = db.user(0).await;
    let (files, batches) = (&db.store, &db.store);
    let id = started(&db, user, &["1", "2"], None).await;
    cancelled(&db, user, id).await;
    assert_eq!(batches.delete_old_batches(at(1_399), 9).await.unwrap(), 0);
    assert_eq!(batches.delete_old_batches(at(1_400), 9).await.unwrap(), 1);
    assert_eq!(batches.batch(user, id).await.unwrap(), None);
    let unfinished = NewFile {
        id: FileId::from_random(random()),
        user,
        name: "a".to_owned(),
        created_at: at(50),
        expires_at: at(2_000_000),
        quota: QUOTA,
        request_ref: None,
    };
    files.begin_file(&unfinished).await.unwrap();
    assert_eq!(files.delete_old_files(at(999_999), at(50), 9).await.unwrap(), 0);
    assert_eq!(files.delete_old_files(at(1_000_000), at(51), 9).await.unwrap(), 2);
    assert_eq!(files.files_of(user, None, 9).await.unwrap(), []);
    // An account is deleted with its files and batches, but not while a batch is open.
    let open = started(&db, user, &["1", "2"], None).await;
    let deletion = ep_store::AccountDeletion { user, forfeit_balance: true, by_operator: true, at: at(9) };
    let refused = db.store.delete_account(deletion).await.unwrap();
    assert!(
        matches!(refused, ep_store::AccountDeletionOutcome::Rejected(o) if o.batches == 1),
        "{refused:?}"
    );
    cancelled(&db, user, open).await;
    let record = db.store.account_record(user).await.unwrap();
    assert_eq!((record.files.len(), record.batches.len()), (1, 1));
    ep_store::testing::test_database::delete_account(&db, user, at(500)).await;
    assert_eq!(batches.batches_of(user, None, 9).await.unwrap(), []);
    assert_eq!(files.files_of(user, None, 9).await.unwrap(), []);
}
