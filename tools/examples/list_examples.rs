//! `list_examples`: lists the available examples.

use std::time::Duration;

use super::get_example::GetExample;
use super::language::Language;
use crate::prelude::*;

/// Lists the examples.
pub struct ListExamples;

/// The examples.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Examples {
    /// The languages.
    pub available: [&'static str; Language::ALL.len()],
    /// The URLs of the examples, in the same order.
    pub endpoints: [String; Language::ALL.len()],
}

impl ToolOutput for Examples {
    fn presentation(&self) -> Presentation {
        Presentation::shared(Duration::from_hours(1))
    }
}

impl Tool for ListExamples {
    const SPEC: Spec = Spec {
        name: "list_examples",
        title: "List the code examples",
        summary: "Lists the languages of the code examples, with their URLs. Free.",
        manual: include_str!("list_examples.md"),
        access: Access::PUBLIC,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/examples")),
        intents: &["which code examples are there", "list the example languages"],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = Examples;

    async fn call(cx: &Ctx, _: Nothing) -> Result<Examples, Fault> {
        let name = GetExample::SPEC.name;
        let endpoints =
            Language::ALL.map(|language| cx.links().url(name, &[("language", language.as_str())]));
        Ok(Examples { available: Language::ALL.map(Language::as_str), endpoints })
    }
}
