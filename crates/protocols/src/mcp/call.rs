//! `tools/call`: runs an operation and returns its progress and result.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::request::Parts;
use ep_kernel::dispatch::dispatch;
use ep_kernel::event::MAX_EVENTS;
use ep_kernel::guard::{Admission, Credential, Guarded, Request};
use ep_kernel::reading;
use ep_kernel::schema::{is_empty, read_text};
use ep_kernel::{Call, CallOutput, Entry, Fault, JsonType, Kind, Latency, Progress, ProgressSink, Task};
use ep_store::RequestId;
use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult, ErrorCode,
    ErrorData, JsonObject, ProtocolVersion,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::call_result::result;
use super::catalogue::{DETAIL, IDEMPOTENCY_KEY, INCLUDE, INCLUDE_DETAIL, ToolCalls};
use super::confirm::Confirmation;
use super::fixtures;
use super::handler::{Answer, Context, Handler, StdioCalls, Transport};
use super::ongoing::{CallEvent, Handover, OngoingCall};
use super::output::ERROR;
use super::tasks;
use super::toolset::Toolset;

/// Source of a call, over any transport.
#[derive(Clone)]
pub(super) struct CallSource {
    /// The caller, and the remaining allowance.
    pub(super) request: Request,
    /// The `Idempotency-Key` header; the argument of that name takes precedence.
    pub(super) idempotency_key: Option<String>,
    /// True if the client accepts an event stream.
    pub(super) streams: bool,
    /// The requested tools.
    pub(super) toolset: Toolset,
    /// Set by the called operation; true if its result repeats an earlier one.
    pub(super) replayed: Arc<OnceLock<bool>>,
    /// Slot that hands a call with progress over to an event stream.
    pub(super) handover: Option<Handover>,
    /// The arguments of a long call of a tool, which its message lacks.
    pub(super) arguments: Option<Arc<JsonObject>>,
}

impl Handler {
    /// Returns the source of a call.
    pub(super) fn source(&self, context: &Context) -> Answer<CallSource> {
        if let Transport::Stdio(StdioCalls { toolset, .. }) = &self.transport {
            let request = Request {
                surface: "mcp_stdio",
                request_id: RequestId::from_random(self.app.ports.entropy.bytes()),
                credential: Credential::Admitted(Admission::LOCAL),
                address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            };
            return Ok(CallSource {
                request,
                idempotency_key: None,
                streams: true,
                toolset: *toolset,
                replayed: Arc::default(),
                handover: None,
                arguments: None,
            });
        }
        let parts = context.extensions.get::<Parts>();
        parts.and_then(|parts| parts.extensions.get::<CallSource>()).cloned().ok_or_else(|| {
            ErrorData::new(ErrorCode::INTERNAL_ERROR, "internal error: the request's source is missing", None)
        })
    }

