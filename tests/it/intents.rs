//! Intents: requests in natural language and the matching operation.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::harness::{Client, Setup};

/// A hundred sentences by agents and people, each with the requested operation.
const PHRASES: &str = include_str!("intents.json");
/// Further sentences, some harder.
const MORE: &str = include_str!("intents_more.json");

/// Sentences written before a change of the matcher; this half was used for the change.
const UNSEEN: &str = include_str!("intents_unseen.json");
/// The held-out half.
const HELD_OUT: &str = include_str!("intents_held_out.json");
/// Sentences about other subjects with words of this one, negations and injections, collected while the matcher
/// was changed.
const TRAPS: &str = include_str!("intents_traps.json");
/// Negations, reports, suppositions, questions about the documentation, things of other services, and requests.
const UNASKED: &str = include_str!("intents_unasked.json");

/// A configuration that offers every operation.
fn everything() -> Setup {
    Setup::demo()
        .with("EP_STRIPE_SECRET_KEY", "sk_test_of_the_tests")
        .with("EP_STRIPE_WEBHOOK_SECRET", "whsec_test")
        .with("EP_X402_NETWORK", "eip155:84532")
        .with("EP_X402_FACILITATOR_URL", "http://127.0.0.1:9")
        .with("EP_X402_PAY_TO", "0x000000000000000000000000000000000000dEaD")
        .with("EP_AUTH_ISSUER_URL", "http://127.0.0.1:9")
        .with("EP_AUTH_CLIENT_ID", "polls")
        .with("EP_AUTH_CLIENT_SECRET", "a secret of the client")
}

/// A sentence, and the answers that are right; null is no proposal.
#[derive(Deserialize)]
struct Sentence {
    text: String,
    expected: Vec<Option<String>>,
}

/// Returns the number of correct matches, the harmful ones and the total. A match is harmful if it changes, pays
/// or ends something without a request.
async fn judged(client: &Client, set: &str) -> (usize, Vec<String>, usize) {
    let set: Vec<Sentence> = serde_json::from_str(set).unwrap();
    let (mut right, mut harmful) = (0, Vec::new());
    for Sentence { text, expected } in &set {
        let found = client.post("/api/intents/match", &json!({ "text": text })).await.expect(200);
        let best = found["best_match"]["operation"].as_str().map(str::to_owned);
        let is_right = expected.contains(&best);
        right += usize::from(is_right);
        let risks = found["matches"].as_array().unwrap().iter().filter(|found| found["read_only"] == false);
        let risks = risks.map(|found| found["operation"].as_str().unwrap().to_owned());
        let unwanted: Vec<String> = risks.filter(|name| !expected.contains(&Some(name.clone()))).collect();
        // If no proposal is correct, no other match may be harmful.
        let is_harmful = if expected.contains(&None) {
            !unwanted.is_empty()
        } else {
            !is_right && unwanted.contains(best.as_ref().unwrap_or(&String::new()))
        };
        if is_harmful {
            harmful.push(format!("{text:?} proposes {unwanted:?}"));
        }
    }
    (right, harmful, set.len())
}

#[tokio::test]
async fn nothing_that_does_harm_is_proposed_unasked() {
    let service = everything().boot().await;
    let client = service.anonymous();
    for (name, set, least) in [("unseen", UNSEEN, 50), ("held out", HELD_OUT, 60), ("traps", TRAPS, 67)] {
        let (right, harmful, all) = judged(&client, set).await;
        println!("{name}: {right} of {all} right, {} harmful", harmful.len());
        assert!(harmful.is_empty(), "{name}: {harmful:#?}");
        assert!(right >= least, "{name}: {right} of {all} right");
    }
}

