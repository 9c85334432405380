//! `get_example`: returns an example program.

use std::borrow::Cow;
use std::time::Duration;

use super::language::Language;
use crate::prelude::*;

/// Returns an example.
pub struct GetExample;

/// The example to return.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ExampleQuery {
    /// The language.
    // A string, so that an unknown language is reported as not found rather than as invalid input.
    #[schemars(with = "Language")]
    pub language: String,
}

/// An example.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Example {
    /// The language.
    pub language: Cow<'static, str>,
    /// The code.
    pub code: String,
}

impl ToolOutput for Example {
    fn presentation(&self) -> Presentation {
        Presentation::shared(Duration::from_hours(1)).text(self.code.clone())
    }
}

impl Tool for GetExample {
    const SPEC: Spec = Spec {
        name: "get_example",
        title: "Get a code example",
        summary: "Returns code that asks a poll and reads its result: curl, typescript, python or mcp-config. Free.",
        manual: include_str!("get_example.md"),
        example: r#"{ "language": "curl" }"#,
        access: Access::PUBLIC,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/examples/{language}").text("text/plain; charset=utf-8")),
        agents: Agents::None,
        intents: &[
            "show me a code example",
            "example in Python, TypeScript, curl",
            "how do I call this API from my code",
            "MCP client configuration",
            "MCP config snippet",
            "show me how to use this with curl",
            "how do I add this server to Claude Desktop",
        ],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = ExampleQuery;
    type Output = Example;

    async fn call(cx: &Ctx, query: ExampleQuery) -> Result<Example, Fault> {
        let language = Language::named(&query.language).ok_or_else(|| {
            let names = Language::ALL.map(Language::as_str).join(", ");
            let given: String = query.language.chars().filter(|c| !c.is_control()).take(40).collect();
            Fault::new(
                Kind::NotFound,
                format!("there is no example in {given}; available languages: {names}"),
            )
        })?;
        Ok(Example { language: language.as_str().into(), code: language.example(cx.links()) })
    }
}
