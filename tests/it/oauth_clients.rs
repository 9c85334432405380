//! The official MCP clients get access tokens by themselves: `tests/mcp-clients/oauth*`, against `oidc-provider`.

use std::time::Duration;

use serde_json::json;

use crate::harness::{IdentityProvider, OAuthClient, Setup, question};

/// What differs between the clients.
struct Kind {
    program: &'static str,
    python: Option<&'static str>,
    /// Whether it renews its tokens by refresh tokens.
    refreshes: bool,
}

/// A client meets a 401, finds the issuer, registers, sends a person there, and calls a tool; then one for which the
/// person must grant more; then one after the issuer has changed its keys.
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

    // Once the service knows the new keys, earlier tokens are worth nothing.
    provider.rotate("new").await;
    let other = provider.token(json!({ "claims": { "sub": "bob" } })).await;
    service.anonymous().with_key(&other).get("/api/keys").await.expect(200);
    if kind.python.is_some() {
        client.expire().await;
    }
    assert!(client.call("get_balance", json!({})).await["balance"].as_str().unwrap().starts_with('$'));
    let logins = provider.asked().await.as_array().unwrap().len();
    assert_eq!(logins, if kind.refreshes { 2 } else { 3 }, "a refreshed token needs no person");
    assert!(service.app.accounts.audit(Duration::from_mins(1)).await.unwrap().is_clean());
}

// With a refresh token, this version does not step up: it refreshes, to the scope that it has.
#[tokio::test]
async fn the_first_typescript_sdk_authorizes_itself() {
    authorizes_itself(Kind { program: "oauth-1.mjs", python: None, refreshes: false }).await;
}

#[tokio::test]
async fn the_second_typescript_sdk_authorizes_itself() {
    authorizes_itself(Kind { program: "oauth-2.mjs", python: None, refreshes: true }).await;
}

// These refresh a token once it has run out by their own clock, and not because it is refused.
#[tokio::test]
async fn the_first_python_sdk_authorizes_itself() {
    authorizes_itself(Kind { program: "oauth.py", python: Some(".python-1"), refreshes: true }).await;
}

#[tokio::test]
async fn the_second_python_sdk_authorizes_itself() {
    authorizes_itself(Kind { program: "oauth.py", python: Some(".python-2"), refreshes: true }).await;
}
