//! The fallback levels, against servers that behave like real ones.

use std::time::Duration;

use ep_kernel::ports::Models as _;
use ep_polling::{BallotMode, ModelChoice, ModelId, ModelNames, ModelSource, Reason};
use ep_store::{SavedFallbackLevel, UpstreamCache as _};
use ep_upstream::Upstream;
use ep_upstream::testing::{Action, Behaviour, Form, Forms, RequestedForm, Script, bare, priced};
use serde_json::{Value, json};

use super::{FIRST, Fixture, LONG, NOW, member, reason, view, vote};
use ep_upstream::testing::RequestedForm::{Auto, Object, Prose, Required, Schema};

/// Returns the forms in which this many votes are requested from such a server.
async fn asked(forms: Forms, votes: usize) -> Vec<RequestedForm> {
    let fixture = Fixture::with_actions([Action::Obey(forms)]);
    let upstream = fixture.upstream();
    for _ in 0..votes {
        assert_eq!(vote(&upstream).await.vote, Ok(FIRST));
    }
    fixture.server.received("m").iter().map(|request| request.requested_form).collect()
}

#[tokio::test]
async fn a_working_form_stays_in_use() {
    assert_eq!(asked(Forms::ALL, 3).await, [Required; 3]);
    assert_eq!(asked(Forms::LLAMA_CPP, 3).await, [Required; 3]);
}

#[tokio::test]
async fn a_rejected_form_falls_back_at_once_and_permanently() {
    assert_eq!(asked(Forms::THINKING, 2).await, [Required, Object, Auto, Auto]);
    assert_eq!(asked(Forms::NO_FORCED_CHOICE, 2).await, [Required, Object, Auto, Auto]);
    assert_eq!(asked(Forms::NO_TOOLS, 2).await, [Required, Schema, Schema]);
    assert_eq!(asked(Forms::LLAMA_CPP_BARE, 2).await, [Required, Schema, Schema]);
    assert_eq!(asked(Forms::VLLM_BARE, 2).await, [Required, Object, Object]);
    assert_eq!(asked(Forms::TEXT_ONLY, 2).await, [Required, Schema, Prose, Prose]);
}

#[tokio::test]
async fn a_form_ignored_twice_falls_back() {
    // The text is still parsed, so no vote is lost.
    assert_eq!(
        asked(Forms::OLLAMA, 8).await,
        [Required, Required, Object, Object, Auto, Auto, Schema, Schema]
    );
    // The server rejects an object, so that level is skipped.
    assert_eq!(asked(Forms::LM_STUDIO, 4).await, [Required, Required, Object, Auto, Auto]);
}

#[tokio::test]
async fn a_repair_skips_rejected_forms() {
    let forms = Forms {
        required: Form::Ignored("I cannot say."),
        schema: Form::Rejected(400, "response_format is not supported"),
        ..Forms::ALL
    };
    let fixture = Fixture::with_actions([Action::Obey(forms)]);
    let upstream = fixture.upstream();
    for _ in 0..2 {
        assert_eq!(vote(&upstream).await.vote, Ok(FIRST));
    }
    let asked: Vec<_> = fixture.server.received("m").iter().map(|request| request.requested_form).collect();
    assert_eq!(asked, [Required, Schema, Prose, Required, Prose]);
}

#[tokio::test]
async fn fallback_levels_survive_a_restart() {
    let fixture = Fixture::with_actions([Action::Obey(Forms::THINKING)]);
    assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST));
    fixture.settle().await;
    let stored = fixture.cache.fallback_levels(&fixture.server.base_url()).await.unwrap();
    let saved = SavedFallbackLevel {
        model: ModelId::new("m"),
        level: 2,
        unsupported_parameters: 0,
        needs: 0,
        saved_at: NOW,
    };
    assert_eq!(stored, [saved]);
    let before = fixture.server.calls("m");
    assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST));
    let received = fixture.server.received("m");
    assert_eq!(received[before..].iter().map(|request| request.requested_form).collect::<Vec<_>>(), [Auto]);
}

