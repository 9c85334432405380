//! The input of a poll, and the draft made from it.

use ep_kernel::schema;
use ep_kernel::{Caller, Ctx, Fault, Kind};
use ep_polling::options::{MAX_OPTIONS, MIN_OPTIONS};
use ep_polling::{
    Budget, Choices, ChosenPanel, Draft, ExplanationCount, Member, ModelNames, ModelSource, Options,
    OrderBasis, Pace, PanelRef, Plan, Question, Roster, Threshold, TieRule,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::profile::Profile;
use super::scale::ScaleRequest;
use super::selection::{NamedModels, Selection};
use crate::panels::no_longer_known;

/// Maximum wait that a caller can request, in milliseconds.
const MAX_WAIT_MS: u32 = 600_000;

/// The voting rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PollType {
    /// First past the post: the option with the most votes wins.
    #[default]
    Fptp,
}

/// A caller's wait limit, in milliseconds.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(try_from = "u32")]
#[schemars(inline, with = "u32", extend("maximum" = MAX_WAIT_MS))]
pub struct WaitMs(pub u32);

ep_polling::checked!(WaitMs: u32, String, |ms| {
    if ms > MAX_WAIT_MS { Err(format!("must be at most {MAX_WAIT_MS}")) } else { Ok(Self(ms)) }
});

/// A poll request.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(extend("anyOf" = [{ "required": ["question"] }, { "required": ["prompt"] }]))]
pub struct PollRequest {
    /// Neutral, self-contained: models see only it and the options.
    pub question: Option<Question>,
    /// Use question.
    #[schemars(extend("deprecated" = true))]
    pub prompt: Option<Question>,
    /// Options to choose from.
    #[schemars(required)]
    pub options: Option<Options>,
    /// Instead of options, or with the same: levels, lowest first, and pass, the lowest that passes. Their median decides;
    /// without pass, every model is asked.
    #[schemars(extend("x-extended" = true, "x-replaces" = "options"))]
    pub scale: Option<ScaleRequest>,
    /// First past the post.
    #[serde(default, deserialize_with = "schema::word")]
    #[schemars(extend("default" = "fptp"))]
    pub poll_type: Option<PollType>,
    /// The preset of models (default fast_and_cheap).
    pub preset: Option<String>,
    /// A panel of yours, as name or name@version, or a preset: its models and its rules.
    #[schemars(extend("x-extended" = true))]
    pub panel: Option<PanelRef>,
    /// Ids of 2 to 150 models, instead of a preset; * stands for any text.
    pub models: Option<ModelNames>,
    /// Models not to ask.
    pub exclude: Option<ModelNames>,
    /// Sets preset, threshold, cost and pace unless given.
    #[serde(default, deserialize_with = "schema::word")]
    pub profile: Option<Profile>,
    /// Confidence that an early answer matches the whole roster's (default 0.95).
    pub confidence_threshold: Option<Threshold>,
    /// Most to spend, in USD (default 1).
    pub max_cost_usd: Option<Budget>,
    /// thrifty: fewest calls; fast: all at once (default balanced).
    #[serde(default, deserialize_with = "schema::word")]
    pub pace: Option<Pace>,
    /// An https URL notified of the outcome, signed.
    #[schemars(extend("x-extended" = true))]
    pub notify_url: Option<String>,
    /// Only you can read the result.
    #[serde(default)]
    #[schemars(extend("default" = false, "x-limit" = true))]
    pub private: bool,
    /// Asks this many voters of each of the two first options for a reason, after the vote and within max_cost_usd:
    /// 1 to 3.
    #[schemars(extend("x-extended" = true))]
    pub reasons: Option<ExplanationCount>,
    /// Asks every model, even after the outcome is certain: for shares of votes, which an early stop biases.
    #[serde(default)]
    #[schemars(extend("default" = false, "x-extended" = true))]
    pub complete: bool,
    /// The rule for a tie. strongest: of the tied options, that of the first model in `models`, or of the strongest
    /// one of a panel such as trio.
    #[serde(default, deserialize_with = "schema::word")]
    #[schemars(extend("x-extended" = true))]
    pub on_tie: Option<TieRule>,
    /// Price it; ask no model.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub dry_run: bool,
    /// Longest wait, in ms.
    pub wait_ms: Option<WaitMs>,
}

impl PollRequest {
    /// Rejects an input that is not a poll request.
    pub fn check(input: Value) -> Result<(), Fault> {
        let mut request = schema::decode::<Self>(input)?;
        request.take_models().check()?;
        request.draft(Selection::of(ModelSource::Preset(String::new()), None)).map(drop)
    }

    /// Looks up the panel, and builds the draft. The models are not looked up yet.
    pub async fn resolve(mut self, cx: &Ctx) -> Result<Draft, Fault> {
        let default = self.profile.unwrap_or(Profile::Balanced).bundle().preset;
        let named = self.take_models();
        match named.clone().select(cx, &default).await {
            Ok(selection) => match self.draft(selection) {
                Ok(draft) => Ok(draft),
                Err(fault) => Err(named.wrong(cx).await.into_iter().fold(fault, Fault::and)),
            },
            Err(wrong) => {
                let placeholder = Selection::of(ModelSource::Preset(default.into_owned()), None);
                Err(self.draft(placeholder).err().into_iter().fold(wrong, |wrong, fault| fault.and(wrong)))
            }
        }
    }

    fn take_models(&mut self) -> NamedModels {
        NamedModels {
            panel: self.panel.take(),
            preset: self.preset.take(),
            models: self.models.take(),
            exclude: self.exclude.take(),
        }
    }

