//! API keys: created, listed and revoked by their owner.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use crate::harness::{Client, Engine, Service, Setup};

#[tokio::test]
async fn a_key_is_created_listed_and_revoked() {
    let service = Service::start().await;
    let client = service.user().await;
    let created = client.post("/api/keys", &json!({ "label": " laptop " })).await;
    assert_eq!(created.header("cache-control"), "no-store");
    let created = created.expect(201);
    let key = created["key"].as_str().unwrap();
    assert!(key.starts_with("ep_k_") && created["warning"].is_string());
    assert_eq!((&created["label"], created["key_prefix"].as_str()), (&json!("laptop"), Some(&key[..10])));

    let with_it = client.with_key(key);
    let listed = with_it.get("/api/keys").await.expect(200);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!((&listed[0]["id"], &listed[0]["revoked_at"]), (&created["id"], &json!(null)));
    assert!(!listed.to_string().contains(key));

    let path = format!("/api/keys/{}", created["id"].as_str().unwrap());
    let other = service.user().await;
    let delete = |client: &Client, path: &str| {
        let (client, request) = (client.clone(), client.request(Method::DELETE, path));
        async move { client.send(request).await }
    };
    delete(&other, &path).await.refused(404);
    assert_eq!(delete(&with_it, &path).await.expect(200), json!({ "revoked": true }));
    with_it.get("/api/keys").await.refused(401);
    delete(&client, &path).await.refused(404);
    delete(&client, "/api/keys/not-an-id").await.refused(404);
    let listed = client.get("/api/keys").await.expect(200);
    assert!(listed[0]["revoked_at"].is_string());

    client.post("/api/keys", &json!({ "label": "x".repeat(65) })).await.refused(400);
    client.post("/api/keys", &json!({ "label": 5 })).await.refused(400);
    assert_eq!(client.post("/api/keys", &json!({ "label": null })).await.expect(201)["label"], "");
    service.anonymous().get("/api/keys").await.refused(401);
}

#[tokio::test]
async fn a_key_does_what_its_scope_says() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::demo().on(engine).boot().await;
        let owner = service.user().await;
        let with_scope = async |scope: &str| {
            let created = owner.post("/api/keys", &json!({ "scope": scope })).await.expect(201);
            assert_eq!((&created["scope"], &created["expires_at"]), (&json!(scope), &json!(null)));
            owner.with_key(created["key"].as_str().unwrap())
        };
        let poll = json!({ "question": "Which one is it today?", "options": ["a", "b"], "preset": "free" });
        for (scope, asks, manages) in [("all", true, true), ("polls", true, false), ("read", false, false)] {
            let client = with_scope(scope).await;
            client.get("/api/balance").await.expect(200);
            client.get("/api/keys").await.expect(200);
            client.post("/api/poll/dry-run", &poll).await.expect(200);
            let asked = [client.post("/api/poll", &poll).await, client.post("/api/poll/stream", &poll).await];
            for reply in asked {
                assert_eq!(reply.status, if asks { 200 } else { 403 }, "{scope}: {}", reply.text);
            }
            let by_mcp = client.tool("poll_question", poll.clone()).await;
            assert_eq!(by_mcp["isError"].as_bool().unwrap_or(false), !asks, "{scope}: {by_mcp}");
            let created = client.post("/api/keys", &json!({})).await;
            if manages {
                created.expect(201);
            } else {
                let said = created.refused(403);
                assert!(said.contains(&format!("scope of this API key is {scope}")), "{said}");
                let keys = owner.get("/api/keys").await.expect(200);
                let path = format!("/api/keys/{}", keys[0]["id"].as_str().unwrap());
                client.send(client.request(Method::DELETE, &path)).await.refused(403);
            }
        }
        for wrong in [json!("everything"), json!(5), json!(["read"])] {
            owner.post("/api/keys", &json!({ "scope": wrong })).await.refused(400);
        }
        let listed = owner.get("/api/keys").await.expect(200).to_string();
        assert!(
            ["all", "polls", "read"].iter().all(|scope| listed.contains(&format!("\"scope\":\"{scope}\"")))
        );
    }
}

#[tokio::test]
async fn a_key_is_refused_once_it_has_expired() {
    let service = Setup::demo().seeded(2).boot().await;
    let owner = service.user().await;
    let expires_at = "2026-11-21T13:00:00.000Z";
    let created = owner.post("/api/keys", &json!({ "expires_at": expires_at })).await.expect(201);
    assert_eq!(created["expires_at"], expires_at);
    let client = owner.with_key(created["key"].as_str().unwrap());
    service.clock.as_ref().unwrap().advance(Duration::from_secs(3599));
    client.get("/api/keys").await.expect(200);
    service.clock.as_ref().unwrap().advance(Duration::from_secs(1));
    let reply = client.get("/api/keys").await;
    assert!(reply.header("www-authenticate").contains("invalid_token"));
    assert!(reply.refused(401).contains("expired"));
    owner.get("/api/keys").await.expect(200);
    for wrong in ["2026-11-21T13:00:00Z", "2020-01-01T00:00:00Z", "tomorrow", ""] {
        let said = owner.post("/api/keys", &json!({ "expires_at": wrong })).await.refused(400);
        assert!(said.contains("expires_at"), "{said}");
    }
}