#[tokio::test]
async fn a_server_that_fails_on_forced_calls_gets_the_plainest_request() {
    let breaks = Form::Rejected(500, "Value is not callable: null");
    let forms = Forms { required: breaks, object: breaks, auto: breaks, ..Forms::ALL };
    assert_eq!(
        asked(forms, 3).await,
        [Required, Required, Prose, Required, Required, Prose, Prose],
        "every vote is cast, and the third one is asked for plainly at once"
    );
}

#[tokio::test]
async fn a_response_that_matches_no_option_is_not_a_vote() {
    // The server does not enforce the enum, or the model leaves a forced call empty.
    for arguments in [r#"{"option":"Neptune"}"#, "{}", ""] {
        let fixture = Fixture::with_actions([
            Action::Calls("vote", vec![arguments.to_owned()]),
            Action::Says("{\"option\":\"{value}\"}".into()),
        ]);
        assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST), "asked once more");
        let (reason, calls, _) = reason([Action::Calls("vote", vec![arguments.to_owned()])]).await;
        assert_eq!((reason, calls), (Reason::Unparsable, 2), "{arguments}");
    }
}

#[tokio::test]
async fn a_fallback_level_expires_after_a_day() {
    let fixture = Fixture::with_actions([Action::Obey(Forms::THINKING)]);
    let upstream = fixture.upstream();
    assert_eq!(vote(&upstream).await.vote, Ok(FIRST));
    fixture.settle().await;
    let next_form = async |upstream: &Upstream| {
        let before = fixture.server.calls("m");
        assert_eq!(vote(upstream).await.vote, Ok(FIRST));
        fixture.server.received("m")[before].requested_form
    };
    fixture.clock.advance(Duration::from_hours(23));
    assert_eq!(next_form(&upstream).await, Auto);
    fixture.clock.advance(Duration::from_hours(1));
    assert_eq!(next_form(&fixture.upstream()).await, Required, "after a restart, too");
    assert_eq!(next_form(&upstream).await, Required);
    assert_eq!(next_form(&upstream).await, Auto, "the new level stays in use");
}

