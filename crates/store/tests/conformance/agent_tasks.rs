//! Agent tasks.

use ep_polling::{PollId, Settlement};
use ep_store::{
    AgentTask, Epoch, MAX_TASKS_WITHOUT_WORK, StoreError, TaskFilter, TaskState, TaskWork, UserId,
};
use futures::future::join_all;

use ep_store::testing::test_database::{TestDatabase, at, closing, delete_account, new_poll, tamper, usd};

on_both_engines!(
    a_task_belongs_to_its_owner_and_is_opened_once,
    a_task_follows_its_poll_to_the_end,
    a_task_is_changed_until_it_has_a_poll,
    tasks_are_listed_by_the_time_of_their_status,
    tasks_of_polls_of_an_unknown_form_are_not_listed,
    a_task_added_after_its_polls_end_gets_its_final_state,
    of_tasks_without_work_the_newest_remain,
    abandoned_tasks_and_those_of_erased_accounts_are_deleted,
);

/// Returns a task that waits for its agent.
fn waiting(owner: UserId, id: &str, since: i64) -> AgentTask {
    AgentTask {
        id: id.to_owned(),
        owner,
        context: "conversation é".to_owned(),
        client_id: None,
        opened_by: None,
        work: None,
        state: TaskState::InputRequired,
        since: at(since),
        revision: 1,
        content: "{\"messages\":[\"é\"]}".to_owned(),
    }
}

fn of_poll(owner: UserId, poll: &PollId) -> AgentTask {
    let work = Some(TaskWork::Poll(poll.clone()));
    AgentTask { work, state: TaskState::Working, ..waiting(owner, poll.as_str(), 0) }
}

async fn close(db: &TestDatabase, poll: &PollId, cancelled: bool) {
    let closing = ep_store::Closing { cancelled, ..closing(Some(0)) };
    db.polls.close(poll, Epoch::FIRST, &[], &closing, Settlement::Capture(usd(0))).await.unwrap();
}

async fn a_task_belongs_to_its_owner_and_is_opened_once(db: TestDatabase) {
    let (owner, other) = (db.user(0).await, db.user(0).await);
    let tasks = &db.store;
    let task = AgentTask {
        client_id: Some("mine".into()),
        opened_by: Some("message".into()),
        ..waiting(owner, "task", 5)
    };
    assert!(tasks.add_task(&task).await.unwrap());
    for again in [
        task.clone(),
        AgentTask { opened_by: Some("message".into()), ..waiting(owner, "second", 6) },
        AgentTask { client_id: Some("mine".into()), ..waiting(owner, "second", 6) },
    ] {
        assert!(!tasks.add_task(&again).await.unwrap(), "{again:?}");
    }
    let theirs = AgentTask { id: "theirs".into(), owner: other, ..task.clone() };
    assert!(tasks.add_task(&theirs).await.unwrap(), "task names are unique per account");
    let db = db.reopened().await;
    let tasks = &db.store;
    for id in ["task", "mine"] {
        assert_eq!(tasks.task(owner, id).await.unwrap().as_ref(), Some(&task));
    }
    assert_eq!(tasks.task(other, "mine").await.unwrap(), Some(theirs));
    assert_eq!(tasks.task(other, "task").await.unwrap(), None);
    assert_eq!(tasks.task_opened_by(owner, "message").await.unwrap(), Some(task));
    assert_eq!(tasks.task_opened_by(owner, "other").await.unwrap(), None);
}

