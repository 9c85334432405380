//! Changes to polls, announced among replicas: PostgreSQL only.

use std::time::Duration;

use ep_kernel::ports::{Change, MAX_ANNOUNCED, PollChange};
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;
use futures::StreamExt;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::test_database::{TestDatabase, connect};

fn change(number: usize, change: Change) -> PollChange {
    let poll = PollId::new(Timestamp::from_millis(0), [number as u8; 10]);
    PollChange { poll, change }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_announces_nothing() {
    assert!(TestDatabase::sqlite().await.store.poll_changes().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_replica_hears_what_one_announces() {
    let db = TestDatabase::postgres().await;
    let other = connect(&db.url).await;
    let (announces, hears) = (db.store.poll_changes().unwrap(), other.poll_changes().unwrap());
    let mut heard = [announces.listen().await.unwrap(), hears.listen().await.unwrap()];
    let kinds = [Change::Ballots, Change::Ended, Change::Cancelled, Change::Released];
    let changes: Vec<_> = (0..MAX_ANNOUNCED).map(|number| change(number, kinds[number % 4])).collect();
    announces.announce(&changes).await.unwrap();
    announces.announce(&changes[..1]).await.unwrap();
    for heard in &mut heard {
        let taken: Vec<_> = heard.take(changes.len() + 1).collect().await;
        assert_eq!(taken[..changes.len()], changes);
        assert_eq!(taken.last(), changes.first());
    }

    // What is unreadable, from another version perhaps, is passed over.
    let mut db = PgConnection::connect(&db.url).await.unwrap();
    for payload in
        [r#"[{"poll":"EP-1","change":"ended"},{"poll":"EP-20260131-AAAAAAAAAA","change":"renamed"}]"#, "x"]
    {
        let notify = format!("SELECT pg_notify('ep_poll_changes', '{payload}')");
        sqlx::query(AssertSqlSafe(notify)).execute(&mut db).await.unwrap();
    }
    announces.announce(&changes[1..2]).await.unwrap();
    assert_eq!(heard[1].next().await.as_ref(), Some(&changes[1]));

    // A listener whose connection is cut ends, and another one hears what comes then.
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    sqlx::query(cut).execute(&mut db).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(5), heard[1].next()).await.unwrap();
    assert_eq!(ended, None);
    let mut again = hears.listen().await.unwrap();
    announces.announce(&changes[2..3]).await.unwrap();
    assert_eq!(again.next().await.as_ref(), Some(&changes[2]));
}
