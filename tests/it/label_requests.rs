//! `ep label` of requests in the form of OpenAI's batches.

use std::fs;
use std::path::Path;

use ep_upstream::testing::{Script, ScriptedUpstream, VoteFor};
use serde_json::{Value, json};

use crate::command_line::{ep, stdout};
use crate::label::{TRIO, lines, run};

/// Returns a line of a batch.
fn line(id: &str, url: &str, body: Value) -> Value {
    json!({ "custom_id": id, "method": "POST", "url": url, "body": body })
}

/// Returns a schema with one field to decide.
fn schema() -> Value {
    json!({ "type": "object", "properties": { "grade": { "enum": ["pass", "fail"] } }, "required": ["grade"] })
}

fn chat(id: &str) -> Value {
    let body = json!({
        "model": "gpt-x",
        "messages": [{ "role": "user", "content": format!("Grade the answer {id}.") }],
        "response_format": { "type": "json_schema", "json_schema": { "name": "grade", "schema": schema() } },
    });
    line(id, "/v1/chat/completions", body)
}

fn write(path: &Path, lines: &[Value]) {
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(path, lines.concat()).unwrap();
}

fn arguments<'a>(file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    ["label", file, "--yes"].into_iter().chain(TRIO).chain(more.iter().copied()).collect()
}

