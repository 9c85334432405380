//! The protocol's methods, over the operation table.

use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerConfig, Tool,
    UpdateTaskParams,
};

use super::handler::{Answer, Context, Handler, Transport};
use super::{app, fixtures, prompts, resources};

/// The requested page of a list. It is ignored, because every list fits on one page.
type Paging = Option<PaginatedRequestParams>;

/// Cache lifetime of lists and fixed resources, in milliseconds.
const CACHE_MS: u64 = 300_000;
/// Methods with required parameters, and their parameters.
const WITH_PARAMETERS: &[(&str, &str)] = &[
    ("tools/call", "an object with name (text) and, where the tool takes any, arguments (an object)"),
    ("prompts/get", "an object with name (text) and, where the prompt takes any, arguments (an object)"),
    ("resources/read", "an object with uri (text)"),
    ("completion/complete", "an object with ref and argument (an object with name and value, both text)"),
    ("tasks/get", "an object with taskId (text)"),
    ("tasks/cancel", "an object with taskId (text)"),
    ("tasks/update", "an object with taskId (text) and inputResponses (an object)"),
    (
        "initialize",
        "an object with protocolVersion (text), capabilities (an object) and clientInfo (an object)",
    ),
];

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.config.clone()
    }

    async fn discover(&self, _: Context) -> Answer<DiscoverResult> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info())
            .with_ttl_ms(CACHE_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(&self, _: Paging, context: Context) -> Answer<ListToolsResult> {
        let has_account = matches!(self.transport, Transport::Http);
        let mut tools = self.catalogue.list(self.source(&context)?.toolset, has_account);
        tools.retain(|tool| self.app.ports.links.offers(&tool.name));
        tools.extend(fixtures::tools().cloned());
        // A header can select the toolset, so one client's list must not be cached for another.
        let mut result = ListToolsResult::with_all_items(tools)
            .with_ttl_ms(CACHE_MS)
            .with_cache_scope(CacheScope::Private);
        self.stamp(&mut result.meta);
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        fixtures::tool(name).or_else(|| self.catalogue.find(name).map(|(_, tool)| tool)).cloned()
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Answer<CallToolResponse> {
        // Boxed, because rmcp moves the enclosing futures several times.
        let mut response = Box::pin(self.call(request, &context)).await?;
        match &mut response {
            CallToolResponse::Complete(result) => self.stamp(&mut result.meta),
            CallToolResponse::Task(result) => self.stamp(&mut result.meta),
            CallToolResponse::InputRequired(result) => self.stamp(&mut result.meta),
            _ => {}
        }
        Ok(response)
    }

    /// Unknown methods and invalid parameters.
    async fn on_custom_request(&self, request: CustomRequest, context: Context) -> Answer<CustomResult> {
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

    async fn list_prompts(&self, _: Paging, _: Context) -> Answer<ListPromptsResult> {
        let prompts = prompts::listed();
        let mut result = ListPromptsResult::with_all_items(prompts)
            .with_ttl_ms(CACHE_MS)
            .with_cache_scope(CacheScope::Public);
        self.stamp(&mut result.meta);
        Ok(result)
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, _: Context) -> Answer<GetPromptResponse> {
        if let Some(response) = fixtures::prompt(&request) {
            return response;
        }
        let mut result = prompts::filled(&request.name, &request.arguments.unwrap_or_default())?;
        self.stamp(&mut result.meta);
        Ok(result.into())
    }

    async fn list_resources(&self, _: Paging, _: Context) -> Answer<ListResourcesResult> {
        let resources = resources::listed();
        let mut result = ListResourcesResult::with_all_items(resources)
            .with_ttl_ms(CACHE_MS)
            .with_cache_scope(CacheScope::Public);
        self.stamp(&mut result.meta);
        Ok(result)
    }

    async fn list_resource_templates(&self, _: Paging, _: Context) -> Answer<ListResourceTemplatesResult> {
        let mut result = ListResourceTemplatesResult::with_all_items(resources::templates())
            .with_ttl_ms(CACHE_MS)
            .with_cache_scope(CacheScope::Public);
        self.stamp(&mut result.meta);
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Answer<ReadResourceResponse> {
        let contents = self.read(&request.uri, &context).await?;
        // The guide and the result page are fixed; polls change, and are not readable by everyone.
        let (ttl_ms, scope) = if matches!(&*request.uri, resources::GUIDE | app::URI) {
            (CACHE_MS, CacheScope::Public)
        } else {
            (0, CacheScope::Private)
        };
        let mut result = ReadResourceResult::new(contents).with_ttl_ms(ttl_ms).with_cache_scope(scope);
        self.stamp(&mut result.meta);
        Ok(result.into())
    }

    async fn complete(&self, request: CompleteRequestParams, context: Context) -> Answer<CompleteResult> {
        let mut result = CompleteResult::new(self.completions(&request, &context).await?);
        self.stamp(&mut result.meta);
        Ok(result)
    }

    async fn get_task(&self, request: GetTaskParams, context: Context) -> Answer<GetTaskResult> {
        let mut result = self.read_task(&request.task_id, &context).await?;
        self.stamp(&mut result.meta);
        Ok(result)
    }

    async fn update_task(&self, request: UpdateTaskParams, context: Context) -> Answer<()> {
        // Ignored, because polls never wait for input.
        self.read_task(&request.task_id, &context).await.map(drop)
    }

    async fn cancel_task(&self, request: CancelTaskParams, context: Context) -> Answer<()> {
        self.stop_task(&request.task_id, &context).await
    }
}