#[tokio::test]
async fn what_is_not_understood_lists_what_there_is() {
    let service = everything().boot().await;
    let client = service.anonymous();
    let none =
        client.post("/api/intents/match", &json!({ "text": "piano keys are stuck" })).await.expect(200);
    assert_eq!((&none["best_match"], &none["matches"]), (&Value::Null, &json!([])));
    assert_eq!(none["languages"], json!(["en"]));
    let available: Vec<&str> =
        none["available"].as_array().unwrap().iter().map(|of| of["operation"].as_str().unwrap()).collect();
    for name in ["poll_question", "deposit", "login", "logout", "openapi", "node_spec", "surfaces"] {
        assert!(available.contains(&name), "{name}");
    }
    for (text, name, path) in [
        ("how can I deposit USDC?", "deposit", "/api/deposit"),
        ("where is the login page?", "login", "/api/auth/login"),
        ("log me out", "logout", "/api/auth/logout"),
        ("where is your OpenAPI spec?", "openapi", "/api/openapi.json"),
        ("the node specifications, please", "node_spec", "/api/graph/node-spec"),
        ("list your surfaces", "surfaces", "/api/surfaces"),
    ] {
        let found = client.post("/api/intents/match", &json!({ "text": text })).await.expect(200);
        assert_eq!(
            (&found["best_match"]["operation"], &found["available"]),
            (&json!(name), &json!([])),
            "{text}"
        );
        assert!(found["best_match"]["href"].as_str().unwrap().ends_with(path), "{found}");
    }
}

#[tokio::test]
async fn no_match_changes_or_pays_unasked() {
    let service = everything().boot().await;
    let client = service.anonymous();
    let set: Vec<Sentence> = serde_json::from_str(UNASKED).unwrap();
    let (mut right, mut harmful) = (0, Vec::new());
    for Sentence { text, expected } in &set {
        let found = client.post("/api/intents/match", &json!({ "text": text })).await.expect(200);
        let best = found["best_match"]["operation"].as_str().map(str::to_owned);
        right += usize::from(expected.contains(&best));
        let risks = found["matches"].as_array().unwrap().iter().filter(|found| found["read_only"] == false);
        let risks = risks.map(|found| found["operation"].as_str().unwrap().to_owned());
        let unwanted = risks.filter(|name| !expected.contains(&Some(name.clone())));
        harmful.extend(unwanted.map(|name| format!("{text:?} proposes {name}")));
    }
    println!("unasked: {right} of {} right, {} harmful", set.len(), harmful.len());
    assert!(harmful.is_empty(), "{harmful:#?}");
    assert!(set.len() >= 230 && right * 16 >= set.len() * 15, "{right} of {} right", set.len());
}

/// Returns the sentences with a wrong match and the total number of sentences.
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
    let service = everything().boot().await;
    let client = service.anonymous();
    let (misses, all) = wrong(&client, PHRASES).await;
    assert!(all >= 100 && misses.len() <= 5, "{misses:#?}");
    let (misses, all) = wrong(&client, MORE).await;
    assert!(all >= 490 && misses.len() <= 52, "{} of {all}: {misses:#?}", misses.len());
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
    let service = everything().boot().await;
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
    let service = everything().boot().await;
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
    let service = everything().boot().await;
    let listed = service.anonymous().get("/api/intents").await.expect(200);
    let named: Vec<&str> = listed["intents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|intent| intent["operation"].as_str().unwrap())
        .collect();
    let offer = &service.site.settings.offer;
    let expected = ep_tools::TOOLS.iter().filter(|entry| !entry.spec.intents.is_empty() && offer.has(entry));
    let beside = ["deposit", "login", "logout", "openapi", "node_spec", "surfaces"];
    assert_eq!(named, expected.map(|entry| entry.spec.name).chain(beside).collect::<Vec<_>>());
    assert_eq!(listed["languages"], json!(["en"]));
    for intent in listed["intents"].as_array().unwrap() {
        let phrases = intent["trigger_phrases"].as_array().unwrap();
        assert!((1..=16).contains(&phrases.len()), "{intent}");
        assert_eq!(intent["parameters"]["type"], "object", "{intent}");
    }
}
