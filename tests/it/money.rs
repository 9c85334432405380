//! Holds, captures and rejected polls.

use std::time::Duration;

use ep_polling::{MicroUsd, UsdFigure};
use ep_upstream::testing::{Behaviour, Billing, Script, VoteFor};
use serde_json::json;

use crate::harness::{Engine, Setup, question};

/// An amount as a client sends it.
fn usd(figure: f64) -> UsdFigure {
    figure.to_string().parse().unwrap()
}

/// Models that report this cost per response.
fn dear(cost_usd: f64) -> Script {
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(50) };
    script.default.billing = Billing::Cost(120, 12, cost_usd);
    script
}

async fn charges_the_cost_reported_by_the_upstream(engine: Engine) {
    let service = Setup::scripted(dear(0.000_123)).on(engine).boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let poll = client.poll(json!({ "pace": "thrifty" })).await.expect(200);
    assert_eq!(poll["votes"][0]["cost_basis"], "reported");
    assert_eq!(poll["costs"]["total_estimated_cost"].as_f64(), Some(0.000_861));
    assert_eq!(service.settled_cost(user).await.micro(), 861);
    let balance = client.tool("get_balance", json!({})).await["structuredContent"].clone();
    assert_eq!((&balance["balance_cents"], &balance["balance"]), (&json!(99), &json!("$0.99")));
    assert_eq!(balance["usage_cents"], 0);
}

#[tokio::test]
async fn charges_the_cost_reported_by_the_upstream_on_sqlite() {
    charges_the_cost_reported_by_the_upstream(Engine::Sqlite).await;
}

#[tokio::test]
async fn charges_the_cost_reported_by_the_upstream_on_postgres() {
    charges_the_cost_reported_by_the_upstream(Engine::Postgres).await;
}

#[tokio::test]
async fn empty_balance_error_names_the_free_alternatives() {
    let fund = "https://polls.example.com/fund";
    let service = Setup::demo().with("EP_ADD_FUNDS_URL", fund).boot().await;
    let (_, client) = service.user_with(MicroUsd::ZERO).await;
    assert!(client.poll(json!({})).await.refused(402).contains("preset free"));
    let asked = client.post_with("/api/poll", &question(json!({})), &[("x-machine-client", "true")]).await;
    let problem = asked.expect(402);
    let actions = problem["recovery_actions"].as_array().unwrap();
    let add_funds = actions.iter().find(|action| action["action"] == "add_funds").unwrap();
    assert_eq!((&add_funds["method"], &add_funds["href"]), (&json!("GET"), &json!(fund)));
    client.poll(json!({ "preset": "free" })).await.expect(200);
    // Without an operator page, the link leads to the contact.
    let unnamed = Setup::demo().with("EP_CONTACT", "money@example.com").boot().await;
    let catalog = unnamed.anonymous().get("/api/errors/catalog").await.expect(200).to_string();
    assert!(catalog.contains("mailto:money@example.com"), "{catalog}");
}

#[tokio::test]
async fn balance_below_the_first_wave_is_rejected_without_changes() {
    let service = Setup::scripted(dear(0.0001)).boot().await;
    let (user, client) = service.user_with(MicroUsd::new(10)).await;
    let refused = client.poll(json!({})).await;
    assert!(refused.refused(402).contains("insufficient balance"));
    let problem = client
        .post_with("/api/poll", &question(json!({})), &[("x-machine-client", "true")])
        .await
        .expect(402);
    assert_eq!((&problem["code"], &problem["status"]), (&json!("insufficient_balance"), &json!(402)));
    assert!(!problem["recovery_actions"].as_array().unwrap().is_empty());
    assert_eq!(client.post("/api/poll/stream", &question(json!({}))).await.status, 402);
    let tool = client.tool("poll_question", question(json!({}))).await;
    assert_eq!(
        (&tool["isError"], &tool["structuredContent"]["error"]["code"]),
        (&json!(true), &json!("insufficient_balance"))
    );
    assert_eq!(service.upstream().total_calls(), 0);
    assert_eq!(service.settled_cost(user).await, MicroUsd::ZERO);
}

