//! Push configs for the ends of agent tasks.

use std::time::Duration;

use ep_store::{
    AgentPush, AgentTask, AttemptOutcome, ClaimLimits, MAX_PUSHES, TaskState, UserId, WebhookUrl,
};

use ep_store::testing::test_database::{TestDatabase, at, delete_account, tamper};

on_both_engines!(
    configs_are_stored_only_for_the_owner_of_the_task,
    configs_of_ended_tasks_are_due_until_delivery,
);

const LASTS: Duration = Duration::from_secs(60);

async fn task(db: &TestDatabase, owner: UserId, id: &str, state: TaskState) {
    let task = AgentTask {
        id: id.to_owned(),
        owner,
        context: "c".to_owned(),
        client_id: None,
        opened_by: None,
        work: None,
        state,
        since: at(1),
        revision: 1,
        content: "{}".to_owned(),
    };
    assert!(db.store.add_task(&task).await.unwrap());
}

fn push(owner: UserId, task: &str, config: &str) -> AgentPush {
    AgentPush {
        id: format!("{task}-{config}-id"),
        task: task.to_owned(),
        config: config.to_owned(),
        owner,
        url: WebhookUrl::checked("https://a.example/"),
        version: "1.0".to_owned(),
        secrets: "sealed".to_owned(),
    }
}

async fn configs_are_stored_only_for_the_owner_of_the_task(db: TestDatabase) {
    let (owner, other) = (db.user(0).await, db.user(0).await);
    task(&db, owner, "t", TaskState::InputRequired).await;
    let pushes = &db.store;
    let (a, b) = (push(owner, "t", "a"), push(owner, "t", "b"));
    assert!(pushes.set_push(&b).await.unwrap() && pushes.set_push(&a).await.unwrap());
    assert!(!pushes.set_push(&push(other, "t", "c")).await.unwrap(), "the task is another's");
    assert!(!pushes.set_push(&push(owner, "none", "c")).await.unwrap());
    let replaced = AgentPush { id: "anew".into(), version: "0.3".into(), ..a.clone() };
    assert!(pushes.set_push(&replaced).await.unwrap());
    assert_eq!(pushes.pushes_of_task(owner, "t").await.unwrap(), [replaced, b.clone()]);
    assert!(pushes.pushes_of_task(other, "t").await.unwrap().is_empty());
    pushes.delete_push(other, "t", "a").await.unwrap();
    pushes.delete_push(owner, "t", "a").await.unwrap();
    assert_eq!(pushes.pushes_of_task(owner, "t").await.unwrap(), [b]);
    for number in 1..MAX_PUSHES {
        assert!(pushes.set_push(&push(owner, "t", &number.to_string())).await.unwrap());
    }
    assert!(!pushes.set_push(&push(owner, "t", "one too many")).await.unwrap());
    assert!(
        pushes.set_push(&push(owner, "t", "1")).await.unwrap(),
        "a replacement does not count against the limit"
    );
    delete_account(&db, owner, at(9)).await;
    assert!(pushes.pushes_of_task(owner, "t").await.unwrap().is_empty());
}

async fn configs_of_ended_tasks_are_due_until_delivery(db: TestDatabase) {
    let owner = db.user(0).await;
    task(&db, owner, "waits", TaskState::InputRequired).await;
    task(&db, owner, "ended", TaskState::Canceled).await;
    let pushes = &db.store;
    for (task, config) in [("waits", "a"), ("ended", "a"), ("ended", "b")] {
        pushes.set_push(&push(owner, task, config)).await.unwrap();
    }
    let due = async |per_account, busy: &[UserId]| {
        let due = pushes.due_pushes(ClaimLimits { total: 9, per_account, busy, lasts: LASTS }).await.unwrap();
        due.into_iter().map(|(push, attempts)| (push.id, attempts)).collect::<Vec<_>>()
    };
    let pass = async |time: Duration| {
        let change = format!("UPDATE a2a_pushes SET next_at = next_at - {}", time.as_millis());
        tamper(&db.url, change).await.unwrap();
    };
    assert!(due(9, &[owner]).await.is_empty());
    let first = due(1, &[]).await;
    assert_eq!(first.len(), 1);
    assert_eq!(due(9, &[]).await.len(), 1);
    assert!(due(9, &[]).await.is_empty(), "they are claimed");
    pass(LASTS).await;
    assert_eq!(due(9, &[]).await.iter().map(|(_, attempts)| *attempts).collect::<Vec<_>>(), [2, 2]);
    pushes.push_attempted("ended-a-id", &AttemptOutcome::Delivered).await.unwrap();
    let again = AttemptOutcome::Again { error: "the receiver responded with 500".into(), after: 5 * LASTS };
    pushes.push_attempted("ended-b-id", &again).await.unwrap();
    pass(4 * LASTS).await;
    assert!(due(9, &[]).await.is_empty());
    pass(LASTS).await;
    assert_eq!(due(9, &[]).await, [("ended-b-id".to_owned(), 3)]);
    pushes.push_attempted("ended-b-id", &AttemptOutcome::Failed { error: "gone".into() }).await.unwrap();
    pass(99 * LASTS).await;
    assert!(due(9, &[]).await.is_empty());
    // A replaced config is due again.
    pushes.set_push(&push(owner, "ended", "a")).await.unwrap();
    assert_eq!(due(9, &[]).await, [("ended-a-id".to_owned(), 1)]);
}
