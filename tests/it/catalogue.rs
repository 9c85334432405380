//! Checks every operation of the catalogue.

use std::collections::{BTreeSet, HashSet};

use ensemble_poll::app::routes;
use ensemble_poll::payments::RAILS;
use ep_kernel::tool::Method;
use ep_kernel::{Agents, Entry, Kind, Task};
use ep_site::SiteSettings;
use ep_tools::TOOLS;
use serde_json::{Value, json};

use crate::harness::{Setup, configured};

fn members(entry: &Entry) -> Vec<(String, Value)> {
    let schema = serde_json::to_value(entry.input()).unwrap();
    schema["properties"].as_object().map(|members| members.clone().into_iter().collect()).unwrap_or_default()
}

#[test]
fn texts_are_present_and_within_limits() {
    let mut names = HashSet::new();
    for entry in TOOLS.iter() {
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
fn bindings_match_their_schemas() {
    for entry in TOOLS.iter() {
        let members = members(entry);
        let required = serde_json::to_value(entry.input()).unwrap()["required"].clone();
        for rest in entry.bindings() {
            for placeholder in rest.path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap()) {
                let filled = ["poll_id", "key_id", "batch_id", "evaluation_id", "language", "name"]
                    .contains(&placeholder);
                assert!(filled, "{}: tests cannot fill {placeholder}", rest.path);
                assert!(
                    required.as_array().is_some_and(|names| names.contains(&json!(placeholder))),
                    "{}: {placeholder} must be required",
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
fn schemas_are_simple_and_described() {
    for entry in TOOLS.iter() {
        let mut input = serde_json::to_value(entry.input()).unwrap();
        // In these required members null is a value.
        for (name, member) in [("set_webhook", "url"), ("set_confirmation", "above_usd")] {
            if entry.spec.name == name {
                assert_eq!(input["properties"][member]["type"][1].take(), "null");
            }
        }
        let input = input.to_string();
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
fn paths_match_the_interface() {
    let bound: BTreeSet<String> = TOOLS
        .iter()
        .flat_map(Entry::bindings)
        .map(|rest| format!("{} {}", rest.method.as_str(), rest.path))
        .collect();
    for path in [
        "POST /api/poll",
        "POST /api/poll/stream",
        "POST /api/poll/dry-run",
        "GET /api/poll/estimate",
        "GET /api/profiles",
        "GET /api/results/{poll_id}",
        "POST /api/feedback",
        "GET /api/feedback/{poll_id}",
        "GET /api/reputation",
        "GET /api/reputation/models",
        "GET /api/keys",
        "POST /api/keys",
        "DELETE /api/keys/{key_id}",
        "GET /api/models",
        "GET /api/health",
        "GET /api/errors/catalog",
    ] {
        assert!(bound.contains(path), "{path} in {bound:?}");
    }
}

#[tokio::test]
async fn error_catalogue_contains_every_kind_of_fault() {
    let service = Setup::demo().boot().await;
    let catalog = service.anonymous().get("/api/errors/catalog").await.expect(200);
    let listed: Vec<&str> =
        catalog["errors"].as_array().unwrap().iter().map(|entry| entry["code"].as_str().unwrap()).collect();
    let known: Vec<&str> = Kind::all().map(|kind| kind.row().code).collect();
    assert_eq!(listed, known);
    for entry in TOOLS.iter() {
        assert!(entry.spec.faults.iter().all(|kind| known.contains(&kind.row().code)));
    }
}

#[test]
fn tasks_have_one_operation_each() {
    for task in [Task::Start, Task::Read, Task::Follow, Task::Cancel] {
        let count = TOOLS.iter().filter(|entry| entry.spec.task == task).count();
        assert!(count <= 1, "{task:?} has {count} operations");
    }
    assert!(TOOLS.iter().any(|entry| entry.spec.task == Task::Start));
}

#[test]
fn every_recovery_names_an_existing_route() {
    let site =
        routes::site(SiteSettings::new(&configured(&[("EP_CONFIG", "/dev/null".into())]), &RAILS), &TOOLS);
    for recovery in Kind::all().flat_map(|kind| kind.row().recovery) {
        if let Some(name) = recovery.request {
            assert!(
                site.links.has(name) || site.links.ways(name).is_some(),
                "{} leads to {name}, which is not served",
                recovery.action
            );
        }
    }
}
