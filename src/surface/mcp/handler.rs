//! The protocol's server side, over the table of operations.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, OnceLock};

use axum::http::request::Parts;
use ep_kernel::answer::Answer;
use ep_kernel::app::App;
use ep_kernel::caller::RequestId;
use ep_kernel::ctx::ToolPorts;
use ep_kernel::dispatch::{Call, dispatch};
use ep_kernel::event::{MAX_EVENTS, Progress, ProgressSink};
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::{Admission, Credential, Request};
use ep_kernel::tool::{Effect, Entry, Latency};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, MetaObject, PaginatedRequestParams, ProgressNotificationParam,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::catalogue::{Catalogue, DETAIL, IDEMPOTENCY_KEY, INCLUDE_DETAIL, ServiceFacts, Toolset};
use super::guide;
use super::output::ERROR;
use crate::surface::http::RequestHead;

/// How long clients may keep what does not change while the service runs, in milliseconds.
const KEPT_MS: u64 = 300_000;
/// Methods that need parameters, and which.
const WITH_PARAMETERS: &[(&str, &str)] = &[
    ("tools/call", "an object with name (text) and, where the tool takes any, arguments (an object)"),
    ("prompts/get", "an object with name (text) and, where the prompt takes any, arguments (an object)"),
    ("resources/read", "an object with uri (text)"),
    (
        "initialize",
        "an object with protocolVersion (text), capabilities (an object) and clientInfo (an object)",
    ),
];
/// Where the protocol wants the server's name on results.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// How requests come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    /// HTTP: the guard admitted the caller before the transport saw the request.
    Http,
    /// Standard input: the operator, in this very process.
    Stdio,
}

/// What is known of an HTTP request besides its message.
#[derive(Clone)]
pub(super) struct RequestScope {
    /// Who calls, and what is left of the allowance.
    pub(super) admission: Admission,
    /// The request's head.
    pub(super) head: RequestHead,
    /// Whether the client can read an event stream.
    pub(super) streams: bool,
    /// Set by the operation that was called: whether its answer repeats an earlier one.
    pub(super) replayed: Arc<OnceLock<bool>>,
}

/// One call, whichever transport it came through.
struct CallSource {
    request: Request,
    /// The `Idempotency-Key` header; the argument has precedence.
    idempotency_key: Option<String>,
    streams: bool,
    replayed: Arc<OnceLock<bool>>,
}

/// Answers clients. Cloned for every request.
#[derive(Clone)]
pub(super) struct Handler(Arc<Shared>);

/// What is the same for every request.
struct Shared {
    app: Arc<App>,
    catalogue: Catalogue,
    transport: Transport,
    config: ServerConfig,
    /// The server's name, as results carry it.
    stamp: Value,
}

impl Handler {
    pub(super) fn new(app: Arc<App>, tools: &'static [Entry], transport: Transport) -> Self {
        let ToolPorts { models, settings, links, .. } = &app.ports;
        let facts = ServiceFacts { presets: models.presets(), wait: settings.mcp_wait };
        let catalogue = Catalogue::new(tools, &facts);
        let mut implementation = Implementation::new("ensemble-poll", settings.version)
            .with_title("Ensemble Poll")
            .with_description("Polls many AI models on one question");
        if !links.base_url().is_empty() {
            implementation = implementation.with_website_url(links.base_url().to_owned());
        }
        let stamp = serde_json::to_value(&implementation).unwrap_or_default();
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().build();
        let config = ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(catalogue.instructions());
        Self(Arc::new(Shared { app, catalogue, transport, config, stamp }))
    }

    fn toolset(context: &RequestContext<RoleServer>) -> Toolset {
        let query = context.extensions.get::<Parts>().and_then(|parts| parts.uri.query());
        let pairs = url::form_urlencoded::parse(query.unwrap_or("").as_bytes());
        let all = pairs.into_iter().any(|(name, value)| name == "toolsets" && value == "all");
        if all { Toolset::All } else { Toolset::Core }
    }

