//! The languages that there are examples in.

use ep_kernel::links::Links;
use ep_kernel::tool::{Spec, Tool};
use schemars::JsonSchema;
use serde_json::Value;

use crate::polls::{PollFree, PollQuestion};
use crate::results::GetPollResult;

/// A language of examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(inline, rename_all = "kebab-case")]
pub enum Language {
    /// A shell script with curl.
    Curl,
    /// TypeScript for Node, Deno, Bun or a browser.
    Typescript,
    /// Python with its standard library.
    Python,
    /// The settings of an MCP client.
    McpConfig,
}

impl Language {
    /// Each of them.
    pub const ALL: [Self; 4] = [Self::Curl, Self::Typescript, Self::Python, Self::McpConfig];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::Typescript => "typescript",
            Self::Python => "python",
            Self::McpConfig => "mcp-config",
        }
    }

    /// The language of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.name() == name)
    }

    /// The example in this language, for the service of these links.
    pub fn example(self, links: &Links) -> String {
        let mut text = self.template().to_owned();
        let mut fill =
            |placeholder: &str, value: &str| text = text.replace(&format!("{{{{{placeholder}}}}}"), value);
        fill("base_url", &self.quoted(links.base_url()));
        fill("mcp", &self.quoted(&links.url("mcp", &[])));
        for spec in [&PollFree::SPEC, &PollQuestion::SPEC, &GetPollResult::SPEC] {
            fill(spec.name, &self.path(spec));
            fill(&format!("{}.body", spec.name), &self.body(spec));
        }
        text
    }

    const fn template(self) -> &'static str {
        match self {
            Self::Curl => include_str!("curl.sh"),
            Self::Typescript => include_str!("typescript.ts"),
            Self::Python => include_str!("python.py"),
            Self::McpConfig => include_str!("mcp-config.json"),
        }
    }

    /// The path of an operation. A poll's id in it is read from the poll.
    fn path(self, spec: &Spec) -> String {
        let path = spec.rest.map_or("", |rest| rest.path);
        let id = match self {
            Self::Curl => "$poll_id",
            Self::Typescript => "${poll.poll_id}",
            Self::Python => "\" + poll[\"poll_id\"] + \"",
            Self::McpConfig => "",
        };
        path.replace("{poll_id}", id)
    }

    /// The example of an operation's input, as a text of JSON, or as a value where that is the same.
    fn body(self, spec: &Spec) -> String {
        let value: Value = serde_json::from_str(spec.example).unwrap_or_default();
        match self {
            Self::Typescript => value.to_string(),
            _ => self.quoted(&value.to_string()),
        }
    }

    /// A text as this language quotes it.
    fn quoted(self, text: &str) -> String {
        match self {
            Self::Curl => format!("'{}'", text.replace('\'', r"'\''")),
            // A string of JSON is one of TypeScript and of Python, too.
            _ => Value::from(text).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ep_kernel::method::Method;

    use super::*;

    #[test]
    fn every_placeholder_is_filled() {
        let links = Links::new("https://ep.example", [("mcp".to_owned(), Method::Post, "/mcp".to_owned())]);
        for language in Language::ALL {
            let example = language.example(&links);
            assert!(!example.contains("{{") && !example.contains("}}"), "{example}");
            assert!(example.contains("https://ep.example"), "{example}");
            assert_eq!(Language::named(language.name()), Some(language));
        }
        assert_eq!(Language::Curl.quoted("it's"), r"'it'\''s'");
    }
}
