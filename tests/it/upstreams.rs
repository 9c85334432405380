//! Upstreams that are down, slow, inconsistent or half-open: votes fail with a reason, the poll ends by its
//! deadline, and the balance is correct.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use ep_outgoing::HttpClients;
use ep_polling::MicroUsd;
use ep_upstream::testing::{Action, Behaviour, Billing, Script, ScriptedUpstream, VoteFor};
use serde_json::json;

use crate::clocks::ended;
use crate::harness::{Engine, Setup, question};

/// Runs a poll of twenty models with this behaviour. Returns the poll, its cost and its duration.
async fn poll_of(behaviour: Behaviour) -> (serde_json::Value, MicroUsd, Duration) {
    let script = Script { default: behaviour, votes_for: VoteFor::Text("Beta".into()), ..Script::panel(20) };
    let setup =
        Setup::scripted(script).with("EP_POLL_DEADLINE_MS", "3000").with("EP_UPSTREAM_TIMEOUT_MS", "1500");
    let service = setup.boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let started = Instant::now();
    let poll = client.poll(json!({})).await.expect(200);
    (poll, service.settled_cost(user).await, started.elapsed())
}

#[tokio::test]
async fn failures_have_reasons_and_cost_an_estimate_at_most() {
    let body = json!({ "error": { "message": "no credit" } }).to_string();
    let failures = [
        // The upstream may have charged for lost responses and for responses without a price.
        (Action::Hang, "timeout", true),
        (Action::HalfOpen, "timeout", true),
        (Action::Status(402, body.clone()), "rejected", false),
        (Action::Status(500, body.clone()), "upstream_error", false),
        (Action::TopLevelError(json!({ "code": 502, "message": "provider down" })), "upstream_error", false),
        (
            Action::Message(json!({ "role": "assistant", "content": null, "refusal": "No." }), "stop"),
            "refused",
            true,
        ),
        (Action::Says("I really cannot say.".into()), "unparsable", true),
    ];
    for (action, reason, charged) in failures {
        let shown = format!("{action:?}");
        let (poll, cost, took) = poll_of(Behaviour::of(vec![action]).billed(Billing::Silent)).await;
        assert_eq!((&poll["status"], &poll["outcome"]), (&json!("failed"), &json!("no_votes")), "{shown}");
        let votes = poll["votes"].as_array().unwrap();
        assert!(
            votes.iter().all(|vote| {
                // A call that starts late ends by the poll's deadline instead of its own.
                let late = reason == "timeout" && vote["error_code"] == "deadline";
                (vote["error_code"] == reason || late) && vote["error"].is_string()
            }),
            "{shown}: {}",
            votes[0]
        );
        assert_eq!((votes.len(), !cost.is_zero()), (20, charged), "{shown}: {cost}");
        let bases: HashSet<&str> = votes.iter().filter_map(|vote| vote["cost_basis"].as_str()).collect();
        let expected = if charged { "estimated" } else { "priced" };
        assert_eq!(bases, HashSet::from([expected]), "{shown}");
        assert!(took < Duration::from_secs(7), "{shown} took {took:?}");
    }
}

/// Twenty models that use every token for reasoning which the list does not mention, and never vote.
#[tokio::test]
async fn models_that_reason_unannounced_cost_at_most_the_hold() {
    let silent = Behaviour::of([Action::Ends(String::new(), "length")]);
    let script = Script { held: true, default: silent, ..Script::panel(20) };
    let service = Setup::scripted(script).boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let (mut held, mut spent) = (Vec::new(), MicroUsd::ZERO);
    // The first answer and the second one, of twice the length: 768 tokens for two answers, and then 3,072.
    for tokens in [384, 1536] {
        service.upstream().change(|script| script.default.billing = Billing::Tokens(200, tokens));
        let body = question(json!({ "confidence_threshold": 1, "max_cost_usd": 1 }));
        let poll = client.post("/api/polls", &body).await.expect(202)["poll_id"].clone();
        held.push(service.app.accounts.balance(user).await.unwrap().held);
        service.upstream().release(40);
        let ended = ended(&client, &poll).await;
        assert_eq!(ended["outcome"], "no_votes", "{ended}");
        let total = service.settled_cost(user).await;
        let cost = total.minus(spent);
        spent = total;
        let of_all_tokens = 20 * 2 * (200 + tokens as i64) / 5;
        assert!(cost.micro() >= of_all_tokens && cost <= held[held.len() - 1], "{cost} of {held:?}");
    }
    assert!(held[1] > held[0], "the next poll takes more room: {held:?}");
}

