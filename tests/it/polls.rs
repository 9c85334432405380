//! Polls over REST, on both databases.

use ep_polling::MicroUsd;
use ep_upstream::testing::{Action, Behaviour, Script, VoteFor, bare, priced};
use serde_json::{Value, json};

use crate::harness::{Engine, Service, Setup, question, until};

/// A panel of this size in which every model chooses this option.
fn unanimous(size: usize, option: &str) -> Script {
    Script { votes_for: VoteFor::Text(option.to_owned()), ..Script::panel(size) }
}

async fn a_poll_end_to_end(engine: Engine) {
    let service = Setup::scripted(unanimous(50, "Beta")).on(engine).boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let reply = client.poll(json!({ "pace": "thrifty" })).await;
    assert_eq!(reply.header("cache-control"), "no-store");
    let poll = reply.expect(200);

    let members = [
        "poll_id",
        "status",
        "outcome",
        "question",
        "options",
        "poll_type",
        "winning_option",
        "is_tie",
        "contested",
        "confidence_threshold",
        "max_cost_usd",
        "early_terminated",
        "termination_reason",
        "models_skipped",
        "tally",
        "votes",
        "timing",
        "costs",
    ];
    assert!(members.iter().all(|member| poll.get(member).is_some()), "{poll}");
    let id = poll["poll_id"].as_str().unwrap();
    assert!(id.starts_with("EP-") && id.len() == 22, "{id}");
    assert_eq!(poll["status"], "success");
    assert_eq!(poll["outcome"], "Beta");
    assert_eq!(poll["winning_option"], "Beta");
    assert_eq!((&poll["is_tie"], &poll["contested"]), (&json!(false), &json!(false)));
    assert_eq!(poll["poll_type"], "fptp");
    assert_eq!(
        (poll["confidence_threshold"].as_f64(), poll["max_cost_usd"].as_f64()),
        (Some(0.95), Some(1.0))
    );
    assert_eq!(
        (&poll["early_terminated"], &poll["termination_reason"]),
        (&json!(true), &json!("confidence"))
    );
    // For 50 models without dissent, a threshold of 0.95 needs seven votes.
    assert_eq!((&poll["tally"], &poll["models_skipped"]), (&json!({ "Alpha": 0, "Beta": 7 }), &json!(43)));
    assert_eq!(service.upstream().total_calls(), 7);
    let vote = &poll["votes"][0];
    assert_eq!(
        (&vote["success"], &vote["chosen_option"], &vote["transition"]),
        (&json!(true), &json!("Beta"), &json!("vote"))
    );
    assert_eq!((&vote["error"], &vote["cost_basis"]), (&Value::Null, &json!("priced")));
    // 120 prompt and 12 completion tokens at $0.2 per million cost 26.4 micro-USD, rounded up.
    assert_eq!(vote["estimated_cost"].as_f64(), Some(0.000_027));
    assert_eq!(poll["costs"]["total_estimated_cost"].as_f64(), Some(0.000_189));
    assert!(poll["timing"]["total_ms"].as_u64() >= poll["timing"]["gather_ms"].as_u64());
    assert_eq!(service.settled_cost(user).await.micro(), 189);

    let reply = service.anonymous().get(&format!("/api/results/{id}")).await;
    assert_eq!(reply.header("cache-control"), "public, max-age=0, must-revalidate, s-maxage=86400");
    let (tag, result) = (reply.header("etag").to_owned(), reply.expect(200));
    for member in [
        "poll_id",
        "status",
        "question",
        "options",
        "winning_option",
        "tally",
        "termination_reason",
        "models_skipped",
    ] {
        assert_eq!(result[member], poll[member], "{member}");
    }
    assert_eq!(
        (result["models_requested"].as_u64(), result["models_succeeded"].as_u64()),
        (Some(7), Some(7))
    );
    assert!(!result.to_string().contains("cost\""), "results say nothing of costs: {result}");
    assert_eq!(result["votes"][0]["option_order"], poll["votes"][0]["option_order"]);
    let request = service.anonymous().request(reqwest::Method::GET, &format!("/api/results/{id}"));
    assert_eq!(service.anonymous().send(request.header("if-none-match", tag)).await.status, 304);
}

