//! Feedback on polls, over REST and MCP.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::Script;
use serde_json::{Value, json};

use crate::harness::{Engine, Service, Setup, question};

const UNKNOWN: &str = "EP-20260101-0000000000";

async fn ended_poll(service: &Service, members: Value) -> String {
    let poll = service.user().await.poll(members).await.expect(200);
    poll["poll_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn feedback_is_recorded_replaced_and_summarized_anonymously() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::default().on(engine).boot().await;
        let (first_id, first) = service.user_with(MicroUsd::STARTER_CREDIT).await;
        let (second, nobody) = (service.user().await, service.anonymous());
        let id = ended_poll(&service, json!({})).await;
        let path = format!("/api/feedback/{id}");
        let none = json!({ "poll_id": id, "total_feedback": 0, "correct": 0, "incorrect": 0, "accuracy_rate": null,
            "entries": [] });
        assert_eq!(nobody.get(&path).await.expect(200), none);

        let said =
            json!({ "poll_id": id, "outcome_correct": true, "confidence": 0.875, "notes": "Two\nlines é" });
        let recorded = first.post("/api/feedback", &said).await.expect(201);
        assert_eq!((&recorded["poll_id"], &recorded["recorded"]), (&json!(id), &json!(true)));
        // Only the poll id is required; the second account gives different feedback.
        let other = second.post("/api/feedback", &json!({ "poll_id": id, "notes": null })).await.expect(201);
        assert_ne!(other["feedback_id"], recorded["feedback_id"]);
        let summary = nobody.get(&path).await.expect(200);
        assert_eq!((&summary["total_feedback"], &summary["accuracy_rate"]), (&json!(2), &json!(1.0)));
        let mut entry = summary["entries"][1].clone();
        assert!(entry.as_object_mut().unwrap().remove("created_at").unwrap().is_string());
        assert_eq!(entry, json!({ "outcome_correct": true, "confidence": 0.875, "notes": "Two\nlines é" }));
        assert_eq!(summary["entries"][0]["outcome_correct"], Value::Null);

        // New feedback from the same account replaces the first, also over MCP.
        let again = first.tool("submit_feedback", json!({ "poll_id": id, "outcome_correct": false })).await;
        assert_eq!(again["structuredContent"]["feedback_id"], recorded["feedback_id"]);
        second.post("/api/feedback", &json!({ "poll_id": id, "outcome_correct": true })).await.expect(201);
        let summary = nobody.get(&path).await.expect(200);
        let counts = ["total_feedback", "correct", "incorrect"].map(|name| summary[name].clone());
        assert_eq!(counts, [json!(2), json!(1), json!(1)]);
        assert_eq!(summary["accuracy_rate"], 0.5);
        assert_eq!(summary["entries"][1]["notes"], Value::Null, "nothing is left of what was replaced");
        let email = service.app.accounts.treasury.user(first_id).await.unwrap().email;
        for name in [first_id.to_string(), email, "ep_k_".to_owned()] {
            assert!(!summary.to_string().contains(&name), "{summary} names {name}");
        }

        // Deleting an account deletes its feedback.
        service.app.ports.account_data.delete_account(first_id, true).await.unwrap();
        let left = nobody.get(&path).await.expect(200);
        assert_eq!((&left["total_feedback"], &left["accuracy_rate"]), (&json!(1), &json!(1.0)));
    }
}

#[tokio::test]
async fn feedback_on_unknown_private_and_running_polls_is_rejected() {
    let mut script = Script::panel(20);
    script.default.latency = Duration::from_millis(500);
    let service = Setup::scripted(script).boot().await;
    let (owner, other) = (service.user().await, service.user().await);
    let running = owner.post("/api/polls", &question(json!({}))).await.expect(202);
    let refused = owner.post("/api/feedback", &json!({ "poll_id": running["poll_id"] })).await.refused(409);
    assert!(refused.contains("has not ended"), "{refused}");
    let path = format!("/api/feedback/{}", running["poll_id"].as_str().unwrap());
    assert_eq!(owner.get(&path).await.expect(200)["total_feedback"], 0);

    let private = owner.poll(json!({ "private": true })).await.expect(200)["poll_id"].clone();
    for (client, id) in [
        (&owner, private.as_str().unwrap()),
        (&other, private.as_str().unwrap()),
        (&other, UNKNOWN),
        (&other, "x"),
    ] {
        client.post("/api/feedback", &json!({ "poll_id": id, "outcome_correct": true })).await.refused(404);
        client.get(&format!("/api/feedback/{id}")).await.refused(404);
    }
    let (private, unknown) = (private.as_str().unwrap(), UNKNOWN);
    let said = async |id: &str| other.get(&format!("/api/feedback/{id}")).await.refused(404);
    assert_eq!(
        said(private).await.replace(private, ""),
        said(unknown).await.replace(unknown, ""),
        "a stranger cannot tell a private poll from none"
    );
}

#[tokio::test]
async fn invalid_feedback_is_rejected_with_a_remedy() {
    let service = Service::start().await;
    let user = service.user().await;
    let id = ended_poll(&service, json!({})).await;
    for (members, field) in [
        (json!({ "confidence": 1.01 }), "confidence"),
        (json!({ "confidence": -0.1 }), "confidence"),
        (json!({ "confidence": "0.5" }), "confidence"),
        (json!({ "outcome_correct": "yes" }), "outcome_correct"),
        (json!({ "notes": "x".repeat(2_001) }), "notes"),
        (json!({ "notes": "bell \u{7}" }), "notes"),
        (json!({ "notes": "\u{202E}reversed" }), "notes"),
        (json!({ "notes": 7 }), "notes"),
        (json!({ "poll_id": 7 }), "poll_id"),
        (json!({ "poll_id": null }), "poll_id"),
    ] {
        let mut body = json!({ "poll_id": id });
        for (name, value) in members.as_object().unwrap() {
            body[name] = value.clone();
        }
        let refused = user.post("/api/feedback", &body).await.refused(400);
        assert!(refused.contains(field), "{members}: {refused}");
    }
    user.post("/api/feedback", &json!({ "outcome_correct": true })).await.refused(400);
    let longest = json!({ "poll_id": id, "confidence": 1, "notes": "é".repeat(2_000) });
    user.post("/api/feedback", &longest).await.expect(201);
    user.post("/api/feedback", &json!({ "poll_id": id, "notes": "  " })).await.expect(201);
    let summary = service.anonymous().get(&format!("/api/feedback/{id}")).await.expect(200);
    assert_eq!((&summary["total_feedback"], &summary["entries"][0]["notes"]), (&json!(1), &Value::Null));

    // Keys need the full scope to publish.
    let narrow = user.post("/api/keys", &json!({ "scope": "polls" })).await.expect(201);
    let narrow = user.with_key(narrow["key"].as_str().unwrap());
    assert_eq!(narrow.post("/api/feedback", &json!({ "poll_id": id })).await.status, 403);
}
