//! The event stream of a task, for `SendStreamingMessage` and `SubscribeToTask`.
//!
//! First the task, then a status update per vote, then its result and its last status. A refusal before the first
//! event is an ordinary error.

use std::time::Duration;

use ep_kernel::event::MAX_EVENTS;
use ep_kernel::{CallOutput, Fault, Kind, Progress};
use ep_site::http::{CallStep, Steps, received};
use ep_store::{BatchId, TaskState, TaskWork};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::conversation::Conversation;
use super::dialect::Dialect;
use super::errors::{Answer, Refusal};
use super::fields::task_id;
use super::request::{AgentRequest, CHECK_INTERVAL};
use super::sending::{SendOutcome, begin};
use super::sent::Sent;
use super::task::{History, View};

/// The events of a task, in its dialect.
pub(super) type Events = BoxStream<'static, Answer<Value>>;

/// `SendStreamingMessage`, `message/stream`.
pub(super) async fn send(agent: &AgentRequest, params: &Value, dialect: Dialect) -> Answer<Events> {
    let sent = Sent::read(params, dialect)?;
    let view = View { dialect, history: History::of(sent.history_of(), dialect)?, artifacts: true };
    match begin(agent, &sent).await? {
        SendOutcome::Output(message) => Ok(frames(vec![dialect.message_event(message)])),
        SendOutcome::Task(conversation) => follow(agent, *conversation, view).await,
    }
}

/// `SubscribeToTask`, `tasks/resubscribe`: future events only.
pub(super) async fn subscribe(agent: &AgentRequest, params: &Value, dialect: Dialect) -> Answer<Events> {
    let id = task_id(params)?;
    let conversation = agent.task(id).await?;
    if conversation.task.state.is_final() {
        let text = format!("task {id} has ended; read it instead of subscribing");
        return Err(Refusal::Unsupported(text));
    }
    let view = View { dialect, history: History::of(params, dialect)?, artifacts: true };
    // Since 1.0 a subscription lasts until the task ends, even while the task waits for input.
    if conversation.task.state == TaskState::InputRequired && dialect == Dialect::V1 {
        return Ok(wait(agent.clone(), conversation, view));
    }
    follow(agent, conversation, view).await
}

/// Time limit for watching a task that any process can change; then its client must subscribe again.
const WATCH_LIMIT: Duration = Duration::from_hours(1);

/// Seconds between two checks of the credential of a caller who follows a batch.
const CHECKED_EVERY: u64 = 60;