    /// Where a call came from; `None` only where the request's scope is missing.
    fn source(&self, context: &RequestContext<RoleServer>) -> Option<CallSource> {
        if self.0.transport == Transport::Stdio {
            let request = Request {
                surface: "mcp_stdio",
                request_id: RequestId::from_random(self.0.app.entropy.bytes()),
                credential: Credential::Admitted(Admission::LOCAL),
                address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            };
            return Some(CallSource {
                request,
                idempotency_key: None,
                streams: true,
                replayed: Arc::default(),
            });
        }
        let scope = context.extensions.get::<Parts>()?.extensions.get::<RequestScope>()?.clone();
        let RequestScope { admission, head, streams, replayed } = scope;
        let request = head.admitted("mcp", admission);
        Some(CallSource { request, idempotency_key: head.idempotency_key, streams, replayed })
    }

    /// Puts the server's name on a result.
    fn stamp(&self, meta: &mut Option<MetaObject>) {
        meta.get_or_insert_default().insert(SERVER_INFO.into(), self.0.stamp.clone());
    }

    async fn call(
        &self,
        params: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let Some(&(entry, _)) = self.0.catalogue.find(&params.name) else {
            return Err(self.unknown_tool(&params.name));
        };
        let Some(source) = self.source(context) else {
            let message = "internal error: the request's scope is missing";
            return Err(ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None));
        };
        let CallSource { request, idempotency_key, streams, replayed } = source;
        let mut arguments = params.arguments.unwrap_or_default();
        let detailed = match arguments.remove(INCLUDE_DETAIL) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(wanted)) => wanted,
            Some(_) => {
                let fault = Fault::invalid(INCLUDE_DETAIL, "must be true or false");
                return Ok(self.refusal(&fault, request.request_id));
            }
        };
        let idempotency_key = take_key(&mut arguments).or(idempotency_key);
        let (sink, mut steps) = progress(context, streams);
        let request_id = request.request_id;
        let call = Call {
            idempotency_key: idempotency_key.filter(|_| entry.spec.effect != Effect::Read),
            wait_limit: (entry.spec.latency == Latency::Models).then_some(self.0.app.ports.settings.mcp_wait),
            progress: sink,
            ..Call::new(request)
        };
        let input = entry.without_misspelt(&arguments).map(|()| Value::Object(arguments));
        let mut dispatched = dispatch(&self.0.app, entry, call, input);
        let done = loop {
            tokio::select! {
                biased;
                Some(step) = steps.recv() => notify(context, step).await,
                done = &mut dispatched => break done,
                // The client disconnected; what changes something goes on without it.
                () = context.ct.cancelled() => return Err(ErrorData::new(ErrorCode::INTERNAL_ERROR, "cancelled", None)),
            }
        };
        while let Ok(step) = steps.try_recv() {
            notify(context, step).await;
        }
        let is_replay = done.result.as_ref().map_or_else(Fault::is_replayed, |done| done.replayed);
        // Set once: each request makes one call.
        let _ = replayed.set(is_replay);
        Ok(match done.result {
            Ok(done) => result(done.answer, detailed),
            Err(fault) => self.refusal(&fault, request_id),
        })
    }

    fn unknown_tool(&self, name: &str) -> ErrorData {
        let name: String = name.chars().take(64).collect();
        let known: Vec<&str> = self.0.catalogue.entries().map(|entry| entry.spec.name).collect();
        let code = ErrorCode(Kind::InvalidInput.row().mcp);
        ErrorData::new(code, format!("there is no tool {name}; the tools are {}", known.join(", ")), None)
    }

    /// A fault as a result the model can read and act on.
    fn refusal(&self, fault: &Fault, request_id: RequestId) -> CallToolResult {
        let problem = fault.problem(&self.0.app.ports.links, &request_id.to_string());
        let mut result = CallToolResult::error(vec![ContentBlock::text(fault.message())]);
        result.structured_content = Some(json!({ ERROR: problem }));
        result
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.0.config.clone()
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info())
            .with_ttl_ms(KEPT_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.catalogue.list(Self::toolset(&context));
        let mut result =
            ListToolsResult::with_all_items(tools).with_ttl_ms(KEPT_MS).with_cache_scope(CacheScope::Public);
        self.stamp(&mut result.meta);
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.catalogue.find(name).map(|(_, tool)| tool.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut result = self.call(request, &context).await?;
        self.stamp(&mut result.meta);
        Ok(result.into())
    }

    /// Unknown methods and invalid parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method: String = request.method.chars().take(64).collect();
        let known = WITH_PARAMETERS.iter().find(|(name, _)| *name == method);
        // Since 2026-07-28 there is no handshake.
        let modern = context.meta.protocol_version().is_some();
        Err(match known {
            Some((name, params)) if !(modern && *name == "initialize") => {
                ErrorData::invalid_params(format!("the params of {name} must be {params}"), None)
            }
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method {method}"), None),
        })
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = vec![guide::prompt()];
        let mut result = ListPromptsResult::with_all_items(prompts)
            .with_ttl_ms(KEPT_MS)
            .with_cache_scope(CacheScope::Public);
        self.stamp(&mut result.meta);
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != guide::PROMPT {
            return Err(ErrorData::invalid_params(
                format!("there is no such prompt; the only prompt is {}", guide::PROMPT),
                None,
            ));
        }
        let arguments = request.arguments.unwrap_or_default();
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str);
        let question =
            argument("question").ok_or_else(|| ErrorData::invalid_params("question is missing", None))?;
        let mut result = guide::prompt_for(question, argument("options"));
        self.stamp(&mut result.meta);
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = vec![guide::resource()];
        let mut result = ListResourcesResult::with_all_items(resources)
            .with_ttl_ms(KEPT_MS)
            .with_cache_scope(CacheScope::Public);
        self.stamp(&mut result.meta);
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut result = ListResourceTemplatesResult::with_all_items(Vec::new())
            .with_ttl_ms(KEPT_MS)
            .with_cache_scope(CacheScope::Public);
        self.stamp(&mut result.meta);
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != guide::RESOURCE {
            return Err(ErrorData::resource_not_found(
                format!("there is no such resource; there is {}", guide::RESOURCE),
                Some(json!({ "uri": request.uri })),
            ));
        }
        let contents = guide::contents(self.0.catalogue.entries());
        let mut result =
            ReadResourceResult::new(vec![contents]).with_ttl_ms(KEPT_MS).with_cache_scope(CacheScope::Public);
        self.stamp(&mut result.meta);
        Ok(result.into())
    }
}

