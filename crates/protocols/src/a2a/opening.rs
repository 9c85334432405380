//! A message that opens a poll or a batch, or continues the conversation that leads to a poll.

use ep_kernel::{CallOutput, Effect, Entry, Fault, Kind, Task};
use ep_polling::PollId;
use ep_store::{AgentTask, StoreError, TaskState, TaskWork};
use serde_json::{Map, Value};

use super::conversation::{Content, Conversation};
use super::errors::Answer;
use super::message_names::Names;
use super::modes::Modes;
use super::payment;
use super::request::AgentRequest;

/// Returns the fault for a task that another message changes.
pub(super) fn changing(id: &str) -> Fault {
    Fault::new(Kind::Conflict, format!("another message to task {id} is in progress; retry this one"))
}

/// Returns the fault for a task whose poll or batch has another task.
fn taken(task: &AgentTask) -> Fault {
    let work = task.work.as_ref().map(TaskWork::id).unwrap_or_default();
    let message =
        format!("{work} has another task; send the message with another messageId and Idempotency-Key");
    Fault::new(Kind::Conflict, message)
}

/// A message that opens or continues a task.
pub(super) struct Opening {
    pub(super) agent: AgentRequest,
    pub(super) existing: Option<Conversation>,
    pub(super) content: Value,
    pub(super) modes: Modes,
    pub(super) names: Names,
}

/// A stored task, or the output of an operation that opened none.
pub(super) enum Opened {
    Task(Conversation),
    Output(CallOutput),
}

impl Opening {
    /// Returns a task that begins with this message.
    pub(super) fn conversation(&self, id: String, state: TaskState) -> Result<Conversation, Fault> {
        let Names { opening, client_id, context, .. } = &self.names;
        let task = AgentTask {
            owner: self.agent.owner()?,
            context: context.clone().unwrap_or_else(|| id.clone()),
            client_id: client_id.clone(),
            opened_by: opening.clone(),
            work: None,
            state,
            since: self.agent.now(),
            revision: 1,
            content: String::new(),
            id,
        };
        Ok(Conversation { task, content: Content { modes: self.modes, ..Content::default() } })
    }

    /// Returns the existing or a new task, in the state that waits for its client.
    pub(super) fn waiting(&self) -> Result<Conversation, Fault> {
        if let Some(existing) = &self.existing {
            return Ok(existing.clone());
        }
        let id = PollId::new(self.agent.now(), self.agent.state.app.ports.entropy.bytes()).to_string();
        self.conversation(id, TaskState::InputRequired)
    }

    /// Asks the client for missing input.
    pub(super) async fn ask(self, known: Map<String, Value>, ask: &str) -> Answer<Conversation> {
        let begun = self.existing.is_none();
        let mut conversation = self.waiting()?;
        conversation.task.since = self.agent.now();
        conversation.content.opening = None;
        conversation.content.known = known;
        conversation.content.messages.push(self.content.clone());
        conversation.ask(ask);
        self.store(conversation, begun).await
    }

    /// Opens the poll or the batch and stores the task.
    pub(super) async fn open(mut self, entry: &'static Entry, input: Map<String, Value>) -> Answer<Opened> {
        if let Some(existing) = self.existing.take() {
            self.existing = Some(self.claim(existing).await?);
        }
        let key = self.names.key.clone();
        let sent = Value::Object(input.clone());
        let output = self.agent.open(entry, sent, key).await;
        let work = match &output {
            Ok(output) => output.presentation.task_id.as_deref().and_then(TaskWork::of_id),
            // The same message is already in progress.
            Err(fault) if fault.kind() == Kind::InProgress => {
                let poll = fault.poll().cloned().map(TaskWork::Poll);
                poll.or_else(|| fault.batch().map(TaskWork::Batch))
            }
            Err(_) => None,
        };
        let Some(work) = work else {
            if let Err(fault) = &output
                && entry.spec.task == Task::Start
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
            None => self.conversation(work.id(), TaskState::Working)?,
        };
        if begun {
            conversation.content.messages.push(self.content.clone());
        }
        conversation.content.opening = None;
        conversation.content.known = Map::new();
        conversation.content.payments.settle();
        conversation.task.work = Some(work);
        let stored = self.store(conversation, begun).await;
        if stored.is_err() {
            self.release().await;
        }
        stored.map(Opened::Task)
    }

    /// Asks the client to pay this much before the poll is opened.
    async fn ask_for_payment(self, input: Map<String, Value>, cents: u32) -> Answer<Conversation> {
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
    async fn claim(&self, mut conversation: Conversation) -> Answer<Conversation> {
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
    pub(super) async fn store(&self, conversation: Conversation, begun: bool) -> Answer<Conversation> {
        self.agent.check_scope(Effect::Consult)?;
        let (tasks, stored) = (self.agent.tasks(), conversation.to_store());
        let written = if begun { tasks.add_task(&stored).await } else { tasks.change_task(&stored).await };
        let (written, is_taken) = match written {
            // The work already has a task.
            Err(StoreError::Conflict(_)) => (false, true),
            written => (written.map_err(Fault::from)?, false),
        };
        let mut found = self.agent.find(&stored.id).await?;
        if !written && begun && found.is_none() {
            let opening = stored.opened_by.as_deref().unwrap_or_default();
            found = tasks.task_opened_by(stored.owner, opening).await.map_err(Fault::from)?;
            if let (None, Some(id)) = (&found, &stored.client_id) {
                found = self.agent.find(id).await?;
            }
        }
        match found {
            Some(task) if written || begun || task.work.is_some() && task.work == stored.work => {
                Ok(Conversation::of(task))
            }
            _ if is_taken => Err(taken(&stored).into()),
            _ => Err(changing(&stored.id).into()),
        }
    }
}
