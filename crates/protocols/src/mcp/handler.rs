//! State of the protocol's server side, shared by all requests.

use std::ops::Deref;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ep_kernel::app::App;
use ep_kernel::{Entry, ToolPorts};
use ep_site::names::SERVER;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, Icon, Implementation, MetaObject, ServerConfig};
use rmcp::service::RequestContext;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::catalogue::{Catalogue, ServiceFacts};
use super::introduction;
use super::toolset::Toolset;

/// The service's icon.
const ICON: &str = include_str!("../../../../well-known/logo.svg");
/// Metadata key for the server's name on results.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The context of a request.
pub(super) type Context = RequestContext<RoleServer>;
/// The result of a request, or the protocol's error.
pub(super) type Answer<T> = Result<T, ErrorData>;

/// The transport of requests.
#[derive(Debug, Clone)]
pub(super) enum Transport {
    /// HTTP: the guard admits the caller before the transport reads the request.
    Http,
    /// Standard input: the operator, in this very process.
    Stdio(StdioCalls),
}

/// The calls of a client on standard input.
#[derive(Debug, Clone)]
pub(super) struct StdioCalls {
    /// The tools that it wants.
    pub(super) toolset: Toolset,
    /// Cancelled when the client has disconnected, which cancels its calls.
    pub(super) cancelled: CancellationToken,
    /// The calls that have not ended.
    pub(super) ongoing: TaskTracker,
}

/// Handles client requests. Cloned for every request.
#[derive(Clone)]
pub(super) struct Handler(Arc<HandlerState>);

/// State shared by all requests.
pub(super) struct HandlerState {
    pub(super) app: Arc<App>,
    pub(super) catalogue: Catalogue,
    pub(super) transport: Transport,
    pub(super) config: ServerConfig,
    /// The server's name for results.
    stamp: Value,
}

impl Handler {
    pub(super) fn new(app: Arc<App>, tools: &'static [Entry], transport: Transport) -> Self {
        let ToolPorts { models, settings, links, .. } = &*app.ports;
        let facts = ServiceFacts { presets: models.presets(), wait: settings.mcp_wait };
        let catalogue = Catalogue::new(tools, &facts);
        let charged = settings.billing && !matches!(transport, Transport::Stdio(_));
        let mut implementation = Implementation::new(SERVER, settings.version)
            .with_title("Ensemble Poll")
            .with_description("Polls many AI models on one question");
        if !links.base_url().is_empty() {
            implementation = implementation.with_website_url(links.base_url().to_owned());
        }
        let stamp = serde_json::to_value(&implementation).unwrap_or_default();
        // Only in the server's introduction: models read the name on results too, and an icon would waste tokens.
        let icon = format!("data:image/svg+xml;base64,{}", BASE64.encode(ICON.trim_end()));
        let icon = Icon::new(icon).with_mime_type("image/svg+xml").with_sizes(vec!["any".to_owned()]);
        let config = ServerConfig::new(introduction::capabilities())
            .with_server_info(implementation.with_icons(vec![icon]))
            .with_instructions(catalogue.instructions(charged));
        Self(Arc::new(HandlerState { app, catalogue, transport, config, stamp }))
    }

    /// Adds the server's name to a result.
    pub(super) fn stamp(&self, meta: &mut Option<MetaObject>) {
        meta.get_or_insert_default().insert(SERVER_INFO.into(), self.stamp.clone());
    }
}

impl Deref for Handler {
    type Target = HandlerState;

    fn deref(&self) -> &HandlerState {
        &self.0
    }
}