/// Returns an entry of the model list with these additional fields.
fn listed(id: &str, more: &Value) -> Value {
    let mut entry = priced(id, "0.000001", "0.000001");
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

async fn first_request(upstream: &Upstream, fixture: &Fixture, model: &str) -> (RequestedForm, Value) {
    assert_eq!(upstream.vote(&member(model), &view(), LONG.into()).await.vote, Ok(FIRST), "{model}");
    let received = fixture.server.received(model).swap_remove(0);
    (received.requested_form, received.body)
}

#[tokio::test]
async fn first_level_and_effort_follow_the_registry() {
    let script = Script {
        models: vec![
            listed("forced", &json!({ "supported_parameters": ["tools", "tool_choice"] })),
            listed("loose", &json!({ "supported_parameters": ["tools"] })),
            listed("shaped", &json!({ "supported_parameters": ["structured_outputs"] })),
            listed("plain", &json!({ "supported_parameters": ["temperature"] })),
            listed("deep", &json!({ "reasoning": { "supported_efforts": ["high", "low", "medium"] } })),
            bare("unknown"),
        ],
        ..Script::default()
    };
    let fixture = Fixture::new(script);
    let upstream = fixture.upstream();
    upstream.registry().await.unwrap();
    for (model, expected) in
        [("forced", Required), ("loose", Auto), ("shaped", Schema), ("plain", Prose), ("unknown", Required)]
    {
        let (requested_form, body) = first_request(&upstream, &fixture, model).await;
        assert_eq!(requested_form, expected, "{model}");
        assert_eq!(body.get("reasoning"), None);
    }
    let (_, body) = first_request(&upstream, &fixture, "deep").await;
    assert_eq!(body["reasoning"], json!({ "effort": "low", "exclude": true }));
}

#[tokio::test]
async fn the_request_is_what_servers_expect() {
    let fixture = Fixture::new(Script::default());
    let (_, body) = first_request(&fixture.upstream(), &fixture, "m").await;
    assert_eq!(body["tool_choice"], "required");
    assert_eq!(body["parallel_tool_calls"], false);
    assert_eq!(
        body["tools"],
        json!([{ "type": "function", "function": {
            "name": "vote",
            "description": "Cast your one vote.",
            "parameters": {
                "type": "object",
                "properties": { "option": {
                    "type": "string", "description": "The option you choose.", "enum": ["Mars", "Earth", "Venus"],
                } },
                "required": ["option"],
                "additionalProperties": false,
            },
            "strict": true,
        } }])
    );
    for absent in ["provider", "models", "response_format", "max_completion_tokens", "stream", "reasoning"] {
        assert_eq!(body.get(absent), None, "{absent}");
    }
    let fixture = Fixture::with_actions([Action::Obey(Forms::NO_TOOLS)]);
    vote(&fixture.upstream()).await;
    let body = &fixture.server.received("m")[1].body;
    assert_eq!(body["response_format"]["type"], "json_schema");
    assert_eq!(body["response_format"]["json_schema"]["strict"], true);
    assert_eq!(body["response_format"]["json_schema"]["schema"]["properties"]["option"]["enum"][0], "Mars");
    assert_eq!(body.get("parallel_tool_calls"), None);
}

#[tokio::test]
async fn rejected_optional_parameters_are_omitted() {
    let refuse = |message: &str| Action::Status(400, json!({ "error": { "message": message } }).to_string());
    let fixture = Fixture::with_actions([
        refuse("Unrecognized request argument supplied: parallel_tool_calls"),
        refuse("Extra inputs are not permitted: tools.0.function.strict"),
        refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        Action::Obey(Forms::ALL),
    ]);
    let upstream = fixture.upstream();
    for _ in 0..2 {
        assert_eq!(vote(&upstream).await.vote, Ok(FIRST));
    }
    let received = fixture.server.received("m");
    assert_eq!(received.len(), 5, "the second vote omits them at once");
    let body = &received[4].body;
    assert_eq!(body["max_completion_tokens"], 256);
    assert_eq!((body.get("max_tokens"), body.get("parallel_tool_calls")), (None, None));
    assert_eq!(body["tools"][0]["function"].get("strict"), None);
    assert_eq!(received[4].requested_form, Required);
}

#[tokio::test]
async fn letters_are_sent_if_texts_are_rejected_as_enum_values() {
    let message = "Invalid schema for function 'vote': enum value contains an unsupported character";
    let fixture = Fixture::with_actions([
        Action::Status(400, json!({ "error": { "message": message } }).to_string()),
        Action::Obey(Forms::ALL),
    ]);
    let upstream = fixture.upstream();
    for _ in 0..2 {
        assert_eq!(vote(&upstream).await.vote, Ok(FIRST));
    }
    let received = fixture.server.received("m");
    assert_eq!(received.len(), 3, "the second vote sends letters at once");
    let option = &received[2].body["tools"][0]["function"]["parameters"]["properties"]["option"];
    assert_eq!(option["enum"], json!(["A", "B", "C"]));
    let prompt = received[2].body["messages"][1]["content"].as_str().unwrap();
    assert!(prompt.contains("\nA: Mars\nB: Earth\nC: Venus\n"), "{prompt}");
}

#[tokio::test]
async fn letters_are_sent_if_an_enum_value_is_too_long() {
    let message = "Invalid 'tools[0].function.parameters.properties.option.enum[1]': string too long.";
    let fixture = Fixture::with_actions([
        Action::Status(400, json!({ "error": { "message": message } }).to_string()),
        Action::Obey(Forms::ALL),
    ]);
    assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST));
    fixture.settle().await;
    assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST), "after a restart");
    let received = fixture.server.received("m");
    assert_eq!(received.len(), 3, "the second vote sends letters at once");
    for request in &received[1..] {
        assert_eq!(request.requested_form, Required);
        let option = &request.body["tools"][0]["function"]["parameters"]["properties"]["option"];
        assert_eq!(option["enum"], json!(["A", "B", "C"]));
    }
}

/// Requests votes from a reasoning model that rejects requests with these messages in turn. Returns the forms
/// and efforts requested.
async fn asked_with_efforts(refusals: &[&str]) -> Vec<(RequestedForm, Value)> {
    let refuse = |message: &&str| {
        Action::Status(
            400,
            json!({ "error": { "message": message, "param": "reasoning_effort" } }).to_string(),
        )
    };
    let actions: Vec<_> = refusals.iter().map(refuse).chain([Action::Obey(Forms::ALL)]).collect();
    let fixture = Fixture::with_actions(actions);
    assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST));
    fixture.settle().await;
    assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST), "after a restart");
    let effort = |body: &Value| body.get("reasoning_effort").cloned().unwrap_or_default();
    let received = fixture.server.received("m");
    received.iter().map(|request| (request.requested_form, effort(&request.body))).collect()
}