#[tokio::test]
async fn a_poll_end_to_end_on_sqlite() {
    a_poll_end_to_end(Engine::Sqlite).await;
}

#[tokio::test]
async fn a_poll_end_to_end_on_postgres() {
    a_poll_end_to_end(Engine::Postgres).await;
}

#[tokio::test]
async fn tie_and_no_votes_follow_the_interface() {
    let script = Script::divided_panel(20);
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let tie = client.poll(json!({ "confidence_threshold": 1 })).await.expect(200);
    assert_eq!(
        (&tie["outcome"], &tie["winning_option"], &tie["is_tie"]),
        (&json!("tie"), &Value::Null, &json!(true))
    );
    assert_eq!(
        (&tie["termination_reason"], &tie["early_terminated"]),
        (&json!("roster_exhausted"), &json!(false))
    );
    assert_eq!(tie["tally"], json!({ "Alpha": 10, "Beta": 10 }));

    service
        .upstream()
        .change(|script| script.default = Behaviour::of(vec![Action::Says("I cannot decide.".into())]));
    let none = client.poll(json!({})).await.expect(200);
    assert_eq!(
        (&none["outcome"], &none["winning_option"], &none["is_tie"]),
        (&json!("no_votes"), &Value::Null, &json!(false))
    );
    assert_eq!((&none["status"], &none["confidence"]), (&json!("failed"), &json!(0.0)));
    assert!(
        none["votes"]
            .as_array()
            .unwrap()
            .iter()
            .all(|vote| vote["error"].is_string() && vote["chosen_option"].is_null())
    );
}

#[tokio::test]
async fn aliases_profiles_and_names_of_presets() {
    let service = Setup::scripted(unanimous(50, "Alpha")).boot().await;
    let client = service.user().await;
    let alias = json!({ "prompt": "Which of the two is the better one?", "options": ["Alpha", "Beta"], "profile": "quick" });
    let poll = client.post("/api/poll", &alias).await.expect(200);
    assert_eq!(
        (poll["confidence_threshold"].as_f64(), poll["max_cost_usd"].as_f64()),
        (Some(0.8), Some(0.25))
    );
    let poll = client
        .poll(json!({ "profile": "conservative", "preset": "budget", "confidence_threshold": 0.9 }))
        .await
        .expect(200);
    assert_eq!((&poll["preset"], poll["confidence_threshold"].as_f64()), (&json!("budget"), Some(0.9)));
    assert_eq!(poll["max_cost_usd"].as_f64(), Some(5.0));
    let profiles = service.anonymous().get("/api/profiles").await.expect(200);
    let names: Vec<&str> =
        profiles["profiles"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["conservative", "balanced", "quick"]);
    for preset in profiles["presets"].as_array().unwrap() {
        let reply = client.poll(json!({ "preset": preset, "dry_run": true })).await;
        assert!(reply.status == 200 || reply.status == 503, "{preset}: {}", reply.text);
    }
}

/// Models without a vote result: not called, or in flight when the poll ended.
fn not_counted(poll: &Value) -> u64 {
    ["models_unused", "models_skipped"].iter().map(|count| poll[*count].as_u64().unwrap()).sum()
}