#[tokio::test]
async fn small_balance_limits_the_budget() {
    // The balance covers thirty calls. With every second model dissenting, the poll would call all fifty.
    let mut script = Script::divided_panel(50);
    script.default.billing = Billing::Silent;
    let service = Setup::scripted(script).boot().await;
    let worst = {
        let rich = service.user().await;
        let dry = rich
            .poll(json!({ "dry_run": true, "confidence_threshold": 1, "max_cost_usd": 1000 }))
            .await
            .expect(200);
        dry["estimates"]["cost_usd_at_most"].as_f64().unwrap() / 50.0
    };
    service.upstream().change(|script| script.default.billing = Billing::Cost(120, 12, worst));
    let (user, client) = service.user_with(usd(worst * 30.5).ceil_micro()).await;
    let poll = client.poll(json!({ "confidence_threshold": 1, "pace": "thrifty" })).await.expect(200);
    assert_eq!(poll["termination_reason"], "budget");
    assert!(service.settled_cost(user).await <= usd(worst * 30.5).ceil_micro());
}

#[tokio::test]
async fn budget_is_never_exceeded() {
    for max_cost_usd in [0.002, 0.005, 0.01] {
        let service = Setup::scripted(Script::panel(50)).boot().await;
        let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
        let poll = client
            .poll(json!({ "confidence_threshold": 1, "max_cost_usd": max_cost_usd, "pace": "fast" }))
            .await
            .expect(200);
        let spent = service.settled_cost(user).await;
        assert!(
            spent <= usd(max_cost_usd).floor_micro(),
            "{spent} of {max_cost_usd}: {}",
            poll["termination_reason"]
        );
    }
}

#[tokio::test]
async fn upstream_overcharges_are_not_passed_to_the_caller() {
    let service = Setup::scripted(dear(0.9)).boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    client.poll(json!({ "max_cost_usd": 0.02 })).await.expect(200);
    assert!(service.settled_cost(user).await <= usd(0.02).floor_micro());
}

#[tokio::test]
async fn unneeded_calls_are_charged_and_reported_separately() {
    let mut script = dear(0.0001);
    // A few slow models are in flight when the poll is decided.
    for n in 0..5 {
        let slow = Behaviour { latency: Duration::from_millis(700), ..script.default.clone() };
        script.behaviours.insert(format!("maker{}/line-{n}", n % 10), slow);
    }
    let service = Setup::scripted(script).boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let poll = client.poll(json!({ "pace": "fast", "confidence_threshold": 0.5 })).await.expect(200);
    let counted = poll["votes"].as_array().unwrap().len() as i64;
    assert!(counted < 50, "{counted}");
    assert_eq!(service.settled_cost(user).await.micro(), 50 * 100);
    assert_eq!(service.upstream().total_calls(), 50);
    let total = poll["costs"]["total_estimated_cost"].as_f64().unwrap();
    assert_eq!(usd(total).floor_micro().micro(), counted * 100);
}

#[tokio::test]
async fn unknown_costs_are_reported_as_unknown() {
    let models = (0..9).map(|n| ep_upstream::testing::bare(&format!("local-{n}"))).collect();
    let mut script = Script { models, votes_for: VoteFor::Text("Alpha".into()), ..Script::default() };
    script.default.billing = Billing::Tokens(100, 10);
    let service = Setup::scripted(script).with("EP_BILLING", "off").boot().await;
    let (user, client) = service.user_with(MicroUsd::ZERO).await;
    let poll = client.poll(json!({})).await.expect(200);
    let votes = poll["votes"].as_array().unwrap();
    assert!(votes.iter().all(|vote| vote["cost_basis"] == "unknown"));
    assert_eq!(poll["costs"]["unknown_cost_calls"].as_u64(), Some(votes.len() as u64));
    assert_eq!(service.settled_cost(user).await, MicroUsd::ZERO);
}

#[tokio::test]
async fn unpriced_models_are_not_called_in_charged_polls() {
    let bare = |count: usize| (0..count).map(|n| ep_upstream::testing::bare(&format!("local-{n}")));
    let local = Script { models: bare(9).collect(), ..Script::default() };
    let service = Setup::scripted(local.clone()).boot().await;
    let (_, client) = service.user_with(MicroUsd::ZERO).await;
    let refused = client.poll(json!({})).await.refused(400);
    assert!(refused.contains("unpriced_is_free"), "{refused}");
    assert_eq!(service.upstream().total_calls(), 0);
    // The operator declares that unpriced models are free.
    let free = Setup::scripted(local).with("EP_UPSTREAM_UNPRICED_FREE", "true").boot().await;
    let (_, client) = free.user_with(MicroUsd::ZERO).await;
    client.poll(json!({})).await.expect(200);
    // Next to priced models they are left out, with a notice to the caller.
    let mut mixed = Script::panel(20);
    mixed.models.extend(bare(5));
    let service = Setup::scripted(mixed).boot().await;
    let poll = service.user().await.poll(json!({ "confidence_threshold": 1 })).await.expect(200);
    let votes = poll["votes"].as_array().unwrap();
    assert!(votes.iter().all(|vote| !vote["model_id"].as_str().unwrap().starts_with("local-")));
    assert!(
        poll["notices"].to_string().contains("5 of the requested models are excluded"),
        "{}",
        poll["notices"]
    );
}

