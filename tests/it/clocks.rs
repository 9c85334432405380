//! Two replicas with clocks a minute ahead and a minute behind work together.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ep_polling::Timestamp;
use ep_store::testing::{Database, Postgres};
use ep_upstream::testing::Script;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Service, Setup, WalletLibraries, WebhookReceiver, question, until};

/// Starts a replica with a clock that is this many seconds ahead.
async fn replica(database: &Database, ahead_s: i64, setup: Setup) -> Service {
    let mut setup = setup
        .with("EP_DATABASE_URL", database.url())
        .with("EP_SECRET_KEY", "5a".repeat(32))
        .with("EP_BASE_URL", "https://polls.example.com")
        .with("EP_WEBHOOK_ALLOWED_NETWORKS", "127.0.0.0/8")
        .with("EP_LEASE_MS", "1500");
    setup.ahead_ms = ahead_s * 1000;
    setup.boot().await
}

/// Starts a replica a minute ahead and one a minute behind, with a client of one account on each.
async fn replicas(setup: impl Fn() -> Setup) -> (Database, [Service; 2], [Client; 2]) {
    let database = Postgres::start().unwrap().database().await.unwrap();
    let ahead = replica(&database, 60, setup()).await;
    let behind = replica(&database, -60, setup()).await;
    let client = ahead.user().await;
    let elsewhere = behind.anonymous().with_key(client.key.as_ref().unwrap());
    (database, [ahead, behind], [client, elsewhere])
}

fn models(latency_ms: u64) -> Script {
    let mut script = Script::divided_panel(12);
    script.default.latency = Duration::from_millis(latency_ms);
    script
}

/// Returns the correct time in this many seconds.
fn in_seconds(seconds: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    Timestamp::from_millis(now + seconds * 1000).to_string()
}

fn at(value: &Value) -> Timestamp {
    serde_json::from_value(value.clone()).unwrap()
}

pub(crate) async fn ended(client: &Client, poll: &Value) -> Value {
    let path = format!("/api/polls/{}/status", poll.as_str().unwrap());
    let read = async || client.get(&path).await.expect(200);
    until("the poll has ended", read, |status| !status["ended_at"].is_null()).await
}

/// Slow scripted models, two calls at a time.
fn slow() -> Setup {
    Setup::scripted(models(200)).with("EP_UPSTREAM_MAX_CONCURRENT", "2").with("EP_POLL_DEADLINE_MS", "30000")
}

async fn start(client: &Client) -> Value {
    let body = question(json!({ "confidence_threshold": 1, "pace": "thrifty" }));
    client.post("/api/polls", &body).await.expect(202)["poll_id"].clone()
}

/// Asserts that every model has voted and that the poll ended after it started.
fn assert_whole(status: &Value) {
    assert_eq!((&status["status"], &status["answered"]), (&json!("success"), &json!(12)), "{status}");
    assert!(at(&status["ended_at"]) >= at(&status["created_at"]), "{status}");
}

#[tokio::test]
async fn running_poll_is_not_adopted_by_another_replica() {
    let (_database, [ahead, behind], [client, elsewhere]) = replicas(slow).await;
    let body = question(json!({ "confidence_threshold": 1, "pace": "thrifty" }));
    let keyed = [("idempotency-key", "once")];
    let first = client.post_with("/api/polls", &body, &keyed).await.expect(202)["poll_id"].clone();
    // The same request on both replicas opens one poll.
    for client in [&elsewhere, &client] {
        let again = client.post_with("/api/polls", &body, &keyed).await;
        assert_eq!(again.expect(202)["poll_id"], first);
    }
    let second = start(&elsewhere).await;
    for poll in [&first, &second] {
        for client in [&client, &elsewhere] {
            assert_whole(&ended(client, poll).await);
        }
    }
    let calls = |service: &Service| service.upstream().total_calls();
    assert_eq!((calls(&ahead), calls(&behind)), (12, 12));
}

/// When a replica stops, its running poll and its queued poll continue on the other replica.
async fn handed_over(from_ahead: bool) {
    let one_at_a_time = || slow().with("EP_POLLS_RUNNING", "1");
    let (_database, mut services, mut clients) = replicas(one_at_a_time).await;
    if !from_ahead {
        services.reverse();
        clients.reverse();
    }
    let ([stopping, other], [client, elsewhere]) = (services, clients);
    let polls = [start(&client).await, start(&client).await];
    let path = format!("/api/polls/{}/status", polls[0].as_str().unwrap());
    until("a model has responded", async || client.get(&path).await.json(), |status| status["answered"] != 0)
        .await;
    stopping.app.ports.polls.release().await.unwrap();
    for poll in &polls {
        assert_whole(&ended(&elsewhere, poll).await);
    }
    // The stopping replica may have had this many calls in flight.
    let calls = stopping.upstream().total_calls() + other.upstream().total_calls();
    assert!(calls <= 24 + 12, "{calls}");
    let audit = other.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap();
    assert!(audit.is_clean(), "{audit:?}");
}

#[tokio::test]
async fn replica_ahead_hands_over_its_polls() {
    handed_over(true).await;
}

#[tokio::test]
async fn replica_behind_hands_over_its_polls() {
    handed_over(false).await;
}

