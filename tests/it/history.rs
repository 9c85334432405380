//! The balance and the list of an account's polls, with a session cookie and with a key.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::Script;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Setup, example};

#[tokio::test]
async fn listed_polls_match_their_results() {
    let service = Setup::default().boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    assert_eq!(client.get("/api/results").await.expect(200), json!([]));
    let mut polls = Vec::new();
    for options in [json!(["Alpha", "Beta"]), json!(["One", "Two", "Three"])] {
        polls.push(client.poll(json!({ "options": options, "confidence_threshold": 1 })).await.expect(200));
    }
    let used = service.settled_cost(user).await;
    let listed = client.get("/api/results?limit=10").await.expect(200);
    let mut cost = 0.0;
    for (listed, poll) in listed.as_array().unwrap().iter().zip(polls.iter().rev()) {
        let path = format!("/api/results/{}?costs=true", poll["poll_id"].as_str().unwrap());
        let result = client.get(&path).await.expect(200);
        let members: Vec<&String> = listed.as_object().unwrap().keys().collect();
        assert_eq!(
            members,
            [
                "resultId",
                "question",
                "status",
                "pollType",
                "winningOption",
                "isTie",
                "modelsRequested",
                "modelsSucceeded",
                "totalCostUsd",
                "totalMs",
                "createdAt"
            ]
        );
        for (member, of_result) in [
            ("resultId", "poll_id"),
            ("question", "question"),
            ("status", "status"),
            ("pollType", "poll_type"),
            ("winningOption", "winning_option"),
            ("isTie", "is_tie"),
            ("modelsRequested", "models_requested"),
            ("modelsSucceeded", "models_succeeded"),
            ("createdAt", "created_at"),
        ] {
            assert_eq!(listed[member], result[of_result], "{member}");
        }
        assert_eq!(listed["totalMs"], result["timing"]["total_ms"]);
        let charged: f64 = listed["totalCostUsd"].as_str().unwrap().parse().unwrap();
        assert_eq!(Some(charged), result["costs"]["total_estimated_cost"].as_f64());
        cost += charged;
    }
    assert!((cost - used.as_usd()).abs() < 1e-9 && cost > 0.0, "{cost} of {used}");

    let recent = client.get("/api/results/recent").await.expect(200);
    let without = ["question", "status", "totalCostUsd", "totalMs"];
    let expected: Vec<Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let common =
                result.as_object().unwrap().iter().filter(|(name, _)| !without.contains(&name.as_str()));
            Value::Object(common.map(|(name, value)| (name.clone(), value.clone())).collect())
        })
        .collect();
    assert_eq!(recent, json!(expected));
    assert_eq!(client.get("/api/results?limit=1&offset=1").await.expect(200), json!([listed[1]]));
    for query in ["limit=0", "limit=101", "limit=-1", "limit=x", "offset=-1", "offset=1.5"] {
        client.get(&format!("/api/results?{query}")).await.refused(400);
    }
    assert_eq!(service.user().await.get("/api/results/recent").await.expect(200), json!([]));
}

#[tokio::test]
async fn running_poll_is_listed_with_nulls() {
    let mut script = Script::panel(20);
    script.default.latency = Duration::from_millis(700);
    let service = Setup::scripted(script).boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let running = client.poll(json!({ "wait_ms": 1, "confidence_threshold": 1 })).await.expect(202);
    let listed = client.get("/api/results").await.expect(200).as_array().unwrap().clone();
    assert_eq!((listed.len(), &listed[0]["resultId"]), (1, &running["poll_id"]));
    assert_eq!((&listed[0]["status"], &listed[0]["isTie"]), (&json!("running"), &json!(false)));
    for member in ["winningOption", "totalCostUsd", "totalMs"] {
        assert_eq!(listed[0][member], Value::Null, "{member}");
    }
    service.settled_cost(user).await;
}

#[tokio::test]
async fn keys_can_read_their_account_if_the_operator_allows_it() {
    let paths = ["/api/balance", "/api/results", "/api/results/recent"];
    for allowed in [true, false] {
        let service = Setup::demo().with("EP_KEYS_READ_ACCOUNT", allowed.to_string()).boot().await;
        let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
        let cookie = service.cookie(user).await;
        for path in paths {
            let nobody = service.anonymous();
            let request = nobody.request(Method::GET, path).header("cookie", &cookie);
            let signed_in = nobody.send(request).await.expect(200);
            let by_key = client.get(path).await;
            if allowed {
                assert_eq!(by_key.expect(200), signed_in);
                continue;
            }
            // The key is valid but not accepted here.
            assert_eq!(by_key.header("www-authenticate"), "Bearer realm=\"ensemble-poll\"");
            assert!(by_key.refused(401).contains("session cookie"));
        }
        assert_eq!(
            client.tool("get_balance", json!({})).await["structuredContent"]["balance"],
            "$1.00",
            "agents read it with a key in any case"
        );
        // A session on a route that accepts only keys is rejected but not ended.
        let dry_run = example(ep_tools::find("dry_run_poll").unwrap());
        let reply =
            service.anonymous().post_with("/api/poll/dry-run", &dry_run, &[("cookie", &cookie)]).await;
        assert_eq!((reply.status, reply.header("set-cookie")), (401, ""));
    }
}
