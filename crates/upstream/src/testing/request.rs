//! Parsing of vote requests, from the point of view of a model.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::script::VoteFor;
use crate::chat::prompt::{EXPLAIN, PROPOSE_SYSTEM};

/// The form of a vote request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedForm {
    /// `tool_choice: "required"`.
    Required,
    /// `tool_choice` as an object.
    Object,
    /// `tool_choice: "auto"`.
    Auto,
    /// `response_format: json_schema`.
    Schema,
    /// Only text.
    Prose,
    /// A question of a decision API.
    Decision,
}

#[derive(Deserialize)]
pub(super) struct Request<'a> {
    #[serde(borrow)]
    pub(super) model: Cow<'a, str>,
    messages: Vec<Message<'a>>,
    tools: Option<&'a RawValue>,
    tool_choice: Option<&'a RawValue>,
    response_format: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
}

/// The content of a model's response: the text and value of the chosen option, and the value of another
/// option.
pub(super) struct ChosenOption<'a> {
    pub(super) value: &'a str,
    pub(super) text: &'a str,
    pub(super) other: &'a str,
}

impl<'a> Request<'a> {
    pub(super) fn requested_form(&self) -> RequestedForm {
        match (self.tools, self.tool_choice.map(RawValue::get)) {
            (Some(_), Some("\"required\"")) => RequestedForm::Required,
            (Some(_), Some(choice)) if choice.starts_with('{') => RequestedForm::Object,
            (Some(_), _) => RequestedForm::Auto,
            (None, _) if self.response_format.is_some() => RequestedForm::Schema,
            (None, _) => RequestedForm::Prose,
        }
    }

    /// Returns true if the request asks for the reason of a vote.
    pub(super) fn is_for_explanation(&self) -> bool {
        self.messages.last().is_some_and(|message| message.content == EXPLAIN)
    }

    /// Returns true if the request asks for options.
    pub(super) fn is_for_options(&self) -> bool {
        self.messages.first().is_some_and(|message| message.content.starts_with(PROPOSE_SYSTEM))
    }

    /// Returns the values and texts of the options shown. Without letters, the value of an option is its
    /// text.
    fn options(&self) -> Vec<(&str, &str)> {
        let message = self.messages.iter().find(|message| message.content.contains("\n<options"));
        let Some(message) = message else { return Vec::new() };
        let from = message.content.rfind("\n<options").unwrap_or(0);
        let lines =
            message.content[from + 1..].lines().skip(1).take_while(|line| !line.starts_with("</options"));
        lines
            .filter_map(|line| match line.strip_prefix("- ") {
                Some(text) => Some((text, text)),
                None => line.split_once(": "),
            })
            .collect()
    }

    pub(super) fn choose(&'a self, votes_for: &VoteFor) -> ChosenOption<'a> {
        let options = self.options();
        let texts: Vec<&str> = options.iter().map(|(_, text)| *text).collect();
        let index = votes_for.choose(&self.model, &texts);
        let (value, text) = options.get(index).copied().unwrap_or(("", ""));
        let other = options.iter().map(|(value, _)| *value).find(|other| *other != value).unwrap_or("");
        ChosenOption { value, text, other }
    }
}

impl VoteFor {
    /// Returns the index of the option that this model votes for.
    pub(super) fn choose(&self, model: &str, texts: &[&str]) -> usize {
        let by_text = |text: &str| texts.iter().position(|option| *option == text);
        let by_hash = || {
            let rank = |text: &str| {
                let mut hasher = DefaultHasher::new();
                (model, text).hash(&mut hasher);
                hasher.finish()
            };
            (0..texts.len()).max_by_key(|&index| rank(texts[index])).unwrap_or(0)
        };
        match self {
            Self::First => 0,
            Self::Text(text) => by_text(text).unwrap_or(0),
            Self::ByModel(table) => table.get(model).and_then(|text| by_text(text)).unwrap_or_else(by_hash),
            Self::Hash => by_hash(),
        }
    }
}

impl ChosenOption<'_> {
    pub(super) fn fill(&self, template: &str) -> String {
        template.replace("{value}", self.value).replace("{text}", self.text).replace("{other}", self.other)
    }
}
