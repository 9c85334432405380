//! Reputation of models, from polls through the public interfaces.

use std::collections::HashMap;
use std::time::Duration;

use ep_upstream::testing::{Script, VoteFor, priced};
use serde_json::{Value, json};

use crate::harness::{Engine, Service, Setup, until};

/// Returns the figures after this many polls are counted. Polls are counted within seconds; figures are cached
/// for five minutes.
async fn counted(service: &Service, polls: u64) -> (Value, Value) {
    let nobody = service.anonymous();
    let read = async || {
        service.clock.as_ref().unwrap().advance(Duration::from_mins(5));
        nobody.get("/api/reputation").await.expect(200)
    };
    let is_counted = |figures: &Value| figures["totals"]["polls"] == polls;
    let figures = until(&format!("{polls} polls are counted"), read, is_counted).await;
    (figures, nobody.get("/api/reputation/models").await.expect(200))
}

fn of_model<'a>(models: &'a Value, id: &str) -> &'a Value {
    models["models"].as_array().unwrap().iter().find(|model| model["model_id"] == id).unwrap()
}

#[tokio::test]
async fn figures_match_the_public_results() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let mut script = Script::divided_panel(5);
        for name in ["maker8/line@refusal", "maker8/line@nonsense", "maker8/line@garbage"] {
            script.models.push(priced(name, "0.0000002", "0.0000002"));
        }
        let service = Setup::scripted(script).on(engine).seeded(5).boot().await;
        let user = service.user().await;
        let ask = json!({ "confidence_threshold": 1, "preset": "generalist" });
        let none = service.anonymous().get("/api/reputation").await.expect(200);
        assert_eq!((&none["success_rate"], &none["totals"]["polls"]), (&Value::Null, &json!(0)));

        let mut votes: HashMap<String, Vec<Value>> = HashMap::new();
        let mut winners = HashMap::new();
        let mut cost = 0.0;
        for number in 0..45 {
            let poll = user.poll(ask.clone()).await.expect(200);
            cost += poll["costs"]["total_estimated_cost"].as_f64().unwrap();
            let id = poll["poll_id"].as_str().unwrap().to_owned();
            if number < 2 {
                let said = json!({ "poll_id": id, "outcome_correct": number == 0 });
                user.post("/api/feedback", &said).await.expect(201);
            }
            for vote in poll["votes"].as_array().unwrap() {
                let mut vote = vote.clone();
                vote["poll"] = json!(id);
                votes.entry(vote["model_id"].as_str().unwrap().to_owned()).or_default().push(vote);
            }
            winners.insert(id, (number, poll["winning_option"].clone()));
        }
        // A private poll is not counted.
        user.poll(json!({ "private": true })).await.expect(200);
        let (figures, models) = counted(&service, 45).await;
        assert_eq!(figures["totals"]["polls_read_earlier"], 0);

        let (mut all_calls, mut all_votes) = (0, 0);
        for (id, answers) in &votes {
            let model = of_model(&models, id);
            let cast: Vec<&Value> = answers.iter().filter(|vote| vote["success"] == true).collect();
            all_calls += answers.len();
            all_votes += cast.len();
            assert_eq!(
                (&model["calls"], &model["votes"]),
                (&json!(answers.len()), &json!(cast.len())),
                "{id}"
            );
            if cast.len() < 30 {
                for name in
                    ["success_rate", "average_latency_ms", "average_cost_usd", "slot_bias", "feedback"]
                {
                    assert_eq!(model[name], Value::Null, "{name} of {id}");
                }
                continue;
            }
            let close = |name: &str, expected: f64| {
                let figure = model[name].as_f64().unwrap();
                assert!((figure - expected).abs() < 1e-5, "{name} of {id}: {figure} for {expected}");
            };
            let (calls, count) = (answers.len() as f64, cast.len() as f64);
            close("success_rate", count / calls);
            let latency: u64 = cast.iter().map(|vote| vote["latency_ms"].as_u64().unwrap()).sum();
            close("average_latency_ms", latency as f64 / count);
            let spent: f64 = answers.iter().map(|vote| vote["estimated_cost"].as_f64().unwrap()).sum();
            close("average_cost_usd", spent / calls);
            let decided: Vec<&&Value> =
                cast.iter().filter(|vote| !winners[vote["poll"].as_str().unwrap()].1.is_null()).collect();
            let with = |vote: &Value| vote["chosen_option"] == winners[vote["poll"].as_str().unwrap()].1;
            let with_outcome = decided.iter().filter(|vote| with(vote)).count();
            close("with_outcome_rate", with_outcome as f64 / decided.len() as f64);
            let judged: Vec<bool> = decided
                .iter()
                .filter(|vote| winners[vote["poll"].as_str().unwrap()].0 < 2)
                .map(|vote| with(vote) == (winners[vote["poll"].as_str().unwrap()].0 == 0))
                .collect();
            if judged.is_empty() {
                assert_eq!(model["feedback"], Value::Null);
            } else {
                assert_eq!(model["feedback"]["judged_votes"], judged.len());
                let agreed = judged.iter().filter(|agrees| **agrees).count();
                assert_eq!(model["feedback"]["accuracy"], agreed as f64 / judged.len() as f64);
            }
            assert_eq!(model["slot_bias"]["votes"], cast.len());
        }
        assert!(all_votes >= 90, "{all_votes}");
        let totals = &figures["totals"];
        assert_eq!((&totals["calls"], &totals["votes"]), (&json!(all_calls), &json!(all_votes)));
        assert_eq!(totals["models"], votes.len());
        assert_eq!(figures["success_rate"], 1.0);
        let average = figures["average_cost_usd"].as_f64().unwrap();
        assert!((average - cost / 45.0).abs() < 1e-6, "{average} of {cost}");
        assert!(service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().is_clean());
    }
}

