//! Locks of PostgreSQL between processes.

use super::*;

#[tokio::test]
async fn the_locks_of_a_paused_process_end_before_an_operation_that_waits_for_them() {
    const LOCK: &str = "SELECT pg_advisory_xact_lock(1)";
    let database = crate::testing::Postgres::start().unwrap().database().await.unwrap();
    let options = StoreOptions { connections: 2, timeout: Duration::from_secs(4) };
    let engine = Postgres::open(&database.url().parse().unwrap(), &options).await.unwrap();
    let mut paused = engine.pool.begin().await.unwrap();
    sqlx::query(LOCK).execute(&mut *paused).await.unwrap();
    // The wait is older than the pause.
    let last = sqlx::query("SELECT pg_sleep(0.5)").execute(&mut *paused);
    let (waited, slept) = tokio::join!(engine.execute(LOCK, &[]), last);
    slept.unwrap();
    waited.unwrap();
}
