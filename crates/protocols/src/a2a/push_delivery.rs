//! Delivery of push notifications: agents are notified of the ends of their tasks, at least once, in the protocol
//! version of their subscription.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::app::App;
use ep_kernel::dispatch::dispatch;
use ep_kernel::dispatch::for_task;
use ep_kernel::guard::{Admission, Credential, Request};
use ep_kernel::webhooks::deliver;
use ep_kernel::{
    Call, CallOutput, Caller, Entropy, Entry, Fault, Kind, NotDelivered, Outbox, PreparedNotification, Task,
    Tasks,
};
use ep_store::{AgentPush, AttemptOutcome, ClaimLimits, RequestId, StoreError, TaskWork, UserId};
use serde_json::{Value, json};

use super::conversation::Conversation;
use super::dialect::Dialect;
use super::pushes::{Secrets, opened};
use super::task::{History, View};

/// Time limit for a process to show the end of its own poll after the database has it. It exceeds the retry delay
/// after a stall.
const SHOWN_WITHIN: Duration = Duration::from_secs(10);

/// Sends push notifications until the service stops.
pub async fn send_pushes(app: Arc<App>, tools: &'static [Entry], tasks: Tasks) {
    let wake = app.ports.polls.ended_tasks();
    deliver(Arc::new(PushOutbox { app, tools }), wake, tasks).await;
}

struct PushOutbox {
    app: Arc<App>,
    tools: &'static [Entry],
}

#[async_trait]
impl Outbox for PushOutbox {
    const COUNTER: &'static str = "ep_agent_pushes_total";
    type Due = (AgentPush, u32);

    async fn due(&self, limits: ClaimLimits<'_>) -> Result<Vec<(AgentPush, u32)>, StoreError> {
        self.app.ports.store.due_pushes(limits).await
    }

    fn account((push, _): &(AgentPush, u32)) -> UserId {
        push.owner
    }

    fn attempt((push, attempts): &(AgentPush, u32)) -> (String, u32) {
        (push.task.clone(), *attempts)
    }

    fn entropy(&self) -> &dyn Entropy {
        &*self.app.ports.entropy
    }

    async fn send(&self, (push, _): &(AgentPush, u32)) -> Result<Result<(), NotDelivered>, Fault> {
        let task = self.app.ports.store.task(push.owner, &push.task).await?;
        let Some(task) = task else {
            let error = "the task is gone".to_owned();
            return Ok(Err(NotDelivered { error, gone: true, retry_after: None }));
        };
        let (dialect, media_type) = match push.version.as_str() {
            "1.0" => (Dialect::V1, "application/a2a+json"),
            _ => (Dialect::V03, "application/json"),
        };
        let body = dialect.task_event(self.shown(Conversation::of(task), dialect).await?).to_string();
        let Secrets { token, scheme, credentials } = opened(&self.app, push)?;
        let mut headers = vec![("a2a-version", push.version.clone())];
        if let Some(credentials) = credentials {
            let scheme = scheme.unwrap_or_else(|| "Bearer".to_owned());
            headers.push(("authorization", format!("{scheme} {credentials}")));
        }
        headers.extend(token.map(|token| ("x-a2a-notification-token", token)));
        let prepared = PreparedNotification { url: push.url.clone(), media_type, headers, body };
        Ok(self.app.agent_pushes.sender.send(&prepared).await)
    }

    async fn attempted(
        &self,
        (push, _): &(AgentPush, u32),
        attempted: &AttemptOutcome,
    ) -> Result<(), StoreError> {
        self.app.ports.store.push_attempted(&push.id, attempted).await
    }
}

impl PushOutbox {
    /// Returns the output of ended work.
    async fn output(&self, owner: UserId, work: &TaskWork) -> Result<CallOutput, Fault> {
        let (task, input, admission) = match work {
            TaskWork::Poll(poll) => (Task::Follow, json!({ "poll_id": poll }), Admission::LOCAL),
            TaskWork::Batch(batch) => {
                let caller = Caller::Batch { user: owner, batch: *batch };
                let admission = Admission { caller, allowance: None };
                (Task::ReadBatch, json!({ "batch_id": batch }), admission)
            }
        };
        let entry = for_task(self.tools, task);
        let entry = entry.ok_or_else(|| Fault::internal("no operation reads the work of tasks"))?;
        let request = Request {
            surface: "a2a",
            request_id: RequestId::from_random(self.app.ports.entropy.bytes()),
            credential: Credential::Admitted(admission),
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        };
        let call = Call { wait_limit: Some(SHOWN_WITHIN), ..Call::new(request) };
        let output = dispatch(&self.app, entry, call, Ok(input)).await.result?;
        if output.presentation.is_running() {
            let text = format!("{} has ended, but is not shown as ended yet", work.id());
            return Err(Fault::new(Kind::Unavailable, text));
        }
        Ok(output)
    }

    /// Returns the task as its owner sees it.
    async fn shown(&self, conversation: Conversation, dialect: Dialect) -> Result<Value, Fault> {
        let output = match &conversation.task.work {
            Some(work) => Some(self.output(conversation.task.owner, work).await?),
            None => None,
        };
        let view = View { dialect, history: History::Whole, artifacts: true };
        Ok(view.task(&conversation, output.as_ref()))
    }
}