/// A model that reports an excessive cost is charged at most its listed price.
#[tokio::test]
async fn reported_cost_is_capped_per_call() {
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(50) };
    script.default.billing = Billing::Cost(120, 12, 0.000_1);
    let greedy = Behaviour { billing: Billing::Cost(120, 12, 999.0), ..script.default.clone() };
    script.behaviours.insert("maker0/line-0".into(), greedy);
    let service = Setup::scripted(script).boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let everyone = json!({ "confidence_threshold": 1, "pace": "fast", "max_cost_usd": 1 });
    let poll = client.poll(everyone).await.expect(200);
    let claimed = poll["votes"].as_array().unwrap().iter().find(|vote| vote["model_id"] == "maker0/line-0");
    let spent = service.settled_cost(user).await;
    assert!(spent.micro() < 50 * 100 + 2_000, "{spent}");
    if let Some(claimed) = claimed {
        assert!(claimed["estimated_cost"].as_f64().unwrap() < 0.002, "{claimed}");
    }
}

#[tokio::test]
async fn forty_concurrent_polls_never_overdraw() {
    let service = Setup::scripted(dear(0.000_05)).boot().await;
    let (user, client) = service.user_with(MicroUsd::new(60_000)).await;
    let sent = (0..40).map(|_| {
        let client = client.clone();
        async move { client.poll(json!({ "max_cost_usd": 0.02 })).await.status }
    });
    let statuses = futures::future::join_all(sent).await;
    assert!(statuses.iter().all(|status| matches!(status, 200 | 402)), "{statuses:?}");
    assert!(statuses.contains(&200));
    assert!(service.settled_cost(user).await.micro() <= 60_000);
}

#[tokio::test]
async fn polls_are_free_with_billing_off() {
    let service = Setup::scripted(dear(0.01)).with("EP_BILLING", "off").boot().await;
    let (user, client) = service.user_with(MicroUsd::ZERO).await;
    client.poll(json!({})).await.expect(200);
    assert_eq!(service.settled_cost(user).await, MicroUsd::ZERO);
}

/// Forty-eight concurrent polls on a balance for ten. The models respond only after all polls have been accepted
/// or rejected.
async fn concurrent_polls_are_limited_by_the_balance(engine: Engine) {
    let mut script = dear(0.000_01);
    script.default.latency = Duration::from_secs(4);
    let service = Setup::scripted(script).on(engine).boot().await;
    // At this pace all models are called at once, so a poll reserves its maximum cost at the start.
    let ask = json!({ "pace": "fast", "confidence_threshold": 1, "wait_ms": 1, "max_cost_usd": 100 });
    let (user, client) = service.user_with(MicroUsd::new(100_000_000)).await;
    client.poll(ask.clone()).await.expect(202);
    let hold = service.app.accounts.balance(user).await.unwrap().held;
    assert!(!hold.is_zero());

    let (user, client) = service.user_with(MicroUsd::new(10 * hold.micro())).await;
    let polls = futures::future::join_all((0..48).map(|_| client.poll(ask.clone()))).await;
    let count = |status| polls.iter().filter(|reply| reply.status == status).count();
    assert_eq!(
        (count(202), count(402)),
        (10, 38),
        "{:?}",
        polls.iter().map(|reply| reply.status).collect::<Vec<_>>()
    );
    assert_eq!(service.app.accounts.balance(user).await.unwrap().available(), MicroUsd::ZERO);
    let spent = service.settled_cost(user).await;
    assert!(!spent.is_zero() && spent.micro() <= 10 * hold.micro());
}

#[tokio::test]
async fn concurrent_polls_are_limited_by_the_balance_on_sqlite() {
    concurrent_polls_are_limited_by_the_balance(Engine::Sqlite).await;
}

#[tokio::test]
async fn concurrent_polls_are_limited_by_the_balance_on_postgres() {
    concurrent_polls_are_limited_by_the_balance(Engine::Postgres).await;
}
