//! The one prompt and the one resource: how to poll well.

use ep_kernel::tool::Entry;
use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Resource, ResourceContents, Role};

pub(super) const PROMPT: &str = "poll_models";
pub(super) const RESOURCE: &str = "ensemble-poll://guide";

pub(super) fn prompt() -> Prompt {
    let arguments = vec![
        PromptArgument::new("question").with_description("What to ask").with_required(true),
        PromptArgument::new("options")
            .with_description("The options, separated by commas")
            .with_required(false),
    ];
    Prompt::new(
        PROMPT,
        Some("Ask many AI models one question and report how far they agree"),
        Some(arguments),
    )
    .with_title("Poll many models")
}

pub(super) fn prompt_for(question: &str, options: Option<&str>) -> GetPromptResult {
    let options = match options {
        Some(options) => format!("Use these options: {options}."),
        None => "Choose 2 to 5 distinct options that cover the likely answers.".to_owned(),
    };
    let text = format!(
        "Poll many AI models on this question: {question}\n\n{options} Word the question neutrally and so that it can be \
         answered without any context. Then report the winner, the tally, the confidence and the link. Say that this is what \
         models agree on, not proof, and that the confidence is about what the whole roster would choose, not about what is \
         right."
    );
    GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])
}

pub(super) fn resource() -> Resource {
    Resource::new(RESOURCE, "guide")
        .with_title("How to poll")
        .with_description("What each tool does, what it costs and how it stops")
        .with_mime_type("text/markdown")
}

/// The manuals of the tools, one after the other.
pub(super) fn contents<'a>(tools: impl Iterator<Item = &'a Entry>) -> ResourceContents {
    let manuals: Vec<String> =
        tools.map(|entry| format!("## {}\n\n{}", entry.spec.name, entry.spec.manual.trim())).collect();
    ResourceContents::text(manuals.join("\n\n"), RESOURCE).with_mime_type("text/markdown")
}
