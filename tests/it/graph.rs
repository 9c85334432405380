//! Graph: operations as nodes, and polls as diagrams that Mermaid can parse.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ep_kernel::Agents;
use ep_upstream::testing::Script;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::harness::{Setup, node, question};

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Returns a program's output for a JSON value.
async fn answer(mut program: Command, input: &Value) -> Value {
    let mut child =
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.to_string().as_bytes()).await.unwrap();
    drop(stdin);
    let done = tokio::time::timeout(Duration::from_mins(2), child.wait_with_output()).await.unwrap().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// Returns Mermaid's parse of each text: type and labels.
async fn read_by_mermaid(diagrams: &[String]) -> Vec<Value> {
    let mut program = Command::new(node());
    program.arg(tests().join("diagrams/parse.mjs"));
    let read = answer(program, &json!(diagrams)).await;
    read.as_array().unwrap().clone()
}

/// Texts with a special meaning for Mermaid, its renderers or the text around a diagram.
fn hostile() -> Vec<String> {
    let long = "x\"#;".repeat(50);
    let texts = [
        "\"",
        "\"\"]",
        "a\"] --> b[\"c",
        "[x]",
        "]",
        "(y)",
        "{z}",
        "#",
        "#35;",
        "#quot;",
        "&quot;",
        "&#34;",
        ";",
        "end",
        "End",
        "graph TD",
        "subgraph a",
        "end\"",
        "`code`",
        "`",
        "\"`bold`\"",
        "<b>x</b>",
        "<script>alert(1)</script>",
        "<br/>",
        "<img src=x onerror=y>",
        "%%",
        "%% comment",
        "%%{init: {\"theme\": \"dark\"}}%%",
        "%%{",
        "---",
        "--- title: x ---",
        "-->",
        "==>",
        "-.->",
        "--x",
        "o--o",
        "A & B",
        "a | b",
        "|",
        "||",
        "\\",
        "\\\"",
        "\\n",
        "$x$",
        "$$x$$",
        "@{ shape: x }",
        "a@b.c",
        ":::class",
        "classDef x fill:#f00;",
        "style q fill:#f00;",
        "style: x #1; y",
        "click a href",
        "1. one",
        "- item",
        "* star",
        "# heading",
        "**bold**",
        "_under_",
        "~~~",
        "^",
        "https://example.com/?a=b#c;d",
        "🗳️ emoji 👩‍👩‍👧",
        "日本語",
        "العربية",
        "עברית",
        "e\u{301}",
        "\u{fb02}\u{b0}\u{b0}35\u{b6}\u{df}",
        "ﬂ°x¶ß",
        "{{hexagon}}",
        "((circle))",
        "default",
        "'",
        "''",
        &long,
    ];
    texts.into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn mermaid_renders_polls_with_any_options() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let (mut diagrams, mut expected) = (Vec::new(), Vec::new());
    for options in hostile().chunks(8) {
        // Two more options, so that the last chunk is also a poll. The question is equally hostile.
        let options: Vec<&str> =
            options.iter().map(String::as_str).chain(["first of two", "second of two"]).collect();
        let asked = format!("Which of these: {}?", options[0]);
        let poll = client.poll(json!({ "question": asked, "options": options })).await;
        let poll = poll.expect(200);
        let path = format!("/api/graph/mermaid/{}", poll["poll_id"].as_str().unwrap());
        let drawn = service.anonymous().get(&path).await;
        assert_eq!((drawn.status, drawn.header("content-type")), (200, "text/plain; charset=utf-8"));
        assert!(drawn.header("cache-control").contains("s-maxage=86400"));
        expected.push((asked, poll));
        diagrams.push(drawn.text);
    }
    let read = read_by_mermaid(&diagrams).await;
    assert_eq!(read.len(), diagrams.len());
    for ((read, diagram), (asked, poll)) in read.iter().zip(&diagrams).zip(expected) {
        assert!(read.get("error").is_none(), "{}\n{diagram}", read["error"]);
        assert_eq!(read["type"], "flowchart-v2");
        let labels: BTreeMap<String, String> = serde_json::from_value(read["labels"].clone()).unwrap();
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(labels["question"], one_line(&asked));
        for (place, option) in poll["options"].as_array().unwrap().iter().enumerate() {
            let option = option.as_str().unwrap();
            let votes = poll["tally"][option].as_u64().unwrap();
            let label = &labels[&format!("option{place}")];
            let plural = if votes == 1 { "" } else { "s" };
            assert_eq!(*label, format!("{} ({votes} vote{plural})", one_line(option)), "{diagram}");
        }
        assert!(labels["outcome"].starts_with("Outcome: "), "{labels:?}");
    }
}

