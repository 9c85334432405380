//! Rate limits and their headers.

use serde_json::json;

use crate::harness::{Engine, Setup, question};

async fn counted(engine: Engine) {
    let service = Setup::demo().with("EP_RATE_LIMIT_PER_MINUTE", "3").on(engine).boot().await;
    let client = service.user().await;
    for left in [2, 1, 0] {
        let reply = client.post("/api/poll/dry-run", &question(json!({}))).await;
        assert_eq!(reply.header("ratelimit-limit"), "3");
        assert_eq!(reply.header("ratelimit-remaining"), left.to_string());
        assert_eq!(reply.header("ratelimit-policy"), "\"default\";q=3;w=60");
        let reset: u64 = reply.header("ratelimit-reset").parse().unwrap();
        assert!((1..=60).contains(&reset), "{reset}");
        assert_eq!(reply.header("ratelimit"), format!("\"default\";r={left};t={reset}"));
        reply.expect(200);
    }
    let refused = client.post("/api/poll/dry-run", &question(json!({}))).await;
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(refused.header("ratelimit-remaining"), "0");
    assert!(refused.refused(429).contains("3 per minute"));
    service.user().await.post("/api/poll/dry-run", &question(json!({}))).await.expect(200);
    // Every surface uses the same allowance, and probes are not counted.
    let tool = client.tool("get_balance", json!({})).await;
    assert_eq!(
        (&tool["isError"], &tool["structuredContent"]["error"]["code"]),
        (&json!(true), &json!("rate_limited"))
    );
    for _ in 0..5 {
        client.get("/api/health").await.expect(200);
    }
}

#[tokio::test]
async fn counted_in_memory() {
    counted(Engine::Sqlite).await;
}

#[tokio::test]
async fn counted_in_the_database() {
    counted(Engine::Postgres).await;
}

#[tokio::test]
async fn anonymous_callers_are_counted_by_address_and_free_polls_separately() {
    let service = Setup::demo()
        .with("EP_RATE_LIMIT_ANONYMOUS_PER_MINUTE", "2")
        .with("EP_RATE_LIMIT_FREE_PER_MINUTE", "1")
        .with("EP_TRUSTED_PROXIES", "127.0.0.0/8")
        .boot()
        .await;
    let anyone = service.anonymous();
    let free = json!({ "question": "Is water wet?" });
    anyone.post("/api/poll", &free).await.expect(200);
    let refused = anyone.post("/api/poll", &free).await;
    assert_eq!(refused.header("ratelimit-policy"), "\"free\";q=1;w=60");
    refused.refused(429);
    anyone.get("/api/profiles").await.expect(200);
    anyone.get("/api/profiles").await.expect(200);
    anyone.get("/api/profiles").await.refused(429);
    let from = |address: &str| {
        anyone.request(reqwest::Method::GET, "/api/profiles").header("x-forwarded-for", address.to_owned())
    };
    anyone.send(from("203.0.113.7")).await.expect(200);
    anyone.send(from("2001:db8::1")).await.expect(200);
    anyone.send(from("2001:db8::2")).await.expect(200);
    anyone.send(from("2001:db8::3")).await.refused(429);
}

#[tokio::test]
async fn reading_results_does_not_use_the_allowance_of_an_address() {
    let service = Setup::demo()
        .with("EP_RATE_LIMIT_ANONYMOUS_PER_MINUTE", "1")
        .with("EP_RATE_LIMIT_RESULTS_PER_MINUTE", "4")
        .boot()
        .await;
    let poll = service.user().await.poll(json!({})).await.expect(200);
    let path = format!("/api/results/{}", poll["poll_id"].as_str().unwrap());
    let anyone = service.anonymous();
    for left in ["3", "2", "1", "0"] {
        let reply = anyone.get(&path).await;
        assert_eq!((reply.header("ratelimit-limit"), reply.header("ratelimit-remaining")), ("4", left));
        reply.expect(200);
    }
    let refused = anyone.get(&path).await;
    assert_eq!(refused.header("ratelimit-policy"), "\"results\";q=4;w=60");
    refused.refused(429);
    anyone.get("/api/profiles").await.expect(200);
}

#[tokio::test]
async fn streams_and_errors_have_rate_limit_headers() {
    let service = Setup::demo()
        .with("EP_RATE_LIMIT_PER_MINUTE", "9")
        .with("EP_RATE_LIMIT_ANONYMOUS_PER_MINUTE", "3")
        .boot()
        .await;
    let client = service.user().await;
    let key = [("idempotency-key", "k")];
    let stream = client.post_with("/api/poll/stream", &question(json!({})), &key).await;
    assert_eq!((stream.header("ratelimit-limit"), stream.header("idempotency-key")), ("9", "k"));
    let again = client.post_with("/api/poll/stream", &question(json!({})), &key).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    for path in ["/api/mcp", "/api/a2a", "/api/poll/dry-run"] {
        let reply = service.anonymous().post(path, &json!({})).await;
        assert_eq!(reply.header("ratelimit-limit"), "3", "{path}");
        assert_eq!(reply.status, 401, "{path}");
    }
    let lists = client.rpc("/api/mcp", "tools/list", json!({})).await;
    assert_eq!(lists.header("ratelimit-remaining"), "6");
    lists.expect(200);
    let nothing = client.post("/api/a2a/tasks/send", &json!({})).await;
    assert_eq!(nothing.header("ratelimit-remaining"), "5");
    nothing.refused(400);
    let refused = service.anonymous().post("/api/mcp", &json!({})).await;
    assert_eq!(refused.header("retry-after"), refused.header("ratelimit-reset"));
    assert!(refused.rpc_refused(429).contains("wait"));
}

#[tokio::test]
async fn failed_authentication_uses_the_allowance() {
    let service = Setup::demo().with("EP_RATE_LIMIT_ANONYMOUS_PER_MINUTE", "3").boot().await;
    let guesser = service.anonymous().with_key(&format!("ep_k_{}", "a".repeat(43)));
    for _ in 0..3 {
        guesser.poll(json!({})).await.refused(401);
    }
    guesser.poll(json!({})).await.refused(429);
}
