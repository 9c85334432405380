//! `dry_run_poll`: reports all errors of a poll request at once, and its price.

use ep_kernel::FieldFault;
use ep_kernel::schema;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::draft::{PollRequest, plan};
use super::estimate::DryRun;
use super::selection::NamedModels;
use crate::prelude::*;

/// Checks and prices a poll.
pub struct DryRunPoll;

impl Tool for DryRunPoll {
    const SPEC: Spec = Spec {
        name: "dry_run_poll",
        title: "Check and price a poll",
        summary: "Validates a poll and estimates its cost and latency. Asks no model, costs nothing.",
        manual: include_str!("dry_run_poll.md"),
        example: include_str!("dry_run_poll.example.json"),
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::post("/api/poll/dry-run").only(Access::KEY)),
        agents: Agents::None,
        intents: &[
            "what would this very poll cost",
            "check my question and options for errors",
            "validate a poll without running it",
            "dry run a poll",
            "validate the input only",
            "is this poll request valid before I spend anything",
            "test a poll without asking any model",
            "check that my options are ok",
            "preview the cost of this exact question",
        ],
        faults: &[Kind::NotConfigured, Kind::Unavailable],
        ..Spec::PLAIN
    };
    type Input = UncheckedRequest;
    type Output = DryRun;

    fn check(input: Value) -> Result<(), Fault> {
        PollRequest::check(input)
    }

    async fn other_mistakes(cx: &Ctx, input: &Value) -> Option<Fault> {
        NamedModels::mistakes(cx, input).await
    }

    async fn call(cx: &Ctx, UncheckedRequest(mut members): UncheckedRequest) -> Result<DryRun, Fault> {
        let mut errors = Vec::new();
        let draft = loop {
            let request = schema::decode::<PollRequest>(Value::Object(members.clone()));
            let drafted = match request {
                Ok(request) => request.resolve(cx).await,
                Err(fault) => Err(fault),
            };
            match drafted {
                Ok(draft) => break draft,
                Err(fault) if fault.kind() != Kind::InvalidInput => return Err(fault),
                Err(fault) => {
                    let wrong = fault.fields();
                    errors.extend(wrong.iter().map(FieldFault::message));
                    if wrong.is_empty() {
                        errors.push(fault.message().to_owned());
                    }
                    // Continue with placeholders, to report errors that are found after decoding too.
                    let replaced = wrong.iter().map(|wrong| placeholder(&mut members, root(&wrong.field)));
                    if !replaced.fold(false, |any, one| any | one) {
                        return Ok(DryRun { dry_run: true, valid: false, errors, estimates: None });
                    }
                }
            }
        };
        match plan(cx, draft).await {
            Ok(plan) => {
                let priced = DryRun::of(cx, &plan);
                errors.extend(priced.errors);
                Ok(DryRun { valid: errors.is_empty(), errors, ..priced })
            }
            Err(fault) if matches!(fault.kind(), Kind::InvalidPreset | Kind::InvalidInput) => {
                errors.push(fault.message().to_owned());
                Ok(DryRun { dry_run: true, valid: false, errors, estimates: None })
            }
            Err(fault) => Err(fault),
        }
    }
}

fn root(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

/// Replaces or removes an invalid field. Returns false if that was tried before.
fn placeholder(members: &mut Map<String, Value>, wrong: &str) -> bool {
    let placeholder = match wrong {
        "question" => json!("What would be asked?"),
        "options" => json!(["first", "second"]),
        "scale" if !members.contains_key("options") => json!({ "levels": ["first", "second"] }),
        optional => return members.remove(optional).is_some(),
    };
    members.insert(wrong.to_owned(), placeholder.clone()) != Some(placeholder)
}

/// An unchecked poll request. The tool checks it, to report errors instead of rejecting the request.
#[derive(Debug, Deserialize)]
pub struct UncheckedRequest(Map<String, Value>);

impl JsonSchema for UncheckedRequest {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "UncheckedPollRequest".into()
    }
    /// Returns the schema of a poll request without required fields.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = PollRequest::json_schema(generator);
        schema.remove("required");
        schema.remove("anyOf");
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Service;

    #[tokio::test]
    async fn all_errors_are_reported_at_once() {
        let service = Service::start().await;
        let user = service.user().await;
        let input = json!({ "question": "short", "options": ["one"], "confidence_threshold": 7, "preset": "no such" });
        let answer = service.call::<DryRunPoll>(&user, input).await.unwrap().value;
        assert_eq!((&answer["valid"], &answer["estimates"]), (&json!(false), &Value::Null));
        let errors = answer["errors"].to_string();
        for member in ["question", "options", "confidence_threshold", "preset"] {
            assert!(errors.contains(member), "{member} in {errors}");
        }
        for (members, named) in [
            (json!({ "models": ["demo/no-such", "demo/*-mini"] }), "demo/no-such"),
            (json!({ "exclude": ["no/such*"] }), "no/such*"),
            (json!({ "models": ["demo/*"], "preset": "budget" }), "one of the two"),
            (json!({ "models": ["no", ""] }), "models"),
        ] {
            let mut input =
                json!({ "question": "Which of the two is better?", "options": ["Alpha", "Beta"] });
            input.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            let answer = service.call::<DryRunPoll>(&user, input).await.unwrap().value;
            assert_eq!(answer["valid"], false, "{answer}");
            assert!(answer["errors"].to_string().contains(named), "{answer}");
        }
        let good = json!({ "question": "Which of the two is better?", "options": ["Alpha", "Beta"] });
        assert_eq!(service.call::<DryRunPoll>(&user, good).await.unwrap().value["valid"], true);
    }
}