/// An answer as a result: the value as structured content; as text its summary and facts, or the value where it
/// has none.
fn result(answer: Answer, detailed: bool) -> CallToolResult {
    let Answer { mut value, presentation } = answer;
    let detail = if detailed { value.get(DETAIL).map(ToString::to_string) } else { None };
    if let Some(members) = value.as_object_mut().filter(|_| !detailed) {
        members.shift_remove(DETAIL);
    }
    let text = match presentation.summary {
        Some(summary) => {
            [Some(summary), presentation.facts].into_iter().flatten().collect::<Vec<_>>().join("\n")
        }
        None => value.to_string(),
    };
    let mut result =
        CallToolResult::success([Some(text), detail].into_iter().flatten().map(ContentBlock::text).collect());
    result.structured_content = Some(value);
    result
}

fn take_key(arguments: &mut JsonObject) -> Option<String> {
    match arguments.remove(IDEMPOTENCY_KEY)? {
        Value::String(key) => Some(key),
        Value::Null => None,
        // Empty keys are refused by the check of the key.
        _ => Some(String::new()),
    }
}

/// A sink where the client asked for progress and can receive it, and the steps it yields.
fn progress(
    context: &RequestContext<RoleServer>,
    streams: bool,
) -> (Option<ProgressSink>, mpsc::Receiver<Progress>) {
    let (steps, received) = mpsc::channel(MAX_EVENTS);
    let wanted = streams && context.meta.get_progress_token().is_some();
    (wanted.then(|| ProgressSink::new(move |step| drop(steps.try_send(step)))), received)
}

async fn notify(context: &RequestContext<RoleServer>, step: Progress) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let note = ProgressNotificationParam::new(token, f64::from(step.done))
        .with_total(f64::from(step.total))
        .with_message(step.message);
    if let Err(error) = context.peer.notify_progress(note).await {
        tracing::debug!(error = %error, "progress could not be sent");
    }
}
