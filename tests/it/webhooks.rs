//! Accounts are notified when their polls end.

use serde_json::{Value, json};

use crate::harness::{Client, Engine, Service, Setup, WebhookReceiver, until};

/// Starts a service that may call loopback addresses.
async fn service_on(engine: Engine) -> Service {
    Setup::demo().on(engine).with("EP_WEBHOOK_ALLOWED_NETWORKS", "127.0.0.0/8").boot().await
}

async fn newest(client: &Client) -> Value {
    client.get("/api/account/webhook").await.expect(200)["notifications"][0].clone()
}

/// Waits until the newest notification is in this state.
async fn notified(client: &Client, state: &str) -> Value {
    let expected = format!("the newest notification is {state}");
    until(&expected, async || newest(client).await, |newest| newest["state"] == state).await
}

async fn secret(client: &Client) -> String {
    let reply = client.post("/api/account/webhook/secret", &json!({})).await;
    assert_eq!(reply.header("cache-control"), "no-store");
    reply.expect(200)["secret"].as_str().unwrap().to_owned()
}

async fn notifications_are_signed(engine: Engine) {
    let (service, receiver) = tokio::join!(service_on(engine), WebhookReceiver::start());
    let client = service.user().await;
    assert_eq!(
        client.get("/api/account/webhook").await.expect(200),
        json!({ "url": null, "notifications": [] })
    );
    let url = format!("{}/all?token=x", receiver.url);
    let set = client.post("/api/account/webhook", &json!({ "url": url })).await.expect(200);
    assert_eq!(set, json!({ "url": url }));
    receiver.check_with(&secret(&client).await).await;

    let poll = client.poll(json!({})).await.expect(200);
    let received = receiver.received(1).await;
    let notification = &received[0];
    assert_eq!((&notification["method"], &notification["path"]), (&json!("POST"), &json!("/all?token=x")));
    assert_eq!(notification["headers"]["content-type"], "application/json");
    assert_eq!(notification["headers"]["webhook-id"], poll["poll_id"]);
    assert_eq!(notification["verified"]["type"], "poll.completed", "{notification}");
    let data = &notification["verified"]["data"];
    for member in [
        "poll_id",
        "status",
        "outcome",
        "winning_option",
        "is_tie",
        "contested",
        "tally",
        "confidence",
        "termination_reason",
        "result_url",
    ] {
        assert_eq!(data[member], poll[member], "{member}");
    }
    assert_eq!(notified(&client, "delivered").await["attempts"], 1);

    // The previous secret keeps signing for a day; another account's secret does not match.
    let older = secret(&client).await;
    secret(&client).await;
    receiver.check_with(&older).await;
    let own = format!("{}/own", receiver.url);
    let poll = client.poll(json!({ "notify_url": own, "private": true })).await.expect(200);
    let notification = receiver.received(2).await[1].clone();
    assert_eq!(
        (&notification["path"], &notification["headers"]["webhook-id"]),
        (&json!("/own"), &poll["poll_id"])
    );
    assert_eq!(notification["verified"]["data"]["poll_id"], poll["poll_id"], "{notification}");
    receiver.check_with(&secret(&service.user().await).await).await;
    client.tool("poll_question", crate::harness::question(json!({}))).await;
    assert!(receiver.received(3).await[2]["verified"].as_str().unwrap().starts_with("refused"));

    client.post("/api/account/webhook", &json!({ "url": null })).await.expect(200);
    client.poll(json!({})).await.expect(200);
    client.poll(json!({ "notify_url": own })).await.expect(200);
    assert_eq!(receiver.received(4).await[3]["path"], "/own");
    let listed = client.get("/api/account/webhook").await.expect(200);
    assert_eq!((&listed["url"], listed["notifications"].as_array().unwrap().len()), (&json!(null), 4));
    let other = service.user().await.get("/api/account/webhook").await.expect(200);
    assert_eq!(other["notifications"], json!([]));
}

#[tokio::test]
async fn notifications_are_signed_on_sqlite() {
    notifications_are_signed(Engine::Sqlite).await;
}

#[tokio::test]
async fn notifications_are_signed_on_postgres() {
    notifications_are_signed(Engine::Postgres).await;
}

#[tokio::test]
async fn failed_deliveries_are_retried_until_they_expire() {
    let (service, receiver) = tokio::join!(service_on(Engine::Sqlite), WebhookReceiver::start());
    let client = service.user().await;
    let elsewhere = format!("{}/elsewhere", receiver.url);
    let moved = json!({ "status": 307, "headers": { "location": elsewhere } });
    receiver.answer(json!([moved, 204, "drop", 410])).await;
    let ask = json!({ "notify_url": receiver.url });
    client.poll(ask.clone()).await.expect(200);
    let error = notified(&client, "waiting").await;
    receiver.received(1).await;
    // A redirect is not followed: the second request is the second attempt, some seconds later.
    let delivered = notified(&client, "delivered").await;
    assert_eq!(delivered["attempts"], 2, "{error}");
    assert_eq!(receiver.received(2).await[1]["path"], "/");

    client.poll(ask).await.expect(200);
    receiver.received(3).await;
    let failed = notified(&client, "failed").await;
    assert_eq!(
        (&failed["attempts"], &failed["last_error"]),
        (&json!(2), &json!("the receiver responded with 410"))
    );
    assert_eq!(receiver.received(4).await.len(), 4);
}

#[tokio::test]
async fn only_public_https_urls_are_called() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let set = async |url: Value| client.post("/api/account/webhook", &json!({ "url": url })).await;
    let poll = async |url: Value| client.poll(json!({ "notify_url": url })).await;
    let long = format!("https://example.com/{}", "x".repeat(60_000));
    for url in [
        json!("http://example.com/"),
        json!("https://127.0.0.1/"),
        json!("https://2130706433/"),
        json!("https://[::ffff:10.0.0.1]/"),
        json!("https://169.254.169.254/latest/meta-data"),
        json!("https://user:hunter2@example.com/"),
        json!("example.com"),
        json!("javascript:alert(1)"),
        json!(" "),
        json!(long),
        json!(5),
        json!(["https://example.com/"]),
    ] {
        assert!(set(url.clone()).await.refused(400).starts_with("url "), "{url:.80}");
        let said = poll(url.clone()).await.refused(400);
        assert!(said.starts_with("notify_url ") && !said.contains("hunter2"), "{said}");
    }
    client.post("/api/account/webhook", &json!({})).await.refused(400);

    // The address of a name is checked when it is called.
    set(json!("https://localhost:1/")).await.expect(200);
    client.poll(json!({})).await.expect(200);
    until(
        "the notification has failed",
        async || newest(&client).await,
        |newest| newest["last_error"] == "the host has no public address",
    )
    .await;
}

#[tokio::test]
async fn read_only_keys_and_anonymous_callers_cannot_set_a_webhook() {
    let service = Setup::demo().boot().await;
    let owner = service.user().await;
    for scope in ["read", "polls"] {
        let created = owner.post("/api/keys", &json!({ "scope": scope })).await.expect(201);
        let client = owner.with_key(created["key"].as_str().unwrap());
        client.get("/api/account/webhook").await.expect(200);
        client.post("/api/account/webhook", &json!({ "url": null })).await.refused(403);
        client.post("/api/account/webhook/secret", &json!({})).await.refused(403);
    }
    let stranger = service.anonymous();
    stranger.get("/api/account/webhook").await.refused(401);
    stranger.post("/api/account/webhook", &json!({ "url": null })).await.refused(401);
    stranger.post("/api/account/webhook/secret", &json!({})).await.refused(401);
}
