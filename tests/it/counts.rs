//! The counts of a poll: responses, unneeded calls, costs and limits.

use std::time::Duration;

use ep_polling::stopping::MAX_ROSTER;
use ep_polling::{Budget, MicroUsd, UsdFigure};
use ep_upstream::testing::{Action, Behaviour, Billing, Script, VoteFor, priced};
use serde_json::{Value, json};

use crate::harness::{Client, Setup, question, until};

/// A panel of this size in which every model chooses Beta and reports this cost.
fn panel(size: usize, cost_usd: f64) -> Script {
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(size) };
    script.default.billing = Billing::Cost(120, 12, cost_usd);
    script
}

/// Returns the model with this number in [`Script::panel`].
fn model(n: usize) -> String {
    format!("maker{}/line-{n}", n % 10)
}

fn notices(answer: &Value) -> String {
    let notices = answer["notices"].as_array().unwrap().iter().map(|notice| notice.as_str().unwrap());
    notices.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn one_vote_of_fifty_wins_without_confidence() {
    for action in [
        Action::Status(500, r#"{"error":{"message":"down"}}"#.into()),
        Action::Status(402, r#"{"error":{"message":"no credit"}}"#.into()),
        Action::BreakOff,
        // The service sets the token limit, so a truncated response says nothing about the model.
        Action::Ends(String::new(), "length"),
        Action::Ends("<think>Beta or Alpha".to_owned(), "length"),
        Action::Message(json!({ "tool_calls": [{ "function": { "arguments": "{\"opt" } }] }), "length"),
    ] {
        let mut script = panel(50, 0.0001);
        let obeys = script.default.clone();
        script.default = Behaviour::of(vec![action.clone()]);
        script.behaviours.insert(model(7), obeys);
        let service = Setup::scripted(script).boot().await;
        let client = service.user().await;
        let poll = client.poll(json!({ "pace": "fast" })).await.expect(200);
        assert_eq!((&poll["outcome"], &poll["tally"]["Beta"]), (&json!("Beta"), &json!(1)), "{action:?}");
        assert_eq!((&poll["confidence"], &poll["status"]), (&json!(0.0), &json!("partial")), "{action:?}");
        assert_eq!(poll["termination_reason"], "roster_exhausted");
        let said = notices(&poll);
        assert!(said.contains("1 vote · 49 failed calls"), "{said}");
        assert!(said.contains("no vote: 49 "), "{said}");
        let path = format!("/api/results/{}", poll["poll_id"].as_str().unwrap());
        let result = service.anonymous().get(&path).await.expect(200);
        assert_eq!(notices(&result), said);
        assert_eq!((&result["models_failed"], &result["confidence"]), (&json!(49), &json!(0.0)));
    }
}

#[tokio::test]
async fn responses_without_a_choice_are_not_votes() {
    let mut script = panel(20, 0.0001);
    let obeys = script.default.clone();
    script.default = Behaviour::of(vec![Action::Says("I cannot choose.".into())]);
    (0..3).for_each(|n| drop(script.behaviours.insert(model(n), obeys.clone())));
    let service = Setup::scripted(script).boot().await;
    let poll = service.user().await.poll(json!({ "pace": "fast" })).await.expect(200);
    assert_eq!((&poll["outcome"], &poll["confidence"]), (&json!("Beta"), &json!(1.0)));
    let said = notices(&poll);
    // The last response may be too late to change the result.
    let counted = poll["votes"].as_array().unwrap().len();
    let silent = counted - 3;
    assert!(said.contains(&format!("3 votes · {silent} answers without a vote")), "{said}");
    assert!(said.contains(&format!("no vote: {silent} ")), "{said}");
    assert!(!said.contains("failed call"), "{said}");
}

/// For every kind of end: requested = succeeded + failed + unused, and roster = requested + skipped.
#[tokio::test]
async fn counts_add_up_for_every_kind_of_end() {
    const ROSTER: u64 = 30;
    let mut script = Script { votes_for: VoteFor::Hash, ..panel(ROSTER as usize, 0.0001) };
    (script.default.latency, script.default.jitter) = (Duration::from_millis(5), Duration::from_millis(60));
    let undecided =
        Behaviour { actions: vec![Action::Says("I cannot choose.".into())], ..script.default.clone() };
    let truncated =
        Behaviour { actions: vec![Action::Ends(String::new(), "length")], ..script.default.clone() };
    (0..3).for_each(|n| drop(script.behaviours.insert(model(n), undecided.clone())));
    (3..6).for_each(|n| drop(script.behaviours.insert(model(n), truncated.clone())));
    // However busy the machine is, the others have decided before these respond.
    let slow = Behaviour { latency: Duration::from_secs(10), ..script.default.clone() };
    (6..9).for_each(|n| drop(script.behaviours.insert(model(n), slow.clone())));
    // Here ten agree long before the others respond.
    let mut agreed = panel(ROSTER as usize, 0.0001);
    (10..30).for_each(|n| drop(agreed.behaviours.insert(model(n), slow.clone())));
    let services = [Setup::scripted(script).boot().await, Setup::scripted(agreed).boot().await];
    let clients = [services[0].user().await, services[1].user().await];
    let paces = ["thrifty", "balanced", "fast"].into_iter().cycle();
    let terms = paces.zip([0.3, 0.5, 0.8, 0.95, 1.0].into_iter().cycle()).take(30);
    let divided = terms.map(|(pace, threshold)| (&clients[0], pace, threshold, 0.005));
    let polls =
        divided.chain([(&clients[1], "fast", 0.5, 1.0)]).map(async |(client, pace, threshold, most)| {
            let members = json!({ "pace": pace, "confidence_threshold": threshold, "max_cost_usd": most });
            let poll = client.poll(members).await.expect(200);
            let number = |answer: &Value, name: &str| answer[name].as_u64().unwrap();
            let votes = poll["votes"].as_array().unwrap().len() as u64;
            let uncounted = number(&poll, "models_unused") + number(&poll, "models_skipped");
            assert_eq!(votes + uncounted, ROSTER, "{poll}");
            let id = poll["poll_id"].as_str().unwrap();
            let result = client.get(&format!("/api/results/{id}")).await.expect(200);
            let [requested, succeeded, failed, unused, skipped] =
                ["models_requested", "models_succeeded", "models_failed", "models_unused", "models_skipped"]
                    .map(|name| number(&result, name));
            assert_eq!((requested, requested + skipped), (succeeded + failed + unused, ROSTER), "{result}");
            assert_eq!(succeeded + failed, votes);
            number(&poll, "models_unused")
        });
    let unused: u64 = futures::future::join_all(polls).await.into_iter().sum();
    assert!(unused > 0, "some polls ended while calls were in flight");
}

/// Reads the costs of a poll until the unused calls have ended.
async fn final_costs(read: impl AsyncFn() -> Value) -> Value {
    let costs = async || read().await["costs"].clone();
    until("the unused calls have ended", costs, |costs| !costs["unused_calls_cost"].is_null()).await
}

#[tokio::test]
async fn unneeded_calls_are_reported_separately_with_a_later_cost() {
    let mut script = panel(50, 0.0001);
    for n in 0..5 {
        let slow = Behaviour { latency: Duration::from_millis(700), ..script.default.clone() };
        script.behaviours.insert(model(n), slow);
    }
    let service = Setup::scripted(script).boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let poll = client.poll(json!({ "pace": "fast", "confidence_threshold": 0.5 })).await.expect(200);
    let votes = poll["votes"].as_array().unwrap().len() as u64;
    let number = |name: &str| poll[name].as_u64().unwrap();
    assert_eq!((number("models_skipped"), number("models_unused")), (0, 50 - votes), "all were asked");
    assert_eq!(poll["early_terminated"], true);
    assert_eq!(poll["costs"]["unused_calls_cost"], Value::Null);

    let id = poll["poll_id"].clone();
    let path = format!("/api/results/{}", id.as_str().unwrap());
    let spent = service.settled_cost(user).await;
    let costs = final_costs(async || client.get(&format!("{path}?costs=true")).await.expect(200)).await;
    let usd = |member: &str| costs[member].to_string().parse::<UsdFigure>().unwrap().ceil_micro();
    assert_eq!((usd("total_estimated_cost"), spent.micro()), (spent, 5_000));
    assert_eq!(usd("unused_calls_cost").micro(), 100 * number("models_unused") as i64);

    // Every surface with a key: MCP, A2A and REST as used by the command line.
    let tool = client.tool("get_poll_result", json!({ "poll_id": id, "costs": true })).await;
    assert_eq!(tool["structuredContent"]["costs"], costs);
    let data = json!({ "poll_id": id, "costs": true });
    let message = json!({ "messageId": "m1", "role": "ROLE_USER", "parts": [{ "data": data }] });
    let task = client.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200);
    assert!(task.to_string().contains(&costs["total_estimated_cost"].to_string()), "{task}");

    // Other callers get no costs, and the response is not cached.
    let with_costs = client.get(&format!("{path}?costs=true")).await;
    assert_eq!(with_costs.header("cache-control"), "no-store");
    assert!(with_costs.json()["votes"][0]["estimated_cost"].is_number());
    for public in [client.get(&path).await, service.anonymous().get(&path).await] {
        let result = public.expect(200);
        assert!(result.get("costs").is_none() && !result.to_string().contains("cost\""), "{result}");
        assert_eq!(
            (&result["models_requested"], &result["models_unused"]),
            (&json!(50), &poll["models_unused"])
        );
    }
    assert!(service.anonymous().get(&format!("{path}?costs=true")).await.refused(401).contains("owner"));
    assert!(service.user().await.get(&format!("{path}?costs=true")).await.refused(404).contains("owner"));
}

#[tokio::test]
async fn budget_below_one_call_is_rejected_with_the_minimum() {
    let mut script = panel(20, 0.0001);
    script.models.push(priced("dear/model-1", "0.000001", "0.000009"));
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let refused = client.poll(json!({ "max_cost_usd": 0.000_002 })).await.refused(400);
    let words = refused.split_whitespace().collect::<Vec<_>>();
    let least = words.iter().position(|word| *word == "send").map(|at| words[at + 1]).unwrap();
    assert!(refused.starts_with("max_cost_usd is too small for one call"), "{refused}");
    let least: f64 = least.parse().unwrap();
    client.poll(json!({ "max_cost_usd": least - 0.000_001 })).await.refused(400);
    assert_eq!(service.upstream().total_calls(), 0);
    for body in [
        question(json!({ "max_cost_usd": 0.000_002 })),
        question(json!({ "max_cost_usd": 0.000_002, "dry_run": true })),
    ] {
        let dry = client.post("/api/poll/dry-run", &body).await.expect(200);
        assert_eq!(dry["valid"], false);
        assert!(dry["errors"][0].as_str().unwrap().contains("too small"), "{dry}");
        assert!(dry["estimates"].is_object());
    }
    let poll = client.poll(json!({ "max_cost_usd": least })).await.expect(200);
    assert!(!poll["votes"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn complete_polls_need_the_money_for_all_votes() {
    let service = Setup::scripted(panel(5, 0.001)).boot().await;
    let client = service.user().await;
    let whole = |most: f64| json!({ "complete": true, "max_cost_usd": most });
    let refused = client.poll(whole(0.000_001)).await.refused(400);
    assert!(refused.contains("too small for the whole panel"), "{refused}");
    let words = refused.split_whitespace().collect::<Vec<_>>();
    let least = words.iter().position(|word| *word == "send").map(|at| words[at + 1]).unwrap();
    let least: f64 = least.parse().unwrap();
    client.poll(whole(least - 0.000_001)).await.refused(400);
    assert_eq!(service.upstream().total_calls(), 0);
    let poll = client.poll(whole(least)).await.expect(200);
    assert_eq!(
        (&poll["termination_reason"], &poll["models_skipped"]),
        (&json!("roster_exhausted"), &json!(0))
    );
    // The balance must cover all votes, too, although a poll that can stop early begins with less.
    let (_, poor) =
        service.user_with((least / 2.0).to_string().parse::<UsdFigure>().unwrap().ceil_micro()).await;
    assert_eq!(poor.poll(whole(1.0)).await.status, 402);
}

#[tokio::test]
async fn balance_limit_is_reported_to_the_owner() {
    let service = Setup::scripted(panel(50, 0.0001)).boot().await;
    let rich = service.user().await.poll(json!({})).await.expect(200);
    assert!(!notices(&rich).contains("balance"), "{}", notices(&rich));
    let dry = service.user().await.poll(json!({ "dry_run": true })).await.expect(200);
    let most = dry["estimates"]["cost_usd_at_most"].as_f64().unwrap();
    let half = (most / 2.0).to_string().parse::<UsdFigure>().unwrap().ceil_micro();
    let (_, poor) = service.user_with(half).await;
    let poll = poor.poll(json!({})).await.expect(200);
    let said = notices(&poll);
    assert!(
        said.contains("the available balance limits this poll") && said.contains("not max_cost_usd"),
        "{said}"
    );
    let path = format!("/api/results/{}", poll["poll_id"].as_str().unwrap());
    let result = service.anonymous().get(&path).await.expect(200);
    assert!(!notices(&result).contains("balance"), "a balance is its owner's business");
    let budget = poor.poll(json!({ "max_cost_usd": 0.01 })).await;
    assert!(budget.status == 402 || !notices(&budget.json()).contains("balance"));
}

#[tokio::test]
async fn misspelt_fields_get_a_notice_and_agents_an_error() {
    let service = Setup::scripted(panel(50, 0.0001)).boot().await;
    let client = service.user().await;
    let misspelt = json!({ "max_cost": 0.01, "treshold": 0.5, "trace": "mine" });
    let poll = client.poll(misspelt.clone()).await.expect(200);
    let said = notices(&poll);
    assert!(said.contains("max_cost has no effect") && said.contains("did you mean max_cost_usd?"), "{said}");
    assert!(said.contains("did you mean confidence_threshold?") && !said.contains("trace"), "{said}");
    let dry = client.post("/api/poll/dry-run", &question(misspelt.clone())).await.expect(200);
    assert!(notices(&dry["estimates"]).contains("did you mean max_cost_usd?"), "{dry}");
    let calls = service.upstream().total_calls();
    let refused = client.tool("poll_question", question(misspelt)).await;
    assert_eq!(
        (&refused["isError"], &refused["structuredContent"]["error"]["code"]),
        (&json!(true), &json!("invalid_input"))
    );
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("did you mean"), "{refused}");
    let refused = client.tool("poll_question", question(json!({ "trace": "mine" }))).await;
    assert_eq!(refused["isError"], true, "an agent corrects itself at once");
    assert_eq!(service.upstream().total_calls(), calls);
}

/// The interface's fields of a result, with their types in a running poll.
const RESULT: [(&str, &str); 20] = [
    ("poll_id", "string"),
    ("status", "string"),
    ("question", "string"),
    ("options", "array"),
    ("poll_type", "string"),
    ("winning_option", "null"),
    ("is_tie", "boolean"),
    ("confidence_threshold", "number"),
    ("max_cost_usd", "number"),
    ("early_terminated", "boolean"),
    ("termination_reason", "null"),
    ("models_skipped", "number"),
    ("tally", "object"),
    ("votes", "array"),
    ("models_requested", "number"),
    ("models_succeeded", "number"),
    ("models_failed", "number"),
    ("timing", "object"),
    ("created_at", "string"),
    ("outcome", "null"),
];

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[tokio::test]
async fn running_poll_has_every_field_of_a_result() {
    let mut script = panel(50, 0.0001);
    for n in 0..30 {
        let slow = Behaviour { latency: Duration::from_millis(1500), ..script.default.clone() };
        script.behaviours.insert(model(n), slow);
    }
    let service = Setup::scripted(script).boot().await;
    let client: Client = service.user().await;
    let running =
        client.poll(json!({ "wait_ms": 0, "pace": "fast", "confidence_threshold": 1 })).await.expect(202);
    let path = format!("/api/results/{}", running["poll_id"].as_str().unwrap());
    let mut seen = 0;
    let read = async || {
        let reply = service.anonymous().get(&path).await;
        let result = reply.json();
        assert_eq!(reply.status, 200, "{result}");
        if result["status"] != "running" {
            return result;
        }
        assert_eq!((reply.header("cache-control"), reply.header("retry-after")), ("no-store", "2"));
        for (member, expected) in RESULT {
            assert_eq!(result.get(member).map(kind), Some(expected), "{member} in {result}");
        }
        let votes = result["votes"].as_array().unwrap().len();
        assert_eq!(result["answered"], json!(votes));
        assert_eq!(result["tally"]["Beta"], json!(votes));
        assert!(result["timing"]["total_ms"].as_u64() >= result["timing"]["gather_ms"].as_u64());
        seen = seen.max(votes);
        result
    };
    let ended = until("the poll has ended", read, |result| result["status"] != "running").await;
    assert!(ended.get("leader").is_none() && ended["termination_reason"].is_string());
    assert!(seen > 0, "no votes were seen while the poll ran");
}

#[tokio::test]
async fn free_results_have_no_maximum_cost() {
    let mut script = panel(3, 0.0);
    script.models = (0..12).map(|n| priced(&format!("open{n}/weights-{n}:free"), "0", "0")).collect();
    let service = Setup::scripted(script).boot().await;
    let anyone = service.anonymous();
    let free = anyone.post("/api/poll", &json!({ "question": "Is water wet?" })).await.expect(200);
    let path = format!("/api/results/{}", free["poll_id"].as_str().unwrap());
    let result = anyone.get(&path).await.expect(200);
    assert_eq!(result.get("max_cost_usd"), Some(&Value::Null));
}

/// Collects every description of a field with this name in a schema.
fn descriptions<'a>(schema: &'a Value, member: &str, found: &mut Vec<&'a str>) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                if name == member && (value.get("type").is_some() || value.get("$ref").is_some()) {
                    found.push(value["description"].as_str().unwrap_or(""));
                }
                descriptions(value, member, found);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| descriptions(element, member, found)),
        _ => {}
    }
}

