//! Empty fixtures for builds without the feature `conformance-fixtures`.

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, GetPromptRequestParams, GetPromptResponse, Prompt,
    Resource, ResourceContents, ResourceTemplate, Tool,
};
use rmcp::service::RequestContext;

pub(super) fn tools() -> impl Iterator<Item = &'static Tool> {
    std::iter::empty()
}

pub(super) fn tool(_: &str) -> Option<&'static Tool> {
    None
}

pub(super) async fn call(
    _: &CallToolRequestParams,
    _: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    std::future::ready(None).await
}

pub(super) fn prompts() -> Vec<Prompt> {
    Vec::new()
}

pub(super) fn prompt(_: &GetPromptRequestParams) -> Option<Result<GetPromptResponse, ErrorData>> {
    None
}

pub(super) fn resources() -> Vec<Resource> {
    Vec::new()
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    Vec::new()
}

pub(super) fn resource(_: &str) -> Option<ResourceContents> {
    None
}