#[tokio::test]
async fn reasoning_is_turned_off_if_it_excludes_function_tools() {
    let excludes = "Function tools with reasoning_effort are not supported for gpt-6-luna in \
         /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
    let (default, none) = (Value::Null, json!("none"));
    assert_eq!(
        asked_with_efforts(&[excludes]).await,
        [(Required, default.clone()), (Required, none.clone()), (Required, none.clone())]
    );
    let earlier = "Function tools with reasoning_effort are not supported for gpt-5.4 in \
         /v1/chat/completions. Please use /v1/responses instead.";
    assert_eq!(asked_with_efforts(&[earlier]).await[1], (Required, none.clone()));
    // A model that cannot turn off reasoning gets a request without a tool.
    let never = "Unsupported value: 'reasoning_effort' does not support 'none' with this model.";
    assert_eq!(
        asked_with_efforts(&[excludes, never]).await,
        [(Required, default.clone()), (Required, none), (Schema, default.clone()), (Schema, default)]
    );
}

#[tokio::test]
async fn a_vote_reports_its_form_and_the_models_reasoning() {
    for (action, mode) in [
        (Action::Obey(Forms::ALL), BallotMode::ForcedTool),
        (Action::Obey(Forms::THINKING), BallotMode::OfferedTool),
        (Action::Obey(Forms::NO_TOOLS), BallotMode::JsonSchema),
        (Action::Says("Mars".into()), BallotMode::Text),
    ] {
        let casting = vote(&Fixture::with_actions([action]).upstream()).await.casting.unwrap();
        assert_eq!((casting.mode, casting.reasoned), (mode, None));
    }
    let thinks = Fixture::with_actions([Action::Says("<think>Mars is red.</think>Mars".into())]);
    assert_eq!(vote(&thinks.upstream()).await.casting.unwrap().reasoned, Some(true));
    let gone = Fixture::with_actions([Action::Status(500, "{}".to_owned())]);
    assert_eq!(vote(&gone.upstream()).await.casting, None);
}

#[tokio::test]
async fn rejections_with_status_200_fall_back_too() {
    let error = json!({ "code": 404, "message": "No endpoints found that support tool use." });
    let fixture = Fixture::new(
        Script::default().with("m", Behaviour::of([Action::TopLevelError(error), Action::Obey(Forms::ALL)])),
    );
    assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST));
    assert_eq!(fixture.server.received("m")[1].requested_form, Schema);
}

#[tokio::test]
async fn a_reported_missing_call_leads_to_a_request_without_a_tool() {
    let error = json!({ "message": "Failed to call a function.", "type": "invalid_request_error", "code": "tool_use_failed" });
    let fixture = Fixture::with_actions([
        Action::Status(400, json!({ "error": error }).to_string()),
        Action::Obey(Forms::ALL),
        Action::Obey(Forms::ALL),
    ]);
    let upstream = fixture.upstream();
    for _ in 0..2 {
        assert_eq!(vote(&upstream).await.vote, Ok(FIRST));
    }
    let asked: Vec<_> = fixture.server.received("m").iter().map(|request| request.requested_form).collect();
    assert_eq!(asked, [Required, Schema, Required], "one ignored form does not move the model");
}

