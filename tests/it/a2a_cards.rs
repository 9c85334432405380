//! Signatures and keys of the agent card, and the extended card.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{AgentClient, Client, Engine, Setup};

async fn key_ids(client: &Client) -> Vec<String> {
    let keys = client.get("/.well-known/jwks.json").await;
    assert_eq!(keys.header("content-type"), "application/jwk-set+json");
    let keys = keys.expect(200)["keys"].clone();
    keys.as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn official_clients_verify_every_form_of_the_card() {
    let service = Setup::demo().with("EP_AUTH_ISSUER_URL", "https://login.example.com").boot().await;
    let client = service.user().await;
    let request = json!({ "op": "verify", "url": service.url, "key": client.key });
    let (python, javascript) = (AgentClient::start("a2a-1.py"), AgentClient::start("a2a-clients.mjs"));
    let (python, javascript) = tokio::join!(python.run(request.clone()), javascript.run(request));
    // As served and as modified; then the extended cards.
    assert_eq!(python["verified"], json!([true, false, true, false, true, true]), "{python}");
    assert_eq!(javascript["verified"], json!([true, true, false, false, true, true, false, false]));
    let public = client.get("/.well-known/agent-card.json").await.expect(200);
    let public = public["skills"].as_array().unwrap().len();
    for skills in python["skills"].as_array().unwrap() {
        assert!(skills.as_u64().unwrap() > public as u64, "{python}");
    }
}

#[tokio::test]
async fn replicas_share_a_key_and_rotation_keeps_cards_valid() {
    let secret = ("EP_SECRET_KEY", "5e".repeat(32));
    let boot = async |number: &str| {
        let setup = Setup::demo().on(Engine::Sqlite).with(secret.0, secret.1.clone());
        setup.with("EP_BASE_URL", "https://polls.example.com").with("EP_CARD_KEY", number).boot().await
    };
    let (one, same, next) = (boot("1").await, boot("1").await, boot("2").await);
    let card = async |client: &Client| {
        let reply = client.get("/.well-known/agent-card.json").await;
        (reply.header("etag").to_owned(), reply.expect(200)["signatures"].clone())
    };
    let first = card(&one.anonymous()).await;
    assert_eq!(card(&same.anonymous()).await, first);
    assert_ne!(card(&next.anonymous()).await.1, first.1);
    let (before, after) = (key_ids(&one.anonymous()).await, key_ids(&next.anonymous()).await);
    assert_eq!((before[1..].to_vec(), before.len()), (after[..2].to_vec(), 3));
    assert!(!one.anonymous().get("/.well-known/jwks.json").await.text.contains("\"d\""));
}

fn skills(card: &Value) -> Vec<&str> {
    card["skills"].as_array().unwrap().iter().map(|skill| skill["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn extended_card_lists_permitted_skills() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let public = client.get("/.well-known/agent-card.json").await.expect(200);
    assert_eq!(public["capabilities"]["extendedAgentCard"], true);
    assert_eq!(public["supportsAuthenticatedExtendedCard"], true);
    let rpc = async |client: &Client, method: &str| {
        client.rpc("/api/a2a", method, json!({})).await.expect(200)["result"].clone()
    };
    let newer = rpc(&client, "GetExtendedAgentCard").await;
    assert!(newer.get("protocolVersion").is_none());
    let older = rpc(&client, "agent/getAuthenticatedExtendedCard").await;
    assert_eq!(older["protocolVersion"], "0.3.0");
    let over_http = client.get("/api/a2a/extendedAgentCard").await;
    assert_eq!(over_http.header("cache-control"), "no-store");
    assert_eq!(over_http.expect(200), newer);
    assert_eq!(client.get("/api/a2a/v1/card").await.expect(200), older);
    // In JSON-RPC 1.0, this method has no parameters.
    let bare = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard" });
    assert_eq!(client.post("/api/a2a", &bare).await.expect(200)["result"], newer);

    let all = skills(&newer);
    for skill in skills(&public).into_iter().chain(["estimate_poll", "list_models", "list_polls"]) {
        assert!(all.contains(&skill), "{skill}: {all:?}");
    }
    // Every listed skill can be named in a message.
    for skill in &all {
        let message = json!({ "messageId": skill, "role": "ROLE_USER", "parts": [{ "data": {} }], "metadata": { "skillId": skill } });
        let said = client.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200);
        assert!(!said.to_string().contains("there is no skill"), "{skill}: {said}");
    }
    let reading = client.post("/api/keys", &json!({ "scope": "read" })).await.expect(201);
    let reading = client.with_key(reading["key"].as_str().unwrap());
    let fewer = rpc(&reading, "GetExtendedAgentCard").await;
    assert!(skills(&fewer).contains(&"get_balance") && !skills(&fewer).contains(&"poll_question"), "{fewer}");

    let anonymous = service.anonymous();
    for path in ["/api/a2a/extendedAgentCard", "/api/a2a/v1/card"] {
        let refused = anonymous.send(anonymous.request(Method::GET, path)).await;
        assert!(refused.header("www-authenticate").starts_with("Bearer"));
        refused.expect(401);
    }
    let refused = anonymous.rpc("/api/a2a", "GetExtendedAgentCard", json!({})).await;
    assert!(refused.header("www-authenticate").starts_with("Bearer"));
    refused.expect(401);
}
