//! Incoming messages: begin a task, continue one, or return a message.

use std::time::Duration;

use ep_kernel::reading;
use ep_kernel::reading::is_long;
use ep_kernel::{CallOutput, Effect, Fault, ParsedInput, Task};
use ep_polling::Timestamp;
use ep_store::TaskState;
use serde_json::{Map, Value};

use super::conversation::{Conversation, MAX_CONTENT, MAX_MESSAGES};
use super::dialect::Dialect;
use super::errors::{Answer, Refusal};
use super::fields::invalid;
use super::fixtures;
use super::message::SkillCall;
use super::message_form::stored;
use super::message_names::{Names, message_name, opening_name};
use super::modes::Modes;
use super::opening::{Opened, Opening, changing};
use super::payment;
use super::payment::{PaymentMessage, PaymentOutcome};
use super::pushes::PushConfig;
use super::request::AgentRequest;
use super::sent::Sent;
use super::task::{legacy_task, message};

/// Result of an incoming message.
pub(super) enum SendOutcome {
    /// A task.
    Task(Box<Conversation>),
    /// The output of an operation without a task, in its dialect.
    Output(Value),
}

/// Lease of a message that is opening a poll, for the case that its process dies.
const OPENING: Duration = Duration::from_mins(1);

/// Handles a message. Its poll or batch is opened and stored even if the client disconnects.
pub(super) async fn begin(agent: &AgentRequest, sent: &Sent<'_>) -> Answer<SendOutcome> {
    let modes = Modes::of(sent.configuration)?;
    let requested = PushConfig::with_message(agent, sent.params, sent.configuration)?;
    let begun = take(agent, sent, modes).await?;
    if let (SendOutcome::Task(conversation), Some(requested)) = (&begun, requested) {
        requested.store(agent, &conversation.task, sent.dialect).await?;
    }
    Ok(begun)
}

async fn take(agent: &AgentRequest, sent: &Sent<'_>, modes: Modes) -> Answer<SendOutcome> {
    if let Some(reply) = fixtures::reply(sent, &agent.head.request_id.to_string())? {
        return Ok(SendOutcome::Output(reply));
    }
    let existing = existing(agent, sent).await?;
    if let Some(known) = &existing
        && known.content.opening.is_none()
        && (known.has(sent) || (sent.task.is_none() && sent.client_id.is_none()))
    {
        return Ok(SendOutcome::Task(Box::new(known.clone())));
    }
    if let Some(known) = existing.as_ref().filter(|known| known.content.payments.is_due())
        && let Some(step) = payment::PaymentMessage::of(sent.message)?
    {
        takes_messages(agent, known, sent)?;
        return pay(agent, sent, known.clone(), step).await.map(|task| SendOutcome::Task(Box::new(task)));
    }
    let before = existing.as_ref().map(|known| known.content.known.clone()).unwrap_or_default();
    let SkillCall { entry, understood, mistakes } = skill_call(agent, sent, before).await?;
    if let Some((input, mistakes)) = mistakes {
        return Err(agent.refused(entry, input, mistakes).await.into());
    }
    let names = Names::of(agent, sent, entry, &understood);
    if let Some(known) = &existing {
        if sent.client_id.is_some() && names.opening.is_some() && known.task.opened_by == names.opening {
            // The same message in another form.
            return Ok(SendOutcome::Task(Box::new(known.clone())));
        }
        takes_messages(agent, known, sent)?;
    }
    let content = stored(sent.message, sent.context, sent.dialect);
    // The legacy protocol has no extensions.
    let pays = agent.payments.is_active() && sent.dialect != Dialect::Legacy;
    let opening = Opening { agent: agent.paying(pays), existing, content, modes, names };
    match understood {
        ParsedInput::Missing { ask, .. } if sent.dialect == Dialect::Legacy => {
            Err(invalid("message.parts", &format!("message.parts: {ask}")))
        }
        ParsedInput::Missing { ask, .. }
            if entry.spec.effect == Effect::Read && agent.admission.check_scope(Effect::Consult).is_err() =>
        {
            Err(invalid("message.parts", &ask))
        }
        ParsedInput::Missing { known, ask } => {
            opening.ask(known, &ask).await.map(|task| SendOutcome::Task(Box::new(task)))
        }
        ParsedInput::Input(input) if !entry.spec.task.starts() => {
            let key = opening.names.key.clone();
            let output = agent.dispatch(entry, Value::Object(input), key, None).await?;
            Ok(SendOutcome::Output(shown(agent, sent, modes, &output)))
        }
        ParsedInput::Input(input) => {
            let tasks = agent.state.app.tasks.clone();
            let opened = tasks.spawn(async move { opening.open(entry, input).await });
            match opened.await.map_err(Fault::internal)?? {
                Opened::Task(task) => Ok(SendOutcome::Task(Box::new(task))),
                Opened::Output(output) => Ok(SendOutcome::Output(shown(agent, sent, modes, &output))),
            }
        }
    }
}

