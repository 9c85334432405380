//! A request with an idempotency key runs once.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::{Action, Behaviour, Script};
use serde_json::json;

use crate::harness::{Engine, Service, Setup, question, until};

async fn once(engine: Engine) {
    let service = Setup::default().on(engine).boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let headers = [("idempotency-key", "\"order-1\"")];
    let first = client.post_with("/api/poll", &question(json!({})), &headers).await;
    assert_eq!((first.header("idempotency-key"), first.header("idempotent-replayed")), ("\"order-1\"", ""));
    let first = first.expect(200);
    let calls = service.upstream().total_calls();
    let spent = service.settled_cost(user).await;

    let again = client.post_with("/api/poll", &question(json!({})), &headers).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(200), first);
    assert_eq!((service.upstream().total_calls(), service.settled_cost(user).await), (calls, spent));

    // The unquoted form is the same key, and so is MCP's argument.
    let bare = client.post_with("/api/poll", &question(json!({})), &[("idempotency-key", "order-1")]).await;
    assert_eq!(bare.expect(200)["poll_id"], first["poll_id"]);
    let tool = client.tool("poll_question", question(json!({ "idempotency_key": "order-1" }))).await;
    assert_eq!(tool["structuredContent"]["poll_id"], first["poll_id"]);

    let other = client.post_with("/api/poll", &question(json!({ "preset": "budget" })), &headers).await;
    assert!(other.refused(422).contains("another body"));
    let anonymous =
        service.user().await.post_with("/api/poll", &question(json!({})), &headers).await.expect(200);
    assert_ne!(anonymous["poll_id"], first["poll_id"], "keys are the caller's own");
    client.post_with("/api/poll", &question(json!({})), &[("idempotency-key", "")]).await.refused(400);
}

#[tokio::test]
async fn once_on_sqlite() {
    once(Engine::Sqlite).await;
}

#[tokio::test]
async fn once_on_postgres() {
    once(Engine::Postgres).await;
}

#[tokio::test]
async fn hundred_concurrent_requests_open_one_poll() {
    let mut script = Script::panel(50);
    script.default.latency = Duration::from_millis(100);
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let sent =
        (0..100).map(|_| {
            let client = client.clone();
            async move {
                client.post_with("/api/poll", &question(json!({})), &[("idempotency-key", "same")]).await
            }
        });
    let replies = futures::future::join_all(sent).await;
    let (done, others): (Vec<_>, Vec<_>) = replies.into_iter().partition(|reply| reply.status == 200);
    assert!(!done.is_empty());
    let id = done[0].json()["poll_id"].clone();
    assert!(done.iter().all(|reply| reply.json()["poll_id"] == id));
    for reply in others {
        assert!(!reply.header("retry-after").is_empty());
        assert!(reply.expect(409)["error"].as_str().unwrap().contains("still running"));
    }
}

#[tokio::test]
async fn rejections_are_stored_but_server_errors_are_not() {
    let service = Service::start().await;
    let client = service.user().await;
    let key = [("idempotency-key", "k")];
    client.post_with("/api/poll", &question(json!({ "preset": "nope" })), &key).await.refused(400);
    let again = client.post_with("/api/poll", &question(json!({ "preset": "nope" })), &key).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    again.refused(400);

    let broken = Script { registry_fails: Some((500, "down".into())), ..Script::panel(50) };
    let service = Setup::scripted(broken).boot().await;
    let client = service.user().await;
    client.post_with("/api/poll", &question(json!({})), &key).await.refused(503);
    service.upstream().change(|script| script.registry_fails = None);
    let repeat = async || client.post_with("/api/poll", &question(json!({})), &key).await.status;
    until("the request succeeds", repeat, |status| *status == 200).await;
}

#[tokio::test]
async fn disconnected_client_finds_its_poll_again() {
    let mut script = Script::panel(50);
    script.default = Behaviour {
        latency: Duration::from_millis(300),
        ..Behaviour::of(vec![Action::Obey(ep_upstream::testing::Forms::ALL)])
    };
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let body = question(json!({ "confidence_threshold": 0.5 }));
    let impatient =
        client.request(reqwest::Method::POST, "/api/poll").json(&body).header("idempotency-key", "left");
    assert!(impatient.timeout(Duration::from_millis(100)).send().await.is_err());
    let repeat = async || client.post_with("/api/poll", &body, &[("idempotency-key", "left")]).await;
    let reply = until("the first request has ended", repeat, |reply| reply.status != 409).await;
    assert_eq!(reply.header("idempotent-replayed"), "true");
    reply.expect(200);
}

#[tokio::test]
async fn interim_response_is_not_stored() {
    let mut script = Script::panel(50);
    script.default.latency = Duration::from_millis(200);
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let body = question(json!({ "wait_ms": 10 }));
    let key = [("idempotency-key", "impatient")];
    let running = client.post_with("/api/poll", &body, &key).await.expect(202);
    let repeat = async || client.post_with("/api/poll", &body, &key).await;
    let finished = until("the poll has ended", repeat, |reply| reply.status == 200).await;
    assert_eq!(finished.json()["poll_id"], running["poll_id"]);
}

