//! Reading and deleting the data of accounts and polls.

use std::path::Path;

use ep_polling::{PollId, Settlement};
use ep_store::{
    AccountDeletion, AccountDeletionOutcome, AgentTask, DeletionObstacles, Epoch, FeedbackEntry, FeedbackId,
    NewFeedback, NewSession, PollDeletion, PollSearch, StoreError, TaskState, TaskWork, TokenHash, UserId,
    WebhookUrl,
};

use crate::checkouts::{checkout, new_checkout, paid};
use crate::deposits::deposit_for;
use crate::key_money::funded_key;
use crate::keys::new_key;
use crate::reputation::real;
use ep_store::testing::test_database::{
    TestDatabase, at, ballots, closing, delete_account, hold, lease, open_sqlite, random, sign_up, tamper,
    texts, usd, wallet,
};

on_both_engines!(
    an_account_with_open_polls_or_payments_is_not_deleted,
    a_frozen_account_is_deleted_by_the_operator_alone,
    nothing_begins_on_a_deleted_account,
    a_deleted_poll_is_missing_from_lists_but_not_from_ledger_and_sums,
    an_unsettled_poll_is_not_deleted,
    the_lists_of_an_account_are_read_in_pages,
);

/// A text that can be found wherever it is stored.
const MARK: &str = "Zebra-Quartz-4711";

async fn end(db: &TestDatabase, poll: &PollId) {
    let capture = Settlement::Capture(usd(60));
    db.polls.close(poll, Epoch::FIRST, &[], &closing(Some(0)), capture).await.unwrap();
}

async fn submit_feedback(db: &TestDatabase, user: UserId, poll: &PollId, notes: &str) {
    let entry = FeedbackEntry {
        outcome_correct: Some(true),
        confidence: None,
        notes: Some(notes.to_owned()),
        created_at: at(1),
    };
    let new = NewFeedback { id: FeedbackId::from_random(random()), poll: poll.clone(), user, entry };
    db.store.submit_feedback(&new).await.unwrap();
}

fn task(owner: UserId, id: &str, poll: Option<PollId>) -> AgentTask {
    AgentTask {
        id: id.to_owned(),
        owner,
        context: "conversation".to_owned(),
        client_id: None,
        opened_by: None,
        state: if poll.is_some() { TaskState::Working } else { TaskState::InputRequired },
        work: poll.map(TaskWork::Poll),
        since: at(1),
        revision: 1,
        content: format!("{{\"messages\":[\"{MARK} {}\"]}}", "long ".repeat(3_000)),
    }
}

async fn delete(db: &TestDatabase, user: UserId, forfeit_balance: bool) -> AccountDeletionOutcome {
    let deletion = AccountDeletion { user, forfeit_balance, by_operator: false, at: at(9) };
    db.store.delete_account(deletion).await.unwrap()
}

async fn an_account_with_open_polls_or_payments_is_not_deleted(db: TestDatabase) {
    let user = db.user(1_000).await;
    let (key, account) = funded_key(user, 300);
    db.vault.add_funded_key(&key, &account).await.unwrap();
    let judged = db.running(Some(user), None).await;
    end(&db, &judged).await;
    submit_feedback(&db, user, &judged, "stays").await;
    let polls = [db.running(Some(user), None).await, db.running(Some(key.user), Some(hold(1, 100))).await];
    let open = checkout(&db, user, 500).await;
    let deposit = deposit_for(Some(user));
    db.treasury.begin_deposit(&deposit, at(0)).await.unwrap();
    let wanted = DeletionObstacles {
        polls: 2,
        checkouts: 1,
        deposits: 1,
        batches: 0,
        balance: usd(900),
        frozen: false,
    };
    assert_eq!(delete(&db, user, false).await, AccountDeletionOutcome::Rejected(wanted));
    let unconfirmed = DeletionObstacles { balance: usd(0), ..wanted };
    assert_eq!(delete(&db, user, true).await, AccountDeletionOutcome::Rejected(unconfirmed));
    let feedback = db.store.feedback_after(user, "", 9).await.unwrap();
    assert_eq!(feedback.len(), 1, "a rejected deletion changes nothing");

    for poll in &polls {
        end(&db, poll).await;
    }
    db.treasury.close_checkout(open.id).await.unwrap();
    db.treasury.fail_deposit(&deposit.payment.reference, Some(at(99))).await.unwrap();
    let watched = DeletionObstacles { deposits: 1, ..DeletionObstacles::default() };
    assert_eq!(
        delete(&db, user, true).await,
        AccountDeletionOutcome::Rejected(watched),
        "it can still be credited"
    );
    db.treasury.fail_deposit(&deposit.payment.reference, None).await.unwrap();
    let left = DeletionObstacles { balance: usd(940), ..DeletionObstacles::default() };
    assert_eq!(delete(&db, user, false).await, AccountDeletionOutcome::Rejected(left));
    assert_eq!(delete(&db, user, true).await, AccountDeletionOutcome::Deleted { forfeited: usd(940) });
    assert_eq!(delete(&db, user, false).await, AccountDeletionOutcome::Deleted { forfeited: usd(0) });
    assert!(db.store.feedback_after(user, "", 9).await.unwrap().is_empty());
    db.assert_consistent().await;
    let unknown_user = AccountDeletion {
        user: UserId::from_random([9; 16]),
        forfeit_balance: true,
        by_operator: false,
        at: at(9),
    };
    let unknown = db.store.delete_account(unknown_user).await;
    assert!(matches!(unknown, Err(StoreError::NotFound("account"))), "{unknown:?}");
}

