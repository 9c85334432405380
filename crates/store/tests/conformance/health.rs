//! Pings fail if the database is not writable or its file is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ep_store::{Epoch, StoreError};

use ep_store::testing::test_database::{TestDatabase, ballots, connect, lease, new_poll, tamper};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_database_fails_pings() {
    let db = TestDatabase::sqlite().await;
    db.polls.ping().await.unwrap();
    // Like on a full disk, no row can be stored, but stored rows can be read.
    let full = "CREATE TRIGGER full BEFORE INSERT ON replays \
        BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END";
    tamper(&db.url, full).await.unwrap();
    assert!(matches!(db.polls.ping().await, Err(StoreError::Failed(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_server_fails_pings() {
    let db = TestDatabase::postgres().await;
    db.polls.ping().await.unwrap();
    let read_only = "DO $$ BEGIN EXECUTE \
        format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$";
    tamper(&db.url, read_only).await.unwrap();
    // The setting applies to new connections.
    let disconnect = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    tamper(&db.url, disconnect).await.unwrap();
    let id = new_poll(None, None).id;
    while db.polls.poll(&id).await.is_err() {}
    for _ in 0..20 {
        assert!(matches!(db.polls.ping().await, Err(StoreError::Failed(_))));
    }
    assert!(db.polls.poll(&id).await.unwrap().is_none(), "reading still works");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_moved_file_is_detected() {
    let db = TestDatabase::sqlite().await;
    let file = Path::new(db.url.strip_prefix("sqlite://").unwrap());
    let away = file.with_extension("away");
    fs::rename(file, &away).unwrap();
    let open = async || db.polls.open(&new_poll(None, None), &lease("worker", 60_000)).await;
    // Writes that a restart would lose are rejected, even before the first ping.
    for _ in 0..2 {
        assert!(matches!(open().await, Err(StoreError::Rejected(_))));
        let poll = new_poll(None, None).id;
        assert!(
            matches!(db.polls.poll(&poll).await, Err(StoreError::Rejected(_))),
            "reads are rejected, too"
        );
        let ballots = db.polls.record(&poll, Epoch::FIRST, &ballots(1..=1)).await;
        assert!(matches!(ballots, Err(StoreError::Rejected(_))), "{ballots:?}");
        assert!(matches!(db.polls.ping().await, Err(StoreError::Rejected(_))));
    }
    fs::rename(&away, file).unwrap();
    open().await.unwrap();
    db.polls.ping().await.unwrap();
    // Another file under its name is not accepted.
    fs::remove_file(file).unwrap();
    fs::write(file, "").unwrap();
    assert!(matches!(open().await, Err(StoreError::Rejected(_))));
    assert!(matches!(db.polls.ping().await, Err(StoreError::Rejected(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_log_is_detected() {
    let db = TestDatabase::sqlite().await;
    db.polls.open(&new_poll(None, None), &lease("worker", 60_000)).await.unwrap();
    fs::remove_file(format!("{}-wal", db.url.strip_prefix("sqlite://").unwrap())).unwrap();
    let opened = db.polls.open(&new_poll(None, None), &lease("worker", 60_000)).await;
    assert!(matches!(opened, Err(StoreError::Rejected(_))), "{opened:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_inaccessible_to_other_users() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/ep.db");
    let url = format!("sqlite://{}", file.display());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let store = connect(&url).await;
    store.runtime.polls().ping().await.unwrap();
    let beside: Vec<_> =
        ["-wal", "-shm"].map(|suffix| folder.path().join(format!("new/ep.db{suffix}"))).into();
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    for path in beside.iter().chain([&file]) {
        assert_eq!(mode(path), 0o600, "{}", path.display());
    }
    store.runtime.close().await;
    // Files left accessible by an earlier release are restricted, too.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    connect(&url).await.runtime.close().await;
    assert_eq!(mode(&file), 0o600);
}
