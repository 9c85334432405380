//! Walks the table: what must be true of every operation.

use std::collections::{BTreeSet, HashSet};

use ep_kernel::fault::Kind;
use ep_kernel::tool::{Agents, Entry, Method, Rest};
use ep_tools::TOOLS;
use serde_json::{Value, json};

use crate::harness::{Client, Setup};

fn doors(entry: &Entry) -> impl Iterator<Item = Rest> {
    [entry.spec.rest, entry.spec.stream].into_iter().flatten()
}

fn example(entry: &Entry) -> Value {
    serde_json::from_str(entry.spec.example).unwrap_or_else(|error| panic!("{}: {error}", entry.spec.name))
}

fn members(entry: &Entry) -> Vec<(String, Value)> {
    let schema = serde_json::to_value(entry.input()).unwrap();
    schema["properties"].as_object().map(|members| members.clone().into_iter().collect()).unwrap_or_default()
}

#[test]
fn words_are_there_and_fit_their_places() {
    let mut names = HashSet::new();
    for entry in TOOLS {
        let spec = &entry.spec;
        assert!(names.insert(spec.name), "{} twice", spec.name);
        assert!(
            spec.name.len() <= 64 && spec.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
            "{}",
            spec.name
        );
        assert!(!spec.title.is_empty() && !spec.manual.trim().is_empty(), "{}", spec.name);
        assert!((20..=400).contains(&spec.summary.len()), "{}: {} characters", spec.name, spec.summary.len());
        assert!(spec.agents == Agents::None || !spec.intents.is_empty(), "{} has no phrases", spec.name);
        for words in [spec.summary, spec.manual] {
            for promise in
                ["prevents hallucination", "guarantees truth", "always correct", "the correct answer"]
            {
                assert!(!words.to_lowercase().contains(promise), "{} promises: {promise}", spec.name);
            }
        }
    }
}

#[test]
fn doors_fit_their_schemas() {
    for entry in TOOLS {
        let members = members(entry);
        let required = serde_json::to_value(entry.input()).unwrap()["required"].clone();
        for rest in doors(entry) {
            for hole in rest.path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap()) {
                assert!(
                    required.as_array().is_some_and(|names| names.contains(&json!(hole))),
                    "{}: {hole} must be required",
                    rest.path
                );
            }
            if rest.method != Method::Post {
                for (name, schema) in &members {
                    assert_ne!(schema["type"], "object", "{}: {name} cannot come in a query", rest.path);
                }
            }
        }
    }
}

#[test]
fn schemas_are_plain_and_described() {
    for entry in TOOLS {
        let input = serde_json::to_string(&entry.input()).unwrap();
        for noise in ["$schema", "\"null\"", "uint", "$ref"] {
            assert!(!input.contains(noise), "{}: {noise} in {input}", entry.spec.name);
        }
        for (name, member) in members(entry) {
            assert!(member["description"].is_string(), "{}: {name} is not described", entry.spec.name);
        }
        let output = serde_json::to_value(entry.output()).unwrap();
        assert!(output.is_object() && output.to_string().len() > 20, "{}", entry.spec.name);
    }
}

#[test]
fn every_path_of_this_issue_is_bound_as_the_interface_says() {
    let bound: BTreeSet<String> =
        TOOLS.iter().flat_map(doors).map(|rest| format!("{} {}", rest.method.as_str(), rest.path)).collect();
    for path in [
        "POST /api/poll",
        "POST /api/poll/stream",
        "POST /api/poll/dry-run",
        "GET /api/poll/estimate",
        "GET /api/profiles",
        "GET /api/results/{poll_id}",
        "GET /api/models",
        "GET /api/health",
        "GET /api/errors/catalog",
    ] {
        assert!(bound.contains(path), "{path} in {bound:?}");
    }
}

/// Through REST, as JSON.
async fn by_rest(client: &Client, rest: Rest, input: &Value) -> crate::harness::Reply {
    let mut path = rest.path.to_owned();
    let mut rest_of = input.as_object().unwrap().clone();
    for (name, value) in input.as_object().unwrap() {
        let hole = format!("{{{name}}}");
        if path.contains(&hole) {
            path = path.replace(&hole, value.as_str().unwrap());
            rest_of.remove(name);
        }
    }
    if rest.method == Method::Post {
        client.post(&path, &Value::Object(rest_of)).await
    } else {
        let query: Vec<(String, String)> = rest_of
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().map_or(value.to_string(), str::to_owned)))
            .collect();
        client.send(client.request(reqwest::Method::GET, &path).query(&query)).await
    }
}