#[tokio::test]
async fn callers_can_choose_the_models() {
    let service = Setup::scripted(unanimous(50, "Alpha")).boot().await;
    let client = service.user().await;
    let members =
        json!({ "models": ["maker1/line-1", "MAKER2/*"], "exclude": ["*-42"], "confidence_threshold": 1 });
    let poll = client.poll(members.clone()).await.expect(200);
    assert_eq!(poll["preset"], Value::Null);
    assert_eq!(poll["notices"], json!(["the request excludes *-42"]));
    let asked = poll["votes"].as_array().unwrap().iter().map(|vote| vote["model_id"].as_str().unwrap());
    let named = ["maker1/line-1", "maker2/line-2", "maker2/line-12", "maker2/line-22", "maker2/line-32"];
    assert!(asked.clone().all(|id| named.contains(&id)), "{poll}");
    assert_eq!(asked.count() as u64 + not_counted(&poll), 5);
    let id = poll["poll_id"].as_str().unwrap();
    let result = service.anonymous().get(&format!("/api/results/{id}")).await.expect(200);
    assert_eq!(result["preset"], Value::Null);
    let priced = client.post("/api/poll/dry-run", &question(members)).await.expect(200);
    assert_eq!((&priced["estimates"]["models"], &priced["estimates"]["preset"]), (&json!(5), &Value::Null));
    let query = "models=maker1/line-1&models=maker2/*&exclude=*-42";
    let estimate = service.anonymous().get(&format!("/api/poll/estimate?{query}")).await.expect(200);
    assert_eq!(estimate["models"], 5);
    let rest = client.poll(json!({ "exclude": ["maker1/*"], "dry_run": true })).await.expect(200);
    assert_eq!(
        (&rest["estimates"]["preset"], &rest["estimates"]["models"]),
        (&json!("fast_and_cheap"), &json!(45))
    );

    let unknown = client.poll(json!({ "models": ["maker1/*", "nobody/none"] })).await.refused(400);
    assert!(unknown.contains("no nobody/none;") && !unknown.contains("maker1/*"), "{unknown}");
    let wrong =
        client.post("/api/poll/dry-run", &question(json!({ "exclude": ["nobody/*"] }))).await.expect(200);
    assert!(wrong["errors"][0].as_str().unwrap().contains("nobody/*"), "{wrong}");
    let query = "/api/poll/estimate?models=nobody/none&models=maker1/line-1";
    assert!(service.anonymous().get(query).await.refused(400).contains("nobody/none"));
    let tool = client.tool("poll_question", question(json!({ "models": ["nobody/none"] }))).await;
    assert!(tool["content"][0]["text"].as_str().unwrap().contains("nobody/none"), "{tool}");
}

#[tokio::test]
async fn roster_smaller_than_its_preset_is_reported() {
    let service = Setup::scripted(unanimous(12, "Alpha")).boot().await;
    let poll = service.user().await.poll(json!({ "confidence_threshold": 1 })).await.expect(200);
    let number = |name: &str| poll[name].as_u64().unwrap();
    let votes = poll["votes"].as_array().unwrap().len() as u64;
    assert_eq!(votes + number("models_unused") + number("models_skipped"), 12);
    assert!(poll["notices"][0].as_str().unwrap().contains("12"), "{}", poll["notices"]);
}

#[tokio::test]
async fn dry_runs_report_every_error_and_call_no_model() {
    let service = Service::start().await;
    let client = service.user().await;
    let valid = client.post("/api/poll/dry-run", &question(json!({}))).await.expect(200);
    assert_eq!(
        (&valid["dry_run"], &valid["valid"], &valid["errors"]),
        (&json!(true), &json!(true), &json!([]))
    );
    assert_eq!(valid["estimates"]["models"], 50);
    let same = client.poll(json!({ "dry_run": true })).await.expect(200);
    assert_eq!(same["estimates"], valid["estimates"]);
    let wrong = json!({ "question": "short", "options": ["A", " A "], "confidence_threshold": 2, "max_cost_usd": "much" });
    let wrong = client.post("/api/poll/dry-run", &wrong).await.expect(200);
    assert_eq!(wrong["valid"], false);
    assert_eq!(wrong["errors"].as_array().unwrap().len(), 4, "{wrong}");
    let nothing = client.post("/api/poll/dry-run", &json!({})).await.expect(200);
    assert_eq!((&nothing["valid"], nothing["errors"].as_array().unwrap().len()), (&json!(false), 2));
    let preset = client.post("/api/poll/dry-run", &question(json!({ "preset": "nope" }))).await.expect(200);
    assert!(preset["errors"][0].as_str().unwrap().contains("fast_and_cheap"), "{preset}");
    assert_eq!(service.upstream().total_calls(), 0);
    assert_eq!(service.anonymous().post("/api/poll/dry-run", &question(json!({}))).await.status, 401);
}