/// Returns the events of a task that waits for its client.
fn wait(agent: AgentRequest, mut conversation: Conversation, view: View) -> Events {
    let first = view.dialect.task_event(view.task(&conversation, None));
    let (events, queue) = mpsc::channel(MAX_EVENTS);
    let (tasks, stopping) = (agent.state.app.tasks.clone(), agent.state.app.tasks.token());
    tasks.spawn(async move {
        let until = Instant::now() + WATCH_LIMIT;
        while Instant::now() < until && pause(&events, &stopping).await {
            let found = match agent.find(&conversation.task.id).await {
                Ok(Some(task)) if task.revision == conversation.task.revision => continue,
                Ok(Some(task)) => Conversation::of(task),
                // The task no longer exists.
                Ok(None) => return,
                Err(_) => continue,
            };
            conversation = found;
            if conversation.task.work.is_some() {
                return forward(follow(&agent, conversation, view).await, &events).await;
            }
            if conversation.content.opening.is_none() {
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

async fn forward(from: Answer<Events>, to: &mpsc::Sender<Answer<Value>>) {
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

async fn follow(agent: &AgentRequest, mut conversation: Conversation, view: View) -> Answer<Events> {
    let now = agent.output(&conversation, Some(Duration::ZERO)).await?;
    let (Some(work), Some(output)) = (conversation.task.work.clone(), now) else {
        return Ok(only(&conversation, None, view));
    };
    if !output.presentation.is_running() {
        return Ok(only(&conversation, Some(&output), view));
    }
    let first = view.dialect.task_event(View { artifacts: false, ..view }.task(&conversation, Some(&output)));
    let poll = match work {
        TaskWork::Poll(poll) => poll,
        TaskWork::Batch(batch) => {
            let until = Instant::now() + WATCH_LIMIT;
            let agent = agent.clone();
            let rest =
                follow_batch(FollowedBatch { agent, conversation, id: batch, shown: output, view, until });
            return Ok(futures::stream::iter([Ok(first)]).chain(rest).boxed());
        }
    };
    let seen = output.value["answered"].as_u64();
    let (steps, queue) = Steps::queue();
    let (follower, sink) = (agent.clone(), steps.sink());
    let input = json!({ "poll_id": poll, "after": seen });
    let done = async move { follower.watch(input, None, Some(sink)).await };
    // The content is already parsed, and the copy would stay in memory as long as the stream.
    conversation.task.content = String::new();
    steps.run(&agent.state.app.tasks, done.boxed(), true);
    let rest = received(queue).flat_map(move |step| futures::stream::iter(events(&conversation, view, step)));
    Ok(futures::stream::iter([Ok(first)]).chain(rest).boxed())
}

/// Returns the events of a task whose batch is running: a status for each change of its state.
fn follow_batch(mut batch: FollowedBatch) -> Events {
    // No event shows the messages, which would stay in memory as long as the stream.
    batch.conversation.task.content = String::new();
    batch.conversation.content.messages = Vec::new();
    let (events, queue) = mpsc::channel(MAX_EVENTS);
    let tasks = batch.agent.state.app.tasks.clone();
    let stopping = tasks.token();
    tasks.spawn(async move {
        for second in 1.. {
            if !pause(&events, &stopping).await {
                return;
            }
            let Some(news) = batch.news(second).await else { continue };
            for event in news.events {
                if events.send(event).await.is_err() {
                    return;
                }
            }
            if news.is_last {
                return;
            }
        }
    });
    received(queue).boxed()
}

/// A batch that a client follows.
struct FollowedBatch {
    agent: AgentRequest,
    conversation: Conversation,
    id: BatchId,
    /// The state that the client knows.
    shown: CallOutput,
    view: View,
    until: Instant,
}

/// New events of a task.
struct News {
    events: Vec<Answer<Value>>,
    is_last: bool,
}

impl FollowedBatch {
    /// Looks at the batch in this second of the stream. Returns `None` if the client knows its state.
    async fn news(&mut self, second: u64) -> Option<News> {
        let is_checked = second.is_multiple_of(CHECKED_EVERY);
        let is_due = second.is_multiple_of(seconds_apart(&self.shown)) || is_checked;
        if !is_due && !self.is_over() && !self.has_ended().await {
            return None;
        }
        let output = if is_checked {
            self.agent.check_and_look_at_batch(self.id).await
        } else {
            self.agent.look_at_batch(self.id).await
        };
        let output = match output {
            Ok(output) => output,
            Err(fault) if !ends_stream(&fault) && !self.is_over() => return None,
            Err(fault) => return Some(News { events: vec![Err(fault.into())], is_last: true }),
        };
        if self.is_over() || !output.presentation.is_running() {
            let events = ended(&self.conversation, self.view, &output).into_iter().map(Ok).collect();
            return Some(News { events, is_last: true });
        }
        if output.value == self.shown.value {
            return None;
        }
        self.shown = output;
        let summary = self.shown.presentation.summary.as_deref().unwrap_or_default();
        let status = self.view.working(&self.conversation, summary, second);
        let rows = json!({ "rows": self.shown.value["rows"] });
        let event = self.view.status_event(&self.conversation, status, false, Some(rows));
        Some(News { events: vec![Ok(event)], is_last: false })
    }

    /// True if the client has followed the batch for as long as it can.
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// True if the task has ended or is gone, which is read faster than the state of the batch.
    async fn has_ended(&self) -> bool {
        match self.agent.find(&self.conversation.task.id).await {
            Ok(Some(task)) => task.state.is_final(),
            Ok(None) => true,
            Err(_) => false,
        }
    }
}

/// Returns the seconds between two looks at a batch: more for a large one, because a look counts its rows.
fn seconds_apart(shown: &CallOutput) -> u64 {
    const ROWS_A_SECOND: u64 = 4_000;
    1 + shown.value["rows"]["total"].as_u64().unwrap_or_default() / ROWS_A_SECOND
}

/// Waits until the next look at a task. Returns `false` if the client is gone, or the service stops.
async fn pause(events: &mpsc::Sender<Answer<Value>>, stopping: &CancellationToken) -> bool {
    tokio::select! {
        () = tokio::time::sleep(CHECK_INTERVAL) => true,
        () = events.closed() => false,
        () = stopping.cancelled() => false,
    }
}

/// True if the caller may not read the batch any more. Other faults pass.
const fn ends_stream(fault: &Fault) -> bool {
    matches!(fault.kind(), Kind::Unauthenticated | Kind::Forbidden | Kind::NotFound)
}

/// Returns the last events of a stream: the result and the status. Only a status if the task goes on, but the client has
/// waited for as long as it can.
fn ended(conversation: &Conversation, view: View, output: &CallOutput) -> Vec<Value> {
    let last = view.status_event(conversation, view.status(conversation, Some(output)), true, None);
    if output.presentation.is_running() {
        return vec![last];
    }
    vec![view.artifact_event(conversation, output), last]
}

/// Returns the events of a task that waits or has ended.
fn only(conversation: &Conversation, output: Option<&CallOutput>, view: View) -> Events {
    let mut events = vec![view.dialect.task_event(view.task(conversation, output))];
    // Clients of 0.3 wait for a status that is marked as final.
    if view.dialect != Dialect::V1 {
        events.push(view.status_event(conversation, view.status(conversation, output), true, None));
    }
    frames(events)
}

fn frames(events: Vec<Value>) -> Events {
    futures::stream::iter(events.into_iter().map(Ok)).boxed()
}

/// Converts a step of the poll to events of its task.
fn events(
    conversation: &Conversation,
    view: View,
    step: CallStep<Result<CallOutput, Fault>>,
) -> Vec<Answer<Value>> {
    let done = match step {
        CallStep::Progress(step) if step.id == 0 => return Vec::new(),
        CallStep::Progress(step) => {
            let Progress { id, message, data, .. } = *step;
            let status = view.working(conversation, &message, id);
            return vec![Ok(view.status_event(conversation, status, false, Some(data)))];
        }
        CallStep::End(done) => *done,
    };
    match done {
        Err(fault) => vec![Err(fault.into())],
        Ok(output) => ended(conversation, view, &output).into_iter().map(Ok).collect(),
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

    fn artifact_event(&self, conversation: &Conversation, output: &CallOutput) -> Value {
        let update = json!({
            "taskId": self.id(conversation),
            "contextId": conversation.task.context,
            "artifact": self.artifact(conversation, output),
            "append": false,
            "lastChunk": true,
        });
        self.dialect.update_event("artifactUpdate", "artifact-update", update)
    }
}

impl Dialect {
    /// Wraps a task as an event, or as a result of sending a message.
    pub(super) fn task_event(self, task: Value) -> Value {
        if self.is_proto() { json!({ "task": task }) } else { task }
    }

    /// Wraps a message as an event, or as a result of sending a message.
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
