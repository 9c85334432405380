//! The ladder, against servers as they are.

use ep_kernel::ports::{Models as _, UpstreamCache as _};
use ep_polling::roster::ModelId;
use ep_upstream::Upstream;
use ep_upstream::testing::{Action, Behaviour, Form, Forms, RequestedForm, Script, bare, priced};
use serde_json::{Value, json};

use super::{FIRST, LONG, Rig, member, view, vote};
use ep_upstream::testing::RequestedForm::{Auto, Object, Prose, Required, Schema};

/// What so many votes ask for on a server like this one.
async fn asked(forms: Forms, votes: usize) -> Vec<RequestedForm> {
    let rig = Rig::acting([Action::Obey(forms)]);
    let upstream = rig.upstream();
    for _ in 0..votes {
        assert_eq!(vote(&upstream).await.vote, Ok(FIRST));
    }
    rig.server.received("m").iter().map(|seen| seen.requested_form).collect()
}

#[tokio::test]
async fn what_is_obeyed_stays() {
    assert_eq!(asked(Forms::ALL, 3).await, [Required; 3]);
    assert_eq!(asked(Forms::LLAMA_CPP, 3).await, [Required; 3]);
}

#[tokio::test]
async fn what_is_refused_steps_down_at_once_and_stays_there() {
    assert_eq!(asked(Forms::THINKING, 2).await, [Required, Object, Auto, Auto]);
    assert_eq!(asked(Forms::NO_FORCED_CHOICE, 2).await, [Required, Object, Auto, Auto]);
    assert_eq!(asked(Forms::NO_TOOLS, 2).await, [Required, Schema, Schema]);
    assert_eq!(asked(Forms::LLAMA_CPP_BARE, 2).await, [Required, Schema, Schema]);
    assert_eq!(asked(Forms::VLLM_BARE, 2).await, [Required, Object, Object]);
    assert_eq!(asked(Forms::TEXT_ONLY, 2).await, [Required, Schema, Prose, Prose]);
}

#[tokio::test]
async fn what_is_ignored_twice_steps_down() {
    // The text is read, so no vote is lost on the way.
    assert_eq!(
        asked(Forms::OLLAMA, 8).await,
        [Required, Required, Object, Object, Auto, Auto, Schema, Schema]
    );
    // An object is refused there, so the second miss leads past it.
    assert_eq!(asked(Forms::LM_STUDIO, 4).await, [Required, Required, Object, Auto, Auto]);
}

#[tokio::test]
async fn a_repair_skips_what_is_known_to_be_refused() {
    let forms = Forms {
        required: Form::Ignored("I cannot say."),
        schema: Form::Refused(400, "response_format is not supported"),
        ..Forms::ALL
    };
    let rig = Rig::acting([Action::Obey(forms)]);
    let upstream = rig.upstream();
    for _ in 0..2 {
        assert_eq!(vote(&upstream).await.vote, Ok(FIRST));
    }
    let asked: Vec<_> = rig.server.received("m").iter().map(|seen| seen.requested_form).collect();
    assert_eq!(asked, [Required, Schema, Prose, Required, Prose]);
}

#[tokio::test]
async fn rungs_outlive_a_restart() {
    let rig = Rig::acting([Action::Obey(Forms::THINKING)]);
    assert_eq!(vote(&rig.upstream()).await.vote, Ok(FIRST));
    rig.settle().await;
    let kept = rig.memory.fallback_levels(&rig.server.base_url()).await.unwrap();
    assert_eq!(kept, [(ModelId::new("m"), 2)]);
    let before = rig.server.calls("m");
    assert_eq!(vote(&rig.upstream()).await.vote, Ok(FIRST));
    let seen = rig.server.received("m");
    assert_eq!(seen[before..].iter().map(|seen| seen.requested_form).collect::<Vec<_>>(), [Auto]);
}