#[tokio::test]
async fn position_bias_of_a_model_is_detected() {
    let mut script = Script { votes_for: VoteFor::First, ..Script::panel(1) };
    script.models.push(priced("maker9/line@nonsense", "0", "0"));
    let service = Setup::scripted(script).seeded(3).boot().await;
    let user = service.user().await;
    let ask = json!({ "confidence_threshold": 1, "models": ["maker0/line-0", "maker9/line@nonsense"] });
    for _ in 0..29 {
        user.poll(ask.clone()).await.expect(200);
    }
    let (_, models) = counted(&service, 29).await;
    assert_eq!(of_model(&models, "maker0/line-0")["slot_bias"], Value::Null, "29 votes are too few");
    for _ in 0..3 {
        user.poll(ask.clone()).await.expect(200);
    }
    let (_, models) = counted(&service, 32).await;
    let biased = of_model(&models, "maker0/line-0");
    let expected = json!({ "votes": 32, "first_slot_excess": 0.5, "last_slot_excess": -0.5, "chance_margin": 0.173_241 });
    assert_eq!((&biased["slot_bias"], &biased["with_outcome_rate"]), (&expected, &json!(1.0)));
    let nonsense = of_model(&models, "maker9/line@nonsense");
    assert_eq!((&nonsense["votes"], &nonsense["unreadable_rate"]), (&json!(0), &Value::Null));
    assert_eq!(
        service.anonymous().get("/api/reputation/models?limit=1").await.expect(200)["models"],
        json!([biased])
    );
    for query in ["limit=0", "limit=1001", "limit=x"] {
        service.anonymous().get(&format!("/api/reputation/models?{query}")).await.refused(400);
    }
}

#[tokio::test]
async fn figures_are_cached_for_five_minutes() {
    let service = Setup::default().seeded(4).boot().await;
    let (nobody, clock) = (service.anonymous(), service.clock.clone().unwrap());
    let first = nobody.get("/api/reputation").await;
    assert_eq!(first.header("cache-control"), "public, max-age=300");
    let first = first.expect(200);
    service.user().await.poll(json!({})).await.expect(200);
    clock.advance(Duration::from_secs(299));
    let cached = nobody.get("/api/reputation").await;
    assert_eq!(cached.header("cache-control"), "public, max-age=1");
    assert_eq!(cached.expect(200), first);
    clock.advance(Duration::from_secs(1));
    assert_ne!(nobody.get("/api/reputation").await.expect(200)["computed_at"], first["computed_at"]);
}

#[tokio::test]
async fn simulated_polls_do_not_count() {
    let service = Setup::demo().seeded(6).boot().await;
    let user = service.user().await;
    let poll = user.poll(json!({})).await.expect(200);
    user.post("/api/feedback", &json!({ "poll_id": poll["poll_id"], "outcome_correct": true }))
        .await
        .expect(201);
    // The poll has been processed when its sums, which stay empty, can no longer change.
    service.app.ports.reputation.count_polls().await.unwrap();
    let (figures, models) = counted(&service, 0).await;
    assert_eq!((&models["models"], &figures["totals"]["votes"]), (&json!([]), &json!(0)));
}

#[tokio::test]
async fn uptime_counts_the_minutes_with_a_running_service() {
    let service = Setup::default().seeded(7).boot().await;
    let (nobody, clock) = (service.anonymous(), service.clock.clone().unwrap());
    let beat = async || service.app.ports.reputation.beat().await.unwrap();
    beat().await;
    assert_eq!(nobody.get("/api/reputation").await.expect(200)["uptime_24h"], Value::Null);
    for _ in 0..60 {
        beat().await;
        clock.advance(Duration::from_mins(1));
    }
    let figures = nobody.get("/api/reputation").await.expect(200);
    assert_eq!((&figures["uptime_24h"], &figures["uptime_30d"]), (&json!(1.0), &json!(1.0)));
    // Down for an hour, except for a concurrent write of the background task.
    clock.advance(Duration::from_mins(60));
    let uptime = nobody.get("/api/reputation").await.expect(200)["uptime_24h"].as_f64().unwrap();
    assert!((0.5..0.53).contains(&uptime), "{uptime}");
}