#[tokio::test]
async fn requests_of_every_endpoint_are_rows() {
    let folder = tempfile::tempdir().unwrap();
    let function = json!({ "type": "function", "function": { "name": "grade", "parameters": schema() } });
    let rows = [
        chat("chat"),
        line(
            "call",
            "/v1/chat/completions",
            json!({
                "messages": [{ "role": "user", "content": "Grade it." }], "tools": [function], "tool_choice": "required",
            }),
        ),
        line(
            "response",
            "/v1/responses",
            json!({
                "input": "Grade the answer.",
                "text": { "format": { "type": "json_schema", "name": "grade", "schema": schema() } },
            }),
        ),
        line(
            "decision",
            "/v1/decisions",
            json!({
                "input": "The answer.",
                "questions": [{ "type": "choice", "instructions": "Grade it.", "choices": [{ "value": "pass" }, { "value": "fail" }] }],
            }),
        ),
        line(
            "poll",
            "/api/poll",
            json!({ "question": "Does the answer pass?", "options": ["pass", "fail"] }),
        ),
    ];
    write(&folder.path().join("requests.jsonl"), &rows);
    let votes_for = VoteFor::Text("fail".to_owned());
    let upstream = ScriptedUpstream::start(Script { votes_for, ..Script::panel(3) }).unwrap();
    let arguments = arguments("requests.jsonl", &["--json"]);
    let summary = stdout(&run(folder.path(), &upstream, &arguments).await, 0);
    let summary: Value = serde_json::from_str(&summary).unwrap();
    // All requests have the same options, so that their labels can be counted.
    assert_eq!(summary["labels"], json!({ "fail": 5 }), "{summary}");
    let labels = lines(&folder.path().join("labels.jsonl"));
    let mut ids: Vec<&str> = labels.iter().map(|line| line["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["call", "chat", "decision", "poll", "response"]);
    assert!(labels.iter().all(|line| line["votes"].as_array().unwrap().len() == 3), "{labels:?}");
    let asked = upstream.all_received().iter().map(|request| request.body.to_string()).collect::<String>();
    assert!(asked.contains("Grade the answer chat.") && asked.contains("Does the answer pass?"), "{asked}");
    stdout(&run(folder.path(), &upstream, &arguments).await, 0);
    assert_eq!(upstream.total_calls(), 15, "a second run asks nothing");
}

#[tokio::test]
async fn gold_rows_of_requests_judge_the_models() {
    let folder = tempfile::tempdir().unwrap();
    // The votes differ between rows with other options.
    let rows = (0..80).map(|row| {
        let mut line = chat(&format!("r{row}"));
        let grade = &mut line["body"]["response_format"]["json_schema"]["schema"]["properties"]["grade"];
        grade["enum"] = json!([format!("pass {row}"), format!("fail {row}")]);
        line
    });
    let rows: Vec<Value> = rows.collect();
    write(&folder.path().join("requests.jsonl"), &rows);
    let upstream = ScriptedUpstream::start(Script::panel(3)).unwrap();
    let first = arguments("requests.jsonl", &["--out", "first.jsonl"]);
    stdout(&run(folder.path(), &upstream, &first).await, 0);
    let labels = lines(&folder.path().join("first.jsonl"));
    let label_of = |id: &str| labels.iter().find(|line| line["id"] == id).unwrap()["label"].as_str().unwrap();

    let sample = ["label", "sample", "requests.jsonl", "70"];
    let drawn = stdout(&ep(folder.path(), &sample, &[]), 0);
    let label = |row: &str| format!("{row}{}\n", label_of(row.split(',').next().unwrap()));
    let rows: Vec<String> = drawn.lines().skip(1).map(label).collect();
    let header = drawn.lines().next().unwrap();
    assert_eq!(header, "custom_id,method,url,body,gold");
    fs::write(folder.path().join("gold.csv"), format!("{header}\n{}", rows.concat())).unwrap();
    let evaluate: Vec<&str> = ["panel", "evaluate", "gold.csv", "--yes"].into_iter().chain(TRIO).collect();
    let output = run(folder.path(), &upstream, &evaluate).await;
    stdout(&output, 0);
    let next = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(next.contains("ep label prove FILE --gold gold.csv --max-error 0.05,0.1 --model"), "{next}");
    // The same gold file proves, with the 20 rows that did not choose: the panel is right on all of them.
    let mut proved = arguments("requests.jsonl", &["--gold", "gold.csv", "--max-error", "0.15"]);
    proved.insert(1, "prove");
    let text = stdout(&run(folder.path(), &upstream, &proved).await, 0);
    assert!(text.contains("Proved: of the rows of requests.jsonl"), "{text}");
    let verified = stdout(&ep(folder.path(), &["label", "verify", "labels.jsonl"], &[]), 0);
    assert!(verified.contains("all tests on 20 gold rows have the same result again"), "{verified}");
}

#[test]
fn wrong_requests_are_named_by_their_line_before_any_call() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |rows: &[Value], more: &[&str], words: &str| {
        write(&folder.path().join("requests.jsonl"), rows);
        let arguments = [&["label", "requests.jsonl", "--yes", "--preset", "budget"], more].concat();
        let output = ep(folder.path(), &arguments, &[]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() != Some(0) && text.contains(words), "{words} in {text}");
        assert!(!folder.path().join("labels.jsonl").exists(), "{words}");
    };
    let mut two = chat("b");
    let mut both = schema();
    both["properties"]["tone"] = json!({ "enum": ["kind", "rude"] });
    both["required"] = json!(["grade", "tone"]);
    two["body"]["response_format"]["json_schema"]["schema"] = both;
    refused(&[chat("a"), two], &[], "row 2: the request decides 2 fields");
    let mut none = chat("b");
    none["body"]["response_format"] = Value::Null;
    refused(&[chat("a"), none], &[], "row 2: the request: response_format is missing");
    let embedding = line("b", "/v1/embeddings", json!({ "input": "text" }));
    refused(
        &[chat("a"), embedding],
        &[],
        "row 2: the url /v1/embeddings has no decisions; it must be one of /v1/chat",
    );
    let scale =
        line("b", "/api/poll", json!({ "question": "How good is it?", "scale": { "min": 1, "max": 5 } }));
    refused(&[chat("a"), scale], &[], "row 2: the request has a scale, and labels are options");
    let mut get = chat("b");
    get["method"] = json!("GET");
    refused(&[chat("a"), get], &[], "row 2: method must be POST");
    let mut other = chat("a");
    other["body"]["messages"][0]["content"] = json!("Grade another answer.");
    refused(&[chat("a"), other], &[], "row 2: the id \"a\" was used before, for another row");
    refused(&[json!({ "text": "Fine" })], &[], "row 1: is no request of a batch");
    // The question is in the rows, or in the arguments.
    let question = ["--question", "{body}: a or b?", "--options", "a,b"];
    refused(&[chat("a")], &question, "row 1: this is a request of a batch, with a question of its own");
    refused(&[chat("a")], &["--options", "a,b"], "name the question for each row with --question");
    refused(&[chat("a")], &["--id", "custom_id"], "name the question for each row with --question");
}
