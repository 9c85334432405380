//! Bodies of `/v1`: schemas that grow, in each place of a request, and conversations that grow.

use ep_protocols::batch_rows::asked_questions;
use serde_json::{Value, json};

use crate::growing::SCHEMAS;
use crate::{GrowingText, LARGEST, MOST};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const DECISIONS: &str = "/v1/decisions";

/// A body by its number of elements.
type Body = Box<dyn Fn(usize) -> Value>;

/// Returns all bodies, of nearly 1 MiB.
pub(crate) fn shapes() -> Vec<GrowingText> {
    let mut shapes = Vec::new();
    for (name, schema) in SCHEMAS {
        let places: [(&str, &str, Body); 4] = [
            ("format", CHAT, Box::new(move |n| chat(&json!("Go?"), &schema(n)))),
            ("function", CHAT, Box::new(move |n| function(&schema(n)))),
            ("format", RESPONSES, Box::new(move |n| response(&schema(n)))),
            ("message", CHAT, Box::new(move |n| message(&format!("Answer as {}.", schema(n))))),
        ];
        shapes.extend(places.map(|(place, path, body)| shape(format!("{name} ({place})"), path, &*body)));
    }
    for (name, path, body) in conversations() {
        shapes.push(shape(name.to_owned(), path, &*body));
    }
    shapes
}

/// Builds the largest body that is not longer than 1 MiB.
fn shape(name: String, path: &'static str, body: &dyn Fn(usize) -> Value) -> GrowingText {
    let mut n = 1 << 14;
    for _ in 0..3 {
        n = (n as f64 * LARGEST as f64 * 0.98 / body(n).to_string().len() as f64) as usize;
    }
    let text = body(n).to_string();
    let read = move |text: &str| {
        let body: Value = serde_json::from_str(text).expect("a body");
        let _ = std::hint::black_box(asked_questions(path, &body));
    };
    GrowingText { name: format!("{name}, {path}"), most: MOST, text, read: Box::new(read) }
}

fn chat(content: &Value, schema: &Value) -> Value {
    json!({
        "model": "free",
        "messages": [{ "role": "user", "content": content }],
        "response_format": { "type": "json_schema", "json_schema": { "name": "f", "schema": schema } },
    })
}

fn function(schema: &Value) -> Value {
    let function = json!({ "name": "f", "parameters": schema });
    json!({
        "messages": [{ "role": "user", "content": "Go?" }],
        "tools": [{ "type": "function", "function": function }],
    })
}

fn response(schema: &Value) -> Value {
    json!({ "input": "Go?", "text": { "format": { "type": "json_schema", "name": "f", "schema": schema } } })
}

fn message(text: &str) -> Value {
    json!({ "messages": [{ "role": "user", "content": text }] })
}

fn fields(count: usize) -> Value {
    let names: Vec<String> = (0..count).map(|n| format!("f{n}")).collect();
    let properties: Value = names.iter().map(|name| (name.clone(), json!({ "type": "boolean" }))).collect();
    json!({ "properties": properties, "required": names })
}

