//! Opening databases, and what is said when it fails.

use ep_store::{ConnectError, DatabaseUrl, Options, testing};

use crate::ledger::tamper;
use crate::site::{Site, connect};

async fn refusal(url: &str) -> String {
    let url: DatabaseUrl = url.parse().unwrap();
    let error = ep_store::connect(&url, Options::default()).await.unwrap_err();
    let said = format!("{error} {error:?}");
    assert!(!said.contains("hunter2"), "{said}");
    error.to_string()
}

#[tokio::test]
async fn a_file_that_cannot_be_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("not-a-database");
    std::fs::write(&file, "hello, I am a text file and rather long for one, in fact").unwrap();
    let said = refusal(&format!("sqlite://{}", file.display())).await;
    assert!(said.contains("not-a-database") && said.contains("choose another file"), "{said}");
    let said = refusal(&format!("sqlite://{}/below/ep.db", file.display())).await;
    assert!(said.contains("not-a-database/below") && said.contains("writable"), "{said}");
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_named() {
    let said = refusal("postgres://ep:hunter2@127.0.0.1:9/polls").await;
    assert!(said.contains("postgres://ep@127.0.0.1:9/polls") && said.contains("start the server"), "{said}");
    let database = testing::Postgres::start().unwrap().database().await.unwrap();
    let missing = database.url().replace("ep_test_", "missing_");
    let said = refusal(&missing).await;
    assert!(said.contains("createdb missing_"), "{said}");
}

#[tokio::test]
async fn what_a_newer_release_made_is_left_alone() {
    for site in [Site::sqlite().await, Site::postgres().await] {
        site.store.close().await;
        let newer = "UPDATE _sqlx_migrations SET version = 9999 WHERE version = 1";
        tamper(&site.url, newer).await.unwrap();
        let said = refusal(&site.url).await;
        assert!(said.contains("newer release"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_may_start_at_once() {
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
async fn nothing_is_kept_where_nothing_is_to_be_kept() {
    let url: DatabaseUrl = "sqlite::memory:".parse().unwrap();
    let store = ep_store::connect(&url, Options::default()).await.unwrap();
    store.polls().ping().await.unwrap();
    store.close().await;
    let again = ep_store::connect(&url, Options::default()).await.unwrap();
    assert_eq!(again.accounts().audit().await.unwrap().accounts, 0);
}

#[test]
fn what_is_no_url_of_ours_is_refused() {
    let refused = "mysql://ep:hunter2@db/polls".parse::<DatabaseUrl>().unwrap_err();
    assert!(matches!(refused, ConnectError::Url(_)));
}