/// What differs from call to call.
fn settled(mut value: Value) -> Value {
    for member in [
        "poll_id",
        "result_url",
        "created_at",
        "timing",
        "votes",
        "timestamp",
        "fetched_at",
        "cache_expires_at",
        "confidence",
        "status",
        "termination_reason",
        "early_terminated",
    ] {
        value.as_object_mut().unwrap().remove(member);
    }
    for pointer in ["/estimates/typical_vote_ms", "/costs", "/families", "/tally", "/models_skipped"] {
        if let Some(found) = value.pointer_mut(pointer) {
            *found = Value::Null;
        }
    }
    value.as_object_mut().unwrap().remove("typical_vote_ms");
    value
}

#[tokio::test]
async fn every_example_answers_the_same_through_every_door() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let poll_id = client.poll(json!({})).await.expect(200)["poll_id"].clone();
    for entry in TOOLS {
        let mut input = example(entry);
        if input.get("poll_id").is_some() {
            input["poll_id"] = poll_id.clone();
        }
        if input.get("confidence_threshold").is_some() {
            // An early answer may differ from poll to poll, the whole roster's does not.
            input["confidence_threshold"] = json!(1.0);
        }
        let name = entry.spec.name;
        let mut answers: Vec<(&str, Value)> = Vec::new();
        if let Some(rest) = entry.spec.rest {
            let caller =
                if entry.spec.access.and(rest.only).key { client.clone() } else { service.anonymous() };
            answers.push(("rest", by_rest(&caller, rest, &input).await.expect(rest.status)));
        }
        if entry.spec.stream.is_some() {
            let text = client.post("/api/poll/stream", &input).await.text;
            let last = text
                .split("event: complete")
                .nth(1)
                .unwrap()
                .lines()
                .find_map(|line| line.strip_prefix("data:"))
                .unwrap()
                .to_owned();
            answers.push(("sse", serde_json::from_str(&last).unwrap()));
        }
        if entry.spec.agents != Agents::None {
            answers.push(("mcp", client.tool(name, input.clone()).await["structuredContent"].clone()));
        }
        if entry.spec.agents == Agents::Core {
            let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "data": input }], "metadata": { "skillId": name } });
            let reply =
                client.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200);
            answers.push(("a2a", reply["result"]["task"]["artifacts"][0]["parts"][0]["data"].clone()));
        }
        let (first, expected) = answers.first().unwrap_or_else(|| panic!("{name} has no door"));
        for (door, answer) in &answers {
            assert_eq!(
                settled(answer.clone()),
                settled(expected.clone()),
                "{name} through {door} and {first}"
            );
        }
    }
}

#[tokio::test]
async fn every_protected_operation_refuses_strangers_at_every_door() {
    let service = Setup::demo().boot().await;
    let stranger = service.anonymous().with_key(&format!("ep_k_{}", "x".repeat(43)));
    let mut tried = 0;
    for entry in TOOLS {
        for rest in doors(entry) {
            let access = entry.spec.access.and(rest.only);
            let reply = by_rest(&stranger, rest, &example(entry)).await;
            assert_eq!(reply.status, 401, "{} lets a wrong key in", rest.path);
            // POST /api/poll is also the door of the free poll.
            let shared = TOOLS
                .iter()
                .flat_map(doors)
                .filter(|other| other.path == rest.path && other.method == rest.method)
                .count()
                > 1;
            if !access.anonymous && !shared {
                let reply = by_rest(&service.anonymous(), rest, &example(entry)).await;
                assert_eq!(reply.status, 401, "{} lets strangers in", rest.path);
                tried += 1;
            }
        }
        if entry.spec.agents != Agents::None {
            let params = json!({ "name": entry.spec.name, "arguments": example(entry) });
            assert_eq!(service.anonymous().rpc("/api/mcp", "tools/call", params).await.status, 401);
        }
    }
    assert!(tried >= 2);
    assert_eq!(service.anonymous().rpc("/api/a2a", "SendMessage", json!({})).await.status, 401);
}

#[tokio::test]
async fn every_kind_of_fault_is_in_the_catalogue_as_it_is_shown() {
    let service = Setup::demo().boot().await;
    let catalog = service.anonymous().get("/api/errors/catalog").await.expect(200);
    let listed: Vec<&str> =
        catalog["errors"].as_array().unwrap().iter().map(|entry| entry["code"].as_str().unwrap()).collect();
    let known: Vec<&str> = Kind::all().map(|kind| kind.row().code).collect();
    assert_eq!(listed, known);
    for entry in TOOLS {
        assert!(entry.spec.faults.iter().all(|kind| known.contains(&kind.row().code)));
    }
}
