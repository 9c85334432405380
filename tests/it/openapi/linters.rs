//! Linters of the API description.

use ep_site::names::{ASYNCAPI, OPENAPI};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{folder, python, run};
use crate::harness::{Service, Setup, node, question};

/// Writes the description to a file.
async fn described_file() -> (TempDir, String) {
    document(&Setup::demo().with("EP_AUTH_ISSUER_URL", "https://login.example.com").boot().await, OPENAPI)
        .await
}

/// Writes a document of a service to a file.
async fn document(service: &Service, name: &str) -> (TempDir, String) {
    let url = service.app.ports.links.url(name, &[]);
    let text = service.anonymous().get(url.strip_prefix(&service.url).unwrap()).await.text;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name).with_extension("json");
    std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap().to_owned();
    (folder, path)
}

/// Returns the script of a program installed by npm.
fn script(package: &str, name: &str) -> String {
    let home = format!("node_modules/{package}");
    let known =
        std::fs::read_to_string(folder().join(&home).join("package.json")).expect("run scripts/install");
    let known: Value = serde_json::from_str(&known).unwrap();
    format!("{home}/{}", known["bin"][name].as_str().unwrap())
}

#[tokio::test]
async fn redocly_accepts_the_description() {
    let (_folder, file) = described_file().await;
    let redocly = script("@redocly/cli", "redocly");
    let said = run(node(), &[&redocly, "lint", "--extends=spec", &file]).await;
    assert!(said.contains("is valid") && !said.contains("warning"), "{said}");
}

#[tokio::test]
async fn spectral_reports_no_warnings() {
    let (_folder, file) = described_file().await;
    let spectral = script("@stoplight/spectral-cli", "spectral");
    let said = run(node(), &[&spectral, "lint", "-r", "spectral.yaml", "--fail-severity=hint", &file]).await;
    assert!(said.contains("No results with a severity of"), "{said}");
}

#[tokio::test]
async fn description_follows_the_openapi_specification() {
    let (_folder, file) = described_file().await;
    let said = run(python(".python", "openapi-spec-validator"), &["--schema", "3.1", &file]).await;
    assert!(said.contains("OK"), "{said}");
}

#[tokio::test]
async fn schemas_are_valid_and_references_resolve() {
    let (_folder, file) = described_file().await;
    let found: Value =
        serde_json::from_str(&run(python(".python", "python"), &["schemas.py", &file]).await).unwrap();
    assert!(
        found["schemas"].as_u64().unwrap() > 100 && found["references"].as_u64().unwrap() > 500,
        "{found}"
    );
}

#[tokio::test]
async fn poll_schemas_match_the_validation_of_the_service() {
    let service = Setup::demo().boot().await;
    let (user, nobody) = (service.user().await, service.anonymous());
    let asked = "Which of the two is the better one?";
    let poll = |question: &str, options: Value| json!({ "question": question, "options": options });
    let two = || json!(["Alpha", "Beta"]);
    let cases = [
        ("PollRequest", poll(asked, two()), true),
        ("PollRequest", json!({ "prompt": asked, "options": two() }), true),
        ("PollRequest", poll(&format!("  {asked}\n\tIn two lines.\n"), two()), true),
        ("PollRequest", poll(asked, json!([" Alpha ", "Béta 🇨🇭\n"])), true),
        ("PollRequest", json!({ "options": two() }), false),
        ("PollRequest", poll("bell \u{7} in the question", two()), false),
        ("PollRequest", poll("reversed \u{202e} text in it", two()), true),
        ("PollRequest", poll("a form feed \u{c} in the question", two()), true),
        ("PollRequest", poll("              ", two()), false),
        ("PollRequest", poll(asked, json!(["Alpha", "  "])), false),
        ("PollRequest", poll(asked, json!(["Alpha", "Be\nta"])), false),
        ("PollRequest", poll(asked, json!(["Alpha", "Be\u{0}ta"])), false),
        ("PollRequest", json!({ "question": asked, "options": two(), "models": ["a/b", " "] }), false),
        ("FreeRequest", json!({ "q": asked, "o": two() }), true),
        ("FreeRequest", json!({ "poll": "Which one? [Alpha, Beta]" }), true),
        ("FreeRequest", json!({ "options": two() }), false),
        ("FreeRequest", poll(asked, json!(["Alpha", "\t"])), false),
    ];
    let (_folder, file) = document(&service, OPENAPI).await;
    let bodies: Vec<_> = cases.iter().map(|(name, body, _)| json!([name, body])).collect();
    let bodies = Value::from(bodies).to_string();
    let said = run(python(".python", "python"), &["requests.py", &file, &bodies]).await;
    let accepted: Vec<bool> = serde_json::from_str(&said).unwrap();
    for ((name, body, expected), accepted) in cases.iter().zip(accepted) {
        let client = if *name == "FreeRequest" { &nobody } else { &user };
        let reply = client.post("/api/poll", body).await;
        let status = if *expected { 200 } else { 400 };
        assert_eq!((reply.status, accepted), (status, *expected), "{name} {body}: {}", reply.text);
    }
}

