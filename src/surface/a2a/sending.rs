//! A message that comes in: it begins a task, continues one, or is answered at once.

use std::time::Duration;

use ep_kernel::answer::Answer;
use ep_kernel::canonical;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::ports::{AgentTask, StoreError, TaskState};
use ep_kernel::tool::{Effect, Entry, Task, Understood};
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::conversation::{Content, Conversation, MAX_CONTENT, MAX_MESSAGES};
use super::dialect::Dialect;
use super::errors::Refusal;
use super::message::{Asked, Sent, invalid};
use super::modes::Modes;
use super::pushes::Wanted;
use super::request::AgentRequest;
use super::task::{legacy_task, message, stored};

/// What a message leads to.
pub(super) enum Begun {
    /// A task.
    Task(Box<Conversation>),
    /// The answer of an operation that makes no task, as the dialect shows it.
    Answer(Value),
}

/// How long the message that opens a poll keeps others of its task out, if its process dies.
const OPENING: Duration = Duration::from_mins(1);

/// Takes a message. What it opens is open and kept even if the client goes away meanwhile.
pub(super) async fn begin(agent: &AgentRequest, sent: &Sent<'_>) -> Result<Begun, Refusal> {
    let modes = Modes::of(sent.configuration)?;
    let wanted = Wanted::with_message(agent, sent.params, sent.configuration)?;
    let begun = take(agent, sent, modes).await?;
    if let (Begun::Task(conversation), Some(wanted)) = (&begun, wanted) {
        wanted.store(agent, &conversation.task, sent.dialect).await?;
    }
    Ok(begun)
}

async fn take(agent: &AgentRequest, sent: &Sent<'_>, modes: Modes) -> Result<Begun, Refusal> {
    let existing = existing(agent, sent).await?;
    if let Some(known) = &existing
        && known.said.opening.is_none()
        && (known.has(sent) || (sent.task.is_none() && sent.client_id.is_none()))
    {
        return Ok(Begun::Task(Box::new(known.clone())));
    }
    let before = existing.as_ref().map(|known| known.said.known.clone()).unwrap_or_default();
    let Asked { entry, understood } = sent.asked(agent.tools(), &before)?;
    let names = Names::of(agent, sent, entry, &understood);
    if let Some(known) = &existing {
        if sent.client_id.is_some() && names.opening.is_some() && known.task.opened_by == names.opening {
            // The same in other words.
            return Ok(Begun::Task(Box::new(known.clone())));
        }
        takes_messages(agent, known, sent)?;
    }
    let said = stored(sent.message, sent.context, sent.dialect);
    let opening = Opening { agent: agent.clone(), existing, said, modes, names };
    match understood {
        Understood::Missing { ask, .. } if sent.dialect == Dialect::Legacy => {
            Err(invalid("message.parts", &format!("message.parts: {ask}")))
        }
        Understood::Missing { ask, .. }
            if entry.spec.effect == Effect::Read && agent.admission.check_scope(Effect::Consult).is_err() =>
        {
            Err(invalid("message.parts", &ask))
        }
        Understood::Missing { known, ask } => {
            opening.ask(known, &ask).await.map(|asked| Begun::Task(Box::new(asked)))
        }
        Understood::Input(input) if entry.spec.task != Task::Start => {
            let key = opening.names.key.clone();
            let answer = agent.dispatch(entry, Value::Object(input), key, None).await?;
            Ok(Begun::Answer(shown(agent, sent, modes, &answer)))
        }
        Understood::Input(input) => {
            let tasks = agent.state.app.tasks.clone();
            let opened = tasks.spawn(async move { opening.open(entry, input).await });
            match opened.await.map_err(Fault::internal)?? {
                Opened::Task(task) => Ok(Begun::Task(Box::new(task))),
                Opened::Answer(answer) => Ok(Begun::Answer(shown(agent, sent, modes, &answer))),
            }
        }
    }
}

