//! Opening databases, and the messages when that fails.

use ep_store::{ConnectError, DatabaseUrl, StoreOptions, testing};

use crate::test_database::{SETTLED_WITHIN, TestDatabase, connect, tamper};

async fn refusal(url: &str) -> String {
    let url: DatabaseUrl = url.parse().unwrap();
    let error = ep_store::connect(&url, StoreOptions::default()).await.unwrap_err();
    let said = format!("{error} {error:?}");
    assert!(!said.contains("hunter2"), "{said}");
    error.to_string()
}

#[tokio::test]
async fn messages_name_a_file_that_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("not-a-database");
    std::fs::write(&file, "hello, I am a text file and rather long for one, in fact").unwrap();
    let said = refusal(&format!("sqlite://{}", file.display())).await;
    assert!(said.contains("not-a-database") && said.contains("choose another file"), "{said}");
    let said = refusal(&format!("sqlite://{}/below/ep.db", file.display())).await;
    assert!(said.contains("not-a-database/below") && said.contains("writable"), "{said}");
}

#[tokio::test]
async fn messages_name_a_server_that_cannot_be_used() {
    let said = refusal("postgres://ep:hunter2@127.0.0.1:9/polls").await;
    assert!(said.contains("postgres://ep@127.0.0.1:9/polls") && said.contains("start the server"), "{said}");
    let database = testing::Postgres::start().unwrap().database().await.unwrap();
    let missing = database.url().replace("ep_test_", "missing_");
    let said = refusal(&missing).await;
    assert!(said.contains("createdb missing_"), "{said}");
}

#[tokio::test]
async fn a_database_of_a_newer_release_is_refused() {
    for db in [TestDatabase::sqlite().await, TestDatabase::postgres().await] {
        db.store.close().await;
        let newer = "UPDATE _sqlx_migrations SET version = 9999 WHERE version = 1";
        tamper(&db.url, newer).await.unwrap();
        let said = refusal(&db.url).await;
        assert!(said.contains("newer release"), "{said}");
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
            store.polls().ping().await.unwrap();
            store.close().await;
        }
    }
}

#[tokio::test]
async fn a_memory_database_is_temporary() {
    let url: DatabaseUrl = "sqlite::memory:".parse().unwrap();
    let store = ep_store::connect(&url, StoreOptions::default()).await.unwrap();
    store.polls().ping().await.unwrap();
    store.close().await;
    let again = ep_store::connect(&url, StoreOptions::default()).await.unwrap();
    assert_eq!(again.ledger().audit(SETTLED_WITHIN).await.unwrap().accounts, 0);
}

#[test]
fn unknown_urls_are_refused() {
    let refused = "mysql://ep:hunter2@db/polls".parse::<DatabaseUrl>().unwrap_err();
    assert!(matches!(refused, ConnectError::Url(_)));
}