#[tokio::test]
async fn running_request_names_its_poll() {
    let mut script = Script::panel(50);
    script.default.latency = Duration::from_secs(2);
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let headers = [("idempotency-key", "running"), ("x-machine-client", "true")];
    let first = tokio::spawn({
        let client = client.clone();
        async move { client.post_with("/api/poll", &question(json!({})), &headers).await }
    });
    until("a model is called", async || service.upstream().total_calls(), |calls| *calls > 0).await;
    let repeat = async || client.post_with("/api/poll", &question(json!({})), &headers).await;
    let refused = until("the repetition is refused with the poll", repeat, |reply| {
        assert_ne!(reply.status, 200, "it must be refused before the first one ends");
        reply.status == 409 && reply.json()["poll_id"].is_string()
    })
    .await;
    assert!(!refused.header("retry-after").is_empty());
    let refused = refused.expect(409);
    let id = refused["poll_id"].as_str().unwrap();
    assert!(refused["detail"].as_str().unwrap().contains(id));
    let read = &refused["recovery_actions"][0];
    assert_eq!(read["href"], format!("{}/api/results/{id}", service.url));
    let plain = client.post_with("/api/poll", &question(json!({})), &headers[..1]).await.expect(409);
    assert_eq!(plain["poll_id"], id);
    assert_eq!(first.await.unwrap().expect(200)["poll_id"], id);
}

async fn key_expires_after_a_day(engine: Engine) {
    let service = Setup::default().on(engine).seeded(1).boot().await;
    let client = service.user().await;
    let key = [("idempotency-key", "daily")];
    let ask = async |members| client.post_with("/api/poll", &question(members), &key).await;
    let first = ask(json!({})).await.expect(200);
    ask(json!({ "preset": "budget" })).await.refused(422);
    let day = Duration::from_hours(24) + Duration::from_secs(1);
    service.clock.as_ref().unwrap().advance(day);
    let other = ask(json!({ "preset": "budget" })).await;
    assert_eq!(other.header("idempotent-replayed"), "");
    let other = other.expect(200);
    assert_eq!((&other["preset"], &first["preset"]), (&json!("budget"), &json!("fast_and_cheap")));
    assert_ne!(other["poll_id"], first["poll_id"]);
    service.clock.as_ref().unwrap().advance(day);
    assert_ne!(ask(json!({})).await.expect(200)["poll_id"], first["poll_id"], "the same body, too");
}

#[tokio::test]
async fn key_expires_after_a_day_on_sqlite() {
    key_expires_after_a_day(Engine::Sqlite).await;
}

#[tokio::test]
async fn key_expires_after_a_day_on_postgres() {
    key_expires_after_a_day(Engine::Postgres).await;
}

#[tokio::test]
async fn dry_runs_use_the_key_and_reads_do_not() {
    let service = Service::start().await;
    let client = service.user().await;
    let key = [("idempotency-key", "dry")];
    let first = client.post_with("/api/poll/dry-run", &question(json!({})), &key).await;
    assert_eq!((first.header("idempotency-key"), first.header("idempotent-replayed")), ("dry", ""));
    let first = first.expect(200);
    let again = client.post_with("/api/poll/dry-run", &question(json!({})), &key).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(200), first);
    let other = question(json!({ "preset": "budget" }));
    client.post_with("/api/poll/dry-run", &other, &key).await.refused(422);
    let models =
        || client.send(client.request(reqwest::Method::GET, "/api/models").header("idempotency-key", "dry"));
    for _ in 0..2 {
        let read = models().await;
        assert_eq!((read.status, read.header("idempotent-replayed")), (200, ""));
    }
}

#[tokio::test]
async fn a_repeated_completion_says_so() {
    let service = Service::start().await;
    let client = service.user().await;
    for (path, body) in [
        (
            "/v1/chat/completions",
            json!({ "model": "poll", "messages": [{ "role": "user", "content": "Tea or coffee, which one? [Tea, Coffee]" }] }),
        ),
        ("/v1/responses", json!({ "model": "poll", "input": "Tea or coffee, which one? [Tea, Coffee]" })),
    ] {
        let schema = json!({ "type": "object", "properties": { "drink": { "enum": ["Tea", "Coffee"] } }, "required": ["drink"] });
        let mut body = body;
        match path {
            "/v1/responses" => {
                body["text"] = json!({ "format": { "type": "json_schema", "name": "d", "schema": schema } });
            }
            _ => {
                body["response_format"] =
                    json!({ "type": "json_schema", "json_schema": { "name": "d", "schema": schema } });
            }
        }
        for stream in [false, true] {
            body["stream"] = stream.into();
            let key = [("idempotency-key", format!("{path} {stream}"))];
            let key = key.each_ref().map(|(name, value)| (*name, value.as_str()));
            let first = client.post_with(path, &body, &key).await;
            assert_eq!((first.status, first.header("idempotent-replayed")), (200, ""), "{}", first.text);
            let again = client.post_with(path, &body, &key).await;
            assert_eq!((again.status, again.header("idempotent-replayed")), (200, "true"), "{}", again.text);
        }
    }
}
