//! Examples of docs/openai.md with the clients of OpenAI and the AI SDK, and the automatic retries of these clients.
//! `scripts/long/openai-clients` runs all examples.

use std::process::Stdio;
use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::Script;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::harness::{Client, Service, Setup, node, until};

const GUIDE: &str = include_str!("../../docs/openai.md");
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openai-clients");

/// The language of a program.
#[derive(Clone, Copy)]
enum Language {
    Python,
    JavaScript,
}

/// Returns the program of a section of the guide.
fn example(title: &str) -> (&'static str, Language) {
    let (_, section) = GUIDE.split_once(&format!("\n### {title}\n")).unwrap_or_else(|| panic!("no {title}"));
    let (_, block) = section.split_once("\n```").unwrap();
    let (language, code) = block.split_once('\n').unwrap();
    let language = match language {
        "python" => Language::Python,
        "js" => Language::JavaScript,
        other => panic!("{title}: {other}"),
    };
    (code.split_once("\n```").unwrap().0, language)
}

/// Runs a program with the service's address and the key of an account. Returns its output.
async fn run(program: &str, language: Language, service: &Service, client: &Client) -> String {
    let mut command = match language {
        Language::Python => Command::new(format!("{FOLDER}/.python/bin/python")),
        Language::JavaScript => Command::new(node()),
    };
    match language {
        Language::Python => command.arg("-"),
        Language::JavaScript => command.args(["--input-type=module", "-"]),
    };
    let mut running = command
        .current_dir(FOLDER)
        .env("EP_API_KEY", client.key.as_ref().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let program = program.replace("https://polls.example.com", &service.url);
    running.stdin.take().unwrap().write_all(program.as_bytes()).await.unwrap();
    let done =
        tokio::time::timeout(Duration::from_mins(2), running.wait_with_output()).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    assert!(done.status.success(), "{text}\n{}", String::from_utf8_lossy(&done.stderr));
    text
}

async fn account(service: &Service) -> Client {
    service.user_with(MicroUsd::new(20_000_000)).await.1
}

async fn polls(client: &Client) -> usize {
    client.get("/api/polls").await.expect(200)["polls"].as_array().unwrap().len()
}

#[tokio::test]
async fn examples_of_the_guide_print_a_possible_answer() {
    let service = Setup::demo().boot().await;
    let client = account(&service).await;
    let grades = ["correct", "partly correct", "wrong"];
    for (title, answers) in [
        ("OpenAI (Python)", grades.as_slice()),
        ("OpenAI responses (Python)", &grades),
        ("OpenAI decisions (Python)", &["billing", "technical"]),
        ("OpenAI (JavaScript)", &grades),
        ("OpenAI batches (Python)", &["praise text-0", "complaint text-0"]),
        ("OpenAI batches (JavaScript)", &["Tea question-0", "Coffee question-0", "tie question-0"]),
        ("AI SDK", &grades),
        ("AI SDK, OpenAI-compatible provider", &grades),
        ("AI SDK decisions", &["billing", "technical"]),
    ] {
        let (program, language) = example(title);
        let output = run(program, language, &service, &client).await;
        assert!(answers.iter().any(|answer| output.starts_with(answer)), "{title}: {output}");
    }
}

/// Runs a program that loses its first response to a time-out. Returns the number of polls.
async fn polls_of_a_retry(program: &str, language: Language) -> usize {
    let service = Setup::scripted(Script { held: true, ..Script::panel(10) }).boot().await;
    let client = account(&service).await;
    let (output, ()) = tokio::join!(run(program, language, &service, &client), async {
        // The time-out of the client is a second.
        until("the first attempt has a poll", async || polls(&client).await, |polls| *polls == 1).await;
        let path = "/v1/chat/completions";
        until("a retry has come", async || service.requests.to(path), |requests| *requests > 1).await;
        service.upstream().release(10_000);
    });
    assert_eq!(output, "answered");
    polls(&client).await
}

#[tokio::test]
async fn the_retry_of_the_python_client_pays_once() {
    let program = r#"
import os
from openai import OpenAI
client = OpenAI(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"], timeout=1, max_retries=8)
schema = {"enum": ["yes", "no"]}
answer = client.chat.completions.create(
    model="poll",
    messages=[{"role": "user", "content": "Yes or no?"}],
    response_format={"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
)
print("answered" if answer.choices[0].message.content in ('"yes"', '"no"') else answer)
"#;
    assert_eq!(polls_of_a_retry(program, Language::Python).await, 1);
}

#[tokio::test]
async fn the_retry_of_the_javascript_client_pays_once() {
    let program = r#"
import OpenAI from "openai";
const client = new OpenAI({ baseURL: "https://polls.example.com/v1", apiKey: process.env.EP_API_KEY, timeout: 1000, maxRetries: 8 });
const schema = { enum: ["yes", "no"] };
const answer = await client.chat.completions.create({
  model: "poll",
  messages: [{ role: "user", content: "Yes or no?" }],
  response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
});
console.log(['"yes"', '"no"'].includes(answer.choices[0].message.content) ? "answered" : answer);
"#;
    assert_eq!(polls_of_a_retry(program, Language::JavaScript).await, 1);
}