    pub(super) async fn call(
        &self,
        mut params: CallToolRequestParams,
        context: &Context,
    ) -> Answer<CallToolResponse> {
        if let Some(output) = fixtures::call(&params, context).await {
            return output;
        }
        let source = self.source(context)?;
        if let Some(arguments) = &source.arguments {
            params.arguments = Some(JsonObject::clone(arguments));
        }
        let Some(&(entry, ref tool)) = self.catalogue.find(&params.name) else {
            return Err(self.unknown_tool(&params.name));
        };
        source.toolset.check(entry)?;
        let request_id = source.request.request_id;
        let mut arguments = params.arguments.clone().unwrap_or_default();
        let key = take_key(&mut arguments).or(source.idempotency_key);
        let listed = Arc::clone(&tool.input_schema);
        let read = move |mut input: Value| {
            let mut arguments = input.as_object_mut().map(std::mem::take).unwrap_or_default();
            let detailed = read_arguments(entry, &listed, &mut arguments);
            (arguments, detailed)
        };
        let (arguments, detailed) = match reading::read_value(Value::Object(arguments), read).await {
            Ok(read) => read,
            Err(fault) => return Ok(self.refusal(&fault, request_id, source.toolset).into()),
        };
        let detailed = match detailed {
            Ok(detailed) => detailed,
            Err(fault) => {
                let call = Call { mistakes: Some(fault), ..Call::new(source.request.clone()) };
                let input = Ok(Value::Object(arguments));
                let refused = dispatch(&self.app, entry, call, input).await.result.err();
                let refused = refused.unwrap_or_else(|| Fault::internal("a wrong input was accepted"));
                return Ok(self.refusal(&refused, request_id, source.toolset).into());
            }
        };
        let done = source.handover.as_ref().and_then(Handover::done);
        if entry.spec.task == Task::Start && done.is_none() {
            match self.confirm(entry, &params, &source.request, context).await {
                Ok(Confirmation::Proceed) => {}
                Ok(Confirmation::AskFirst(question)) => return Ok(question.into()),
                Err(fault) => return Ok(self.refusal(&fault, request_id, source.toolset).into()),
            }
        }
        // Sessions of older versions always read a call's result as its content.
        let as_task = entry.spec.task == Task::Start
            && is_modern(context)
            && context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks());
        let done = if let Some(done) = done {
            done
        } else {
            let (sink, steps) = progress(context, source.streams);
            let cancelled = match &self.transport {
                Transport::Stdio(calls) => calls.cancelled.child_token(),
                Transport::Http => CancellationToken::new(),
            };
            let call = Call {
                idempotency_key: key.filter(|_| !entry.spec.effect.read_only()),
                wait_limit: match entry.spec.latency {
                    // A client with a task polls it later.
                    Latency::Models if as_task => Some(Duration::ZERO),
                    Latency::Models => Some(self.app.ports.settings.mcp_wait),
                    Latency::Instant => None,
                },
                without_votes: !detailed,
                progress: sink,
                cancelled: cancelled.clone(),
                ..Call::new(source.request.clone())
            };
            let dispatched =
                self.tracked(dispatch(&self.app, entry, call, Ok(Value::Object(arguments))), request_id);
            let cancel_on_drop = self.disconnecting_cancels(context).then_some(&cancelled);
            let call = OngoingCall::new(dispatched, steps, context.meta.get_progress_token(), cancel_on_drop);
            if let Some(handover) = source.handover.filter(|_| entry.spec.latency == Latency::Models) {
                handover.begin(call);
                return Ok(CallToolResult::success(Vec::new()).into());
            }
            run(call, context).await?
        };
        let is_replay =
            done.result.as_ref().map_or_else(Fault::is_replayed, |output| output.presentation.replayed);
        // Set once, because each request makes one call.
        let _ = source.replayed.set(is_replay);
        let output = match done.result {
            Ok(output) => Ok(output),
            Err(fault) => match self.fund(&fault, &params, &source.request, context) {
                Ok(Some(question)) => return Ok(question.into()),
                Ok(None) => self.running_poll(fault, source.request).await,
                Err(refused) => Err(refused),
            },
        };
        Ok(match output {
            Ok(output) if as_task && output.presentation.interim.is_some() => {
                CreateTaskResult::new(tasks::task_of(&output)).into()
            }
            Ok(output) => result(entry, output, detailed).into(),
            Err(fault) => self.refusal(&fault, request_id, source.toolset).into(),
        })
    }

    /// Spawns a call over stdio on the tracker, so that the program waits for its end.
    fn tracked(
        &self,
        call: BoxFuture<'static, Guarded<CallOutput>>,
        request_id: RequestId,
    ) -> BoxFuture<'static, Guarded<CallOutput>> {
        let Transport::Stdio(calls) = &self.transport else { return call };
        let call = calls.ongoing.spawn(call);
        let ended = call.map(move |ended| {
            ended.unwrap_or_else(|error| Guarded {
                request_id,
                result: Err(Fault::internal(error)),
                allowance: None,
            })
        });
        ended.boxed()
    }

    /// True if a disconnect cancels the request: over HTTP since version 2026-07-28, and always on standard input.
    fn disconnecting_cancels(&self, context: &Context) -> bool {
        matches!(self.transport, Transport::Stdio(_)) || is_modern(context)
    }

    /// Returns the open poll for a repeated request while the first one is still in progress.
    async fn running_poll(&self, fault: Fault, request: Request) -> Result<CallOutput, Fault> {
        let poll = fault.poll().filter(|_| fault.kind() == Kind::InProgress);
        match (poll, self.catalogue.for_task(Task::Follow)) {
            (Some(poll), Some(entry)) => self.ask(entry, json!({ "poll_id": poll }), request).await,
            _ => Err(fault),
        }
    }

    /// Calls a read-only operation without waiting.
    pub(super) async fn ask(
        &self,
        entry: &'static Entry,
        input: Value,
        request: Request,
    ) -> Result<CallOutput, Fault> {
        let call = Call { wait_limit: Some(Duration::ZERO), ..Call::new(request) };
        dispatch(&self.app, entry, call, Ok(input)).await.result
    }

    fn unknown_tool(&self, name: &str) -> ErrorData {
        let name: String = name.chars().take(64).collect();
        let known: Vec<&str> = self.catalogue.entries().map(|entry| entry.spec.name).collect();
        let code = ErrorCode(Kind::InvalidInput.row().mcp);
        ErrorData::new(code, format!("there is no tool {name}; the tools are {}", known.join(", ")), None)
    }

    /// Returns a fault as a result that the model can read and act on.
    fn refusal(&self, fault: &Fault, request_id: RequestId, toolset: Toolset) -> CallToolResult {
        let has_account = matches!(self.transport, Transport::Http);
        let calls =
            ToolCalls { links: &self.app.ports.links, catalogue: &self.catalogue, toolset, has_account };
        let problem = fault.problem(&calls, &request_id.to_string());
        let mut result = CallToolResult::error(vec![ContentBlock::text(fault.message())]);
        result.structured_content = Some(json!({ ERROR: problem }));
        result
    }
}

