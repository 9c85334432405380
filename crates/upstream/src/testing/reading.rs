//! Understands a request as a model would: by its words and its form.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::script::Choose;

/// The form in which a vote was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedFor {
    /// `tool_choice: "required"`.
    Required,
    /// `tool_choice` as an object.
    Object,
    /// `tool_choice: "auto"`.
    Auto,
    /// `response_format: json_schema`.
    Schema,
    /// Nothing but words.
    Prose,
}

#[derive(Deserialize)]
pub(super) struct Request<'a> {
    #[serde(borrow)]
    pub(super) model: Cow<'a, str>,
    #[serde(borrow)]
    messages: Vec<Message<'a>>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_choice: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response_format: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
}

/// What a model would answer: the code and text it chose, and another code.
pub(super) struct Chosen<'a> {
    pub(super) code: &'a str,
    pub(super) text: &'a str,
    pub(super) other: &'a str,
}

impl<'a> Request<'a> {
    pub(super) fn asked_for(&self) -> AskedFor {
        match (self.tools, self.tool_choice.map(RawValue::get)) {
            (Some(_), Some("\"required\"")) => AskedFor::Required,
            (Some(_), Some(choice)) if choice.starts_with('{') => AskedFor::Object,
            (Some(_), _) => AskedFor::Auto,
            (None, _) if self.response_format.is_some() => AskedFor::Schema,
            (None, _) => AskedFor::Prose,
        }
    }

    /// The codes and texts on the view.
    fn options(&self) -> Vec<(&str, &str)> {
        let view = self.messages.iter().find(|message| message.content.contains("\n<options"));
        let Some(view) = view else { return Vec::new() };
        let from = view.content.rfind("\n<options").unwrap_or(0);
        let lines =
            view.content[from + 1..].lines().skip(1).take_while(|line| !line.starts_with("</options"));
        lines.filter_map(|line| line.split_once(": ")).collect()
    }

    pub(super) fn choose(&'a self, how: &Choose) -> Chosen<'a> {
        let options = self.options();
        let by_text = |text: &str| options.iter().position(|(_, option)| *option == text);
        let by_hash = || {
            let rank = |(_, text): &(&str, &str)| {
                let mut hasher = DefaultHasher::new();
                (&*self.model, text).hash(&mut hasher);
                hasher.finish()
            };
            (0..options.len()).max_by_key(|&place| rank(&options[place])).unwrap_or(0)
        };
        let place = match how {
            Choose::First => 0,
            Choose::Text(text) => by_text(text).unwrap_or(0),
            Choose::ByModel(table) => {
                table.get(&*self.model).and_then(|text| by_text(text)).unwrap_or_else(by_hash)
            }
            Choose::Hash => by_hash(),
        };
        let (code, text) = options.get(place).copied().unwrap_or(("", ""));
        let other = options.iter().map(|(code, _)| *code).find(|other| *other != code).unwrap_or("");
        Chosen { code, text, other }
    }
}

impl Chosen<'_> {
    pub(super) fn fill(&self, template: &str) -> String {
        template.replace("{code}", self.code).replace("{text}", self.text).replace("{other}", self.other)
    }
}