#[tokio::test]
async fn asyncapi_description_is_parsed() {
    let service = Setup::demo().with("EP_AUTH_ISSUER_URL", "https://login.example.com").boot().await;
    let (_folder, file) = document(&service, ASYNCAPI).await;
    let said: Value = serde_json::from_str(&run(node(), &["asyncapi.mjs", &file]).await).unwrap();
    assert_eq!((&said["version"], &said["channels"]), (&"3.0.0".into(), &4.into()), "{said}");
    let found: Value =
        serde_json::from_str(&run(python(".python", "python"), &["schemas.py", &file]).await).unwrap();
    assert!(found["schemas"].as_u64().unwrap() > 10, "{found}");
}

#[tokio::test]
async fn events_match_their_description() {
    let service = Setup::demo().boot().await;
    let user = service.user().await;
    let stream = user.post("/api/poll/stream", &question(json!({ "preset": "budget" }))).await;
    let events: Vec<(String, Value)> = read_events(&stream.text);
    let failed =
        json!({ "question": "Which of the two is better?", "options": ["Alpha", "Beta"], "private": true });
    let private = user.post("/api/polls", &failed).await.expect(202);
    let watched = user.get(&format!("/api/polls/{}/events", private["poll_id"].as_str().unwrap())).await;
    let id = events[0].1["poll_id"].as_str().unwrap();
    let shared = service.anonymous().get(&format!("/api/results/{id}/events")).await;
    // The stream's last event has a separate message.
    let shared = read_events(&shared.text).into_iter().map(|(event, data)| match event.as_str() {
        "complete" => ("watch_result.complete".to_owned(), data),
        _ => (event, data),
    });
    let lines: Vec<String> = events
        .into_iter()
        .chain(read_events(&watched.text))
        .chain(shared)
        .map(|(event, data)| json!({ "event": event, "data": data }).to_string())
        .collect();
    let (folder, file) = document(&service, ASYNCAPI).await;
    let events = folder.path().join("events.jsonl");
    std::fs::write(&events, lines.join("\n")).unwrap();
    let said = run(python(".python", "python"), &["events.py", &file, events.to_str().unwrap()]).await;
    for name in ["started", "vote", "complete", "watch_result.complete"] {
        assert!(said.contains(name), "{name} in {said}");
    }
}

/// Returns the events of a stream with their names.
fn read_events(text: &str) -> Vec<(String, Value)> {
    let field = |event: &str, name: &str| {
        event.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    let events =
        text.split("\n\n").filter_map(|event| Some((field(event, "event:")?, field(event, "data:")?)));
    events.map(|(name, data)| (name, serde_json::from_str(&data).unwrap())).collect()
}