/// True for a request of version 2026-07-28 or newer, which contains its version.
fn is_modern(context: &Context) -> bool {
    let modern = |version: ProtocolVersion| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str();
    context.meta.protocol_version().is_some_and(modern)
}

/// Reads arguments that are written as text, removes those that the operation does not take, and rejects unknown ones.
/// Returns true if single votes are requested. One fault lists all errors.
fn read_arguments(entry: &Entry, schema: &JsonObject, arguments: &mut JsonObject) -> Result<bool, Fault> {
    entry.read_texts(arguments);
    let detailed = wants_detail(arguments);
    let listed = schema.get("properties");
    let own: Vec<&str> = [INCLUDE, IDEMPOTENCY_KEY]
        .into_iter()
        .filter(|name| listed.is_some_and(|listed| listed.get(name).is_some()))
        .collect();
    match (detailed, entry.refuse_unknown(arguments, &own)) {
        (Ok(detailed), Ok(())) => Ok(detailed),
        (Ok(_), Err(unknown)) => Err(unknown),
        (Err(wrong), Err(unknown)) => Err(wrong.and(unknown)),
        (Err(wrong), Ok(())) => Err(entry.check(arguments).err().into_iter().fold(wrong, Fault::and)),
    }
}

/// True if single votes are requested.
fn wants_detail(arguments: &mut JsonObject) -> Result<bool, Fault> {
    // The name of the argument before it became a list.
    let earlier = match take_given(arguments, INCLUDE_DETAIL, &[JsonType::Boolean]) {
        None => false,
        Some(Value::Bool(requested)) => requested,
        Some(_) => return Err(Fault::invalid(INCLUDE_DETAIL, "must be true or false")),
    };
    let named = match take_given(arguments, INCLUDE, &[JsonType::Array]) {
        None => Vec::new(),
        Some(Value::Array(named)) => named,
        Some(one) => vec![one],
    };
    match named.iter().find(|name| *name != DETAIL) {
        Some(_) => Err(Fault::invalid(INCLUDE, format!("must be a list of fields to add: [\"{DETAIL}\"]"))),
        None => Ok(earlier || !named.is_empty()),
    }
}

/// Removes an argument of one of these types and returns it, unless it is empty.
fn take_given(arguments: &mut JsonObject, name: &str, types: &[JsonType]) -> Option<Value> {
    let mut value = arguments.remove(name).filter(|value| !is_empty(value))?;
    read_text(&mut value, types);
    Some(value)
}

fn take_key(arguments: &mut JsonObject) -> Option<String> {
    match take_given(arguments, IDEMPOTENCY_KEY, &[])? {
        Value::String(key) => Some(key),
        // The key's own check rejects empty keys.
        _ => Some(String::new()),
    }
}

/// Returns a progress sink if the client requested progress and can receive it, and the steps sent to it.
fn progress(context: &Context, streams: bool) -> (Option<ProgressSink>, mpsc::Receiver<Box<Progress>>) {
    // Boxed, because the queue has room for dozens.
    let (steps, received) = mpsc::channel(MAX_EVENTS);
    let requested = streams && context.meta.get_progress_token().is_some();
    (requested.then(|| ProgressSink::new(move |step| drop(steps.try_send(Box::new(step))))), received)
}

/// Runs a call and forwards its progress.
async fn run(mut call: OngoingCall, context: &Context) -> Answer<Guarded<CallOutput>> {
    loop {
        let next = tokio::select! {
            next = call.next() => next,
            () = context.ct.cancelled() => {
                return Err(ErrorData::new(ErrorCode::INTERNAL_ERROR, "cancelled", None));
            }
        };
        match next {
            CallEvent::End(done) => return Ok(*done),
            CallEvent::Progress(note) => {
                if let Err(error) = context.peer.notify_progress(note).await {
                    tracing::debug!(error = %error, "failed to send progress");
                }
            }
        }
    }
}
