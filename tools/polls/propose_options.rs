//! `propose_options`: options for an open question, by models that charge nothing.

use ep_polling::options::FREE_MAX_OPTIONS;
use ep_polling::{FreeQuestion, ModelChoice, Proposal};

use tokio::time::Instant;

use super::free_form::FREE_PRESET;
use crate::prelude::*;

/// Asks models for options.
pub struct ProposeOptions;

/// The open question.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct OpenQuestion {
    /// A question that has no options yet.
    pub question: FreeQuestion,
}

/// The proposed options.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProposedOptions {
    /// The question.
    pub question: String,
    /// Two to five options, those of most models first.
    pub options: Vec<String>,
    /// The models that proposed options, each with its own.
    pub proposals: Vec<ModelProposal>,
    /// True if the models are simulated.
    pub simulated: bool,
}

impl ProposedOptions {
    /// Returns the models that proposed options, in words.
    pub fn proposers(&self) -> String {
        let models: Vec<&str> = self.proposals.iter().map(|proposal| proposal.model_id.as_str()).collect();
        models.join(" and ")
    }
}

/// The options of one model.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ModelProposal {
    /// The model's id.
    pub model_id: String,
    /// Its options, in its order.
    pub options: Vec<String>,
}

impl ToolOutput for ProposedOptions {
    fn presentation(&self) -> Presentation {
        let options: Vec<String> = self.options.iter().map(|option| format!("“{option}”")).collect();
        let simulated = if self.simulated { "Simulated models" } else { "Models" };
        let poll = "Ask the question with these or with other options.";
        Presentation::default().summary(format!("{simulated} proposed {}. {poll}", options.join(", ")))
    }
}

impl Tool for ProposeOptions {
    const SPEC: Spec = Spec {
        name: "propose_options",
        title: "Propose options",
        summary: "Asks two models that charge nothing for two to five options of an open question, for a poll. Free, without an account.",
        manual: include_str!("propose_options.md"),
        example: r#"{ "question": "What is the best first programming language?" }"#,
        access: Access::PUBLIC,
        effect: Effect::Consult,
        latency: Latency::Models,
        rate: Rate::Free,
        rest: Some(Rest::post("/api/options")),
        agents: Agents::Set(ToolSet::Polls),
        intents: &[
            "propose options for a question",
            "suggest answers to vote on",
            "I have a question but no options",
        ],
        faults: &[Kind::Busy, Kind::NoProposals, Kind::NotConfigured, Kind::Unavailable],
        ..Spec::PLAIN
    };
    type Input = OpenQuestion;
    type Output = ProposedOptions;

    async fn call(cx: &Ctx, input: OpenQuestion) -> Result<ProposedOptions, Fault> {
        propose(cx, &input.question).await
    }
}

/// Asks the free models for options.
pub(super) async fn propose(cx: &Ctx, question: &FreeQuestion) -> Result<ProposedOptions, Fault> {
    let roster = cx.models().roster(&ModelChoice::preset(FREE_PRESET)).await?;
    let began = Instant::now();
    let proposed = cx.proposals().of(question.as_str(), roster, FREE_MAX_OPTIONS).await;
    cx.waited_for_models(began.elapsed());
    let proposed = proposed?;
    let of = |proposal: &Proposal| ModelProposal {
        model_id: proposal.model().to_string(),
        options: proposal.options().to_vec(),
    };
    Ok(ProposedOptions {
        question: question.as_str().to_owned(),
        options: proposed.options.iter().map(|option| option.text.clone()).collect(),
        proposals: proposed.proposals.iter().map(of).collect(),
        simulated: proposed.simulated,
    })
}