async fn a_frozen_account_is_deleted_by_the_operator_alone(db: TestDatabase) {
    let user = db.user(1_000).await;
    db.treasury.freeze(user, true).await.unwrap();
    let frozen = DeletionObstacles { frozen: true, ..DeletionObstacles::default() };
    assert_eq!(delete(&db, user, true).await, AccountDeletionOutcome::Rejected(frozen));
    delete_account(&db, user, at(9)).await;
    db.assert_consistent().await;
}

async fn nothing_begins_on_a_deleted_account(db: TestDatabase) {
    let user = db.user(0).await;
    delete_account(&db, user, at(9)).await;
    let session = NewSession { hash: TokenHash::of("late"), user, created_at: at(9), provider_token: None };
    let begun = [
        db.vault.start_session(&session).await,
        db.vault.add_key(&new_key(user)).await.map(drop),
        db.vault.rotate_keys(&new_key(user)).await.map(drop),
        db.treasury.add_checkout(&new_checkout(user, 500)).await,
        db.treasury.begin_deposit(&deposit_for(Some(user)), at(0)).await.map(drop),
    ];
    for begun in begun {
        assert!(matches!(begun, Err(StoreError::NotFound("account"))), "{begun:?}");
    }
    db.assert_consistent().await;
}

async fn a_deleted_poll_is_missing_from_lists_but_not_from_ledger_and_sums(db: TestDatabase) {
    let (user, other) = (db.user(1_000).await, db.user(0).await);
    let mut poll = real(Some(user));
    poll.hold = Some(hold(1, 100));
    poll.notify = Some(WebhookUrl::checked("https://a.example/"));
    poll.request_ref = Some(format!("request {}", poll.id));
    db.polls.open(&poll, &lease("worker", 60_000)).await.unwrap();
    db.polls.record(&poll.id, Epoch::FIRST, &ballots(1..=3)).await.unwrap();
    db.store.add_task(&task(user, "task", Some(poll.id.clone()))).await.unwrap();
    end(&db, &poll.id).await;
    submit_feedback(&db, other, &poll.id, MARK).await;
    while db.runtime.count_polls(9).await.unwrap() > 0 {}
    // It is due for a recount.
    submit_feedback(&db, user, &poll.id, MARK).await;
    let (money, sums) = (db.money(user).await, db.runtime.sums().await.unwrap());
    let reply =
        format!("INSERT INTO replays VALUES ('scope', 'f', 0, 99, '{{\"poll_id\":\"{}\"}}', 1)", poll.id);
    tamper(&db.url, reply).await.unwrap();

    assert_eq!(db.polls.delete(&poll.id, at(9), "deleted").await.unwrap(), PollDeletion::Deleted);
    assert!(db.polls.poll(&poll.id).await.unwrap().is_none());
    assert!(db.polls.progress(&poll.id).await.unwrap().is_none());
    assert!(db.polls.ballots(&poll.id, 0).await.unwrap().is_empty());
    assert!(matches!(db.polls.delete(&poll.id, at(9), "deleted").await, Err(StoreError::NotFound(_))));
    let history = &db.store;
    assert!(history.polls_of(user, 9, 0).await.unwrap().is_empty());
    assert!(
        history
            .find_polls(user, PollSearch { words: &["tabs"], ..PollSearch::default() }, 9, 0)
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(history.spending(user, at(0)).await.unwrap()[0].cost, usd(60), "its cost stays");
    assert!(db.store.task(user, "task").await.unwrap().is_none());
    assert!(db.vault.notifications_of(user, 9).await.unwrap().is_empty());
    assert_eq!(texts(&db.url, "SELECT question FROM plans").await, [""; 0]);
    assert_eq!(db.money(user).await, money);
    let replies = texts(&db.url, "SELECT reply FROM replays").await;
    assert_eq!(replies, ["deleted"]);
    // The new judgement is in the sums of deleted polls.
    let after = db.runtime.sums().await.unwrap();
    assert_eq!((after.service.polls, after.service.cost), (sums.service.polls, sums.service.cost));
    assert!(db.store.feedback_on(&poll.id).await.unwrap().entries.is_empty());
    while db.runtime.count_polls(9).await.unwrap() > 0 {}
    db.assert_consistent().await;
    // The account can be deleted afterwards.
    delete_account(&db, user, at(10)).await;
    db.assert_consistent().await;
}

async fn an_unsettled_poll_is_not_deleted(db: TestDatabase) {
    let user = db.user(1_000).await;
    let poll = db.running(Some(user), Some(hold(1, 100))).await;
    assert_eq!(db.polls.delete(&poll, at(9), "deleted").await.unwrap(), PollDeletion::Unsettled);
    db.polls.close(&poll, Epoch::FIRST, &[], &closing(None), Settlement::Later).await.unwrap();
    assert_eq!(db.polls.delete(&poll, at(9), "deleted").await.unwrap(), PollDeletion::Unsettled);
    db.polls.settle(&poll, Epoch::FIRST, usd(5), usd(0), at(6)).await.unwrap();
    assert_eq!(db.polls.delete(&poll, at(9), "deleted").await.unwrap(), PollDeletion::Deleted);
    let unknown: PollId = "EP-20260131-0000000000".parse().unwrap();
    assert!(matches!(db.polls.delete(&unknown, at(9), "deleted").await, Err(StoreError::NotFound(_))));
}

async fn the_lists_of_an_account_are_read_in_pages(db: TestDatabase) {
    let new = sign_up(wallet(), 500);
    db.treasury.sign_up(&new).await.unwrap();
    let user = new.user.id;
    let data = &db.store;
    let session = NewSession { hash: TokenHash::of("token"), user, created_at: at(3), provider_token: None };
    db.vault.start_session(&session).await.unwrap();
    let payment = checkout(&db, user, 500).await;
    db.treasury.settle_checkout(&paid(&payment), at(5)).await.unwrap();
    db.treasury.begin_deposit(&deposit_for(Some(user)), at(0)).await.unwrap();
    db.vault.set_webhook_url(user, Some(&WebhookUrl::checked("https://a.example/"))).await.unwrap();
    db.store.set_confirm_above(user, Some(usd(7))).await.unwrap();
    let account = data.account_record(user).await.unwrap();
    assert_eq!(account.identities.len(), 1);
    assert_eq!((account.sessions.len(), account.card_payments[0].status.as_str()), (1, "paid"));
    assert_eq!(
        (account.chain_payments[0].status.as_str(), account.confirm_above_micro_usd),
        ("settling", Some(7))
    );
    assert_eq!((account.balance_micro_usd, account.held_micro_usd), (5_000_500, 0));
    assert_eq!(account.webhook_url.as_deref(), Some("https://a.example/"));

    let first = data.transfers_after(user, 0, 1).await.unwrap();
    assert_eq!(first[0].transfer.reference, format!("starter:{user}"));
    let second = data.transfers_after(user, first[0].number, 9).await.unwrap();
    assert_eq!(second.len(), 1);
    let payments = async |limit| data.newest_payments(user, limit).await.unwrap();
    assert_eq!(payments(1).await, [second[0].transfer.clone()]);
    assert_eq!(payments(9).await, [second[0].transfer.clone(), first[0].transfer.clone()]);
    let session = account.card_payments[0].session_id.as_deref().unwrap();
    let found = data.card_payment(user, session).await.unwrap();
    assert_eq!(found.as_ref(), Some(&account.card_payments[0]));
    let other = UserId::from_random([9; 16]);
    assert_eq!(data.card_payment(other, session).await.unwrap(), None);
    assert_eq!(data.card_payment(user, "cs_unknown").await.unwrap(), None);
    for id in ["b", "a", "c"] {
        db.store.add_task(&task(user, id, None)).await.unwrap();
    }
    let ids = async |after: &str, limit| {
        let tasks = data.tasks_after(user, after, limit).await.unwrap();
        tasks.into_iter().map(|task| task.id).collect::<String>()
    };
    assert_eq!((ids("", 2).await, ids("b", 9).await), ("ab".to_owned(), "c".to_owned()));
    assert!(data.tasks_after(user, "", 9).await.unwrap()[0].content.contains_key("messages"));
    let polls = [db.running(Some(user), None).await, db.running(Some(user), None).await];
    for poll in &polls {
        end(&db, poll).await;
        submit_feedback(&db, user, poll, MARK).await;
    }
    let entries = data.feedback_after(user, "", 1).await.unwrap();
    let rest = data.feedback_after(user, entries[0].poll_id.as_str(), 9).await.unwrap();
    assert_eq!((entries.len(), rest.len()), (1, 1));
    assert_eq!(data.notifications_after(user, "", 9).await.unwrap().len(), 2);
    assert!(matches!(
        data.account_record(UserId::from_random([9; 16])).await,
        Err(StoreError::NotFound("account"))
    ));
}

/// Counts occurrences of the mark in the database's files.
fn marks(url: &str) -> usize {
    let file = Path::new(url.strip_prefix("sqlite://").unwrap());
    let count = |bytes: &[u8]| bytes.windows(MARK.len()).filter(|bytes| *bytes == MARK.as_bytes()).count();
    let files = std::fs::read_dir(file.parent().unwrap()).unwrap();
    files.map(|file| count(&std::fs::read(file.unwrap().path()).unwrap())).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_deleted_data_is_left_in_the_files() {
    let db = TestDatabase::sqlite().await;
    let others = [db.user(0).await, db.user(0).await];
    let user = db.user(0).await;
    let url = WebhookUrl::checked(format!("https://{MARK}.example/"));
    db.vault.set_webhook_url(user, Some(&url)).await.unwrap();
    for round in 0..40 {
        let mut poll = real(Some(user));
        poll.plan.question = format!("{MARK} {round}?").into();
        db.polls.open(&poll, &lease("worker", 60_000)).await.unwrap();
        db.polls.record(&poll.id, Epoch::FIRST, &ballots(1..=3)).await.unwrap();
        db.store.add_task(&task(user, &format!("task {round}"), None)).await.unwrap();
        db.store.add_task(&task(user, poll.id.as_str(), Some(poll.id.clone()))).await.unwrap();
        end(&db, &poll.id).await;
        submit_feedback(&db, user, &poll.id, &format!("{MARK} {round}")).await;
        // Rows of other accounts lie in between.
        submit_feedback(&db, others[round % 2], &poll.id, "fine").await;
        db.runtime.count_polls(9).await.unwrap();
        let mut key = crate::keys::new_key(user);
        key.label = format!("{MARK} {round}").parse().unwrap();
        db.vault.add_key(&key).await.unwrap();
        tamper(&db.url, format!("UPDATE users SET email = '{MARK}@{round}.example' WHERE id = '{user}'"))
            .await
            .unwrap();
        if round % 4 == 0 {
            db.polls.delete(&poll.id, at(9), "deleted").await.unwrap();
        }
    }
    assert!(marks(&db.url) > 100);
    delete_account(&db, user, at(9)).await;
    let mine = texts(&db.url, "SELECT id FROM polls WHERE deleted_at IS NULL").await;
    for poll in mine {
        db.polls.delete(&poll.parse().unwrap(), at(9), "deleted").await.unwrap();
    }
    assert!(db.store.purge_deleted().await.unwrap());
    assert_eq!(marks(&db.url), 0);
    db.assert_consistent().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_with_readers_is_emptied_later() {
    let db = TestDatabase::sqlite().await;
    let user = db.user(0).await;
    let file = db.url.strip_prefix("sqlite://").unwrap();
    let reader = open_sqlite(file);
    reader.execute_batch("BEGIN; SELECT COUNT(*) FROM users").unwrap();
    delete_account(&db, user, at(9)).await;
    assert!(!db.store.purge_deleted().await.unwrap());
    let log = || std::fs::metadata(format!("{file}-wal")).unwrap().len();
    assert!(log() > 0);
    reader.execute_batch("ROLLBACK").unwrap();
    db.runtime.sweep_claims(at(9)).await.unwrap();
    assert_eq!(log(), 0, "the next sweep empties it");
}
