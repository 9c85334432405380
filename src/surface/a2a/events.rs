//! The events of a task, as a stream: what `SendStreamingMessage` and `SubscribeToTask` answer with.
//!
//! First the task, then an update of its status for every vote, then its result and its last status. What is refused
//! before the first event is an error like any other.

use std::time::Duration;

use ep_kernel::answer::Answer;
use ep_kernel::event::{MAX_EVENTS, Progress};
use ep_kernel::fault::Fault;
use ep_kernel::ports::TaskState;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::conversation::Conversation;
use super::dialect::Dialect;
use super::errors::Refusal;
use super::message::Sent;
use super::operations::task_id;
use super::request::AgentRequest;
use super::sending::{Begun, begin};
use super::task::{History, View};
use crate::surface::http::{Step, Steps, received};

/// The events of a task, in its dialect.
pub(super) type Events = BoxStream<'static, Result<Value, Refusal>>;

/// `SendStreamingMessage`, `message/stream`.
pub(super) async fn send(agent: &AgentRequest, params: &Value, dialect: Dialect) -> Result<Events, Refusal> {
    let sent = Sent::read(params, dialect)?;
    let view = View { dialect, history: History::of(sent.history_of(), dialect)?, artifacts: true };
    match begin(agent, &sent).await? {
        Begun::Answer(message) => Ok(frames(vec![dialect.message_event(message)])),
        Begun::Task(conversation) => follow(agent, *conversation, view).await,
    }
}

/// `SubscribeToTask`, `tasks/resubscribe`: from now on.
pub(super) async fn subscribe(
    agent: &AgentRequest,
    params: &Value,
    dialect: Dialect,
) -> Result<Events, Refusal> {
    let id = task_id(params)?;
    let conversation = agent.task(id).await?;
    if conversation.task.state.is_final() {
        let text = format!("task {id} has ended: there is nothing to subscribe to; read it instead");
        return Err(Refusal::Unsupported(text));
    }
    let view = View { dialect, history: History::of(params, dialect)?, artifacts: true };
    // Since 1.0 a subscription lasts until the task has ended, also while its client has to say more.
    if conversation.task.state == TaskState::InputRequired && dialect == Dialect::V1 {
        return Ok(wait(agent.clone(), conversation, view));
    }
    follow(agent, conversation, view).await
}

/// How often it is looked whether a task without a poll has gone on: any process can have taken its next message.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long such a task is looked after; then its client subscribes again.
const LOOK_FOR: Duration = Duration::from_hours(1);

/// The events of a task that waits for its client.
fn wait(agent: AgentRequest, mut conversation: Conversation, view: View) -> Events {
    let first = view.dialect.task_event(view.task(&conversation, None));
    let (events, queue) = mpsc::channel(MAX_EVENTS);
    let (tasks, stopping) = (agent.state.app.tasks.clone(), agent.state.app.tasks.token());
    tasks.spawn(async move {
        let until = Instant::now() + LOOK_FOR;
        while Instant::now() < until {
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = events.closed() => return,
                () = stopping.cancelled() => return,
            }
            let found = match agent.find(&conversation.task.id).await {
                Ok(Some(task)) if task.revision == conversation.task.revision => continue,
                Ok(Some(task)) => Conversation::of(task),
                // It is looked for again, or was deleted.
                Ok(None) => return,
                Err(_) => continue,
            };
            conversation = found;
            if conversation.task.poll.is_some() {
                return forward(follow(&agent, conversation, view).await, &events).await;
            }
            if conversation.said.opening.is_none() {
                let is_final = conversation.task.state.is_final();
                let status = view.status(&conversation, None);
                let event = view.status_event(&conversation, status, is_final, None);
                if events.send(Ok(event)).await.is_err() || is_final {
                    return;
                }
            }
        }
    });
    futures::stream::iter([Ok(first)]).chain(received(queue)).boxed()
}

async fn forward(from: Result<Events, Refusal>, to: &mpsc::Sender<Result<Value, Refusal>>) {
    match from {
        Ok(mut from) => {
            while let Some(event) = from.next().await {
                if to.send(event).await.is_err() {
                    return;
                }
            }
        }
        Err(refusal) => drop(to.send(Err(refusal)).await),
    }
}

