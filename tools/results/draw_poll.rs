//! `draw_poll`: draws a poll as a Mermaid flow chart.

use ep_polling::PollId;

use super::diagram::diagram;
use crate::poll_id::poll_id;
use crate::prelude::*;

/// Draws a poll.
pub struct DrawPoll;

/// The poll to draw.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct DrawnPoll {
    /// The poll's id: EP-<date>-<suffix>.
    #[serde(alias = "pollId")]
    #[schemars(extend("x-aliases" = ["pollId"]))]
    pub poll_id: String,
}

/// A poll as a diagram.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Drawing {
    /// The poll's id.
    pub poll_id: PollId,
    /// The flow chart, in Mermaid syntax.
    pub diagram: String,
    /// True if the diagram is final and public.
    #[serde(skip)]
    settled: bool,
}

impl ToolOutput for Drawing {
    fn presentation(&self) -> Presentation {
        let presentation = if self.settled { Presentation::immutable() } else { Presentation::default() };
        presentation.text(self.diagram.clone())
    }
}

impl Tool for DrawPoll {
    const SPEC: Spec = Spec {
        name: "draw_poll",
        title: "Draw a poll",
        summary: "Draws a poll's votes and result as a Mermaid flow chart. Free.",
        manual: include_str!("draw_poll.md"),
        example: include_str!("get_poll_result.example.json"),
        access: Access::PUBLIC,
        effect: Effect::Read,
        rate: Rate::Results,
        rest: Some(Rest::get("/api/graph/mermaid/{poll_id}").text("text/plain; charset=utf-8")),
        agents: Agents::Set(ToolSet::Polls),
        intents: &[
            "draw a diagram of my poll",
            "visualise the votes of a poll",
            "mermaid chart of the result",
            "flowchart of a poll",
        ],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = DrawnPoll;
    type Output = Drawing;

    async fn call(cx: &Ctx, drawn: DrawnPoll) -> Result<Drawing, Fault> {
        let state = cx.polls().readable(&poll_id(cx, &drawn.poll_id)?, &cx.caller).await?;
        let record = &state.record;
        let settled = record.closing.is_some() && !record.plan.private;
        Ok(Drawing { poll_id: record.id.clone(), diagram: diagram(&state), settled })
    }
}