#[test]
fn texts_do_not_present_confidence_as_correctness() {
    let says_one_of = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    for entry in ep_tools::TOOLS.iter() {
        let output = serde_json::to_value(entry.output()).unwrap();
        let mut found = Vec::new();
        descriptions(&output, "confidence", &mut found);
        for text in &found {
            assert!(says_one_of(text, &["roster", "all free models"]), "{}: {text}", entry.spec.name);
            assert!(
                says_one_of(text, &["not truth", "whether they are right"]),
                "{}: {text}",
                entry.spec.name
            );
        }
        found.clear();
        descriptions(&output, "families", &mut found);
        assert!(found.iter().all(|text| text.contains("weak proxy")), "{}: {found:?}", entry.spec.name);
        let words = format!("{} {}", entry.spec.summary, entry.spec.manual);
        if words.contains("confiden") {
            let modest = ["not what is true", "not truth", "roster's outcome", "stops early"];
            assert!(says_one_of(&words, &modest), "{}: {words}", entry.spec.name);
        }
    }
}

/// The settings of the caller and of the operator are the owner's to read.
#[tokio::test]
async fn public_forms_of_a_result_name_no_setting() {
    let service = Setup::scripted(panel(30, 0.001)).boot().await;
    let owner = service.user().await;
    let asked = json!({
        "preset": "generalist", "max_cost_usd": 0.0063, "pace": "thrifty", "confidence_threshold": 1,
    });
    let poll = owner.poll(asked).await.expect(200);
    assert_eq!(poll["termination_reason"], "budget", "{poll}");
    let of_roster = "preset generalist asks for 100 models";
    assert!(notices(&poll).contains(of_roster), "{poll}");
    let id = poll["poll_id"].as_str().unwrap();
    let own = owner.get(&format!("/api/results/{id}?costs=true")).await.expect(200);
    assert!(notices(&own).contains(of_roster), "{own}");

    let other = service.user().await;
    let mut forms = Vec::new();
    for path in [
        "/results/ID",
        "/results/ID.md",
        "/results/ID.csv",
        "/results/ID.svg",
        "/embed/ID",
        "/api/graph/mermaid/ID",
    ] {
        let form = other.get(&path.replace("ID", id)).await;
        assert_eq!(form.status, 200, "{path}");
        forms.push(form.text);
    }
    // The interface has the field `max_cost_usd`.
    let mut result = other.get(&format!("/api/results/{id}")).await.expect(200);
    assert_eq!(result.as_object_mut().unwrap().remove("max_cost_usd"), Some(json!(0.0063)));
    forms.push(result.to_string());
    let mut read = other.tool("get_poll_result", json!({ "poll_id": id })).await;
    forms.push(read["content"].to_string());
    read["structuredContent"].as_object_mut().unwrap().remove("max_cost_usd");
    forms.push(read["structuredContent"].to_string());
    for form in forms {
        for setting in ["0.006", "asks for 100", "the registry has", "could exceed", "max_cost"] {
            assert!(!form.contains(setting), "{setting} in {form}");
        }
    }
    let page = other.get(&format!("/results/{id}.md")).await.text;
    assert!(page.contains("Stopped at its budget."), "{page}");
}

