//! Incoming messages: begin a task, continue one, or return a message.

use std::time::Duration;

use ep_kernel::canonical;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::output::CallOutput;
use ep_kernel::ports::{AgentTask, StoreError, TaskState};
use ep_kernel::tool::{Effect, Entry, ParsedInput, Task};
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::conversation::{Content, Conversation, MAX_CONTENT, MAX_MESSAGES};
use super::dialect::Dialect;
use super::errors::Refusal;
use super::fields::{field_of, invalid};
use super::fixtures;
use super::message::{SkillCall, skill_for};
use super::message_form::stored;
use super::modes::Modes;
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

/// Handles a message. Its poll is opened and stored even if the client disconnects.
pub(super) async fn begin(agent: &AgentRequest, sent: &Sent<'_>) -> Result<SendOutcome, Refusal> {
    let modes = Modes::of(sent.configuration)?;
    let requested = PushConfig::with_message(agent, sent.params, sent.configuration)?;
    let begun = take(agent, sent, modes).await?;
    if let (SendOutcome::Task(conversation), Some(requested)) = (&begun, requested) {
        requested.store(agent, &conversation.task, sent.dialect).await?;
    }
    Ok(begun)
}

async fn take(agent: &AgentRequest, sent: &Sent<'_>, modes: Modes) -> Result<SendOutcome, Refusal> {
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
    let SkillCall { entry, understood } = sent.skill_call(agent.tools(), &before)?;
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
        ParsedInput::Input(input) if entry.spec.task != Task::Start => {
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

/// Handles a message about the payment that its task waits for: a payment opens the poll.
async fn pay(
    agent: &AgentRequest,
    sent: &Sent<'_>,
    mut known: Conversation,
    step: PaymentMessage,
) -> Result<Conversation, Refusal> {
    agent.check_scope(Effect::Consult)?;
    let entry = skill_for(agent.tools(), Task::Start);
    let entry = entry.ok_or_else(|| Fault::internal("no operation starts polls"))?;
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
async fn existing(agent: &AgentRequest, sent: &Sent<'_>) -> Result<Option<Conversation>, Refusal> {
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
    let task = agent.tasks().opened_by(owner, &name).await.map_err(Fault::from)?;
    Ok(task.map(Conversation::of))
}

/// Rejects a message to a task that accepts none.
fn takes_messages(agent: &AgentRequest, known: &Conversation, sent: &Sent<'_>) -> Result<(), Refusal> {
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

fn changing(id: &str) -> Fault {
    Fault::new(Kind::Conflict, format!("another message to task {id} is in progress; retry this one"))
}

/// Idempotency names of a message.
struct Names {
    /// Name of the message that opens a task.
    opening: Option<String>,
    /// Idempotency key of the operation.
    key: Option<String>,
    /// Name of the message.
    message: Option<String>,
    /// The client's own task id.
    client_id: Option<String>,
    context: Option<String>,
}

impl Names {
    fn of(agent: &AgentRequest, sent: &Sent<'_>, entry: &Entry, understood: &ParsedInput) -> Self {
        let input = match understood {
            ParsedInput::Input(input) => input,
            ParsedInput::Missing { known, .. } => known,
        };
        let of_message = sent.client_id.or(sent.id).filter(|_| !fixtures::is_fixture(sent.message));
        let of_message = of_message.map(|id| digest(&json!([id, entry.spec.name, input])));
        Self {
            opening: opening_name(agent, sent).or_else(|| sent.client_id.and(of_message.clone())),
            key: of_message,
            message: message_name(sent),
            client_id: sent.client_id.map(str::to_owned),
            context: sent.context.map(str::to_owned),
        }
    }
}

/// Returns the name of a message that opens a task: its id and content, unless the client sends a key or a task id.
fn opening_name(agent: &AgentRequest, sent: &Sent<'_>) -> Option<String> {
    if agent.head.idempotency_key.is_some() || sent.client_id.is_some() || fixtures::is_fixture(sent.message)
    {
        return None;
    }
    message_name(sent)
}

fn message_name(sent: &Sent<'_>) -> Option<String> {
    let parts = stored(sent.message, None, sent.dialect);
    let mut parts = field_of(&parts, "parts", "content").cloned().unwrap_or_default();
    // The same content in another dialect gets the same name.
    for part in parts.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        part.retain(|name, _| matches!(name.as_str(), "text" | "data"));
    }
    sent.client_id.or(sent.id).map(|id| digest(&json!([id, parts])))
}

fn digest(value: &Value) -> String {
    format!("a2a-{}", hex::encode(Sha256::digest(canonical::text(value))))
}

/// A message that opens or continues a task.
struct Opening {
    agent: AgentRequest,
    existing: Option<Conversation>,
    content: Value,
    modes: Modes,
    names: Names,
}

enum Opened {
    Task(Conversation),
    Output(CallOutput),
}

impl Opening {
    /// Returns a task that begins with this message.
    fn conversation(&self, id: String, state: TaskState) -> Result<Conversation, Fault> {
        let Names { opening, client_id, context, .. } = &self.names;
        let task = AgentTask {
            owner: self.agent.owner()?,
            context: context.clone().unwrap_or_else(|| id.clone()),
            client_id: client_id.clone(),
            opened_by: opening.clone(),
            poll: None,
            state,
            since: self.agent.now(),
            revision: 1,
            content: String::new(),
            id,
        };
        Ok(Conversation { task, content: Content { modes: self.modes, ..Content::default() } })
    }

    /// Returns the existing or a new task, in the state that waits for its client.
    fn waiting(&self) -> Result<Conversation, Fault> {
        if let Some(existing) = &self.existing {
            return Ok(existing.clone());
        }
        let id = PollId::new(self.agent.now(), self.agent.state.app.entropy.bytes()).to_string();
        self.conversation(id, TaskState::InputRequired)
    }

    /// Asks the client for missing input.
    async fn ask(self, known: Map<String, Value>, ask: &str) -> Result<Conversation, Refusal> {
        let begun = self.existing.is_none();
        let mut conversation = self.waiting()?;
        conversation.task.since = self.agent.now();
        conversation.content.opening = None;
        conversation.content.known = known;
        conversation.content.messages.push(self.content.clone());
        conversation.ask(ask);
        self.store(conversation, begun).await
    }

    /// Opens the poll and stores the task.
    async fn open(mut self, entry: &'static Entry, input: Map<String, Value>) -> Result<Opened, Refusal> {
        if let Some(existing) = self.existing.take() {
            self.existing = Some(self.claim(existing).await?);
        }
        let key = self.names.key.clone();
        let sent = Value::Object(input.clone());
        let output = self.agent.dispatch(entry, sent, key, Some(Duration::ZERO)).await;
        let poll = match &output {
            Ok(output) => output.presentation.task_id.as_deref().and_then(|id| id.parse().ok()),
            // The same message is already in progress.
            Err(fault) => fault.poll().filter(|_| fault.kind() == Kind::InProgress).cloned(),
        };
        let Some(poll): Option<PollId> = poll else {
            if let Err(fault) = &output
                && let Some(cents) = payment::due(&self.agent, fault)
            {
                return self.ask_for_payment(input, cents).await.map(Opened::Task);
            }
            self.release().await;
            return Ok(Opened::Output(output?));
        };
        let begun = self.existing.is_none();
        let mut conversation = match self.existing.clone() {
            Some(existing) => existing,
            None => self.conversation(poll.to_string(), TaskState::Working)?,
        };
        if begun {
            conversation.content.messages.push(self.content.clone());
        }
        conversation.content.opening = None;
        conversation.content.known = Map::new();
        conversation.content.payments.settle();
        conversation.task.poll = Some(poll);
        self.store(conversation, begun).await.map(Opened::Task)
    }

    /// Asks the client to pay this much before the poll is opened.
    async fn ask_for_payment(self, input: Map<String, Value>, cents: u32) -> Result<Conversation, Refusal> {
        let begun = self.existing.is_none();
        let mut conversation = self.waiting()?;
        if begun {
            conversation.content.messages.push(self.content.clone());
        }
        conversation.content.opening = None;
        conversation.content.known = input;
        conversation.task.since = self.agent.now();
        let usdc = self.agent.payments.usdc();
        if let Some((text, metadata)) = conversation.content.payments.ask(usdc, cents) {
            conversation.ask_with(&text, metadata);
        }
        self.store(conversation, begun).await
    }

    /// Claims the task for this message, so that no other message opens its poll.
    async fn claim(&self, mut conversation: Conversation) -> Result<Conversation, Refusal> {
        if conversation.content.opening != self.names.message || self.names.message.is_none() {
            conversation.content.messages.push(self.content.clone());
        }
        conversation.content.opening = Some(self.names.message.clone().unwrap_or_default());
        conversation.content.modes = self.modes;
        conversation.task.since = self.agent.now();
        self.store(conversation, false).await
    }

    /// Releases the claim of a message that opens no poll.
    async fn release(&self) {
        let Some(mut conversation) = self.existing.clone() else { return };
        conversation.content.opening = None;
        conversation.content.messages.pop();
        if let Err(refusal) = self.store(conversation, false).await {
            tracing::debug!(error = refusal.message(), "failed to release the claim of a message");
        }
    }

    /// Stores a task and reads it again.
    async fn store(&self, conversation: Conversation, begun: bool) -> Result<Conversation, Refusal> {
        self.agent.check_scope(Effect::Consult)?;
        let (tasks, stored) = (self.agent.tasks(), conversation.to_store());
        let written = if begun { tasks.add(&stored).await } else { tasks.change(&stored).await };
        let written = match written {
            // The poll already has a task.
            Err(StoreError::Conflict(_)) => false,
            written => written.map_err(Fault::from)?,
        };
        let mut found = self.agent.find(&stored.id).await?;
        if !written && begun && found.is_none() {
            let opening = stored.opened_by.as_deref().unwrap_or_default();
            found = tasks.opened_by(stored.owner, opening).await.map_err(Fault::from)?;
            if let (None, Some(id)) = (&found, &stored.client_id) {
                found = self.agent.find(id).await?;
            }
        }
        match found {
            Some(task) if written || begun || task.poll.is_some() && task.poll == stored.poll => {
                Ok(Conversation::of(task))
            }
            _ => Err(changing(&stored.id).into()),
        }
    }
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
