//! Decision models in the three dialects: requests, votes, refusals, unreadable responses, errors, and cost.

use std::time::Duration;

use ep_kernel::ports::Models as _;
use ep_polling::{
    ChoiceForm, MicroUsd, ModelChoice, ModelNames, ModelResponse, ModelSource, NoVote, Reason, SpendBasis,
};
use ep_upstream::testing::{
    Action, Behaviour, Billing, Forms, RequestedForm, Script, ScriptedUpstream, VoteFor, bare,
};
use ep_upstream::{Upstream, UpstreamConfig};
use serde_json::{Value, json};

use super::{Fixture, KEY, LONG, member, priced, view, vote};

const DIALECTS: [&str; 3] = ["openai", "systemone", "gemini"];
const GOOD: Action = Action::Obey(Forms::ALL);

fn speaking(dialect: &str) -> impl FnOnce(&mut UpstreamConfig) {
    let rule = format!("*={dialect}").parse().unwrap();
    move |config| config.decision_models = vec![rule]
}

fn upstream(fixture: &Fixture, dialect: &str) -> Upstream {
    fixture.upstream_with(speaking(dialect))
}

/// Wraps an answer as a response of this dialect.
fn response(dialect: &str, answer: Value) -> Action {
    let answers = if dialect == "openai" { json!([answer]) } else { json!({ "vote": answer }) };
    Action::Bytes(json!({ "model": "m", "answers": answers }).to_string().into_bytes())
}

/// Builds an answer with these probabilities in the form of this dialect.
fn answer(dialect: &str, probabilities: &[(&str, f64)]) -> Value {
    let given = probabilities.iter();
    let probabilities: Value = if dialect == "openai" {
        given.map(|(value, probability)| json!({ "value": value, "probability": probability })).collect()
    } else {
        given.map(|(value, probability)| ((*value).to_owned(), json!(probability))).collect()
    };
    json!({ "type": "choice", "name": "vote", "choice": "Mars", "probabilities": probabilities })
}

/// Asks a model that performs these actions once.
async fn asked(dialect: &str, actions: impl Into<Vec<Action>>) -> (ModelResponse, usize) {
    let fixture = Fixture::with_actions(actions);
    let response = vote(&upstream(&fixture, dialect)).await;
    (response, fixture.server.calls("m"))
}

async fn no_vote(dialect: &str, action: Action) -> NoVote {
    let (response, calls) = asked(dialect, [action]).await;
    assert_eq!((response.probabilities, calls), (None, 1), "a decision is not repaired");
    response.vote.unwrap_err()
}

#[tokio::test]
async fn the_option_with_the_greatest_probability_is_the_vote() {
    for dialect in DIALECTS {
        // Venus is option 2 of the caller, and shown last.
        let script = Script { votes_for: VoteFor::Text("Venus".into()), ..Script::default() }
            .with("m", Behaviour::of([GOOD]));
        let fixture = Fixture::new(script);
        let response = vote(&upstream(&fixture, dialect)).await;
        assert_eq!(response.vote, Ok(2), "{dialect}");
        let probabilities: Vec<f64> = response.probabilities.unwrap().fractions().collect();
        assert_eq!(probabilities, [0.15, 0.15, 0.7], "in the caller's order, {dialect}");
        assert_eq!((response.casting, response.answered_by), (None, None), "{dialect}");
    }
}