/// A listed model with these members on top of the usual ones.
fn listed(id: &str, more: &Value) -> Value {
    let mut entry = priced(id, "0.000001", "0.000001");
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

async fn first_request(upstream: &Upstream, rig: &Rig, model: &str) -> (RequestedForm, Value) {
    assert_eq!(upstream.vote(&member(model), &view(), LONG).await.vote, Ok(FIRST), "{model}");
    let seen = rig.server.received(model).swap_remove(0);
    (seen.requested_form, seen.body)
}

#[tokio::test]
async fn the_first_rung_and_the_effort_follow_the_registry() {
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
    let rig = Rig::new(script);
    let upstream = rig.upstream();
    upstream.registry().await.unwrap();
    for (model, expected) in
        [("forced", Required), ("loose", Auto), ("shaped", Schema), ("plain", Prose), ("unknown", Required)]
    {
        let (requested_form, body) = first_request(&upstream, &rig, model).await;
        assert_eq!(requested_form, expected, "{model}");
        assert_eq!(body.get("reasoning"), None);
    }
    let (_, body) = first_request(&upstream, &rig, "deep").await;
    assert_eq!(body["reasoning"], json!({ "effort": "low", "exclude": true }));
}

#[tokio::test]
async fn the_request_is_what_servers_expect() {
    let rig = Rig::new(Script::default());
    let (_, body) = first_request(&rig.upstream(), &rig, "m").await;
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
                    "type": "string", "description": "The code of the option you choose.", "enum": ["QX", "WZ", "KD"],
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
    let rig = Rig::acting([Action::Obey(Forms::NO_TOOLS)]);
    vote(&rig.upstream()).await;
    let body = &rig.server.received("m")[1].body;
    assert_eq!(body["response_format"]["type"], "json_schema");
    assert_eq!(body["response_format"]["json_schema"]["strict"], true);
    assert_eq!(body["response_format"]["json_schema"]["schema"]["properties"]["option"]["enum"][0], "QX");
    assert_eq!(body.get("parallel_tool_calls"), None);
}

#[tokio::test]
async fn optional_parameters_are_dropped_where_they_are_refused() {
    let complain =
        |message: &str| Action::Status(400, json!({ "error": { "message": message } }).to_string());
    let rig = Rig::acting([
        complain("Unrecognized request argument supplied: parallel_tool_calls"),
        complain("Extra inputs are not permitted: tools.0.function.strict"),
        complain("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        Action::Obey(Forms::ALL),
    ]);
    let upstream = rig.upstream();
    for _ in 0..2 {
        assert_eq!(vote(&upstream).await.vote, Ok(FIRST));
    }
    let seen = rig.server.received("m");
    assert_eq!(seen.len(), 5, "the second vote knows");
    let body = &seen[4].body;
    assert_eq!(body["max_completion_tokens"], 256);
    assert_eq!((body.get("max_tokens"), body.get("parallel_tool_calls")), (None, None));
    assert_eq!(body["tools"][0]["function"].get("strict"), None);
    assert_eq!(seen[4].requested_form, Required);
}

#[tokio::test]
async fn refusals_inside_an_answer_step_down_too() {
    let error = json!({ "code": 404, "message": "No endpoints found that support tool use." });
    let rig = Rig::new(
        Script::default().with("m", Behaviour::of([Action::TopLevelError(error), Action::Obey(Forms::ALL)])),
    );
    assert_eq!(vote(&rig.upstream()).await.vote, Ok(FIRST));
    assert_eq!(rig.server.received("m")[1].requested_form, Schema);
}

#[tokio::test]
async fn a_server_that_reports_a_missed_call_is_asked_below_the_tools() {
    let error = json!({ "message": "Failed to call a function.", "type": "invalid_request_error", "code": "tool_use_failed" });
    let rig = Rig::acting([
        Action::Status(400, json!({ "error": error }).to_string()),
        Action::Obey(Forms::ALL),
        Action::Obey(Forms::ALL),
    ]);
    let upstream = rig.upstream();
    for _ in 0..2 {
        assert_eq!(vote(&upstream).await.vote, Ok(FIRST));
    }
    let asked: Vec<_> = rig.server.received("m").iter().map(|seen| seen.requested_form).collect();
    assert_eq!(asked, [Required, Schema, Required], "one miss does not move the model");
}

#[tokio::test]
async fn words_about_something_else_do_not_step_down() {
    for (status, message) in [
        (400, "This model's maximum context length is 8192 tokens, of which 100 in the functions"),
        (404, "The model does not exist"),
        (500, "error parsing tool call"),
    ] {
        let rig = Rig::acting([Action::Status(status, json!({ "error": message }).to_string())]);
        assert!(vote(&rig.upstream()).await.vote.is_err());
        assert!(rig.server.received("m").iter().all(|seen| seen.requested_form == Required), "{message}");
    }
}

#[tokio::test]
async fn a_model_without_a_system_role_reads_the_same_words() {
    let message = "Developer instruction is not enabled for models/small";
    let rig = Rig::acting([
        Action::Status(400, json!({ "error": { "message": message } }).to_string()),
        Action::Obey(Forms::ALL),
    ]);
    assert_eq!(vote(&rig.upstream()).await.vote, Ok(FIRST));
    let body = &rig.server.received("m")[1].body;
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    assert!(body["messages"][0]["content"].as_str().unwrap().starts_with("You are one voter in a poll."));
}