#[tokio::test]
async fn notifications_are_signed_with_a_skewed_clock() {
    let (_database, _services, [client, elsewhere]) = replicas(Setup::demo).await;
    let receiver = WebhookReceiver::start().await;
    let url = |path: &str| format!("{}{path}", receiver.url);
    client.post("/api/account/webhook", &json!({ "url": url("/all") })).await.expect(200);
    let secret = elsewhere.post("/api/account/webhook/secret", &json!({})).await.expect(200);
    receiver.check_with(secret["secret"].as_str().unwrap()).await;
    let mut count = 0;
    for client in [&client, &elsewhere] {
        let poll = client.poll(json!({})).await.expect(200);
        count += 1;
        let notification = receiver.received(count).await.pop().unwrap();
        assert_eq!(notification["verified"]["data"]["poll_id"], poll["poll_id"], "{notification}");
        let part = json!({ "data": question(json!({})) });
        let message = json!({ "messageId": format!("m{count}"), "role": "ROLE_USER", "parts": [part] });
        let configuration = json!({ "taskPushNotificationConfig": { "url": url("/push") } });
        let sent = json!({ "message": message, "configuration": configuration });
        client.rpc("/api/a2a", "SendMessage", sent).await.expect(200);
        count += 2;
        let received = receiver.received(count).await;
        let paths: Vec<&Value> =
            received[count - 2..].iter().map(|notification| &notification["path"]).collect();
        assert!(paths.contains(&&json!("/push")) && paths.contains(&&json!("/all")), "{paths:?}");
    }
}

#[tokio::test]
async fn limits_and_keys_work_on_both_replicas() {
    let setup = || Setup::demo().with("EP_RATE_LIMIT_PER_MINUTE", "20");
    let (_database, [ahead, behind], [client, elsewhere]) = replicas(setup).await;
    let mut left = 20;
    for _ in 0..10 {
        for client in [&client, &elsewhere] {
            let reply = client.get("/api/keys").await;
            left -= 1;
            // The allowance refills during the test.
            let remaining: u32 = reply.header("ratelimit-remaining").parse().unwrap();
            assert!((left..=left + 3).contains(&remaining), "{remaining} of {left}");
            let reset: u64 = reply.header("ratelimit-reset").parse().unwrap();
            assert!((1..=60).contains(&reset), "{reset}");
            reply.expect(200);
        }
    }
    let refused = async |client: &Client| client.get("/api/keys").await.status == 429;
    while !refused(&client).await {}
    assert!(refused(&elsewhere).await);

    // A key is rejected no earlier than a minute before and no later than a minute after its expiry.
    let owner = behind.user().await;
    let on = |service: &Service, key: &Value| service.anonymous().with_key(key.as_str().unwrap());
    for (seconds, [is_known_ahead, is_known_behind]) in
        [(-30, [false, true]), (30, [false, true]), (90, [true, true])]
    {
        let terms = json!({ "expires_at": in_seconds(seconds) });
        let key = owner.post("/api/keys", &terms).await.expect(201)["key"].clone();
        for (service, is_known) in [(&ahead, is_known_ahead), (&behind, is_known_behind)] {
            let status = on(service, &key).get("/api/keys").await.status;
            assert_eq!(status, if is_known { 200 } else { 401 }, "{seconds}");
        }
    }
}

#[tokio::test]
async fn sign_in_works_on_either_replica() {
    let (_database, [ahead, behind], _) = replicas(Setup::demo).await;
    let libraries = WalletLibraries::start();
    for (here, there) in [(&ahead, &behind), (&behind, &ahead)] {
        let wallet = libraries.wallet().await;
        let path = format!("/api/wallet/challenge?address={}", wallet.address);
        let challenge = here.anonymous().get(&path).await.expect(200);
        let message = challenge["message"].as_str().unwrap();
        let signature = libraries.sign(&wallet, message).await;
        let body = json!({ "message": message, "signature": signature });
        let signed_in = there.anonymous().post("/api/wallet/verify", &body).await;
        let cookie = signed_in.cookie();
        signed_in.expect(200);
        // The signed message works once.
        here.anonymous().post("/api/wallet/verify", &body).await.refused(401);
        for service in [here, there] {
            let client = service.anonymous();
            let me = client.request(Method::GET, "/api/auth/me").header("cookie", &cookie);
            client.send(me).await.expect(200);
        }
    }
}

#[tokio::test]
async fn used_sign_in_message_is_stored_until_it_expires_by_every_clock() {
    let (database, [_ahead, behind], _) = replicas(Setup::demo).await;
    let libraries = WalletLibraries::start();
    let wallet = libraries.wallet().await;
    let path = format!("/api/wallet/challenge?address={}", wallet.address);
    let challenge = behind.anonymous().get(&path).await.expect(200);
    let message = challenge["message"].as_str().unwrap();
    let signature = libraries.sign(&wallet, message).await;
    let body = json!({ "message": message, "signature": signature });
    behind.anonymous().post("/api/wallet/verify", &body).await.expect(200);
    // Three minutes later, the message has expired by one clock only.
    let ahead = replica(&database, 60 + 200, Setup::demo()).await;
    let behind = replica(&database, -60 + 200, Setup::demo()).await;
    ahead.app.guard.sessions.sweep().await.unwrap();
    let said = behind.anonymous().post("/api/wallet/verify", &body).await.refused(401);
    assert!(said.contains("already been used"), "{said}");
}