#[tokio::test]
async fn the_question_has_the_options_in_the_order_shown_and_no_delimiters() {
    for dialect in DIALECTS {
        let fixture = Fixture::with_actions([GOOD]);
        let upstream = upstream(&fixture, dialect);
        vote(&upstream).await.vote.unwrap();
        let mut lettered = view();
        lettered.answer = ChoiceForm::Letter;
        let by_letter = upstream.vote(&member("m"), &lettered, LONG.into()).await;
        assert_eq!(by_letter.vote, Ok(super::FIRST), "{dialect}");
        let received = fixture.server.received("m");
        assert!(received.iter().all(|request| request.requested_form == RequestedForm::Decision));
        let (text, letters) = (&received[0].body, &received[1].body);
        let input = if dialect == "systemone" { "state" } else { "input" };
        assert_eq!(
            (&text["model"], &text[input]),
            (&json!("m"), &json!("Which planet is blue?")),
            "{dialect}"
        );
        let question = if dialect == "openai" { "/questions/0" } else { "/questions/vote" };
        let question = |body: &Value| body.pointer(question).unwrap().clone();
        let instructions = "Answer the question by voting for one of the options.";
        assert_eq!(question(text)["instructions"], instructions, "{dialect}");
        if dialect == "openai" {
            let choices = json!([{ "value": "Mars" }, { "value": "Earth" }, { "value": "Venus" }]);
            assert_eq!(question(text)["choices"], choices);
            assert_eq!(question(letters)["choices"][1], json!({ "value": "B", "description": "Earth" }));
        } else {
            let shown: Vec<String> =
                question(text)["criteria"].as_object().unwrap().keys().cloned().collect();
            assert_eq!(shown, ["Mars", "Earth", "Venus"], "{dialect}");
            assert_eq!(question(letters)["criteria"], json!({ "A": "Mars", "B": "Earth", "C": "Venus" }));
        }
        let headers = &received[0].headers;
        if dialect == "gemini" {
            assert_eq!(headers["x-goog-api-key"], KEY);
            assert!(!headers.contains_key("authorization"));
        } else {
            assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
        }
    }
}

#[tokio::test]
async fn equal_greatest_probabilities_are_no_vote_and_are_returned() {
    for dialect in DIALECTS {
        let tied = answer(dialect, &[("Mars", 0.4), ("Earth", 0.4), ("Venus", 0.2)]);
        let (response, calls) = asked(dialect, [response(dialect, tied)]).await;
        assert_eq!(response.vote.unwrap_err().reason, Reason::Conflicting, "{dialect}");
        let returned: Vec<f64> = response.probabilities.unwrap().fractions().collect();
        assert_eq!((returned, calls), (vec![0.4, 0.4, 0.2], 1), "{dialect}");
    }
}

#[tokio::test]
async fn other_probabilities_are_unreadable() {
    for dialect in DIALECTS {
        for wrong in [
            &[("Mars", 0.5), ("Earth", 0.5)][..],
            &[("Mars", 0.5), ("Earth", 0.3), ("Venus", 0.1), ("Pluto", 0.1)],
            &[("Mars", 0.5), ("Earth", 0.3), ("venus", 0.2)],
            &[("Mars", 0.5), ("Earth", 0.3), ("Venus", 0.1)],
            &[("Mars", 1.2), ("Earth", -0.1), ("Venus", -0.1)],
            &[],
        ] {
            let no_vote = no_vote(dialect, response(dialect, answer(dialect, wrong))).await;
            assert_eq!(no_vote.reason, Reason::Unparsable, "{dialect} {wrong:?}: {}", no_vote.detail);
        }
        let not_numbers =
            json!({ "type": "choice", "probabilities": { "Mars": "1", "Earth": 0, "Venus": 0 } });
        for answer in [not_numbers, json!({ "type": "choice", "choice": "Mars" }), json!(7)] {
            assert_eq!(no_vote(dialect, response(dialect, answer)).await.reason, Reason::Unparsable);
        }
        for body in ["{}", r#"{"answers":null}"#, r#"{"answers":[]}"#, r#"{"answers":{}}"#] {
            assert_eq!(
                no_vote(dialect, Action::Bytes(body.into())).await.reason,
                Reason::Unparsable,
                "{body}"
            );
        }
        for body in ["<html>", "7", ""] {
            assert_eq!(no_vote(dialect, Action::Bytes(body.into())).await.reason, Reason::UpstreamError);
        }
    }
    let twice = r#"{"answers":{"vote":{"probabilities":{"Mars":0.5,"Earth":0.5,"Venus":0,"Mars":0.5}}}}"#;
    assert_eq!(no_vote("systemone", Action::Bytes(twice.into())).await.reason, Reason::Unparsable);
    let twice = answer("openai", &[("Mars", 0.25), ("Mars", 0.25), ("Earth", 0.25), ("Venus", 0.25)]);
    assert_eq!(no_vote("openai", response("openai", twice)).await.reason, Reason::Unparsable);
}

