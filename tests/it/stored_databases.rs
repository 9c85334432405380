//! Databases of the first release (`databases/`), which every later release has to read.
//!
//! The program has written them: `cargo test --test it -- --ignored write_the_databases`. A release that changes the schema sets
//! `NEWEST`, adds its own, and reads these, too.

use std::fs::{File, read, read_to_string, write};
use std::io::copy;
use std::path::{Path, PathBuf};

use ep_polling::MicroUsd;
use ep_store::UserId;
use ep_store::testing::{Database, Postgres};
use ep_upstream::testing::Script;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::batches::{create, ended, lines, rows, upload};
use crate::command_line::ep;
use crate::harness::{Engine, Service, Setup, question};

/// The newest migration of the databases that are written.
const NEWEST: &str = "0001";

/// Returns the path of a stored file, named by the newest migration of its database.
fn stored(newest: &str, ending: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/databases").join(format!("{newest}-{ending}"))
}

const fn responses(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => "sqlite.json",
        Engine::Postgres => "postgres.json",
    }
}

/// Returns a poll of each kind.
fn polls() -> Vec<Value> {
    vec![
        question(json!({})),
        question(json!({ "complete": true, "reasons": 1 })),
        question(json!({ "panel": "pair", "on_tie": "strongest" })),
        question(json!({ "private": true })),
        json!({ "question": "How good is the answer “42”?", "scale": { "levels": ["1", "2", "3"], "pass": "2" } }),
        json!({ "question": "How good is the answer “43”?", "scale": { "levels": ["1", "2", "3"] } }),
    ]
}

/// Returns a service that has the same links and the same time in every run.
fn setup(engine: Engine, seed: u64) -> Setup {
    Setup::scripted(Script::panel(5)).on(engine).with("EP_BASE_URL", "https://polls.example").seeded(seed)
}

/// Returns what callers read of the polls and of the batch.
async fn content(service: &Service, user: UserId, polls: &[String], batch: &str) -> Value {
    let client = service.anonymous().with_key(&service.key(user).await.1);
    let mut results = Vec::new();
    for poll in polls {
        results.push(client.get(&format!("/api/results/{poll}")).await.json());
    }
    let batch = client.get(&format!("/v1/batches/{batch}")).await.expect(200);
    json!({
        "results": results,
        "feedback": service.anonymous().get(&format!("/api/feedback/{}", polls[0])).await.expect(200),
        "panels": client.tool("list_panels", json!({})).await["structuredContent"],
        "balance": client.get("/api/balance").await.expect(200),
        "rows": lines(&client, &batch["output_file_id"]).await,
        "batch": batch,
    })
}

/// Asserts that a value is another one with more fields.
fn assert_contains(found: &Value, expected: &Value) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (name, expected) in expected {
                assert_contains(found.get(name).unwrap_or_else(|| panic!("{name} is missing")), expected);
            }
        }
        (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => {
            found.iter().zip(expected).for_each(|(found, expected)| assert_contains(found, expected));
        }
        _ => assert_eq!(found, expected),
    }
}

/// Restores a database, and returns its settings.
async fn restored(
    newest: &str,
    engine: Engine,
    data: &Path,
) -> (Vec<(&'static str, String)>, Option<Database>) {
    // Another key than the one with which it was made. It voids the stored API keys.
    let mut settings = vec![("EP_DATA_DIR", data.display().to_string()), ("EP_SECRET_KEY", "0".repeat(64))];
    if engine == Engine::Sqlite {
        let mut packed = GzDecoder::new(File::open(stored(newest, "sqlite.db.gz")).unwrap());
        copy(&mut packed, &mut File::create(data.join("ensemble-poll.db")).unwrap()).unwrap();
        return (settings, None);
    }
    let database = Postgres::start().unwrap().database().await.unwrap();
    let mut db = PgConnection::connect(database.url()).await.unwrap();
    // Lines of `psql` begin with a backslash.
    let text = read_to_string(stored(newest, "postgres.sql")).unwrap();
    let sql: String = text.split_inclusive('\n').filter(|line| !line.starts_with('\\')).collect();
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut db).await.unwrap();
    settings.push(("EP_DATABASE_URL", database.url().to_owned()));
    (settings, Some(database))
}

async fn a_database_is_read(newest: &str, engine: Engine) {
    let data = tempfile::tempdir().unwrap();
    let (settings, _database) = restored(newest, engine, data.path()).await;
    let service =
        settings.iter().fold(setup(engine, 2), |setup, (name, value)| setup.with(name, value)).boot().await;
    let expected = read(stored(newest, responses(engine))).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let user: UserId = expected["user"].as_str().unwrap().parse().unwrap();
    let polls: Vec<String> = serde_json::from_value(expected["polls"].clone()).unwrap();
    let found = content(&service, user, &polls, expected["batch"].as_str().unwrap()).await;
    assert_contains(&found, &expected["content"]);
    // It goes on.
    let client = service.anonymous().with_key(&service.key(user).await.1);
    client.poll(json!({})).await.expect(200);
    service.settled_cost(user).await;
    let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let audit = ep(data.path(), &["admin", "audit", "--full"], &settings);
    let said = String::from_utf8_lossy(&audit.stdout);
    assert!(audit.status.success() && said.contains("the ledger is consistent"), "{audit:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_the_first_release_is_read() {
    a_database_is_read("0001", Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_database_of_the_first_release_is_read() {
    a_database_is_read("0001", Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "writes the databases of this release"]
async fn write_the_databases() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = setup(engine, 1).boot().await;
        let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
        let panel = json!({ "name": "pair", "models": ["maker0/line-0", "maker1/line-1"] });
        assert_eq!(client.tool("create_panel", panel).await["isError"], false);
        let mut opened = Vec::new();
        for poll in polls() {
            let result = client.post("/api/poll", &poll).await.expect(200);
            opened.push(result["poll_id"].as_str().unwrap().to_owned());
        }
        let deleted = client.poll(json!({})).await.expect(200)["poll_id"].as_str().unwrap().to_owned();
        service.settled_cost(user).await;
        let path = format!("/api/polls/{deleted}?confirm={deleted}");
        client.send(client.request(Method::DELETE, &path)).await.expect(200);
        let feedback = json!({ "poll_id": opened[0], "outcome_correct": true });
        client.post("/api/feedback", &feedback).await.expect(201);
        opened.push(deleted);
        let batch = create(&client, &upload(&client, &rows(3)).await).await;
        ended(&client, &batch).await;
        service.settled_cost(user).await;
        let found = content(&service, user, &opened, &batch).await;
        let expected = json!({ "user": user.to_string(), "polls": opened, "batch": batch, "content": found });
        let path = stored(NEWEST, responses(engine));
        assert!(!path.exists(), "the databases of this schema are written");
        write(path, serde_json::to_string_pretty(&expected).unwrap() + "\n").unwrap();
        match engine {
            Engine::Sqlite => {
                let copied = service.data.path().join("copy.db");
                let backup = ep(service.data.path(), &["backup", copied.to_str().unwrap()], &[]);
                assert!(backup.status.success(), "{backup:?}");
                let mut packed = GzEncoder::new(
                    File::create(stored(NEWEST, "sqlite.db.gz")).unwrap(),
                    Compression::best(),
                );
                copy(&mut File::open(copied).unwrap(), &mut packed).unwrap();
                packed.finish().unwrap();
            }
            Engine::Postgres => {
                write(stored(NEWEST, "postgres.sql"), service.database().dump().unwrap()).unwrap();
            }
        }
    }
}