#[tokio::test]
async fn estimates_are_public() {
    let service = Service::start().await;
    let anyone = service.anonymous();
    let estimate = anyone.get("/api/poll/estimate").await.expect(200);
    assert_eq!((&estimate["preset"], &estimate["models"]), (&json!("fast_and_cheap"), &json!(50)));
    assert_eq!((&estimate["calls_at_least"], &estimate["calls_at_most"]), (&json!(7), &json!(50)));
    let more =
        anyone.get("/api/poll/estimate?options=10&confidence_threshold=0.99&preset=budget").await.expect(200);
    assert_eq!(more["calls_at_least"], 9);
    assert!(more["cost_usd_at_most"].as_f64() > more["cost_usd_at_least"].as_f64());
    assert!(anyone.get("/api/poll/estimate?preset=nope").await.refused(400).contains("nope"));
    for query in
        ["options=1", "options=11", "options=two", "confidence_threshold=1.5", "confidence_threshold=NaN"]
    {
        anyone.get(&format!("/api/poll/estimate?{query}")).await.refused(400);
    }
    assert_eq!(service.upstream().total_calls(), 0);
}

#[tokio::test]
async fn free_polls_call_free_models_in_every_form() {
    let mut script = unanimous(30, "Yes");
    script.models.extend((0..12).map(|n| priced(&format!("open{n}/weights:free"), "0", "0")));
    let service = Setup::scripted(script).boot().await;
    let anyone = service.anonymous();
    let forms = [
        json!({ "question": "Is water wet?", "options": ["Yes", "No"] }),
        json!({ "q": "Is water wet?", "o": ["Yes", "No"] }),
        json!({ "poll": "Is water wet? [Yes, No]" }),
        json!({ "question": "Is water wet?", "theme": "free" }),
    ];
    for form in forms {
        let reply = anyone.post("/api/poll", &form).await.expect(200);
        assert_eq!((&reply["question"], &reply["options"]), (&json!("Is water wet?"), &json!(["Yes", "No"])));
        assert_eq!(
            (&reply["answer"], &reply["cost"], &reply["theme"]),
            (&json!("Yes"), &json!(0), &json!("free"))
        );
        assert!(reply["reasoning"].as_str().unwrap().contains("not proof"));
        let url = reply["result_url"].as_str().unwrap().strip_prefix(&service.url).unwrap().to_owned();
        let result = anyone.get(&url).await.expect(200);
        assert!(
            result["votes"]
                .as_array()
                .unwrap()
                .iter()
                .all(|vote| vote["model_id"].as_str().unwrap().ends_with(":free"))
        );
    }
    assert_eq!(
        anyone.post("/api/poll", &json!({ "question": "Tea or coffee?" })).await.expect(200)["options"],
        json!(["Tea", "Coffee"])
    );
    let open = anyone.post("/api/poll", &json!({ "question": "What is love?" })).await.expect(200);
    assert_eq!(open["options"], json!(["Alpha", "Beta", "Gamma"]), "{open}");
    let unread = anyone.post("/api/poll", &json!({ "question": "We all love water." })).await;
    assert!(unread.refused(400).contains("options"));
    assert!(
        anyone
            .post("/api/poll", &json!({ "question": "Is it?", "theme": "free_search" }))
            .await
            .refused(400)
            .contains("search")
    );
    for bad in [
        json!({ "question": "x".repeat(1001), "options": ["a", "b"] }),
        json!({ "question": "Which one?", "options": ["a"] }),
        json!({ "question": "Which one?", "options": ["a", "b", "c", "d", "e", "f"] }),
        json!({ "question": "Which one?", "options": ["a", "b".repeat(51)] }),
        json!({ "options": ["a", "b"] }),
        json!({ "poll": "No brackets here, no options" }),
    ] {
        anyone.post("/api/poll", &bad).await.refused(400);
    }
}

#[tokio::test]
async fn free_polls_can_be_priced_and_are_never_private() {
    let service = Setup::demo().boot().await;
    let anyone = service.anonymous();
    let dry =
        anyone.post("/api/poll", &json!({ "question": "Is water wet?", "dry_run": true })).await.expect(200);
    assert_eq!((&dry["dry_run"], dry["estimates"]["cost_usd_at_most"].as_f64()), (&json!(true), Some(0.0)));
    let private = json!({ "question": "Is my secret safe?", "private": true });
    assert!(anyone.post("/api/poll", &private).await.refused(401).contains("public"));
}

