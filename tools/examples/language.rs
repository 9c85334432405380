//! The languages of the examples.

use ep_kernel::{Links, Spec, Tool};
use schemars::JsonSchema;
use serde_json::Value;

use crate::polls::{PollFree, PollQuestion};
use crate::results::GetPollResult;

ep_polling::words! {
    /// The language of an example.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
    #[schemars(inline)]
    pub enum Language {
        /// A shell script with curl.
        Curl = "curl",
        /// TypeScript for Node, Deno, Bun or a browser.
        Typescript = "typescript",
        /// Python with its standard library.
        Python = "python",
        /// The settings of an MCP client.
        McpConfig = "mcp-config",
    }
}

impl Language {
    /// Returns the language with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.as_str() == name)
    }

    /// Returns the example in this language, with the URLs of this service.
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

    /// Returns the path of an operation. The example takes a poll's id from the poll it opened.
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

    /// Returns the example of an operation's input as JSON text, or as a value in languages where JSON is
    /// valid source. Python has other names for `true`, `false` and `null`, which no example has.
    fn body(self, spec: &Spec) -> String {
        let value: Value = serde_json::from_str(spec.example).unwrap_or_default();
        match self {
            Self::Typescript | Self::Python => value.to_string(),
            _ => self.quoted(&value.to_string()),
        }
    }

    /// Quotes a text for this language.
    fn quoted(self, text: &str) -> String {
        match self {
            Self::Curl => format!("'{}'", text.replace('\'', r"'\''")),
            // A JSON string is also a valid TypeScript and Python string.
            _ => Value::from(text).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ep_kernel::method::Method;

    use super::*;

    #[test]
    fn bodies_are_valid_python() {
        for spec in [&PollFree::SPEC, &PollQuestion::SPEC] {
            let body = Language::Python.body(spec);
            let outside: String = body.split('"').step_by(2).collect();
            assert!(!outside.chars().any(char::is_alphabetic), "{body}");
        }
    }

    #[test]
    fn every_placeholder_is_filled() {
        let links = Links::new("https://ep.example", [("mcp".to_owned(), Method::Post, "/mcp".to_owned())]);
        for language in Language::ALL {
            let example = language.example(&links);
            assert!(!example.contains("{{") && !example.contains("}}"), "{example}");
            assert!(example.contains("https://ep.example"), "{example}");
            assert_eq!(Language::named(language.as_str()), Some(language));
        }
        assert_eq!(Language::Curl.quoted("it's"), r"'it'\''s'");
    }
}
