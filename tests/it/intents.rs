//! Intents: what can be asked for, and which operation fits a sentence.

use serde_json::{Value, json};

use crate::harness::{Client, Setup};

/// A hundred sentences as agents and people write them, and the operation that each asks for.
const PHRASES: &str = include_str!("intents.json");
/// More of them, some harder.
const MORE: &str = include_str!("intents_more.json");

/// The sentences of a set for which the service finds another operation, and how many there are in all.
async fn wrong(client: &Client, set: &str) -> (Vec<String>, usize) {
    let set: Value = serde_json::from_str(set).unwrap();
    let set = set.as_object().unwrap();
    let mut wrong = Vec::new();
    for (text, expected) in set {
        let found = client.post("/api/intents/match", &json!({ "text": text })).await.expect(200);
        assert_eq!(found["text"], *text);
        assert_eq!(found["matches"].get(0).unwrap_or(&Value::Null), &found["best_match"]);
        let best = &found["best_match"]["operation"];
        if best != expected {
            wrong.push(format!("{text:?} is {expected}, not {best}"));
        }
    }
    (wrong, set.len())
}

#[tokio::test]
async fn sentences_find_their_operations() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let (misses, all) = wrong(&client, PHRASES).await;
    assert!(all >= 100 && misses.len() <= 5, "{misses:#?}");
    let (misses, all) = wrong(&client, MORE).await;
    assert!(misses.len() * 10 <= all, "{} of {all}: {misses:#?}", misses.len());
}

#[tokio::test]
async fn every_expectation_names_an_operation_with_phrases() {
    for set in [PHRASES, MORE] {
        let set: Value = serde_json::from_str(set).unwrap();
        for name in set.as_object().unwrap().values().filter_map(Value::as_str) {
            assert!(!ep_tools::find(name).unwrap().spec.intents.is_empty(), "{name}");
        }
        let nothing = set.as_object().unwrap().values().filter(|expected| expected.is_null()).count();
        assert!(nothing >= 15, "{nothing}");
    }
}

#[tokio::test]
async fn a_match_says_which_request_to_send() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let asked = json!({ "text": "ask several models whether tabs or spaces are better" });
    let best = client.post("/api/intents/match", &asked).await.expect(200)["best_match"].clone();
    let expected = (json!("poll_question"), json!("POST"), json!(format!("{}/api/poll", service.url)));
    assert_eq!((best["operation"].clone(), best["method"].clone(), best["href"].clone()), expected);
    assert!(best["required"].as_array().unwrap().contains(&json!("options")), "{best}");
    let score = best["score"].as_f64().unwrap();
    assert!(score > 0.3 && score <= 1.0, "{best}");
    assert!(best["phrase"].is_string() && best["title"].is_string(), "{best}");
}

#[tokio::test]
async fn a_text_that_is_none_is_refused() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    for body in [
        json!({}),
        json!({ "text": "" }),
        json!({ "text": "  " }),
        json!({ "text": 7 }),
        json!({ "text": null }),
    ] {
        let refused = client.post("/api/intents/match", &body).await.refused(400);
        assert!(refused.contains("text"), "{refused}");
    }
    let long = client.post("/api/intents/match", &json!({ "text": "x".repeat(1001) })).await.refused(400);
    assert!(long.contains("1000"), "{long}");
    client.post("/api/intents/match", &json!({ "text": "poll ".repeat(200_000) })).await.refused(413);
    for strange in [
        "🗳️🗳️🗳️",
        "投票してください",
        "ﷺ or ﷺ?",
        "''''",
        "e ee eee",
        "ep 12345678",
        "0x",
        "ations ing ed es s",
    ] {
        assert!(
            client.post("/api/intents/match", &json!({ "text": strange })).await.expect(200)["matches"]
                .is_array()
        );
    }
}

#[tokio::test]
async fn the_list_has_every_operation_with_phrases() {
    let service = Setup::demo().boot().await;
    let listed = service.anonymous().get("/api/intents").await.expect(200);
    let named: Vec<&str> = listed["intents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|intent| intent["operation"].as_str().unwrap())
        .collect();
    let expected = ep_tools::TOOLS.iter().filter(|entry| !entry.spec.intents.is_empty());
    assert_eq!(named, expected.map(|entry| entry.spec.name).collect::<Vec<_>>());
    for intent in listed["intents"].as_array().unwrap() {
        let phrases = intent["trigger_phrases"].as_array().unwrap();
        assert!((1..=16).contains(&phrases.len()), "{intent}");
        assert_eq!(intent["parameters"]["type"], "object", "{intent}");
    }
}