#[tokio::test]
async fn invalid_credential_is_rejected_instead_of_a_free_poll() {
    let service = Setup::demo().boot().await;
    let free = json!({ "question": "Is water wet?" });
    let reply = service.anonymous().with_key("ep_k_wrong").post("/api/poll", &free).await;
    assert_eq!(reply.header("www-authenticate"), "Bearer realm=\"ensemble-poll\", error=\"invalid_token\"");
    reply.refused(401);
    let basic = service.anonymous().post_with("/api/poll", &free, &[("authorization", "Basic eDp5")]).await;
    basic.refused(401);
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let (key, _) = service.key(user).await;
    service.app.ports.keys.revoke(user, key).await.unwrap();
    client.poll(json!({})).await.expect(200);
    let (key, plaintext) = service.key(user).await;
    client.with_key(&plaintext).poll(json!({})).await.expect(200);
    service.app.ports.keys.revoke(user, key).await.unwrap();
    client.with_key(&plaintext).poll(json!({})).await.refused(401);
}

#[tokio::test]
async fn private_results_require_their_owner() {
    let service = Setup::demo().boot().await;
    let owner = service.user().await;
    let poll = owner.poll(json!({ "private": true })).await.expect(200);
    let path = format!("/api/results/{}", poll["poll_id"].as_str().unwrap());
    let reply = owner.get(&path).await;
    assert_eq!(reply.header("cache-control"), "no-store");
    reply.expect(200);
    service.anonymous().get(&path).await.refused(404);
    service.user().await.get(&path).await.refused(404);
}

#[tokio::test]
async fn short_wait_returns_the_running_poll() {
    let mut script = unanimous(50, "Beta");
    script.default.latency = std::time::Duration::from_millis(400);
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let reply = client.poll(json!({ "wait_ms": 50 })).await;
    assert_eq!(reply.header("retry-after"), "2");
    let running = reply.expect(202);
    assert_eq!((&running["status"], &running["roster_size"]), (&json!("running"), &json!(50)));
    let path = format!("/api/results/{}", running["poll_id"].as_str().unwrap());
    let read = async || client.get(&path).await.expect(200);
    let result = until("the poll has ended", read, |result| result["status"] != "running").await;
    assert_eq!(result["winning_option"], "Beta");
}

#[tokio::test]
async fn models_and_health() {
    let script = Script {
        models: vec![priced("a/b", "0.000001", "0.000002"), bare("local-one")],
        ..Script::default()
    };
    let service = Setup::scripted(script).boot().await;
    let reply = service.anonymous().get("/api/models").await;
    assert!(
        reply.header("cache-control").starts_with("public, max-age=3"),
        "{}",
        reply.header("cache-control")
    );
    let models = reply.expect(200);
    assert_eq!((&models["count"], &models["simulated"]), (&json!(2), &json!(false)));
    assert_eq!(models["variants"][0]["pricing"]["prompt"], "0.000001");
    assert_eq!(models["variants"][1]["pricing"], Value::Null);
    let health = service.anonymous().get("/api/health").await.expect(200);
    assert_eq!((&health["status"], &health["db"]), (&json!("ok"), &json!("ok")));
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    service.anonymous().get("/api/models").await.expect(200);
    assert_eq!(service.upstream().registry_calls(), 1, "the list is fetched once an hour");

    let off = Setup { script: None, ..Setup::default() }.with("EP_DEMO", "off").boot().await;
    assert!(off.anonymous().get("/api/models").await.refused(503).contains("EP_UPSTREAM_URL"));
    off.user().await.poll(json!({})).await.refused(503);
}

#[tokio::test]
async fn demo_roster_is_marked_as_simulated() {
    let service = Setup::demo().boot().await;
    let poll = service.user().await.poll(json!({})).await.expect(200);
    assert_eq!(poll["simulated"], true);
    let models = service.anonymous().get("/api/models").await.expect(200);
    assert_eq!((&models["simulated"], &models["count"]), (&json!(true), &json!(60)));
    let free =
        service.anonymous().post("/api/poll", &json!({ "question": "Is water wet?" })).await.expect(200);
    assert_eq!(free["simulated"], true);
}