async fn follow(agent: &AgentRequest, mut conversation: Conversation, view: View) -> Result<Events, Refusal> {
    let now = agent.answer(&conversation, Some(Duration::ZERO)).await?;
    let (Some(poll), Some(answer)) = (conversation.task.poll.clone(), &now) else {
        return Ok(only(&conversation, None, view));
    };
    if answer.presentation.interim.is_none() {
        return Ok(only(&conversation, Some(answer), view));
    }
    let seen = answer.value["answered"].as_u64();
    let first = view.dialect.task_event(View { artifacts: false, ..view }.task(&conversation, Some(answer)));
    let (steps, queue) = Steps::queue();
    let (follower, sink) = (agent.clone(), steps.sink());
    let done = async move { follower.follow_after(&poll, seen, sink).await };
    // It has been read; what was said is kept as long as the stream.
    conversation.task.content = String::new();
    steps.carry_out(&agent.state.app.tasks, done.boxed(), true);
    let rest = received(queue).flat_map(move |step| futures::stream::iter(events(&conversation, view, step)));
    Ok(futures::stream::iter([Ok(first)]).chain(rest).boxed())
}

/// A task that does not go on by itself.
fn only(conversation: &Conversation, answer: Option<&Answer>, view: View) -> Events {
    let mut events = vec![view.dialect.task_event(view.task(conversation, answer))];
    // Clients of 0.3 wait for a status that says that it is the last one.
    if view.dialect != Dialect::V1 {
        events.push(view.status_event(conversation, view.status(conversation, answer), true, None));
    }
    frames(events)
}

fn frames(events: Vec<Value>) -> Events {
    futures::stream::iter(events.into_iter().map(Ok)).boxed()
}

/// What a step of the poll is to its task.
fn events(
    conversation: &Conversation,
    view: View,
    step: Step<Result<Answer, Fault>>,
) -> Vec<Result<Value, Refusal>> {
    let done = match step {
        Step::Progress(step) if step.id == 0 => return Vec::new(),
        Step::Progress(step) => {
            let Progress { id, message, data, .. } = *step;
            let status = view.working(conversation, &message, id);
            return vec![Ok(view.status_event(conversation, status, false, Some(data)))];
        }
        Step::End(done) => *done,
    };
    match done {
        Err(fault) => vec![Err(fault.into())],
        Ok(answer) => {
            let status = view.status(conversation, Some(&answer));
            let last = view.status_event(conversation, status, true, None);
            if answer.presentation.interim.is_some() {
                // It goes on; the client has waited as long as anybody may.
                return vec![Ok(last)];
            }
            vec![Ok(view.artifact_event(conversation, &answer)), Ok(last)]
        }
    }
}

impl View {
    fn status_event(
        &self,
        conversation: &Conversation,
        status: Value,
        last: bool,
        metadata: Option<Value>,
    ) -> Value {
        let mut update = json!({
            "taskId": self.id(conversation), "contextId": conversation.task.context, "status": status,
        });
        if let Some(metadata) = metadata {
            update["metadata"] = metadata;
        }
        if self.dialect != Dialect::V1 {
            update["final"] = last.into();
        }
        self.dialect.update_event("statusUpdate", "status-update", update)
    }

    fn artifact_event(&self, conversation: &Conversation, answer: &Answer) -> Value {
        let update = json!({
            "taskId": self.id(conversation),
            "contextId": conversation.task.context,
            "artifact": self.artifact(conversation, answer),
            "append": false,
            "lastChunk": true,
        });
        self.dialect.update_event("artifactUpdate", "artifact-update", update)
    }
}

impl Dialect {
    /// A task among events, or as a result of sending a message.
    pub(super) fn task_event(self, task: Value) -> Value {
        if self.is_proto() { json!({ "task": task }) } else { task }
    }

    /// A message, likewise.
    pub(super) fn message_event(self, message: Value) -> Value {
        if self.is_proto() { json!({ "message": message }) } else { message }
    }

    fn update_event(self, name: &str, kind: &str, mut update: Value) -> Value {
        if self.is_proto() {
            return json!({ name: update });
        }
        update["kind"] = kind.into();
        update
    }
}
