//! `estimate_poll`: estimates the cost of a poll from its shape, for anyone.

use ep_kernel::schema;
use ep_polling::options::{MAX_LEVELS, MAX_OPTIONS, MIN_OPTIONS};
use ep_polling::{Choices, Draft, Levels, ModelNames, Options, PanelRef, Threshold, TieRule};
use serde_json::Value;

use super::draft::plan;
use super::estimate::Estimates;
use super::profile::Profile;
use super::scale;
use super::selection::NamedModels;
use crate::prelude::*;

/// Estimates a poll by its models and its number of options.
pub struct EstimatePoll;

/// The models and settings of a poll, without its question.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PollShape {
    /// The preset of models (default fast_and_cheap).
    pub preset: Option<String>,
    /// Instead of a preset: a panel of yours, as name or name@version.
    pub panel: Option<PanelRef>,
    /// Instead of a preset: 2 to 150 models, by id, by name (claude), or with * for any text. In a query, once per name.
    pub models: Option<ModelNames>,
    /// Models to exclude, in the same notation.
    pub exclude: Option<ModelNames>,
    /// The number of options.
    #[schemars(range(min = 2, max = 10), extend("default" = 2))]
    pub options: Option<u32>,
    /// The number of levels of a scale, instead of options.
    #[schemars(range(min = 2, max = 11))]
    pub levels: Option<u32>,
    /// True for a scale with a pass mark, which can stop early.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub pass: bool,
    /// Sets preset and threshold; other fields override it.
    #[serde(default, deserialize_with = "schema::word")]
    pub profile: Option<Profile>,
    /// The confidence at which the poll stops early (default 0.95).
    pub confidence_threshold: Option<Threshold>,
}

impl PollShape {
    /// Returns choices of ordinary length.
    fn choices(&self) -> Result<Choices, Fault> {
        let named = |field: &str, count: u32, most: usize| {
            let count = count as usize;
            if !(MIN_OPTIONS..=most).contains(&count) {
                let rule = format!("must be a number from {MIN_OPTIONS} to {most}");
                return Err(Fault::invalid(field, rule));
            }
            Ok((1..=count).map(|n| format!("An option of ordinary length, number {n}")).collect::<Vec<_>>())
        };
        match (self.options, self.levels) {
            (Some(_), Some(_)) => {
                Err(Fault::invalid("levels", "levels replace options: send one of the two"))
            }
            (_, None) if self.pass => {
                Err(Fault::invalid("pass", "needs levels; send their number, or leave pass out"))
            }
            (options, None) => {
                let names = named("options", options.unwrap_or(MIN_OPTIONS as u32), MAX_OPTIONS)?;
                Ok(Options::new(&names).map_err(Fault::internal)?.into())
            }
            (None, Some(levels)) => {
                let names = named("levels", levels, MAX_LEVELS)?;
                let mark = names.last().filter(|_| self.pass).map(String::as_str);
                scale::choices(Levels::new(&names).map_err(Fault::internal)?, mark, "pass")
            }
        }
    }
}

impl Tool for EstimatePoll {
    const SPEC: Spec = Spec {
        name: "estimate_poll",
        title: "Estimate a poll",
        summary: "Estimates cost and latency of a poll by its models, number of options and threshold. Asks no model.",
        manual: include_str!("estimate_poll.md"),
        example: include_str!("estimate_poll.example.json"),
        access: Access::PUBLIC,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/poll/estimate")),
        agents: Agents::Set(ToolSet::Polls),
        intents: &[
            "how much does a poll cost",
            "pricing",
            "cost estimate",
            "how long does a poll take",
            "estimate the price and latency of a poll",
            "expected cost of a poll with the frontier preset and four options",
            "how expensive is it to ask many models",
            "how quick is a poll",
            "will it be expensive, give me an estimate first",
        ],
        faults: &[Kind::InvalidPreset, Kind::NotConfigured, Kind::Unavailable],
        ..Spec::PLAIN
    };
    type Input = PollShape;
    type Output = Estimates;

    async fn other_mistakes(cx: &Ctx, input: &Value) -> Option<Fault> {
        NamedModels::mistakes(cx, input).await
    }

    async fn call(cx: &Ctx, shape: PollShape) -> Result<Estimates, Fault> {
        let options = shape.choices();
        let profile = shape.profile.unwrap_or(Profile::Balanced);
        let bundle = profile.bundle();
        let named = NamedModels {
            panel: shape.panel,
            preset: shape.preset,
            models: shape.models,
            exclude: shape.exclude,
        };
        let options = match options {
            Ok(options) => options,
            Err(fault) => return Err(named.wrong(cx).await.into_iter().fold(fault, Fault::and)),
        };
        let selection = named.select(cx, &bundle.preset).await?;
        let of_panel = selection.threshold.filter(|_| shape.profile.is_none());
        let draft = Draft {
            question: "A question of ordinary length, asked to price a poll of this shape and never sent?"
                .into(),
            options,
            models: selection.models,
            panel: selection.panel,
            threshold: shape.confidence_threshold.or(of_panel).unwrap_or_else(|| profile.threshold()),
            budget: profile.budget(),
            pace: bundle.pace,
            private: false,
            explanations: None,
            complete: false,
            on_tie: TieRule::Report,
        };
        Ok(Estimates::new(cx, &plan(cx, draft).await?))
    }
}
