//! Empty fixtures for builds without the feature `conformance-fixtures`.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse, Prompt, Resource,
    ResourceContents, ResourceTemplate, Tool,
};

use super::handler::{Answer, Context};

pub(super) fn tools() -> impl Iterator<Item = &'static Tool> {
    std::iter::empty()
}

pub(super) fn tool(_: &str) -> Option<&'static Tool> {
    None
}

pub(super) async fn call(_: &CallToolRequestParams, _: &Context) -> Option<Answer<CallToolResponse>> {
    std::future::ready(None).await
}

pub(super) fn prompts() -> Vec<Prompt> {
    Vec::new()
}

pub(super) fn prompt(_: &GetPromptRequestParams) -> Option<Answer<GetPromptResponse>> {
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
