//! The official MCP clients request access tokens: `tests/mcp-clients/oauth*`, against `oidc-provider`.

use std::time::Duration;

use serde_json::json;

use crate::harness::{IdentityProvider, OAuthClient, Setup, question};

/// The differences between the clients.
struct Kind {
    program: &'static str,
    python: Option<&'static str>,
    /// True if it renews its tokens with refresh tokens.
    refreshes: bool,
}

/// A client gets a 401, discovers the issuer, registers, redirects a user and calls a tool. It then calls a tool
/// with a wider scope, and one after the issuer has rotated its keys.
async fn authorizes_itself(kind: Kind) {
    let (setup, url) = Setup::demo().at_known_address();
    let provider = IdentityProvider::start(&url, 0).await;
    let service = setup.with("EP_AUTH_ISSUER_URL", &provider.issuer).boot().await;
    let grants = json!([["polls:read"], ["polls:read", "polls:write"]]);
    provider.grants(json!({ "grants": grants, "refreshes": kind.refreshes })).await;
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

    // After the service has fetched the new keys, earlier tokens are invalid.
    provider.rotate("new").await;
    let other = provider.token(json!({ "claims": { "sub": "bob" } })).await;
    service.anonymous().with_key(&other).get("/api/keys").await.expect(200);
    if kind.python.is_some() {
        client.expire().await;
    }
    assert!(client.call("get_balance", json!({})).await["balance"].as_str().unwrap().starts_with('$'));
    let logins = provider.asked().await.as_array().unwrap().len();
    assert_eq!(logins, if kind.refreshes { 2 } else { 3 }, "a refreshed token needs no person");
    assert!(service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().is_clean());
}

// With a refresh token, this version does not step up: it refreshes with its current scope.
#[tokio::test]
async fn typescript_sdk_1_authorizes_itself() {
    authorizes_itself(Kind { program: "oauth-1.mjs", python: None, refreshes: false }).await;
}

#[tokio::test]
async fn typescript_sdk_2_authorizes_itself() {
    authorizes_itself(Kind { program: "oauth-2.mjs", python: None, refreshes: true }).await;
}

// These clients refresh a token when it expires by their own clock, not when it is rejected.
#[tokio::test]
async fn python_sdk_1_authorizes_itself() {
    authorizes_itself(Kind { program: "oauth.py", python: Some(".python-1"), refreshes: true }).await;
}

#[tokio::test]
async fn python_sdk_2_authorizes_itself() {
    authorizes_itself(Kind { program: "oauth.py", python: Some(".python-2"), refreshes: true }).await;
}