async fn a_task_follows_its_poll_to_the_end(db: TestDatabase) {
    let (owner, other) = (db.user(0).await, db.user(0).await);
    let tasks = &db.store;
    for (cancelled, ended) in [(false, TaskState::Failed), (true, TaskState::Canceled)] {
        let poll = db.running(Some(owner), None).await;
        assert!(matches!(tasks.add_task(&of_poll(other, &poll)).await, Err(StoreError::NotFound(_))));
        assert!(tasks.add_task(&of_poll(owner, &poll)).await.unwrap());
        let running = tasks.task(owner, poll.as_str()).await.unwrap().unwrap();
        let record = db.polls.poll(&poll).await.unwrap().unwrap();
        assert_eq!((running.state, running.since), (TaskState::Working, record.created_at));
        close(&db, &poll, cancelled).await;
        let done = tasks.task(owner, poll.as_str()).await.unwrap().unwrap();
        assert_eq!((done.state, done.since), (ended, closing(None).closed_at));
    }
    // A vote completes the task; a task of an ended poll gets its final state at once.
    let poll = db.running(Some(owner), None).await;
    db.polls.record(&poll, Epoch::FIRST, &[ep_store::testing::test_database::ballot(1, 0)]).await.unwrap();
    close(&db, &poll, false).await;
    assert!(tasks.add_task(&of_poll(owner, &poll)).await.unwrap());
    let done = tasks.task(owner, poll.as_str()).await.unwrap().unwrap();
    assert_eq!((done.state, done.since), (TaskState::Completed, closing(None).closed_at));
    let unknown = of_poll(owner, &new_poll(None, None).id);
    assert!(matches!(tasks.add_task(&unknown).await, Err(StoreError::NotFound(_))));
}

async fn a_task_is_changed_until_it_has_a_poll(db: TestDatabase) {
    let owner = db.user(0).await;
    let tasks = &db.store;
    let task = waiting(owner, "task", 5);
    tasks.add_task(&task).await.unwrap();
    let changed = AgentTask { since: at(6), content: "{}".into(), ..task.clone() };
    assert!(tasks.change_task(&changed).await.unwrap());
    assert!(!tasks.change_task(&changed).await.unwrap(), "it has another revision");
    let poll = db.running(Some(owner), None).await;
    let work = Some(TaskWork::Poll(poll.clone()));
    let opened = AgentTask { work: work.clone(), revision: 2, ..changed.clone() };
    assert!(tasks.change_task(&opened).await.unwrap());
    assert!(
        !tasks.change_task(&AgentTask { revision: 3, ..opened }).await.unwrap(),
        "its poll now determines its state"
    );
    let running = tasks.task(owner, "task").await.unwrap().unwrap();
    assert_eq!((running.state, running.work), (TaskState::Working, work));
    close(&db, &poll, true).await;
    assert_eq!(tasks.task(owner, "task").await.unwrap().unwrap().state, TaskState::Canceled);
}

async fn tasks_are_listed_by_the_time_of_their_status(db: TestDatabase) {
    let (owner, other) = (db.user(0).await, db.user(0).await);
    let tasks = &db.store;
    for (id, since) in [("a", 1), ("b", 3), ("c", 3), ("d", 2)] {
        tasks.add_task(&waiting(owner, id, since)).await.unwrap();
        tasks.add_task(&waiting(other, &format!("{id}-theirs"), since)).await.unwrap();
    }
    let elsewhere = AgentTask { context: "x".into(), state: TaskState::Canceled, ..waiting(owner, "e", 4) };
    tasks.add_task(&elsewhere).await.unwrap();
    let list = async |filter: TaskFilter| {
        let page = tasks.list_tasks(owner, &filter).await.unwrap();
        (page.tasks.into_iter().map(|task| task.id).collect::<String>(), page.total)
    };
    let all = || TaskFilter { limit: 9, ..TaskFilter::default() };
    let listed = |ids: &str, total| (ids.to_owned(), total);
    assert_eq!(list(all()).await, listed("ecbda", 5));
    assert_eq!(list(TaskFilter { limit: 2, ..all() }).await, listed("ec", 5));
    let after = Some((at(3), "c".to_owned()));
    assert_eq!(list(TaskFilter { limit: 2, after, ..all() }).await, listed("bd", 5));
    assert_eq!(list(TaskFilter { context: Some("x".into()), ..all() }).await, listed("e", 1));
    assert_eq!(list(TaskFilter { state: Some(TaskState::Working), ..all() }).await, listed("", 0));
    let filter = TaskFilter { state: Some(TaskState::InputRequired), since: Some(at(3)), ..all() };
    assert_eq!(list(filter).await, listed("cb", 2));
}