#[tokio::test]
async fn rounded_probabilities_are_read() {
    for dialect in DIALECTS {
        let rounded = answer(dialect, &[("Mars", 0.33), ("Earth", 0.34), ("Venus", 0.34)]);
        let (response, _) = asked(dialect, [response(dialect, rounded)]).await;
        assert_eq!(response.vote.unwrap_err().reason, Reason::Conflicting, "{dialect}");
        let escaped = answer(dialect, &[("Mars", 0.1), ("Earth", 0.69), ("Venus", 0.2)]);
        let escaped = response_with_escapes(dialect, escaped);
        assert_eq!(asked(dialect, [escaped]).await.0.vote, Ok(0), "{dialect}");
    }
}

/// Wraps an answer, with a letter of each text as an escape.
fn response_with_escapes(dialect: &str, answer: Value) -> Action {
    let Action::Bytes(body) = response(dialect, answer) else { unreachable!() };
    Action::Bytes(String::from_utf8(body).unwrap().replace("Earth", "E\\u0061rth").into_bytes())
}

#[tokio::test]
async fn refusals_are_refusals() {
    let refused = response("openai", json!({ "type": "refusal", "name": "vote" }));
    assert_eq!(no_vote("openai", refused).await.reason, Reason::Refused);
    let blocked = json!({ "prompt_feedback": { "block_reason": "safety" }, "usage": {} });
    let blocked = Action::Bytes(blocked.to_string().into_bytes());
    assert_eq!(no_vote("gemini", blocked).await.reason, Reason::Refused);
    for dialect in DIALECTS {
        let error =
            json!({ "code": 400, "message": "no", "metadata": { "error_type": "content_policy_violation" } });
        assert_eq!(no_vote(dialect, Action::TopLevelError(error)).await.reason, Reason::Refused, "{dialect}");
    }
}

#[tokio::test]
async fn errors_count_as_for_models_that_chat() {
    let failing = |status| Action::Status(status, json!({ "detail": "something is wrong" }).to_string());
    let limited =
        |wait: &str| Action::StatusWithHeader(429, b"{}".to_vec(), ("retry-after", wait.to_owned()));
    for dialect in DIALECTS {
        for status in [400, 401, 402, 403, 404, 422] {
            let no_vote = no_vote(dialect, failing(status)).await;
            assert_eq!(no_vote.reason, Reason::Rejected, "{dialect} {status}");
            // The reasons of the operator's account are for the log.
            let is_ours = (401..=403).contains(&status);
            assert_eq!(no_vote.detail == "the model is not available here", is_ours, "{}", no_vote.detail);
            assert!(is_ours || no_vote.detail.contains(&status.to_string()), "{}", no_vote.detail);
        }
        for status in [429, 500, 503] {
            let (response, calls) = asked(dialect, [failing(status), GOOD]).await;
            assert_eq!((response.vote, calls), (Ok(super::FIRST), 2), "{dialect} {status}");
        }
        let (response, calls) = asked(dialect, [failing(500)]).await;
        assert_eq!((response.vote.unwrap_err().reason, calls), (Reason::UpstreamError, 3), "{dialect}");
        assert_eq!(no_vote(dialect, limited("3600")).await.reason, Reason::RateLimited, "{dialect}");
        assert_eq!(no_vote(dialect, Action::Huge(1 << 21)).await.reason, Reason::UpstreamError, "{dialect}");
        assert_eq!(no_vote(dialect, Action::BreakOff).await.reason, Reason::Unreachable, "{dialect}");
        let redirect = no_vote(dialect, Action::Status(307, String::new())).await;
        assert!(redirect.detail.contains("redirects"), "{}", redirect.detail);
    }
}

#[tokio::test]
async fn a_decision_model_has_the_time_limit_of_a_model() {
    for dialect in DIALECTS {
        let fixture = Fixture::with_actions([Action::Hang]);
        let upstream = fixture.upstream_with(|config| {
            speaking(dialect)(config);
            config.model_timeout = Duration::from_millis(50);
        });
        assert_eq!(vote(&upstream).await.vote.unwrap_err().reason, Reason::Timeout, "{dialect}");
    }
}