fn conversations() -> Vec<(&'static str, &'static str, Body)> {
    let begun = |begun: &'static str| {
        Box::new(move |n: usize| message(&format!("{}\"{}", begun.repeat(64), "x".repeat(n)))) as Body
    };
    let repeated = |element: Value, body: fn(Vec<Value>) -> Value| {
        Box::new(move |n: usize| body(vec![element.clone(); n])) as Body
    };
    let user = |content: Value| json!({ "role": "user", "content": content });
    vec![
        ("begun objects", CHAT, begun("{\"a\":")),
        ("begun lists of objects", CHAT, begun("{\"a\":[")),
        ("begun schemas", CHAT, begun("{\n\"properties\": {")),
        (
            "a begun list of numbers, 64 times",
            CHAT,
            Box::new(|n| message(&format!("{}{}", "{\"a\":[".repeat(64), "0,".repeat(n)))),
        ),
        ("objects in a text", CHAT, Box::new(|n| message(&"{\"a\":[1,2]} ".repeat(n)))),
        (
            "a long object in a text",
            CHAT,
            Box::new(|n| message(&format!("{} {}", json!({ "a": vec![0; n] }), fields(1)))),
        ),
        ("braces in a text", CHAT, Box::new(|n| message(&"{".repeat(n)))),
        (
            "equal schemas in messages",
            CHAT,
            Box::new(
                |n| json!({ "messages": vec![json!({ "role": "user", "content": fields(1).to_string() }); n] }),
            ),
        ),
        (
            "marks of compared texts",
            CHAT,
            Box::new(|n| {
                let marks = "<Text index=\"1\">".repeat(n);
                message(&format!("<Text index=\"0\">{marks} You must output a single integer."))
            }),
        ),
        ("a long message and a field", CHAT, Box::new(|n| chat(&json!("x".repeat(n)), &fields(1)))),
        ("a long message and eight fields", CHAT, Box::new(|n| chat(&json!("x".repeat(n)), &fields(8)))),
        ("a long message of two-byte letters", CHAT, Box::new(|n| chat(&json!("é".repeat(n)), &fields(1)))),
        (
            "short messages",
            CHAT,
            repeated(
                user(json!("a")),
                |messages| json!({ "messages": messages, "tools": [{ "type": "function", "function": { "parameters": fields(1) } }] }),
            ),
        ),
        ("empty messages", CHAT, repeated(user(json!("")), |messages| json!({ "messages": messages }))),
        ("parts of a message", CHAT, repeated(json!(""), |parts| chat(&parts.into(), &fields(1)))),
        (
            "functions",
            CHAT,
            repeated(
                json!({}),
                |functions| json!({ "messages": [{ "role": "user", "content": "Go?" }], "functions": functions, "function_call": { "name": "f" } }),
            ),
        ),
        (
            "tools",
            CHAT,
            repeated(
                json!({ "type": "function", "function": {} }),
                |tools| json!({ "messages": [{ "role": "user", "content": "Go?" }], "tools": tools, "tool_choice": { "name": "f" } }),
            ),
        ),
        (
            "modalities",
            CHAT,
            repeated(
                json!("text"),
                |modalities| json!({ "messages": [{ "role": "user", "content": "Go?" }], "modalities": modalities }),
            ),
        ),
        ("unknown members", CHAT, Box::new(|n| (0..n).map(|n| (n.to_string(), json!(0))).collect())),
        (
            "input items",
            RESPONSES,
            repeated(
                user(json!("a")),
                |items| json!({ "input": items, "text": { "format": { "type": "json_schema", "schema": fields(1) } } }),
            ),
        ),
        (
            "calls of functions",
            RESPONSES,
            repeated(
                json!({ "type": "function_call" }),
                |items| json!({ "input": items, "text": { "format": { "type": "json_schema", "schema": fields(1) } } }),
            ),
        ),
        (
            "metadata",
            RESPONSES,
            Box::new(|n| {
                let mut body = response(&fields(1));
                body["metadata"] = (0..n).map(|n| (n.to_string(), json!(0))).collect();
                body
            }),
        ),
        (
            "a long input and eight questions",
            DECISIONS,
            Box::new(|n| {
                let question = json!({ "type": "predicate", "instructions": "Is it so?" });
                json!({ "input": "x".repeat(n), "questions": vec![question; 8] })
            }),
        ),
        (
            "options of a choice",
            DECISIONS,
            Box::new(|n| {
                let criteria: Value = (0..n).map(|n| (n.to_string(), json!("x"))).collect();
                let choice = json!({ "type": "choice", "criteria": criteria });
                json!({ "input": "x", "questions": { "q": choice } })
            }),
        ),
        (
            "levels of a score",
            DECISIONS,
            Box::new(|n| {
                let levels: Vec<String> = (0..n).map(|n| n.to_string()).collect();
                json!({ "input": "x", "questions": { "q": { "type": "score", "criteria": levels } } })
            }),
        ),
        (
            "questions",
            DECISIONS,
            repeated(json!({}), |questions| json!({ "input": "x", "questions": questions })),
        ),
    ]
}