#[tokio::test]
async fn unrelated_error_messages_do_not_fall_back() {
    for (status, message) in [
        (400, "This model's maximum context length is 8192 tokens, of which 100 in the functions"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum, including tools"),
        (404, "The model does not exist"),
    ] {
        let fixture =
            Fixture::with_actions([Action::Status(status, json!({ "error": message }).to_string())]);
        assert!(vote(&fixture.upstream()).await.vote.is_err());
        assert!(
            fixture.server.received("m").iter().all(|request| request.requested_form == Required),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_model_without_a_system_role_gets_the_same_text() {
    let message = "Developer instruction is not enabled for models/small";
    let fixture = Fixture::with_actions([
        Action::Status(400, json!({ "error": { "message": message } }).to_string()),
        Action::Obey(Forms::ALL),
    ]);
    assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST));
    let body = &fixture.server.received("m")[1].body;
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    assert!(body["messages"][0]["content"].as_str().unwrap().starts_with("Answer the question by voting"));
}

#[tokio::test]
async fn bedrocks_name_of_the_tool_choice_is_known() {
    let refused = Form::Rejected(
        400,
        "This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any and try again.",
    );
    let forms = Forms { required: refused, object: refused, ..Forms::ALL };
    assert_eq!(asked(forms, 2).await, [Required, Auto, Auto]);
}

#[tokio::test]
async fn a_model_that_reasons_unannounced_is_a_member_with_room() {
    let thinks = "<think>Mars is red.</think>{value}".to_owned();
    let silent = Action::Ends(String::new(), "length");
    for first in [Action::Says(thinks), silent] {
        let script = Script { models: vec![json!({ "id": "m" }), json!({ "id": "n" })], ..Script::default() };
        let fixture = Fixture::new(script.with("m", Behaviour::of([first, Action::Obey(Forms::ALL)])));
        let both =
            ModelChoice { source: ModelSource::Named(ModelNames::new(&["m", "n"]).unwrap()), exclude: None };
        let room = async |upstream: &Upstream| {
            let roster = upstream.roster(&both).await.unwrap();
            roster.members().iter().map(|member| member.output_tokens).collect::<Vec<_>>()
        };
        let upstream = fixture.upstream();
        assert_eq!(room(&upstream).await, [256, 256]);
        assert_eq!(vote(&upstream).await.vote, Ok(FIRST));
        assert_eq!(room(&upstream).await, [1024, 256]);
        assert_eq!(upstream.learnt(&ModelId::new("m")), ["reasons, so its votes get 1,024 tokens"]);
        fixture.settle().await;
        assert_eq!(room(&fixture.upstream()).await, [1024, 256], "after a restart");
        fixture.clock.advance(Duration::from_hours(24));
        assert_eq!(room(&upstream).await, [256, 256]);
    }
}

#[tokio::test]
async fn processes_share_what_they_learn_and_notice_what_is_forgotten() {
    let fixture = Fixture::with_actions([Action::Obey(Forms::THINKING)]);
    let (one, other) = (fixture.upstream(), fixture.upstream());
    let form = async |upstream: &Upstream| {
        assert_eq!(vote(upstream).await.vote, Ok(FIRST));
        let asked = fixture.server.received("m");
        asked.last().unwrap().requested_form
    };
    let requests = async |upstream: &Upstream| {
        let before = fixture.server.calls("m");
        assert_eq!(form(upstream).await, Auto);
        fixture.settle().await;
        fixture.server.calls("m") - before
    };
    assert_eq!(requests(&other).await, 3, "two forms are refused");
    assert_eq!(requests(&one).await, 1, "it reads what is stored");
    fixture.clock.advance(Duration::from_secs(60));
    assert_eq!(one.forget("other*").await.unwrap(), 0);
    assert_eq!(requests(&one).await, 1);
    assert_eq!(other.forget("M").await.unwrap(), 1);
    fixture.clock.advance(Duration::from_secs(60));
    assert_eq!(requests(&one).await, 3, "forgotten");
    assert_eq!(requests(&other).await, 1, "learnt again by another process");
}

/// Requests are refused for a moment, to several votes at the same time.
#[tokio::test]
async fn refusals_of_concurrent_votes_are_remembered_once() {
    let refusal =
        Action::Status(400, json!({ "error": { "message": "Provider returned error" } }).to_string());
    let fixture = Fixture::with_actions([
        refusal.clone(),
        refusal.clone(),
        Action::Says("{value}".into()),
        Action::Says("{value}".into()),
        Action::Obey(Forms::ALL),
    ]);
    let upstream = fixture.upstream();
    let (one, other) = tokio::join!(vote(&upstream), vote(&upstream));
    assert_eq!((one.vote, other.vote), (Ok(FIRST), Ok(FIRST)));
    assert_eq!(vote(&upstream).await.vote, Ok(FIRST));
    let asked = fixture.server.received("m");
    assert_eq!(asked.last().unwrap().requested_form, Required, "{}", asked.len());
}