    fn draft(self, selection: Selection) -> Result<Draft, Fault> {
        let question = self.question.or(self.prompt).ok_or_else(|| {
            Fault::invalid("question", "question is missing: say what to ask, in at least 10 characters")
        });
        let profile = self.profile.unwrap_or(Profile::Balanced);
        let choices = choices(self.options, self.scale.map(ScaleRequest::choices));
        let (question, choices) = match (question, choices) {
            (Ok(question), Ok(choices)) => (question, choices),
            (Err(question), Err(choices)) => return Err(choices.and(question)),
            (Err(fault), Ok(_)) | (Ok(_), Err(fault)) => return Err(fault),
        };
        let on_tie = match choices {
            Choices::Options(_) => self.on_tie.or(selection.on_tie).unwrap_or_default(),
            Choices::Scale(_) => without_ties(self.on_tie)?,
        };
        // A requested profile has a threshold of its own.
        let of_panel = selection.threshold.filter(|_| self.profile.is_none());
        Ok(Draft {
            question: question.into(),
            options: choices,
            models: selection.models,
            panel: selection.panel,
            threshold: self.confidence_threshold.or(of_panel).unwrap_or_else(|| profile.threshold()),
            budget: self.max_cost_usd.unwrap_or_else(|| profile.budget()),
            pace: self.pace.unwrap_or_else(|| profile.bundle().pace),
            private: self.private,
            explanations: self.reasons,
            complete: self.complete,
            on_tie,
        })
    }
}

/// Returns the options or the scale of a request, which has one of the two.
pub(super) fn choices(
    options: Option<impl Into<Choices>>,
    scale: Option<Result<Choices, Fault>>,
) -> Result<Choices, Fault> {
    match (options, scale) {
        (Some(options), None) => Ok(options.into()),
        (None, Some(scale)) => scale,
        (Some(options), Some(scale)) => {
            // A client that must send options repeats the levels.
            let (options, scale): (Choices, Choices) = (options.into(), scale?);
            let is_same = Vec::<String>::from(options) == Vec::<String>::from(scale.clone());
            if is_same {
                return Ok(scale);
            }
            Err(Fault::invalid(
                "scale",
                "scale replaces options: send one of the two, or its levels as options",
            ))
        }
        (None, None) => {
            let advice = format!(
                "options: add at least two options: {MIN_OPTIONS} to {MAX_OPTIONS} are allowed; propose_options proposes some"
            );
            Err(Fault::invalid("options", advice))
        }
    }
}

/// Returns the tie rule of a scale, whose median is never tied. The rule of a panel does not apply to it.
fn without_ties(requested: Option<TieRule>) -> Result<TieRule, Fault> {
    match requested {
        None | Some(TieRule::Report) => Ok(TieRule::Report),
        Some(_) => Err(Fault::invalid(
            "on_tie",
            "has no effect on a scale, whose median is never tied; leave it out",
        )),
    }
}

/// Looks up the models and plans the poll.
pub async fn plan(cx: &Ctx, draft: Draft) -> Result<Plan, Fault> {
    let mut roster = cx.models().roster(&draft.models).await.map_err(|fault| {
        match (&draft.panel, &draft.models.source) {
            (Some(panel), ModelSource::Ids(models)) => no_longer_known(fault, &panel.version, models),
            _ => fault,
        }
    })?;
    if draft.on_tie == TieRule::Strongest && !roster.is_ranked {
        return Err(Fault::invalid(
            "on_tie",
            "strongest needs the models in the order of their strength: send models without *, the strongest first, or a \
             preset with an order, such as trio",
        ));
    }
    if let Some(ChosenPanel { version, order: OrderBasis::Price }) = &draft.panel {
        roster.notices.push(format!(
            "the models of {version} are ordered by price; they were not judged on labelled rows"
        ));
    }
    let charged = cx.settings().billing && cx.caller != Caller::Local;
    let roster = if charged { priced(roster)? } else { roster };
    Ok(cx.polls().plan(draft, roster))
}

/// Rejects a budget that may be too small for a single call, or for all calls of a complete poll. Models are asked in random
/// order, and none is excluded for its price.
pub fn affordable(plan: &Plan) -> Result<(), Fault> {
    let (budget, least) = (plan.budget.amount(), plan.least_budget());
    if budget >= least {
        return Ok(());
    }
    let figure = least.to_string();
    let figure = figure.trim_start_matches('$');
    let lacks = if plan.complete {
        format!(
            "is too small for the whole panel, which a complete poll asks: its votes can cost up to {figure}"
        )
    } else {
        format!("is too small for one call: one vote of this roster can cost up to {figure}")
    };
    let rule = format!("{lacks}; send {figure} or more, or choose cheaper models");
    Err(Fault::invalid("max_cost_usd", rule))
}

/// Removes models without a listed price, because their calls could not be charged.
fn priced(roster: Roster) -> Result<Roster, Fault> {
    let members: Vec<Member> =
        roster.members().iter().filter(|member| member.price.is_some()).cloned().collect();
    let unpriced = roster.members().len() - members.len();
    if unpriced == 0 {
        return Ok(roster);
    }
    if members.is_empty() {
        return Err(Fault::new(
            Kind::InvalidPreset,
            "none of the requested models has a listed price, and polls are charged to accounts here; choose others. \
             If these models are free, the operator can set upstream.unpriced_is_free, or turn off charging \
             (billing.mode)",
        ));
    }
    let mut notices = roster.notices;
    notices.push(format!(
        "{unpriced} of the requested models are excluded because they have no listed price and polls are charged \
         to accounts here"
    ));
    let is_ranked = roster.is_ranked;
    let mut roster = Roster::new(members, roster.simulated, notices).map_err(Fault::internal)?;
    roster.is_ranked = is_ranked;
    Ok(roster)
}