/// A newer version of the program wrote the poll of one task.
async fn tasks_of_polls_of_an_unknown_form_are_not_listed(db: TestDatabase) {
    let owner = db.user(0).await;
    let tasks = &db.store;
    let polls = [db.running(Some(owner), None).await, db.running(Some(owner), None).await];
    for poll in &polls {
        tasks.add_task(&of_poll(owner, poll)).await.unwrap();
    }
    tasks.add_task(&waiting(owner, "waits", 0)).await.unwrap();
    let listed = async || {
        let filter = TaskFilter { limit: 9, ..TaskFilter::default() };
        let page = tasks.list_tasks(owner, &filter).await.unwrap();
        let mut ids: Vec<String> = page.tasks.into_iter().map(|task| task.id).collect();
        ids.sort_unstable();
        (ids, page.total)
    };
    assert_eq!(listed().await.1, 3);
    tamper(&db.url, format!("UPDATE polls SET form = 99 WHERE id = '{}'", polls[0])).await.unwrap();
    let mut known = vec![polls[1].as_str().to_owned(), "waits".to_owned()];
    known.sort_unstable();
    assert_eq!(listed().await, (known, 2));
    tamper(&db.url, "UPDATE polls SET form = 1").await.unwrap();
    assert_eq!(listed().await.1, 3);
}

async fn a_task_added_after_its_polls_end_gets_its_final_state(db: TestDatabase) {
    let owner = db.user(0).await;
    let tasks = &db.store;
    let polls = join_all((0..20).map(|_| db.running(Some(owner), None))).await;
    let racing = polls.iter().map(|poll| async {
        let task = of_poll(owner, poll);
        let (added, ()) = tokio::join!(tasks.add_task(&task), close(&db, poll, false));
        assert!(added.unwrap());
    });
    join_all(racing).await;
    let ended = TaskFilter { state: Some(TaskState::Failed), limit: 100, ..TaskFilter::default() };
    assert_eq!(tasks.list_tasks(owner, &ended).await.unwrap().total, 20);
}

async fn of_tasks_without_work_the_newest_remain(db: TestDatabase) {
    let (owner, other) = (db.user(0).await, db.user(0).await);
    let tasks = &db.store;
    let poll = db.running(Some(owner), None).await;
    tasks.add_task(&of_poll(owner, &poll)).await.unwrap();
    tasks.add_task(&waiting(other, "theirs", 1)).await.unwrap();
    let many = i64::from(MAX_TASKS_WITHOUT_WORK);
    for number in 0..=many {
        tasks.add_task(&waiting(owner, &format!("task-{number}"), number)).await.unwrap();
    }
    for (id, is_stored) in [("task-0", false), ("task-1", true), (&format!("task-{many}"), true)] {
        assert_eq!(tasks.task(owner, id).await.unwrap().is_some(), is_stored, "{id}");
    }
    assert!(tasks.task(owner, poll.as_str()).await.unwrap().is_some());
    assert!(tasks.task(other, "theirs").await.unwrap().is_some());
}

async fn abandoned_tasks_and_those_of_erased_accounts_are_deleted(db: TestDatabase) {
    let (owner, other) = (db.user(0).await, db.user(0).await);
    let tasks = &db.store;
    for (id, since) in [("old", 1), ("new", 9)] {
        tasks.add_task(&waiting(owner, id, since)).await.unwrap();
    }
    let poll = db.running(Some(owner), None).await;
    tasks.add_task(&of_poll(owner, &poll)).await.unwrap();
    tasks.add_task(&waiting(other, "theirs", 9)).await.unwrap();
    assert_eq!(tasks.delete_abandoned_tasks(at(9)).await.unwrap(), 1);
    assert_eq!(tasks.task(owner, "old").await.unwrap(), None);
    close(&db, &poll, false).await;
    delete_account(&db, owner, at(10)).await;
    for id in ["new", poll.as_str()] {
        assert_eq!(tasks.task(owner, id).await.unwrap(), None);
    }
    assert!(tasks.task(other, "theirs").await.unwrap().is_some());
}
