//! Decision models as members. The counterpart is this service: it serves the three decision APIs, so that the panels of one
//! service are the decision models of another one.

use ep_polling::MicroUsd;
use ep_upstream::testing::{RequestedForm, Script, ScriptedUpstream, VoteFor};
use serde_json::{Value, json};

use crate::command_line::stdout;
use crate::harness::{Service, Setup, question};
use crate::label;

/// Boots a service with simulated models, and another one that asks its panels as decision models of this dialect.
async fn two_services(dialect: &str) -> (Service, Service) {
    let first = Setup::demo().boot().await;
    let (user, _) = first.user_with(MicroUsd::new(50_000_000)).await;
    let (_, key) = first.key(user).await;
    let second = Setup { script: None, ..Setup::default() }
        .with("EP_UPSTREAM_URL", format!("{}/v1", first.url))
        .with("EP_UPSTREAM_API_KEY", key)
        .with("EP_DECISION_MODELS", format!("*={dialect}"))
        .with("EP_UPSTREAM_UNPRICED_FREE", "true");
    (first, second.boot().await)
}

/// Returns the option with strictly the greatest probability.
fn preferred(probabilities: &[Value]) -> Option<&Value> {
    let of = |given: &Value| given["probability"].as_f64().unwrap();
    let greatest = probabilities.iter().map(of).fold(0.0, f64::max);
    let mut first = probabilities.iter().filter(|given| of(given) >= greatest);
    let preferred = first.next().map(|given| &given["option"]);
    preferred.filter(|_| first.next().is_none())
}

/// Returns the data of the events of this name.
fn events(stream: &str, name: &str) -> Vec<Value> {
    let blocks = stream.split("\n\n").filter(|block| block.contains(&format!("event: {name}")));
    let data = |block: &str| {
        let data = block.lines().find_map(|line| line.strip_prefix("data:")).unwrap();
        serde_json::from_str(data).unwrap()
    };
    blocks.map(data).collect()
}

