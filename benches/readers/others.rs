//! Other readers: arguments of operations, rows of batches, model lists, and responses of models.

use ep_kernel::batches::line;
use ep_polling::ChoiceForm;
use ep_tools::TOOLS;
use ep_upstream::testing::readers::{model_list, vote};
use serde_json::{Value, json};

use crate::{GrowingText, LARGEST, MOST};

/// Maximum size of most bodies, in bytes.
const BODY: usize = 64 << 10;
const OPTIONS: [&str; 3] = ["Earth", "Mars", "Earthrise now"];

/// Returns all texts with their readers.
pub(crate) fn shapes() -> Vec<GrowingText> {
    let mut shapes = Vec::new();
    for (name, text) in [
        ("unknown arguments", members(|n| (format!("argument{n}"), json!(1)))),
        ("empty arguments", members(|n| (format!("argument{n}"), json!("")))),
        ("a long question", json!({ "question": "x".repeat(BODY - 64), "options": ["a", "b"] }).to_string()),
        (
            "many options",
            json!({ "question": "Which one?", "options": vec!["a"; BODY / 4 - 16] }).to_string(),
        ),
        (
            "a long text for a number",
            json!({ "question": "x", "wait_ms": "x".repeat(BODY - 64) }).to_string(),
        ),
    ] {
        shapes.push(of(format!("{name} of poll_question"), text, arguments));
    }
    let rows = |row: Value| {
        let count = LARGEST / (row.to_string().len() + 1) - 1;
        json!({ "rows": vec![row; count.min(1000)] }).to_string()
    };
    let long = "x".repeat(950);
    shapes.push(of(
        "rows of create_batch",
        rows(json!({ "question": long, "options": ["a", "b"] })),
        arguments_of_batch,
    ));
    let line =
        |body: Value| json!({ "custom_id": "a", "url": "/v1/chat/completions", "body": body }).to_string();
    shapes.push(of(
        "a line of a batch with numbers",
        line(json!({ "a": vec![0; LARGEST / 2 - 64] })),
        batch_line,
    ));
    shapes.push(of(
        "a line of a batch with a text",
        line(json!({ "a": "x".repeat(LARGEST - 128) })),
        batch_line,
    ));
    for (name, model) in [
        ("short ids", (|n| json!({ "id": format!("a/m{n}") })) as fn(usize) -> Value),
        ("parameters", |n| json!({ "id": n.to_string(), "supported_parameters": vec!["x"; 100] })),
        ("families", |n| json!({ "id": format!("{n}-{}", "a-".repeat(90)) })),
    ] {
        let list = of(format!("{name} in a model list"), list(model), models);
        shapes.push(GrowingText { most: 2 * MOST, ..list });
    }
    for (name, text) in [
        ("thoughts", "<think>".repeat(LARGEST / 8)),
        ("ended thoughts", "</think>".repeat(LARGEST / 9)),
        ("begun tags", "<".repeat(LARGEST - 128)),
        ("begun objects", "{\"a\":".repeat(LARGEST / 8)),
        ("labels", "Answer: ".repeat(LARGEST / 8 - 16)),
        ("options", "Earth ".repeat(LARGEST / 6 - 32)),
    ] {
        let message = json!({ "content": text });
        let text = json!({ "choices": [{ "message": message }] }).to_string();
        shapes.push(of(format!("{name} in a response of a model"), text, response));
    }
    let calls = vec![json!({ "function": { "arguments": "{\"option\":" } }); LARGEST / 44];
    let text = json!({ "choices": [{ "message": { "tool_calls": calls } }] }).to_string();
    shapes.push(of("calls in a response of a model", text, response));
    shapes
}

fn of(name: impl Into<String>, text: String, read: fn(&str)) -> GrowingText {
    GrowingText { name: name.into(), most: MOST, text, read: Box::new(read) }
}

/// Builds an object of nearly the usual maximum size.
fn members(member: impl Fn(usize) -> (String, Value)) -> String {
    let each = json!({ "x": member(1000).1 }).to_string().len() + member(1000).0.len();
    (0..BODY / each).map(member).collect::<Value>().to_string()
}

fn list(model: impl Fn(usize) -> Value) -> String {
    let count = LARGEST / (model(100_000).to_string().len() + 1);
    json!({ "data": (0..count).map(model).collect::<Vec<Value>>() }).to_string()
}

fn check(operation: &str, text: &str) {
    let entry = TOOLS.iter().find(|entry| entry.spec.name == operation).expect("an operation");
    let mut input: Value = serde_json::from_str(text).expect("an object");
    let fields = input.as_object().expect("an object");
    let _ = std::hint::black_box(entry.refuse_unknown(fields, &[]));
    let _ = std::hint::black_box(entry.remove_empty(&mut input));
    let _ = std::hint::black_box(entry.check(input.as_object().expect("an object")));
}

fn arguments(text: &str) {
    check("poll_question", text);
}

fn arguments_of_batch(text: &str) {
    check("create_batch", text);
}

fn batch_line(text: &str) {
    let _ = std::hint::black_box(line::read(text, "/v1/chat/completions"));
}

fn models(text: &str) {
    std::hint::black_box(model_list(text));
}

fn response(text: &str) {
    std::hint::black_box(vote(text.as_bytes(), "Which?", &OPTIONS, ChoiceForm::Text));
}
