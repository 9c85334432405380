//! Runs each example as served.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::harness::{Service, Setup, node};

/// Returns the output of a program for this input, with or without a key in its environment.
async fn printed(mut program: Command, input: &str, key: Option<&str>) -> String {
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    program.env_remove("EP_API_KEY").env("NO_PROXY", "127.0.0.1").envs(key.map(|key| ("EP_API_KEY", key)));
    let mut child = program.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    let done = tokio::time::timeout(Duration::from_mins(2), child.wait_with_output()).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    text
}

async fn served(service: &Service, language: &str) -> String {
    let reply = service.anonymous().get(&format!("/api/examples/{language}")).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, "text/plain; charset=utf-8"));
    assert!(reply.header("cache-control").contains("max-age=3600") && !reply.header("etag").is_empty());
    assert!(reply.text.contains(&service.url), "{}", reply.text);
    reply.text
}

/// Runs an example without and with a key, and asserts a free and a paid poll.
async fn polls(language: &str, program: impl Fn(&Path) -> Command) {
    let service = Setup::demo().boot().await;
    let code = served(&service, language).await;
    let folder = tempfile::tempdir().unwrap();
    let file =
        folder.path().join(format!("example.{}", if language == "typescript" { "mts" } else { "txt" }));
    std::fs::write(&file, &code).unwrap();
    let free = printed(program(&file), "", None).await;
    assert!(free.contains("Agreement is not proof"), "{free}");
    let user = service.user().await;
    let paid = printed(program(&file), "", user.key.as_deref()).await;
    assert!(paid.len() > free.len() && paid.contains("confidence"), "{paid}");
    let listed = user.get("/api/polls").await.expect(200);
    let asked = listed["polls"].as_array().unwrap_or_else(|| panic!("{listed}"));
    assert_eq!(asked.len(), 1, "{listed}");
}

#[tokio::test]
async fn bash_runs_the_curl_example() {
    polls("curl", |file| {
        let mut bash = Command::new("bash");
        bash.arg(file);
        bash
    })
    .await;
}

#[tokio::test]
async fn node_runs_the_typescript_example() {
    polls("typescript", |file| {
        let mut program = Command::new(node());
        program.arg(file);
        program
    })
    .await;
}

#[tokio::test]
async fn python_runs_the_python_example() {
    polls("python", |file| {
        let mut python = Command::new("python3");
        python.arg(file);
        python
    })
    .await;
}

#[tokio::test]
async fn an_mcp_client_connects_to_every_server_of_the_configuration() {
    let service = Setup::demo().boot().await;
    let config = served(&service, "mcp-config").await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp-clients");
    let mut client = Command::new(node());
    let own = Path::new(env!("CARGO_BIN_EXE_ep")).parent().unwrap();
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap());
    client
        .arg(folder.join("config.mjs"))
        .env("PATH", path)
        .env("EP_DATA_DIR", service.data.path().join("local"));
    let key = service.user().await.key;
    let found: Value = serde_json::from_str(&printed(client, &config, key.as_deref()).await).unwrap();
    let servers = found.as_object().unwrap();
    assert_eq!(servers.len(), 2, "{found}");
    for (name, tools) in servers {
        assert!(tools.as_array().unwrap().contains(&json!("poll_question")), "{name}: {tools}");
    }
}

#[tokio::test]
async fn list_contains_every_example_and_unknown_ones_are_not_found() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let listed = client.get("/api/examples").await.expect(200);
    assert_eq!(listed["available"], json!(["curl", "typescript", "python", "mcp-config"]));
    for endpoint in listed["endpoints"].as_array().unwrap() {
        let path = endpoint.as_str().unwrap().strip_prefix(&service.url).unwrap();
        assert_eq!(client.get(path).await.status, 200, "{path}");
    }
    for unknown in ["ruby", "Curl", "curl%00", "..%2fcurl", "curl.sh", &"x".repeat(500)] {
        let refused = client.get(&format!("/api/examples/{unknown}")).await.refused(404);
        for language in ["curl", "typescript", "python", "mcp-config"] {
            assert!(refused.contains(language), "{refused}");
        }
    }
}
