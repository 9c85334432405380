//! Opens the poll of the form, with the visitor's account or with the free models.

use ep_kernel::dispatch::{self, admit, dispatch};
use ep_kernel::guard::Credential;
use ep_kernel::{Call, CallOutput, Fault, Kind, MessageContent, ParsedInput, StartedEvent, Tool};
use ep_polling::{FreeQuestion, PollId, Question};
use ep_site::http::{AppState, CallStep, RequestHead, Steps};
use ep_tools::entry_of;
use ep_tools::polls::{
    FreeAnswer, OpenQuestion, PollFree, PollQuestion, ProposeOptions, ProposedOptions, StartPoll,
};
use ep_tools::reader::{Choices, Reading, read_question};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::form_values::PollFormValues;

/// Opens a poll and returns its id without waiting for the result. Visitors with an account use its models; other
/// visitors use the free models.
pub(super) async fn open(
    state: &AppState,
    head: &RequestHead,
    values: &PollFormValues,
) -> Result<PollId, Fault> {
    if values.question.is_empty() {
        return Err(Fault::invalid("question", "write a question"));
    }
    let signed_in = !matches!(head.credential, Credential::None);
    if signed_in || values.needs_account() {
        match start(state, head, values).await {
            // A visitor with an expired session asks the free models, unless the form requires an account.
            Err(fault) if fault.rejects_credential() && !values.needs_account() => {}
            done => return done,
        }
    }
    ask_free(state, head, free_question(values), Some(key(values))).await
}

pub(super) async fn start(
    state: &AppState,
    head: &RequestHead,
    values: &PollFormValues,
) -> Result<PollId, Fault> {
    let mut input = question(values)?;
    match values.profile() {
        Some(profile) => drop(input.insert("profile".into(), profile.into())),
        None => drop(input.insert("preset".into(), "free".into())),
    }
    for (name, text) in [("confidence_threshold", &values.confidence), ("max_cost_usd", &values.max_cost)] {
        if !text.is_empty() {
            let number = text.trim_start_matches('$').parse::<f64>().ok().filter(|number| number.is_finite());
            // The field's validation rejects other text. The text is passed unchanged, because an empty field
            // counts as absent.
            input.insert(name.into(), number.map_or_else(|| text.as_str().into(), Value::from));
        }
    }
    if values.private {
        input.insert("private".into(), true.into());
    }
    let call = Call {
        idempotency_key: Some(key(values)),
        ..Call::new(head.guarded("web", head.credential.clone()))
    };
    let done = dispatch(&state.app, entry_of::<StartPoll>()?, call, Ok(input.into())).await.result;
    poll_of(done.and_then(|done| Ok(done.typed::<<StartPoll as Tool>::Output>()?.output.poll_id)))
}

/// Opens a free poll without a credential, and returns as soon as the poll has started.
async fn ask_free(
    state: &AppState,
    head: &RequestHead,
    input: Map<String, Value>,
    idempotency_key: Option<String>,
) -> Result<PollId, Fault> {
    let (steps, mut queue) = Steps::queue();
    let call = Call {
        idempotency_key,
        progress: Some(steps.sink()),
        ..Call::new(head.guarded("web", Credential::None))
    };
    let admitted = match admit(&state.app, entry_of::<PollFree>()?, call).await {
        Ok(admitted) => admitted,
        Err(rejection) => return poll_of(free_poll(rejection.result)),
    };
    steps.run(&state.app.tasks, admitted.run(Ok(input.into())), false);
    match queue.recv().await {
        Some(CallStep::Progress(step)) => serde_json::from_value(step.data)
            .map(|StartedEvent { poll_id, .. }| poll_id)
            .map_err(Fault::internal),
        Some(CallStep::End(done)) => poll_of(free_poll(done.result)),
        None => Err(Fault::internal("the call ended without a result")),
    }
}

/// Returns the poll of a call. A form that is submitted again while its poll is running leads to that poll.
pub(super) fn poll_of(opened: Result<PollId, Fault>) -> Result<PollId, Fault> {
    match opened {
        Err(fault) if fault.kind() == Kind::InProgress => fault.poll().cloned().ok_or(fault),
        opened => opened,
    }
}

/// Returns the id of a free poll that has ended.
pub(super) fn free_poll(done: Result<CallOutput, Fault>) -> Result<PollId, Fault> {
    match done?.typed()?.output {
        FreeAnswer::Complete(reply) => Ok(reply.poll_id),
        FreeAnswer::DryRun(_) => Err(Fault::internal("a poll of the form was only checked")),
    }
}

/// True if the form has an open question, for which models can propose options. Nobody else sees the question of a private poll.
pub(super) fn is_open(values: &PollFormValues) -> bool {
    let is_open = |read| matches!(read, Reading::Question(read) if read.choices == Choices::Open && !read.terms.private);
    values.options.is_empty()
        && !values.private
        && !values.question.contains('[')
        && is_open(read_question(&values.question))
}

/// Asks free models for options. The visitor reads them before the poll opens.
pub(super) async fn propose(
    state: &AppState,
    head: &RequestHead,
    question: &str,
) -> Result<ProposedOptions, Fault> {
    let question =
        FreeQuestion::new(question).map_err(|rule| Fault::invalid("question", rule.to_string()))?;
    let call = Call::new(head.guarded("web", Credential::None));
    let input = OpenQuestion { question };
    Ok(dispatch::call::<ProposeOptions>(&state.app, entry_of::<ProposeOptions>()?, call, input).await?.output)
}

/// Builds the input of a free poll: options from their fields, from the question, or proposed by the service.
fn free_question(values: &PollFormValues) -> Map<String, Value> {
    let options = &values.options;
    let name = if options.is_empty() && values.question.contains('[') { "poll" } else { "question" };
    let mut members = Map::from_iter([(name.to_owned(), Value::from(values.question.as_str()))]);
    if !options.is_empty() {
        members.insert("options".to_owned(), options.as_slice().into());
    }
    members
}

/// Builds the input of other polls. Without options, they are parsed from the question as for agents.
pub(super) fn question(values: &PollFormValues) -> Result<Map<String, Value>, Fault> {
    if !values.options.is_empty() {
        return Ok(free_question(values));
    }
    let understood =
        entry_of::<PollQuestion>()?.parse_input(&Map::new(), MessageContent::Text(&values.question));
    if let Some(ParsedInput::Input(understood)) = understood {
        return Ok(understood);
    }
    let (head, _) = values.question.rsplit_once('[').unwrap_or((&values.question, ""));
    Question::new(head).map_err(|rule| Fault::invalid("question", rule.to_string()))?;
    Err(Fault::invalid(
        "options",
        "add 2 to 10 options, for example Rent and Buy: none could be read from the question",
    ))
}

/// Returns the idempotency key of a form. The same form opens one poll; a changed form opens another.
pub(super) fn key(values: &PollFormValues) -> String {
    let PollFormValues { question, options, voters, confidence, max_cost, private, nonce, .. } = values;
    let mut digest = Sha256::new();
    let parts = [question, voters, confidence, max_cost, &private.to_string(), nonce];
    for part in parts.into_iter().chain(options) {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    hex::encode(digest.finalize())
}
