//! Operations with a REST body that is a text or one field of their output.

use std::sync::LazyLock;

use ep_kernel::dispatch::entry;
use ep_kernel::tool::{Presentation, ToolOutput};
use ep_kernel::{
    Access, Agents, Cost, Ctx, Effect, Entry, Fault, Latency, Nothing, Rate, Rest, Spec, Task, Tool,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::harness::Setup;

struct ListColours;
struct ColoursAsText;

/// Colours.
#[derive(Serialize, JsonSchema)]
struct Colours {
    colours: Vec<&'static str>,
    #[serde(skip)]
    text: Option<String>,
}

impl ToolOutput for Colours {
    fn presentation(&self) -> Presentation {
        let presentation = Presentation::immutable();
        match &self.text {
            Some(text) => presentation.text(text.clone()),
            None => presentation,
        }
    }
}

const SPEC: Spec = Spec {
    name: "list_colours",
    title: "List colours",
    summary: "Lists two colours, as a list or as text.",
    manual: "Lists two colours.",
    example: "{}",
    access: Access::PUBLIC,
    effect: Effect::Read,
    cost: Cost::Free,
    latency: Latency::Instant,
    rate: Rate::Default,
    rest: Some(Rest::get("/api/colours").field("colours")),
    stream: None,
    agents: Agents::Set(ep_kernel::ToolSet::Polls),
    task: Task::None,
    intents: &["which colours are there"],
    faults: &[],
};

impl Tool for ListColours {
    const SPEC: Spec = SPEC;
    type Input = Nothing;
    type Output = Colours;
    async fn call(_: &Ctx, _: Nothing) -> Result<Colours, Fault> {
        Ok(Colours { colours: vec!["red", "blue"], text: None })
    }
}

impl Tool for ColoursAsText {
    const SPEC: Spec = Spec {
        name: "colours_as_text",
        rest: Some(Rest::get("/api/colours.csv").text("text/csv; charset=utf-8")),
        ..SPEC
    };
    type Input = Nothing;
    type Output = Colours;
    async fn call(_: &Ctx, _: Nothing) -> Result<Colours, Fault> {
        Ok(Colours { colours: vec!["red", "blue"], text: Some("red,blue\n".into()) })
    }
}

static EXTENDED: LazyLock<Vec<Entry>> =
    LazyLock::new(|| vec![entry::<ListColours>(), entry::<ColoursAsText>()]);

#[tokio::test]
async fn rest_returns_the_field_or_text_and_mcp_the_object() {
    let service = Setup { tools: &EXTENDED, ..Setup::demo() }.boot().await;
    let (user, nobody) = (service.user().await, service.anonymous());
    assert_eq!(nobody.get("/api/colours").await.expect(200), json!(["red", "blue"]));
    let text = nobody.get("/api/colours.csv").await;
    assert_eq!((text.status, text.text.as_str()), (200, "red,blue\n"));
    assert_eq!(text.header("content-type"), "text/csv; charset=utf-8");
    assert!(text.header("cache-control").contains("s-maxage=86400") && !text.header("etag").is_empty());
    for name in ["list_colours", "colours_as_text"] {
        let result = user.tool(name, json!({})).await;
        assert_eq!(result["structuredContent"], json!({ "colours": ["red", "blue"] }), "{name}");
    }
}
