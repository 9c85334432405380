//! Runs the code on the pages of operations.

use std::path::Path;

use ep_kernel::Agents;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{Service, Setup, node};

/// Returns the code of an operation's page in a language, as a reader copies it; `None` if it has none.
async fn sample(service: &Service, operation: &str, language: &str) -> Option<String> {
    let page = service.anonymous().get(&format!("/api/docs/{operation}")).await;
    assert_eq!(page.status, 200, "{operation}");
    let (_, rest) = page.text.split_once(&format!("<div class=\"sample {language}\">"))?;
    let code = rest.split_once("<code>")?.1.split_once("</code>")?.0;
    let entities = [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&")];
    Some(entities.iter().fold(code.to_owned(), |code, (entity, letter)| code.replace(entity, letter)))
}

/// Returns what a program writes when it has run this file.
async fn output(mut program: Command, file: &Path, key: Option<&str>) -> String {
    program.arg(file).env_remove("EP_API_KEY").env("NO_PROXY", "127.0.0.1").kill_on_drop(true);
    program.envs(key.map(|key| ("EP_API_KEY", key)));
    let done = program.output().await.unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{}: {text}{}", file.display(), String::from_utf8_lossy(&done.stderr));
    text
}

/// The languages of programs, each with its program and the ending of its files.
fn languages() -> [(&'static str, Command, &'static str); 3] {
    [
        ("curl", Command::new("bash"), "sh"),
        ("python", Command::new("python3"), "py"),
        ("typescript", Command::new(node()), "mts"),
    ]
}

#[tokio::test]
async fn programs_of_the_pages_run() {
    let service = Setup::demo().boot().await;
    let user = service.user().await;
    let folder = tempfile::tempdir().unwrap();
    for (operation, shown) in [
        ("poll_question", "confidence"),
        ("poll_free", "reasoning"),
        ("start_poll", "poll_id"),
        ("estimate_poll", "cost"),
        ("dry_run_poll", "valid"),
        ("list_keys", "key_prefix"),
        ("get_health", "version"),
    ] {
        for (language, program, ending) in languages() {
            let code = sample(&service, operation, language).await.unwrap();
            assert!(code.contains(&service.url), "{code}");
            let file = folder.path().join(format!("{operation}.{ending}"));
            std::fs::write(&file, &code).unwrap();
            let text = output(program, &file, user.key.as_deref()).await;
            assert!(text.contains(shown), "{operation}, {language}: {text}");
        }
    }
    let asked = user.get("/api/polls").await.expect(200);
    // One poll and one start for each language; the rest costs nothing and is not stored.
    assert_eq!(asked["polls"].as_array().unwrap().len(), 6, "{asked}");
}

#[tokio::test]
async fn events_of_a_poll_are_read_by_the_programs_of_its_page() {
    let service = Setup::demo().boot().await;
    let folder = tempfile::tempdir().unwrap();
    let body = json!({ "question": "Is a hot dog a sandwich?", "options": ["Yes", "No"] });
    let poll = service.anonymous().post("/api/poll", &body).await.expect(200);
    for (language, program, ending) in languages() {
        let code = sample(&service, "watch_result", language).await.unwrap();
        let code = code.replace("EP-20260131-7KQ2M4X9TB", poll["poll_id"].as_str().unwrap());
        let file = folder.path().join(format!("watch.{ending}"));
        std::fs::write(&file, &code).unwrap();
        let text = output(program, &file, None).await;
        assert!(
            text.contains("event: complete") || text.contains("\"winning_option\""),
            "{language}: {text}"
        );
    }
}

#[tokio::test]
async fn programs_of_every_page_are_well_formed() {
    let service = Setup::demo().boot().await;
    let folder = tempfile::tempdir().unwrap();
    let (mut shell, mut python, mut typescript) = (Vec::new(), vec!["import ast".to_owned()], Vec::new());
    for entry in ep_tools::TOOLS.iter().filter(|entry| service.site.settings.offer.has(entry)) {
        let name = entry.spec.name;
        let code = async |language| sample(&service, name, language).await.unwrap();
        shell.push(format!("{name}_() {{\n{}\n}}", code("curl").await));
        python.push(format!("ast.parse({})", Value::from(code("python").await)));
        typescript.push(format!("export const {name} = async () => {{\n{}\n}}", code("typescript").await));
    }
    assert!(shell.len() > 35, "{}", shell.len());
    for ((_, program, ending), code) in languages().into_iter().zip([shell, python, typescript]) {
        let file = folder.path().join(format!("all.{ending}"));
        std::fs::write(&file, code.join("\n")).unwrap();
        // No function is called.
        assert_eq!(output(program, &file, None).await, "");
    }
}

#[tokio::test]
async fn messages_of_the_pages_are_understood_by_the_endpoints() {
    let service = Setup::demo().boot().await;
    let user = service.user().await;
    for operation in ["poll_question", "get_balance", "estimate_poll", "list_polls"] {
        for (language, path) in [("mcp", "/api/mcp?toolsets=all"), ("a2a", "/api/a2a")] {
            let code = sample(&service, operation, language).await.unwrap();
            let message: Value = serde_json::from_str(&code).unwrap();
            let accept = [("accept", "application/json, text/event-stream")];
            let reply = user.post_with(path, &message, &accept).await;
            let text = reply.text.clone();
            assert!(reply.status == 200 && text.contains("\"result\""), "{operation}, {language}: {text}");
            assert!(
                !text.contains("\"isError\":true") && !text.contains("STATE_FAILED"),
                "{operation}: {text}"
            );
        }
    }
    for entry in ep_tools::TOOLS.iter().filter(|entry| service.site.settings.offer.has(entry)) {
        let expected = entry.spec.agents != Agents::None;
        let code = sample(&service, entry.spec.name, "mcp").await;
        assert_eq!(code.is_some(), expected, "{}", entry.spec.name);
    }
}
