//! Resources: the guide, the result page, and every poll that the caller may read.

use ep_kernel::{CallOutput, Entry, Fault, Kind, Task};
use rmcp::model::{ContentBlock, ErrorData, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use super::handler::{Answer, Context, Handler};
use super::{app, fixtures};

/// URI of the tool manuals.
pub(super) const GUIDE: &str = "ensemble-poll://guide";
/// URI prefix of a poll, followed by its id.
pub(super) const POLL: &str = "poll://";
/// URI template of polls, and the name of its variable.
pub(super) const POLLS: &str = "poll://{poll_id}";
pub(super) const POLL_ID: &str = "poll_id";

const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";

/// Returns the listed resources. Polls are read by id and not listed.
pub(super) fn listed() -> Vec<Resource> {
    let guide = Resource::new(GUIDE, "guide")
        .with_title("How to poll")
        .with_description("What each tool does, what it costs and how it stops")
        .with_mime_type(MARKDOWN);
    [vec![guide, app::listed()], fixtures::resources()].concat()
}

/// Returns the resource templates.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let polls = ResourceTemplate::new(POLLS, "poll")
        .with_title("A poll and its result")
        .with_description("As Markdown, and as JSON with every vote; its progress while it runs");
    [vec![polls], fixtures::templates()].concat()
}

/// Returns a link to a poll.
pub(super) fn link(poll: &str) -> ContentBlock {
    ContentBlock::resource_link(Resource::new(format!("{POLL}{poll}"), poll).with_mime_type(MARKDOWN))
}

impl Handler {
    /// `resources/read`.
    pub(super) async fn read(&self, uri: &str, context: &Context) -> Answer<Vec<ResourceContents>> {
        if let Some(contents) = fixtures::resource(uri) {
            return Ok(vec![contents]);
        }
        if uri == GUIDE {
            let links = &self.app.ports.links;
            let offered = self.catalogue.entries().filter(|entry| links.offers(entry.spec.name));
            return Ok(vec![guide(offered)]);
        }
        if uri == app::URI {
            return Ok(vec![app::contents()]);
        }
        let (Some(id), Some(entry)) = (uri.strip_prefix(POLL), self.catalogue.for_task(Task::Read)) else {
            let text = format!("there is no such resource; there are {GUIDE}, {POLLS} and {}", app::URI);
            return Err(missing(uri, text));
        };
        let source = self.source(context)?;
        let read = self.ask(entry, json!({ "poll_id": id }), source.request).await;
        read.map(|output| poll(uri, &output)).map_err(|fault| refused(uri, &fault))
    }
}

/// Returns the tool manuals as one document.
fn guide<'a>(tools: impl Iterator<Item = &'a Entry>) -> ResourceContents {
    let manuals: Vec<String> =
        tools.map(|entry| format!("## {}\n\n{}", entry.spec.name, entry.spec.manual.trim())).collect();
    ResourceContents::text(manuals.join("\n\n"), GUIDE).with_mime_type(MARKDOWN)
}

/// Returns a poll as Markdown and as JSON.
fn poll(uri: &str, output: &CallOutput) -> Vec<ResourceContents> {
    let CallOutput { value, presentation } = output;
    let question = value.get("question").and_then(Value::as_str).unwrap_or_default();
    let paragraphs =
        [Some(format!("# {question}")), presentation.summary.clone(), presentation.facts.clone()];
    let text: Vec<String> = paragraphs.into_iter().flatten().collect();
    vec![
        ResourceContents::text(text.join("\n\n"), uri).with_mime_type(MARKDOWN),
        ResourceContents::text(value.to_string(), uri).with_mime_type(JSON),
    ]
}

fn refused(uri: &str, fault: &Fault) -> ErrorData {
    match fault.kind() {
        Kind::NotFound => missing(uri, fault.message().to_owned()),
        kind => ErrorData::new(rmcp::model::ErrorCode(kind.row().mcp), fault.message().to_owned(), None),
    }
}

fn missing(uri: &str, text: String) -> ErrorData {
    let uri: String = uri.chars().take(200).collect();
    ErrorData::resource_not_found(text, Some(json!({ "uri": uri })))
}