/// Returns the skill of a message and its input. Long JSON in a text is parsed beside the async workers.
async fn skill_call(agent: &AgentRequest, sent: &Sent<'_>, before: Map<String, Value>) -> Answer<SkillCall> {
    let tools = agent.tools();
    if !is_long(sent.params) {
        return sent.skill_call(tools, &before);
    }
    let (params, dialect) = (sent.params.clone(), sent.dialect);
    reading::read_value(params, move |params| Sent::read(&params, dialect)?.skill_call(tools, &before))
        .await?
}

/// Handles a message about the payment that its task waits for: a payment opens the poll.
async fn pay(
    agent: &AgentRequest,
    sent: &Sent<'_>,
    mut known: Conversation,
    step: PaymentMessage,
) -> Answer<Conversation> {
    agent.check_scope(Effect::Consult)?;
    let entry = agent.operation(Task::Start)?;
    let input = known.content.known.clone();
    let names = Names::of(agent, sent, entry, &ParsedInput::Input(input.clone()));
    let content = stored(sent.message, sent.context, sent.dialect);
    let modes = known.content.modes;
    let agent = agent.paying(true);
    // A paid poll is opened even if the client disconnects.
    let tasks = agent.state.app.tasks.clone();
    let paid = tasks.spawn(async move {
        let paid = payment::take(&mut known.content.payments, &agent, step).await?;
        if let PaymentOutcome::Credited = paid {
            let opening = Opening { agent, existing: Some(known), content, modes, names };
            return match opening.open(entry, input).await? {
                Opened::Task(task) => Ok(task),
                Opened::Output(_) => Err(Fault::internal("a paid poll has no task").into()),
            };
        }
        known.content.messages.push(content.clone());
        known.task.since = agent.now();
        if let PaymentOutcome::Failed(code, why) = paid {
            if let Some((text, metadata)) = known.content.payments.failed(agent.payments.usdc(), code, &why) {
                known.ask_with(&text, metadata);
            }
        } else {
            known.task.state = TaskState::Canceled;
        }
        let opening = Opening { agent, existing: None, content, modes, names };
        opening.store(known, false).await
    });
    paid.await.map_err(Fault::internal)?
}

/// Returns the task that a message names or has opened before.
async fn existing(agent: &AgentRequest, sent: &Sent<'_>) -> Answer<Option<Conversation>> {
    let owner = agent.owner()?;
    if let Some(id) = sent.task {
        let known = agent.task(id).await?;
        if sent.context.is_some_and(|context| context != known.task.context) {
            let rule = format!("is not the context of task {id}: omit it, or send that task's context");
            return Err(invalid("message.contextId", &rule));
        }
        return Ok(Some(known));
    }
    if let Some(id) = sent.client_id {
        return Ok(agent.find(id).await?.map(Conversation::of));
    }
    let Some(name) = opening_name(agent, sent) else { return Ok(None) };
    let task = agent.tasks().task_opened_by(owner, &name).await.map_err(Fault::from)?;
    Ok(task.map(Conversation::of))
}

/// Rejects a message to a task that accepts none.
fn takes_messages(agent: &AgentRequest, known: &Conversation, sent: &Sent<'_>) -> Answer<()> {
    let task = &known.task;
    let id = sent.client_id.unwrap_or(&task.id);
    if task.state != TaskState::InputRequired {
        let text = format!(
            "task {id} accepts no further messages; send a message without a task id to begin a new one"
        );
        return Err(Refusal::Unsupported(text));
    }
    if known.content.messages.len() >= MAX_MESSAGES || task.content.len() >= MAX_CONTENT {
        let text =
            format!("task {id} has too many messages; send a message without a task id to begin a new one");
        return Err(Refusal::Unsupported(text));
    }
    let busy = known.content.opening.as_ref().is_some_and(|opening| {
        Some(opening) != message_name(sent).as_ref() && agent.now().since(task.since) < OPENING
    });
    if busy {
        return Err(changing(id).into());
    }
    Ok(())
}

/// Returns an output without a task, in its dialect.
fn shown(agent: &AgentRequest, sent: &Sent<'_>, modes: Modes, output: &CallOutput) -> Value {
    let fallback = agent.head.request_id.to_string();
    match sent.dialect {
        Dialect::Legacy => {
            let id = sent.client_id.or(output.presentation.task_id.as_deref()).unwrap_or(&fallback);
            let now: Timestamp = agent.now();
            legacy_task(id, modes, sent.context.unwrap_or(id), output, now)
        }
        dialect => message(dialect, modes, &fallback, sent.context, output),
    }
}