/// Readers do not learn that the operator has not paid.
#[tokio::test]
async fn refusals_of_the_service_by_its_upstream_are_not_explained_to_readers() {
    for status in [401, 402, 403] {
        let body = json!({ "error": { "message": "add credits to your account org-1" } }).to_string();
        let refuses = Behaviour::of(vec![Action::Status(status, body)]);
        let service = Setup::scripted(Script { default: refuses, ..Script::panel(3) }).boot().await;
        let poll = service.user().await.poll(json!({ "models": ["maker*"] })).await.expect(200);
        assert_eq!(poll["status"], "failed", "{poll}");
        let errors: Vec<&Value> =
            poll["votes"].as_array().unwrap().iter().map(|vote| &vote["error"]).collect();
        assert!(errors.iter().all(|error| *error == "the model is not available here"), "{poll}");
        assert!(!poll.to_string().contains("credits"), "{poll}");
    }
}

#[tokio::test]
async fn texts_name_the_quantities_of_a_poll() {
    let service = Setup::demo().boot().await;
    let estimate = service.user().await.get("/api/poll/estimate").await.expect(200);
    let (models, most) = (&estimate["models"], &estimate["cost_usd_at_most"]);
    let readme = include_str!("../../README.md");
    for said in
        [format!("up to {models} **simulated** models vote"), format!("the whole panel of {models} models")]
    {
        assert!(readme.contains(&said), "{said}");
    }
    let default = Budget::DEFAULT.amount().micro();
    let typical = estimate["cost_usd_typical_full_roster"].as_f64().unwrap();
    assert!(typical < default as f64 / 2e6 && most.as_f64().unwrap() <= default as f64 / 1e6, "{estimate}");
    let spec = &ep_tools::find("poll_question").unwrap().spec;
    let default = format!("(${} by default), usually less than half", default / 1_000_000);
    assert!(spec.summary.contains(&format!("max_cost_usd {default}")), "{}", spec.summary);
    assert!(spec.manual.contains(&format!("`max_cost_usd` {default}")), "{}", spec.manual);
    assert!(spec.summary.contains(&format!("Asks up to {MAX_ROSTER} AI models")), "{}", spec.summary);
}
