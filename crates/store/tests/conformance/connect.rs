//! Opening databases, and the error messages of failures.

use std::time::Duration;

use ep_store::{ConnectError, DatabaseUrl, StoreOptions, testing};

use ep_store::testing::test_database::{SETTLED_WITHIN, TestDatabase, connect, number, open_sqlite, tamper};

async fn connect_error(url: &str) -> String {
    let url: DatabaseUrl = url.parse().unwrap();
    let error = ep_store::connect(&url, StoreOptions::default()).await.unwrap_err();
    let message = format!("{error} {error:?}");
    assert!(!message.contains("hunter2"), "{message}");
    error.to_string()
}

#[tokio::test]
async fn errors_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("not-a-database");
    std::fs::write(&file, "hello, I am a text file and rather long for one, in fact").unwrap();
    let message = connect_error(&format!("sqlite://{}", file.display())).await;
    assert!(message.contains("not-a-database") && message.contains("choose another file"), "{message}");
    let message = connect_error(&format!("sqlite://{}/below/ep.db", file.display())).await;
    assert!(message.contains("not-a-database/below") && message.contains("writable"), "{message}");
}

#[tokio::test]
async fn errors_name_the_server() {
    let message = connect_error("postgres://ep:hunter2@127.0.0.1:9/polls").await;
    assert!(
        message.contains("postgres://ep@127.0.0.1:9/polls") && message.contains("start the server"),
        "{message}"
    );
    let database = testing::Postgres::start().unwrap().database().await.unwrap();
    let missing = database.url().replace("ep_test_", "missing_");
    let message = connect_error(&missing).await;
    assert!(message.contains("createdb missing_"), "{message}");
}

#[tokio::test]
async fn a_database_of_a_newer_release_is_rejected() {
    for db in [TestDatabase::sqlite().await, TestDatabase::postgres().await] {
        db.runtime.close().await;
        let newer = "UPDATE _sqlx_migrations SET version = 9999 WHERE version = 1";
        tamper(&db.url, newer).await.unwrap();
        let message = connect_error(&db.url).await;
        assert!(message.contains("newer release"), "{message}");
    }
}

/// The first migration has another checksum in a database that a build before the first release made.
#[tokio::test]
async fn a_database_of_an_unreleased_build_is_rejected_and_stays_as_it_is() {
    for db in [TestDatabase::sqlite().await, TestDatabase::postgres().await] {
        db.runtime.close().await;
        let other = if db.url.starts_with("sqlite:") { "x'00'" } else { r"'\x00'" };
        let changed = format!("UPDATE _sqlx_migrations SET checksum = {other} WHERE version = 1");
        tamper(&db.url, changed).await.unwrap();
        let file = db.url.strip_prefix("sqlite://");
        // As in a backup.
        file.inspect(|file| open_sqlite(file).pragma_update(None, "journal_mode", "DELETE").unwrap());
        let file = file.map(|file| (file, std::fs::read(file).unwrap()));
        let sums = "SELECT CAST(SUM(length(checksum)) AS BIGINT) FROM _sqlx_migrations";
        let before = number(&db.url, sums).await;
        let message = connect_error(&db.url).await;
        assert!(
            message.contains("before the first release") && message.contains("another database"),
            "{message}"
        );
        assert_eq!(number(&db.url, sums).await, before);
        if let Some((file, before)) = file {
            assert!(std::fs::read(file).unwrap() == before);
        }
    }
}

#[tokio::test]
async fn a_second_start_migrates_nothing() {
    for db in [TestDatabase::sqlite().await, TestDatabase::postgres().await] {
        db.runtime.close().await;
        let migrations = "SELECT count(*) FROM _sqlx_migrations";
        assert_eq!(number(&db.url, migrations).await, 1);
        connect(&db.url).await.runtime.close().await;
        assert_eq!(number(&db.url, migrations).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_may_start_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite://{}", folder.path().join("ep.db").display());
    let database = testing::Postgres::start().unwrap().database().await.unwrap();
    for url in [file.as_str(), database.url()] {
        let stores = futures::future::join_all((0..4).map(|_| connect(url))).await;
        for store in stores {
            store.runtime.polls().ping().await.unwrap();
            store.runtime.close().await;
        }
    }
}

#[tokio::test]
async fn a_file_that_another_process_creates_is_awaited() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ep.db");
    let creator = open_sqlite(file.to_str().unwrap());
    creator.execute_batch("BEGIN IMMEDIATE").unwrap();
    let url = format!("sqlite://{}", file.display());
    let create_later = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        creator.execute_batch("COMMIT").unwrap();
    };
    let (store, ()) = tokio::join!(connect(&url), create_later);
    store.runtime.close().await;
}

#[tokio::test]
async fn a_memory_database_is_temporary() {
    let url: DatabaseUrl = "sqlite::memory:".parse().unwrap();
    let store = ep_store::connect(&url, StoreOptions::default()).await.unwrap();
    store.runtime.polls().ping().await.unwrap();
    store.runtime.close().await;
    let again = ep_store::connect(&url, StoreOptions::default()).await.unwrap();
    assert_eq!(again.treasury.audit(SETTLED_WITHIN).await.unwrap().accounts, 0);
}

#[test]
fn unknown_urls_are_rejected() {
    let rejected = "mysql://ep:hunter2@db/polls".parse::<DatabaseUrl>().unwrap_err();
    assert!(matches!(rejected, ConnectError::Url(_)));
}
