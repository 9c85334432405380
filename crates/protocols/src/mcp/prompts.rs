//! The prompt, and the completion of arguments.

use ep_kernel::Task;
use rmcp::model::{
    CompleteRequestParams, CompletionInfo, ErrorData, GetPromptResult, JsonObject, Prompt, PromptArgument,
    PromptMessage, Reference, Role,
};
use serde_json::{Value, json};

use super::fixtures;
use super::handler::{Answer, Context, Handler};
use super::resources::{POLL_ID, POLLS};

const PROMPT: &str = "poll_models";
/// The prompt's arguments and their descriptions. Only the first is required.
const ARGUMENTS: [(&str, &str); 4] = [
    ("question", "What to ask"),
    ("options", "The options, separated by commas"),
    ("preset", "Which models to ask"),
    ("profile", "How thorough to be"),
];
/// Maximum polls offered as completions.
const POLLS_OFFERED: u32 = 20;

/// Returns the list of prompts.
pub(super) fn listed() -> Vec<Prompt> {
    [vec![prompt()], fixtures::prompts()].concat()
}

fn prompt() -> Prompt {
    let argument = |(index, (name, description)): (usize, &(&str, &str))| {
        PromptArgument::new(*name).with_description(*description).with_required(index == 0)
    };
    let description = "Ask many AI models one question and report how far they agree";
    let arguments = ARGUMENTS.iter().enumerate().map(argument).collect();
    Prompt::new(PROMPT, Some(description), Some(arguments)).with_title("Poll many models")
}

/// Returns the prompt with its arguments filled in.
pub(super) fn filled(name: &str, arguments: &JsonObject) -> Answer<GetPromptResult> {
    if name != PROMPT {
        let text = format!("there is no such prompt; the only prompt is {PROMPT}");
        return Err(ErrorData::invalid_params(text, None));
    }
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let question =
        argument("question").ok_or_else(|| ErrorData::invalid_params("question is missing", None))?;
    let options = match argument("options") {
        Some(options) => format!("Use these options: {options}."),
        None => "Choose 2 to 5 distinct options that cover the likely answers.".to_owned(),
    };
    let set = |name: &str| argument(name).map(|value| format!(" Set {name} to {value}."));
    let settings: String = ["preset", "profile"].into_iter().filter_map(set).collect();
    let text = format!(
        "Poll many AI models on this question: {question}\n\n{options}{settings} Word the question neutrally and so that it \
         can be answered without any context. Then report the winner, the tally, the confidence and the link. Say that this \
         is what models agree on, not proof, and that the confidence is about what the whole roster would choose, not about \
         what is right."
    );
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

impl Handler {
    /// `completion/complete`: presets and profiles of the prompt, and the caller's latest polls.
    pub(super) async fn completions(
        &self,
        params: &CompleteRequestParams,
        context: &Context,
    ) -> Answer<CompletionInfo> {
        let argument = params.argument.name.as_str();
        let known = match &params.r#ref {
            Reference::Prompt(prompt) if listed().iter().any(|known| known.name == prompt.name) => {
                self.words_of(argument)
            }
            Reference::Resource(template) if template.uri == POLLS && argument == POLL_ID => {
                self.latest_polls(context).await?
            }
            _ => {
                let text =
                    format!("there is nothing to complete but the arguments of {PROMPT} and of {POLLS}");
                return Err(ErrorData::invalid_params(text, None));
            }
        };
        let begun = params.argument.value.to_lowercase();
        let fits = |word: &String| word.to_lowercase().starts_with(&begun);
        let values = known.into_iter().filter(fits).take(CompletionInfo::MAX_VALUES).collect();
        CompletionInfo::with_all_values(values).map_err(|text| ErrorData::internal_error(text, None))
    }

    /// Returns the allowed values of an argument of the polling operation.
    fn words_of(&self, argument: &str) -> Vec<String> {
        let words = || {
            let (_, tool) = self.catalogue.entry_and_tool(Task::Start)?;
            tool.input_schema.get("properties")?.get(argument)?.get("enum")?.as_array()
        };
        let words = words().map(Vec::as_slice).unwrap_or_default();
        words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
    }

    async fn latest_polls(&self, context: &Context) -> Answer<Vec<String>> {
        let request = self.source(context)?.request;
        let Some(entry) = self.catalogue.for_task(Task::List) else { return Ok(Vec::new()) };
        // A caller without an account has no polls.
        let Ok(output) = self.ask(entry, json!({ "limit": POLLS_OFFERED }), request).await else {
            return Ok(Vec::new());
        };
        let polls =
            output.value.get("polls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let id = |poll: &Value| poll.get("poll_id").and_then(Value::as_str).map(str::to_owned);
        Ok(polls.iter().filter_map(id).collect())
    }
}