#[tokio::test]
async fn ids_and_times_follow_the_clock() {
    let service = Setup::demo().seeded(1).boot().await;
    let client = service.user().await;
    let clock = service.clock.clone().unwrap();
    let mut seen = Vec::new();
    for date in ["20261121", "20261122"] {
        let poll = client.poll(json!({ "preset": "frontier_generalist" })).await.expect(200);
        let id = poll["poll_id"].as_str().unwrap().to_owned();
        assert!(id.starts_with(&format!("EP-{date}-")), "{id}");
        seen.push(poll["created_at"].as_str().unwrap().to_owned());
        clock.advance(std::time::Duration::from_hours(24));
    }
    assert_eq!(seen, ["2026-11-21T12:00:00.000Z", "2026-11-22T12:00:00.000Z"]);
}

#[tokio::test]
async fn polls_are_queued_and_a_full_queue_rejects() {
    let mut script = unanimous(50, "Beta");
    script.default.latency = std::time::Duration::from_millis(400);
    let service =
        Setup::scripted(script).with("EP_POLLS_RUNNING", "1").with("EP_POLLS_WAITING", "2").boot().await;
    let (busy, other) = (service.user().await, service.user().await);
    let asked = json!({ "wait_ms": 1 });
    assert_eq!(busy.poll(asked.clone()).await.expect(202)["status"], "running");
    let queued = busy.poll(asked.clone()).await.expect(202);
    assert_eq!((&queued["status"], &queued["queue_position"]), (&json!("queued"), &json!(1)));
    let path = format!("/api/results/{}", queued["poll_id"].as_str().unwrap());
    let waiting = busy.get(&path).await.expect(200);
    assert_eq!((&waiting["status"], &waiting["queue_position"]), (&json!("queued"), &json!(1)));
    let refused =
        busy.post_with("/api/poll", &question(asked.clone()), &[("x-machine-client", "true")]).await;
    assert!(!refused.header("retry-after").is_empty());
    assert_eq!(refused.expect(429)["code"], "busy");
    // The last slot is reserved for another account.
    assert_eq!(other.poll(asked.clone()).await.expect(202)["queue_position"], 2);
    other.poll(asked).await.refused(429);
    let result = until(
        "the poll has ended",
        async || busy.get(&path).await.expect(200),
        |result| !["queued", "running"].contains(&result["status"].as_str().unwrap()),
    )
    .await;
    assert_eq!(result["winning_option"], "Beta");
}

#[tokio::test]
async fn a_tie_rule_decides_and_changes_nothing_else() {
    let votes = [("maker0/line-0", "Beta"), ("maker1/line-1", "Alpha")];
    let votes_for = VoteFor::ByModel(votes.map(|(model, vote)| (model.to_owned(), vote.to_owned())).into());
    let service = Setup::scripted(Script { votes_for, ..Script::panel(2) }).boot().await;
    let client = service.user().await;
    let decide = async |models: [&str; 2], on_tie: &str| {
        let poll = client.poll(json!({ "models": models, "on_tie": on_tie })).await.expect(200);
        assert_eq!(
            (&poll["outcome"], &poll["is_tie"], &poll["winning_option"]),
            (&json!("tie"), &json!(true), &Value::Null)
        );
        let result =
            client.get(&format!("/api/results/{}", poll["poll_id"].as_str().unwrap())).await.expect(200);
        assert_eq!(result.get("decision"), poll.get("decision"));
        let notices = poll["notices"].to_string();
        (poll["decision"].clone(), notices)
    };
    let forward = ["maker0/line-0", "maker1/line-1"];
    let (decision, notices) = decide(forward, "strongest").await;
    assert_eq!(decision, json!({ "option": "Beta", "by": "tie_break" }));
    assert!(notices.contains("the strongest model that voted for a tied option decides: Beta"), "{notices}");
    let (decision, _) = decide(["maker1/line-1", "maker0/line-0"], "strongest").await;
    assert_eq!(decision, json!({ "option": "Alpha", "by": "tie_break" }));
    let (decision, notices) = decide(forward, "review").await;
    assert_eq!(decision, json!({ "option": null, "by": "none" }));
    assert!(notices.contains("a person decides"), "{notices}");
    assert_eq!(decide(forward, "report").await.0, Value::Null);

    // Models without an order break no tie.
    for models in [json!({ "models": ["maker*"] }), json!({ "preset": "budget" })] {
        let mut request = models;
        request["on_tie"] = "strongest".into();
        let error = client.poll(request).await.expect(400);
        assert!(error["error"].as_str().unwrap().contains("a preset with an order, such as trio"), "{error}");
    }
}