#[tokio::test]
async fn large_polls_are_grouped_by_family_and_running_polls_are_partial() {
    let mut script = Script::divided_panel(100);
    script.default.latency = Duration::from_millis(50);
    let service = Setup::scripted(script).with("EP_UPSTREAM_MAX_CONCURRENT", "4").boot().await;
    let client = service.user().await;
    let all = json!({ "confidence_threshold": 1, "models": ["*"], "wait_ms": 0 });
    let running = client.post("/api/poll", &question(all)).await.json();
    let id = running["poll_id"].as_str().unwrap();
    let path = format!("/api/graph/mermaid/{id}");
    let early = client.get(&path).await;
    assert_eq!(early.header("cache-control"), "no-store");
    assert!(early.text.contains("Still running"), "{}", early.text);
    let ended = client.get(&format!("/api/results/{id}?wait_ms=60000")).await.expect(200);
    assert_eq!(ended["models_requested"], 100, "{ended}");
    let drawn = client.get(&path).await.text;
    let read = read_by_mermaid(&[early.text, drawn.clone()]).await;
    assert!(read.iter().all(|read| read["type"] == "flowchart-v2"), "{read:?}");
    let nodes = read[1]["labels"].as_object().unwrap();
    assert!(nodes.len() <= 20, "{drawn}");
    assert!(drawn.lines().count() < 60, "{drawn}");
}

#[tokio::test]
async fn private_and_unknown_polls_have_no_diagram() {
    let service = Setup::demo().boot().await;
    let (owner, other) = (service.user().await, service.user().await);
    let poll = owner.poll(json!({ "private": true })).await.expect(200);
    let path = format!("/api/graph/mermaid/{}", poll["poll_id"].as_str().unwrap());
    let own = owner.get(&path).await;
    assert_eq!((own.status, own.header("cache-control")), (200, "no-store"));
    other.get(&path).await.refused(404);
    service.anonymous().get(&path).await.refused(404);
    for unknown in ["EP-20260101-0000000000", "x", "..%2fx", "EP-1%0A"] {
        service.anonymous().get(&format!("/api/graph/mermaid/{unknown}")).await.refused(404);
    }
}

#[tokio::test]
async fn nodes_have_schemas_and_tools_in_every_format() {
    let service = Setup::demo().boot().await;
    let specified = service.anonymous().get("/api/graph/node-spec").await.expect(200);
    let nodes = specified["nodes"].as_array().unwrap();
    let visible = ep_tools::TOOLS.iter().filter(|entry| entry.spec.agents != Agents::None);
    let names: Vec<&str> = visible.map(|entry| entry.spec.name).collect();
    assert_eq!(nodes.iter().map(|node| node["id"].as_str().unwrap()).collect::<Vec<_>>(), names);
    let described = service.site.links.has("openapi");
    for node in nodes {
        let (id, specs) = (&node["id"], &node["tool_specs"]);
        for name in [&specs["openai"]["function"]["name"], &specs["anthropic"]["name"], &specs["mcp"]["name"]]
        {
            assert_eq!(name, id);
        }
        let input = &node["input_schema"];
        for schema in [
            &specs["openai"]["function"]["parameters"],
            &specs["anthropic"]["input_schema"],
            &specs["mcp"]["inputSchema"],
        ] {
            assert_eq!(schema, input);
        }
        assert_eq!(node["openapi"].is_object(), described, "{id}");
    }
}

/// Validates every schema against the meta-schema, its references, and its example.
const CHECK: &str = r#"
import json, sys
from jsonschema import Draft202012Validator
def references(value):
    if isinstance(value, dict):
        yield from [value["$ref"]] if "$ref" in value else []
        for member in value.values(): yield from references(member)
    elif isinstance(value, list):
        for item in value: yield from references(item)
checked = 0
for schema, example in json.load(sys.stdin):
    Draft202012Validator.check_schema(schema)
    assert not list(references(schema)), schema
    if example is not None: Draft202012Validator(schema).validate(example)
    checked += 1
json.dump(checked, sys.stdout)
"#;

#[tokio::test]
async fn published_schemas_are_valid_and_match_their_examples() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let nodes = client.get("/api/graph/node-spec").await.expect(200);
    let intents = client.get("/api/intents").await.expect(200);
    let mut schemas = Vec::new();
    for node in nodes["nodes"].as_array().unwrap() {
        schemas.push(json!([node["input_schema"], null]));
        schemas.push(json!([node["output_schema"], null]));
    }
    for intent in intents["intents"].as_array().unwrap() {
        schemas.push(json!([intent["parameters"], intent["example"]]));
    }
    let mut python = Command::new(tests().join("mcp-clients/.python-2/bin/python"));
    python.args(["-c", CHECK]);
    let checked = answer(python, &json!(schemas)).await;
    assert_eq!(checked, schemas.len());
}