#[tokio::test]
async fn tokens_and_cost_are_those_that_are_reported() {
    for dialect in DIALECTS {
        let spent = async |billing: Billing| {
            let script = Script::default().with("m", Behaviour::of([GOOD]).billed(billing));
            let fixture = Fixture::new(script);
            let response = upstream(&fixture, dialect).vote(&priced("m"), &view(), LONG.into()).await;
            (response.spend.amount, response.spend.basis, response.tokens)
        };
        let (amount, basis, tokens) = spent(Billing::Tokens(900, 40)).await;
        // 900 at 1 USD and 40 at 2 USD per million.
        assert_eq!((amount, basis), (MicroUsd::new(980), SpendBasis::Priced), "{dialect}");
        assert_eq!(tokens.map(|tokens| (tokens.prompt, tokens.completion)), Some((900, 40)), "{dialect}");
        if dialect != "gemini" {
            let (amount, basis, _) = spent(Billing::Cost(900, 0, 0.25)).await;
            assert_eq!((amount, basis), (MicroUsd::new(250_000), SpendBasis::Reported), "{dialect}");
        }
        assert_eq!(spent(Billing::Silent).await.1, SpendBasis::Unknown, "{dialect}");
    }
}

#[tokio::test]
async fn the_list_marks_decision_models_and_presets_include_them_only_on_request() {
    let decider = json!({
        "id": "maker/decider", "architecture": { "output_modalities": ["decisions"] },
        "pricing": { "prompt": "0", "completion": "0" },
    });
    let chat = |n: usize| json!({ "id": format!("maker/chat-{n}"), "pricing": { "prompt": "0", "completion": "0" } });
    let script = Script { models: vec![decider, chat(1), chat(2), bare("jev-1")], ..Script::default() };
    let fixture = Fixture::new(script);
    let upstream =
        fixture.upstream_with(|config| config.decision_models = vec!["jev-*=systemone".parse().unwrap()]);
    let registry = upstream.registry().await.unwrap();
    let kinds: Vec<(&str, bool)> =
        registry.variants.iter().map(|variant| (variant.id.as_str(), variant.decision_model)).collect();
    let expected =
        [("maker/decider", true), ("maker/chat-1", false), ("maker/chat-2", false), ("jev-1", true)];
    assert_eq!(kinds, expected);
    for variant in registry.variants.iter().filter(|variant| variant.decision_model) {
        assert_eq!(variant.presets, Vec::<String>::new(), "{}", variant.id);
    }
    let roster = async |upstream: &Upstream, source| {
        let roster = upstream.roster(&ModelChoice { source, exclude: None }).await.unwrap();
        roster.members().iter().map(|member| member.model.to_string()).collect::<Vec<_>>()
    };
    let free = roster(&upstream, ModelSource::Preset("free".to_owned())).await;
    assert_eq!(free, ["maker/chat-1", "maker/chat-2"], "free polls are unaffected");
    let named = ModelSource::Named(ModelNames::new(&["jev-1", "maker/*"]).unwrap());
    assert_eq!(roster(&upstream, named).await.len(), 4);
    let presets = tempfile::NamedTempFile::new().unwrap();
    let query = "size = 9\nsort = \"price\"\n";
    let text = format!(
        "[[preset]]\nname = \"pinned\"\n{query}pinned = [\"jev-1\"]\n[[preset]]\nname = \"both\"\n{query}decision_models = true\n"
    );
    std::fs::write(presets.path(), text).unwrap();
    let upstream = fixture.upstream_with(|config| config.presets_path = Some(presets.path().to_owned()));
    let pinned = roster(&upstream, ModelSource::Preset("pinned".to_owned())).await;
    assert_eq!(pinned, ["maker/chat-1", "maker/chat-2", "jev-1"]);
    assert_eq!(roster(&upstream, ModelSource::Preset("both".to_owned())).await.len(), 4);
}

#[tokio::test]
async fn a_listed_decision_model_is_asked_in_the_dialect_of_openai() {
    let decider = json!({ "id": "m", "architecture": { "output_modalities": ["decisions"] } });
    let script = Script { models: vec![decider], ..Script::default() }.with("m", Behaviour::of([GOOD]));
    let fixture = Fixture::new(script);
    let upstream = fixture.upstream();
    upstream.registry().await.unwrap();
    assert_eq!(vote(&upstream).await.vote, Ok(super::FIRST));
    let received: &ScriptedUpstream = &fixture.server;
    assert!(received.received("m")[0].body["questions"].is_array());
    let limits = LONG.into();
    let explained = upstream.explain(&member("m"), &view(), super::FIRST, limits).await;
    assert_eq!((explained.text, received.calls("m")), (None, 1), "it is asked for no reason");
}