#[tokio::test]
async fn panels_of_another_service_vote_in_each_dialect() {
    for dialect in ["openai", "systemone", "gemini"] {
        let (first, second) = two_services(dialect).await;
        let client = second.user().await;
        let listed = client.get("/api/models").await.expect(200);
        let models = listed["variants"].as_array().unwrap();
        assert!(models.len() > 5 && models.iter().all(|model| model["decision_model"] == true), "{listed}");
        assert!(models.iter().all(|model| model["presets"] == json!([])), "no preset has decision models");
        let refused = client.poll(json!({})).await.refused(503);
        assert!(refused.contains("only decision models, which presets leave out"), "{refused}");
        let free = json!({ "question": "Tea?", "options": ["Yes", "No"] });
        let refused = second.anonymous().post("/api/poll", &free).await.refused(503);
        assert!(refused.contains("only decision models"), "free polls do not ask them: {refused}");

        let options = ["Tea", "Coffee", "Water"];
        let asked = json!({
            "question": "Which drink do you like best?", "options": options, "models": ["*"],
            "complete": true, "reasons": 1,
        });
        let poll = client.poll(asked.clone()).await.expect(200);
        let votes = poll["votes"].as_array().unwrap();
        assert_eq!(votes.len(), models.len(), "{poll}");
        let mut counted = 0;
        for vote in votes {
            let given = vote["probabilities"].as_array().unwrap_or_else(|| panic!("{dialect}: {vote}"));
            let named: Vec<&Value> = given.iter().map(|given| &given["option"]).collect();
            assert_eq!(named, options, "{dialect}");
            let sum: f64 = given.iter().map(|given| given["probability"].as_f64().unwrap()).sum();
            assert!((sum - 1.0).abs() < 1e-5, "{dialect}: {vote}");
            match preferred(given) {
                Some(option) => assert_eq!(&vote["chosen_option"], option, "{dialect}"),
                None => assert_eq!(vote["error_code"], "conflicting", "{dialect}: {vote}"),
            }
            counted += u64::from(vote["success"] == true);
            assert!(vote.get("ballot_mode").is_none());
        }
        let tally: u64 = poll["tally"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert!(counted > 0 && tally == counted, "one vote each: {}", poll["tally"]);
        let notices = poll["notices"].to_string();
        assert!(notices.contains("decision models, which cast all votes, give no reasons"), "{notices}");

        // The probabilities are stored, and shown wherever single votes are.
        let id = poll["poll_id"].as_str().unwrap();
        let result = second.anonymous().get(&format!("/api/results/{id}")).await.expect(200);
        assert_eq!(result["votes"][0]["probabilities"], votes[0]["probabilities"]);
        let export = client.get("/api/account/export").await.expect(200);
        assert_eq!(export["polls"][0]["votes"][0]["probabilities"], votes[0]["probabilities"]);
        let text = async |path: String| second.anonymous().get(&path).await.text;
        let csv = text(format!("/results/{id}.csv")).await;
        assert!(csv.starts_with("model_id,family,chosen_option,latency_ms,error,probabilities"), "{csv}");
        assert_eq!(csv.matches("{\"\"Tea\"\":").count(), votes.len(), "{csv}");
        let page = text(format!("/results/{id}")).await;
        assert_eq!(page.matches("probabilities A ").count(), votes.len());
        assert!(page.contains("not the chance that an option is right"));

        // The first service is asked anew, because the question differs.
        let mut streamed = asked;
        streamed["question"] = "Which drink do you like least?".into();
        let request = client.request(reqwest::Method::POST, "/api/poll/stream").json(&streamed);
        let stream = request.send().await.unwrap().text().await.unwrap();
        let events = events(&stream, "vote");
        assert_eq!(events.len(), models.len(), "{stream}");
        assert!(events.iter().all(|event| event["probabilities"].as_array().unwrap().len() == 3));
        assert!(
            first
                .app
                .ports
                .models
                .registry()
                .await
                .unwrap()
                .variants
                .iter()
                .all(|model| !model.decision_model)
        );
    }
}

#[tokio::test]
async fn models_that_chat_have_no_probabilities() {
    let service = Setup::default().boot().await;
    let client = service.user().await;
    let poll = client.poll(json!({})).await.expect(200);
    assert!(poll["votes"].as_array().unwrap().iter().all(|vote| vote.get("probabilities").is_none()));
    let page = service.anonymous().get(&format!("/results/{}", poll["poll_id"].as_str().unwrap())).await;
    assert!(!page.text.contains("Decision models"));
}

/// Three models: the list marks the first one as a decision model.
fn mixed() -> Script {
    let mut script = Script { votes_for: VoteFor::First, ..Script::panel(3) };
    script.models[0]["architecture"]["output_modalities"] = json!(["decisions"]);
    script
}

#[tokio::test]
async fn chat_and_decisions_vote_together_and_only_chat_is_asked_for_reasons() {
    let script = Script { votes_for: VoteFor::Text("Beta".into()), ..mixed() };
    let service = Setup::scripted(script).boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let members = json!({ "models": ["maker*"], "complete": true, "reasons": 3 });
    let poll = client.poll(members).await.expect(200);
    assert_eq!((&poll["outcome"], &poll["tally"]["Beta"]), (&json!("Beta"), &json!(3)));
    let decided: Vec<&Value> =
        poll["votes"].as_array().unwrap().iter().filter(|vote| vote["probabilities"].is_array()).collect();
    let [decided] = decided.as_slice() else { panic!("{poll}") };
    assert_eq!((&decided["model_id"], &decided["cost_basis"]), (&json!("maker0/line-0"), &json!("priced")));
    let expected =
        json!([{ "option": "Alpha", "probability": 0.3 }, { "option": "Beta", "probability": 0.7 }]);
    assert_eq!(decided["probabilities"], expected);
    let reasons = poll["reasons"].as_array().unwrap();
    assert!(
        reasons.len() == 2 && reasons.iter().all(|reason| reason["model_id"] != "maker0/line-0"),
        "{poll}"
    );
    assert!(!service.settled_cost(user).await.is_zero());
    let forms = |model: &str| {
        service.upstream().received(model).iter().map(|request| request.requested_form).collect::<Vec<_>>()
    };
    assert_eq!(forms("maker0/line-0"), [RequestedForm::Decision]);
    assert_eq!(forms("maker1/line-1"), [RequestedForm::Required, RequestedForm::Prose]);
    let preset = client.post("/api/poll", &question(json!({ "preset": "generalist" }))).await.expect(200);
    let asked: Vec<&Value> =
        preset["votes"].as_array().unwrap().iter().map(|vote| &vote["model_id"]).collect();
    assert!(asked.len() == 2 && !asked.contains(&&json!("maker0/line-0")), "{preset}");
}

#[tokio::test]
async fn a_decision_model_votes_on_the_levels_of_a_score() {
    let service = Setup::scripted(Script { votes_for: VoteFor::Text("high".into()), ..mixed() }).boot().await;
    let client = service.user().await;
    let panel = json!({ "name": "mixed", "models": ["maker0/line-0", "maker1/line-1"] });
    client.post("/api/panels", &panel).await.expect(200);
    let score =
        json!({ "question": "How urgent is it?", "levels": ["low", "medium", "high"], "complete": true });
    let decided =
        client.post("/api/decide", &json!({ "panel": "mixed", "questions": [score] })).await.expect(200);
    assert_eq!(decided["results"][0]["scale"]["median"], "high", "{decided}");
    let question = service.upstream().received("maker0/line-0")[0].body["questions"][0].clone();
    let mut values: Vec<&str> = question["choices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|choice| choice["value"].as_str().unwrap())
        .collect();
    values.sort_unstable();
    assert_eq!((&question["type"], values), (&json!("choice"), vec!["high", "low", "medium"]));
}

#[tokio::test]
async fn labels_and_doctor_show_decision_models() {
    let folder = tempfile::tempdir().unwrap();
    label::reviews(folder.path(), 2);
    let upstream = ScriptedUpstream::start(mixed()).unwrap();
    let arguments = label::arguments(&label::TRIO);
    stdout(&label::run(folder.path(), &upstream, &arguments).await, 0);
    let lines = label::lines(&folder.path().join("labels.jsonl"));
    for line in &lines {
        let votes = line["votes"].as_array().unwrap();
        let options: Vec<&Value> =
            votes[0]["probabilities"].as_array().unwrap().iter().map(|given| &given["option"]).collect();
        assert_eq!(options, ["positive", "negative"], "{line}");
        assert!(votes[1..].iter().all(|vote| vote.get("probabilities").is_none()), "{line}");
    }
    assert_eq!(lines.len(), 2);
    let doctor = [&["doctor"], &label::TRIO[..]].concat();
    let shown = stdout(&label::run(folder.path(), &upstream, &doctor).await, 0);
    let line = |model: &str| shown.lines().find(|line| line.starts_with(model)).unwrap();
    assert!(line("maker0/line-0").contains("decision"), "{shown}");
    assert!(line("maker1/line-1").contains("forced_tool"), "{shown}");
    let json = stdout(&label::run(folder.path(), &upstream, &[&doctor[..], &["--json"]].concat()).await, 0);
    let found: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |model: &str| found.iter().find(|found| found["model"] == model).unwrap();
    assert_eq!(of("maker0/line-0")["decision_model"], true);
    assert_eq!(of("maker0/line-0")["probabilities"].as_array().unwrap().len(), 3);
    assert_eq!(
        (&of("maker1/line-1")["decision_model"], &of("maker1/line-1")["probabilities"]),
        (&json!(false), &Value::Null)
    );
}

#[tokio::test]
async fn wrong_settings_are_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    for wrong in ["jev-1", "jev-1=chat", "=openai"] {
        let data = folder.path().to_owned();
        let run = move || crate::command_line::ep(&data, &["doctor"], &[("EP_DECISION_MODELS", wrong)]);
        let output = tokio::task::spawn_blocking(run).await.unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains("openai, systemone or gemini"), "{wrong}: {text}");
    }
}
