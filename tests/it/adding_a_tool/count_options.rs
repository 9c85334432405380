//! `count_options`: how many options a list has.

use ep_kernel::app::Ctx;
use ep_kernel::fault::Fault;
use ep_kernel::tool::{Access, Agents, Cost, Effect, Latency, Rate, Rest, Spec, Tool, ToolOutput};
use ep_polling::options::Options;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts options.
pub struct CountOptions;

/// Which options.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Counted {
    /// The options.
    pub options: Options,
}

/// How many there are.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Count {
    /// The number of options.
    pub count: usize,
}

impl ToolOutput for Count {}

impl Tool for CountOptions {
    const SPEC: Spec = Spec {
        name: "count_options",
        title: "Count options",
        summary: "Counts the options of a list, after checking them.",
        manual: "Checks a list of options and says how many there are.",
        example: r#"{ "options": ["Tea", "Coffee"] }"#,
        access: Access::PUBLIC,
        effect: Effect::Read,
        cost: Cost::Free,
        latency: Latency::Instant,
        rate: Rate::Default,
        rest: Some(Rest::post("/api/options/count")),
        stream: None,
        agents: Agents::Extended,
        intents: &["how many options are there"],
        faults: &[],
    };
    type Input = Counted;
    type Output = Count;

    async fn call(_: &Ctx, input: Counted) -> Result<Count, Fault> {
        Ok(Count { count: input.options.len() })
    }
}