#[tokio::test]
async fn a_few_failures_make_a_partial_poll() {
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(20) };
    for n in 0..6 {
        script
            .behaviours
            .insert(format!("maker{n}/line-{n}"), Behaviour::of(vec![Action::Status(401, "{}".into())]));
    }
    let service = Setup::scripted(script).boot().await;
    let poll = service.user().await.poll(json!({ "confidence_threshold": 1 })).await.expect(200);
    assert_eq!((&poll["outcome"], &poll["status"]), (&json!("Beta"), &json!("partial")));
}

#[tokio::test]
async fn a_result_says_how_many_votes_took_a_second_request() {
    let mut script = Script::divided_panel(8);
    for n in 0..3 {
        let unsure = vec![Action::Says("I cannot decide yet.".into()), Action::Says("{value}".into())];
        script.behaviours.insert(format!("maker{n}/line-{n}"), Behaviour::of(unsure));
    }
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::scripted(script.clone()).on(engine).boot().await;
        let poll = service.user().await.poll(json!({ "confidence_threshold": 1 })).await.expect(200);
        let path = format!("/api/results/{}", poll["poll_id"].as_str().unwrap());
        for poll in [poll, service.anonymous().get(&path).await.expect(200)] {
            let said = poll["notices"].as_array().unwrap();
            assert!(said.contains(&json!("3 votes took a second request")), "{said:?}");
            let again = poll["votes"].as_array().unwrap().iter().filter(|vote| vote["asked_again"] == true);
            assert_eq!((again.count(), &poll["reader"]), (3, &json!(2)));
        }
    }
}

#[tokio::test]
async fn unavailable_upstream_fails_votes_but_not_the_service() {
    let mut service = Setup::default().boot().await;
    let client = service.user().await;
    client.poll(json!({})).await.expect(200);
    drop(service.upstream.take());
    let poll = client.poll(json!({})).await.expect(200);
    assert_eq!(poll["outcome"], "no_votes");
    assert!(
        poll["votes"].as_array().unwrap().iter().all(|vote| vote["error_code"] == "unreachable"),
        "{}",
        poll["votes"][0]
    );
    client.get("/api/models").await.expect(200);
}

#[tokio::test]
async fn registry_survives_upstream_failure_and_restart() {
    let service = Setup::default().boot().await;
    service.anonymous().get("/api/models").await.expect(200);
    let data = service.data.path().to_owned();
    let again = Setup { script: None, ..Setup::default() }
        .with("EP_UPSTREAM_URL", service.upstream().base_url())
        .with("EP_DATA_DIR", data.display().to_string());
    service.upstream().change(|script| script.registry_fails = Some((500, "down".into())));
    let again = again.boot().await;
    assert_eq!(again.anonymous().get("/api/models").await.expect(200)["count"], 50);
}

#[tokio::test]
async fn secrets_never_reach_a_result() {
    let body =
        json!({ "error": { "message": "bad key sk-very-secret for https://user:pass@host/" } }).to_string();
    let script = Script { default: Behaviour::of(vec![Action::Status(400, body)]), ..Script::panel(10) };
    let service = Setup::scripted(script).with("EP_UPSTREAM_API_KEY", "sk-very-secret").boot().await;
    let text = service.user().await.poll(json!({})).await.text;
    assert!(!text.contains("sk-very-secret") && !text.contains("user:pass"), "{text}");
}

#[tokio::test]
async fn outgoing_requests_use_the_injected_clients() {
    let script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(20) };
    let upstream = ScriptedUpstream::start(script).unwrap();
    let address = upstream.base_url().parse::<reqwest::Url>().unwrap().socket_addrs(|| None).unwrap()[0];
    // A host name that only this client resolves.
    let http =
        HttpClients::new(move || ep_outgoing::client_builder().no_proxy().resolve("models.example", address));
    let setup = Setup { script: None, http, ..Setup::default() };
    let url = format!("http://models.example:{}/v1", address.port());
    let service = setup.with("EP_UPSTREAM_URL", url).boot().await;
    let poll = service.user().await.poll(json!({})).await.expect(200);
    assert_eq!((&poll["winning_option"], &poll["simulated"]), (&json!("Beta"), &json!(false)));
    assert!(upstream.total_calls() > 0);
}
