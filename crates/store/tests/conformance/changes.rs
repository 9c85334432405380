//! Poll changes announced among replicas: PostgreSQL only.

use std::time::Duration;

use ep_polling::{PollId, Timestamp};
use ep_store::{Change, MAX_ANNOUNCED, PollChange};
use futures::StreamExt;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use ep_store::testing::test_database::{TestDatabase, connect};

fn change(number: usize, change: Change) -> PollChange {
    let poll = PollId::new(Timestamp::from_millis(0), [number as u8; 10]);
    PollChange { poll, change }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_announces_nothing() {
    assert!(TestDatabase::sqlite().await.runtime.poll_changes().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_replica_receives_an_announcement() {
    let db = TestDatabase::postgres().await;
    let other = connect(&db.url).await;
    let (sender, receiver) = (db.runtime.poll_changes().unwrap(), other.runtime.poll_changes().unwrap());
    let mut listeners = [sender.listen().await.unwrap(), receiver.listen().await.unwrap()];
    let kinds = [Change::Ballots, Change::Ended, Change::Cancelled, Change::Released];
    let changes: Vec<_> = (0..MAX_ANNOUNCED).map(|number| change(number, kinds[number % 4])).collect();
    sender.announce(&changes).await.unwrap();
    sender.announce(&changes[..1]).await.unwrap();
    for listener in &mut listeners {
        let taken: Vec<_> = listener.take(changes.len() + 1).collect().await;
        assert_eq!(taken[..changes.len()], changes);
        assert_eq!(taken.last(), changes.first());
    }

    // Unreadable announcements, perhaps from another version, are skipped.
    let mut db = PgConnection::connect(&db.url).await.unwrap();
    for payload in
        [r#"[{"poll":"EP-1","change":"ended"},{"poll":"EP-20260131-AAAAAAAAAA","change":"renamed"}]"#, "x"]
    {
        let notify = format!("SELECT pg_notify('ep_poll_changes', '{payload}')");
        sqlx::query(AssertSqlSafe(notify)).execute(&mut db).await.unwrap();
    }
    sender.announce(&changes[1..2]).await.unwrap();
    assert_eq!(listeners[1].next().await.as_ref(), Some(&changes[1]));

    // A listener ends when its connection is cut. A new one receives later announcements.
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    sqlx::query(cut).execute(&mut db).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(5), listeners[1].next()).await.unwrap();
    assert_eq!(ended, None);
    let mut again = receiver.listen().await.unwrap();
    sender.announce(&changes[2..3]).await.unwrap();
    assert_eq!(again.next().await.as_ref(), Some(&changes[2]));
}