/// The task that a message belongs to, or has opened before.
async fn existing(agent: &AgentRequest, sent: &Sent<'_>) -> Result<Option<Conversation>, Refusal> {
    let owner = agent.owner()?;
    if let Some(id) = sent.task {
        let known = agent.task(id).await?;
        if sent.context.is_some_and(|context| context != known.task.context) {
            let rule = format!("is not the context of task {id}: leave it out, or name that one");
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

/// Refuses a message to a task that takes none.
fn takes_messages(agent: &AgentRequest, known: &Conversation, sent: &Sent<'_>) -> Result<(), Refusal> {
    let task = &known.task;
    let id = sent.client_id.unwrap_or(&task.id);
    if task.state != TaskState::InputRequired {
        let text =
            format!("task {id} takes no further messages; send one without a task, which begins a new one");
        return Err(Refusal::Unsupported(text));
    }
    if known.said.messages.len() >= MAX_MESSAGES || task.content.len() >= MAX_CONTENT {
        let text =
            format!("task {id} has had too many messages; send one without a task, which begins a new one");
        return Err(Refusal::Unsupported(text));
    }
    let busy = known.said.opening.as_ref().is_some_and(|opening| {
        Some(opening) != message_name(sent).as_ref() && agent.now().since(task.since) < OPENING
    });
    if busy {
        return Err(changing(id).into());
    }
    Ok(())
}

fn changing(id: &str) -> Fault {
    Fault::new(Kind::Conflict, format!("another message of task {id} is being read; send this one again"))
}

/// The names by which a message and what it opens are known.
struct Names {
    /// What opens a task.
    opening: Option<String>,
    /// What makes the operation idempotent.
    key: Option<String>,
    /// The message itself.
    message: Option<String>,
    /// The id that the client gives the task.
    client_id: Option<String>,
    context: Option<String>,
}

impl Names {
    fn of(agent: &AgentRequest, sent: &Sent<'_>, entry: &Entry, understood: &Understood) -> Self {
        let input = match understood {
            Understood::Input(input) => input,
            Understood::Missing { known, .. } => known,
        };
        let of_message = sent.client_id.or(sent.id).map(|id| digest(&json!([id, entry.spec.name, input])));
        Self {
            opening: opening_name(agent, sent).or_else(|| sent.client_id.and(of_message.clone())),
            key: of_message,
            message: message_name(sent),
            client_id: sent.client_id.map(str::to_owned),
            context: sent.context.map(str::to_owned),
        }
    }
}

/// What opens a task: a message, by its id and its content, unless the client names keys or tasks itself.
fn opening_name(agent: &AgentRequest, sent: &Sent<'_>) -> Option<String> {
    if agent.head.idempotency_key.is_some() || sent.client_id.is_some() {
        return None;
    }
    message_name(sent)
}

fn message_name(sent: &Sent<'_>) -> Option<String> {
    let parts = stored(sent.message, None, sent.dialect);
    let mut parts = super::message::member(&parts, "parts", "content").cloned().unwrap_or_default();
    // The same content in another dialect is the same.
    for part in parts.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        part.retain(|name, _| matches!(name.as_str(), "text" | "data"));
    }
    sent.client_id.or(sent.id).map(|id| digest(&json!([id, parts])))
}

fn digest(value: &Value) -> String {
    format!("a2a-{}", hex::encode(Sha256::digest(canonical::text(value))))
}

/// A message on its way to becoming a task, or a part of one.
struct Opening {
    agent: AgentRequest,
    existing: Option<Conversation>,
    said: Value,
    modes: Modes,
    names: Names,
}

enum Opened {
    Task(Conversation),
    Answer(Answer),
}

impl Opening {
    /// A task that begins with this message.
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
        Ok(Conversation { task, said: Content { modes: self.modes, ..Content::default() } })
    }

    /// Asks the client for what is missing.
    async fn ask(self, known: Map<String, Value>, ask: &str) -> Result<Conversation, Refusal> {
        let begun = self.existing.is_none();
        let mut conversation = if let Some(existing) = &self.existing {
            existing.clone()
        } else {
            let id = PollId::new(self.agent.now(), self.agent.state.app.entropy.bytes()).to_string();
            self.conversation(id, TaskState::InputRequired)?
        };
        conversation.task.since = self.agent.now();
        conversation.said.opening = None;
        conversation.said.known = known;
        conversation.said.messages.push(self.said.clone());
        conversation.ask(ask);
        self.keep(conversation, begun).await
    }

    /// Opens the poll and keeps the task.
    async fn open(mut self, entry: &'static Entry, input: Map<String, Value>) -> Result<Opened, Refusal> {
        if let Some(existing) = self.existing.take() {
            self.existing = Some(self.claim(existing).await?);
        }
        let key = self.names.key.clone();
        let answer = self.agent.dispatch(entry, Value::Object(input), key, Some(Duration::ZERO)).await;
        let poll = match &answer {
            Ok(answer) => answer.presentation.task_id.as_deref().and_then(|id| id.parse().ok()),
            // The same message is being read at this moment.
            Err(fault) => fault.poll().filter(|_| fault.kind() == Kind::InProgress).cloned(),
        };
        let Some(poll): Option<PollId> = poll else {
            self.give_back().await;
            return Ok(Opened::Answer(answer?));
        };
        let begun = self.existing.is_none();
        let mut conversation = match self.existing.clone() {
            Some(existing) => existing,
            None => self.conversation(poll.to_string(), TaskState::Working)?,
        };
        if begun {
            conversation.said.messages.push(self.said.clone());
        }
        conversation.said.opening = None;
        conversation.said.known = Map::new();
        conversation.task.poll = Some(poll);
        self.keep(conversation, begun).await.map(Opened::Task)
    }

    /// Says in a task that this message opens its poll, so that no other one does.
    async fn claim(&self, mut conversation: Conversation) -> Result<Conversation, Refusal> {
        if conversation.said.opening != self.names.message || self.names.message.is_none() {
            conversation.said.messages.push(self.said.clone());
        }
        conversation.said.opening = Some(self.names.message.clone().unwrap_or_default());
        conversation.said.modes = self.modes;
        conversation.task.since = self.agent.now();
        self.keep(conversation, false).await
    }

    /// Undoes [`Opening::claim`], for a message that opens no poll.
    async fn give_back(&self) {
        let Some(mut conversation) = self.existing.clone() else { return };
        conversation.said.opening = None;
        conversation.said.messages.pop();
        if let Err(refusal) = self.keep(conversation, false).await {
            tracing::debug!(error = refusal.message(), "a task keeps a message that opened no poll");
        }
    }

    /// Stores a task and reads it again.
    async fn keep(&self, conversation: Conversation, begun: bool) -> Result<Conversation, Refusal> {
        self.agent.check_scope(Effect::Consult)?;
        let (tasks, stored) = (self.agent.tasks(), conversation.to_store());
        let kept = if begun { tasks.add(&stored).await } else { tasks.change(&stored).await };
        let kept = match kept {
            // Its poll has a task already.
            Err(StoreError::Conflict(_)) => false,
            kept => kept.map_err(Fault::from)?,
        };
        let mut found = self.agent.find(&stored.id).await?;
        if !kept && begun && found.is_none() {
            let opening = stored.opened_by.as_deref().unwrap_or_default();
            found = tasks.opened_by(stored.owner, opening).await.map_err(Fault::from)?;
            if let (None, Some(id)) = (&found, &stored.client_id) {
                found = self.agent.find(id).await?;
            }
        }
        match found {
            Some(task) if kept || begun || task.poll.is_some() && task.poll == stored.poll => {
                Ok(Conversation::of(task))
            }
            _ => Err(changing(&stored.id).into()),
        }
    }
}

/// An answer that is no task, as its dialect shows it.
fn shown(agent: &AgentRequest, sent: &Sent<'_>, modes: Modes, answer: &Answer) -> Value {
    let fallback = agent.head.request_id.to_string();
    match sent.dialect {
        Dialect::Legacy => {
            let id = sent.client_id.or(answer.presentation.task_id.as_deref()).unwrap_or(&fallback);
            let now: Timestamp = agent.now();
            legacy_task(id, modes, sent.context.unwrap_or(id), answer, now)
        }
        dialect => message(dialect, modes, &fallback, sent.context, answer),
    }
}
