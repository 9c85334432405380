//! The official MCP clients get access tokens by themselves: `tests/mcp-clients/oauth*`, against `oidc-provider`.

use std::time::Duration;

use serde_json::json;

use crate::harness::{IdentityProvider, OAuthClient, Setup, question};

/// What differs between the clients.
struct Kind {
    program: &'static str,
    python: Option<&'static str>,
    /// Whether it renews its tokens by refresh tokens, and how long they last then, in seconds.
    refreshes: Option<u32>,
}

/// A client meets a 401, finds the issuer, registers, sends a person there, and calls a tool; then one for which the
/// person must grant more; then one after the issuer has changed its keys.
async fn authorizes_itself(kind: Kind) {
    let (setup, url) = Setup::demo().at_known_address();
    let provider = IdentityProvider::start(&url, 0).await;
    let service = setup.with("EP_AUTH_ISSUER_URL", &provider.issuer).boot().await;
    let lifetime = kind.refreshes.unwrap_or(3600);
    let grants = json!([["polls:read"], ["polls:read", "polls:write"]]);
    let refreshes = kind.refreshes.is_some();
    provider.grants(json!({ "grants": grants, "refreshes": refreshes, "tokenLifetime": lifetime })).await;
    let client = OAuthClient::start(kind.program, kind.python, &format!("{url}/api/mcp"));
    assert_eq!(client.call("get_balance", json!({})).await["balance"], "$1.00");
    assert_eq!(provider.asked().await, json!(["polls:read polls:write"]));

    let poll = client.call("poll_question", question(json!({ "confidence_threshold": 0.9 }))).await;
    assert!(poll["poll_id"].as_str().unwrap().starts_with("EP-"), "{poll}");
    let asked = provider.asked().await;
    assert_eq!(asked, json!(["polls:read polls:write", "polls:read polls:write"]), "a step up");
    let read = client.call("get_poll_result", json!({ "poll_id": poll["poll_id"] })).await;
    assert_eq!(read["outcome"], poll["outcome"]);
    assert_eq!(provider.asked().await, asked, "the same token");

    // Once the service knows the new keys, earlier tokens are worth nothing.
    provider.rotate("new").await;
    let other = provider.token(json!({ "claims": { "sub": "bob" } })).await;
    service.anonymous().with_key(&other).get("/api/keys").await.expect(200);
    if lifetime == 1 {
        tokio::time::sleep(Duration::from_millis(1100)).await;
    }
    assert!(client.call("get_balance", json!({})).await["balance"].as_str().unwrap().starts_with('$'));
    let logins = provider.asked().await.as_array().unwrap().len();
    assert_eq!(logins, if refreshes { 2 } else { 3 }, "a refreshed token needs no person");
    assert!(service.app.accounts.audit(Duration::from_mins(1)).await.unwrap().is_clean());
}

// With a refresh token, this version does not step up: it refreshes, to the scope that it has.
#[tokio::test]
async fn the_first_typescript_sdk_authorizes_itself() {
    authorizes_itself(Kind { program: "oauth-1.mjs", python: None, refreshes: None }).await;
}

#[tokio::test]
async fn the_second_typescript_sdk_authorizes_itself() {
    authorizes_itself(Kind { program: "oauth-2.mjs", python: None, refreshes: Some(3600) }).await;
}

// These refresh tokens that have run out, by their own clock.
#[tokio::test]
async fn the_first_python_sdk_authorizes_itself() {
    authorizes_itself(Kind { program: "oauth.py", python: Some(".python-1"), refreshes: Some(1) }).await;
}

#[tokio::test]
async fn the_second_python_sdk_authorizes_itself() {
    authorizes_itself(Kind { program: "oauth.py", python: Some(".python-2"), refreshes: Some(1) }).await;
}
