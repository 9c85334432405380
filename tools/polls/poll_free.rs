//! `poll_free`: asks open-weight models that charge nothing, without an account.

use std::borrow::Cow;

use ep_kernel::Opener;
use ep_kernel::schema;
use ep_polling::{
    Budget, Choices, Draft, FreeOptions, FreeQuestion, ModelChoice, Pace, PollId, ScaleResult, Threshold,
    TieRule,
};
use schemars::Schema;
use serde_json::{Map, Value};

use super::audience::Audience;
use super::draft::plan;
use super::estimate::DryRun;
use super::follow::follow;
use super::free_form::{self, FREE_PRESET, FreeRequest, Theme};
use super::notices::notices;
use super::poll_question::PollQuestion;
use super::propose_options::propose;
use super::sentences::{EndedPoll, NOT_PROOF, quoted};
use super::summary::Summary;
use crate::prelude::*;
use crate::result_link::result_url;

/// Fields of other polls, with the values that every free poll has.
const IMPLIED: [(&str, &str); 2] = [("preset", "free"), ("poll_type", "fptp")];

/// Asks the free models.
pub struct PollFree;

/// The result of a free poll.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FreeReply {
    /// The question.
    pub question: String,
    /// The options.
    pub options: Vec<String>,
    /// The option with the most votes; null on a tie, without votes, and after too few votes: the missing ones could give another
    /// outcome.
    pub answer: Option<String>,
    /// The outcome and the vote counts in sentences.
    pub reasoning: String,
    /// Always 0.
    pub cost: u8,
    /// Always `free`.
    #[schemars(extend("const" = "free"))]
    pub theme: Cow<'static, str>,
    /// The result's id.
    pub poll_id: PollId,
    /// URL of the full result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub result_url: Option<String>,
    /// Confidence that all free models would give this answer, or pass or fail likewise: agreement, not truth.
    pub confidence: f64,
    /// The votes on a scale; absent if the options are no levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ScaleResult")]
    pub scale: Option<ScaleResult>,
    /// True if the voters are simulated.
    pub simulated: bool,
    /// Notices about this poll: its roster, and models that gave no vote or did not respond.
    pub notices: Vec<String>,
}

/// The result of a free poll, or of a dry run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FreeAnswer {
    /// The poll has ended.
    Complete(FreeReply),
    /// The poll was validated and priced only.
    DryRun(DryRun),
}

impl ToolOutput for FreeAnswer {
    fn add_notices(&mut self, notices: Vec<String>) {
        match self {
            Self::Complete(reply) => drop(reply.notices.splice(..0, notices)),
            Self::DryRun(dry_run) => dry_run.add_notices(notices),
        }
    }
}

impl Tool for PollFree {
    const SPEC: Spec = Spec {
        name: "poll_free",
        title: "Poll the free models",
        summary: "Asks open-weight models that charge nothing, without an account: 2 to 5 short options, or an open question.",
        manual: include_str!("poll_free.md"),
        example: include_str!("poll_free.example.json"),
        access: Access::ANONYMOUS,
        effect: Effect::Consult,
        latency: Latency::Models,
        rate: Rate::Free,
        rest: Some(Rest::post("/api/poll")),
        intents: &[
            "ask free models, I have no key",
            "poll without an account",
            "use it without an account",
            "run a poll for free without an API key",
            "try a free poll without signing up",
            "free vote without login",
            "is there a free tier, no key to try",
            "anonymous poll with open-weight models",
        ],
        faults: &[Kind::Busy, Kind::NoProposals, Kind::PollFailed, Kind::NotConfigured, Kind::Unavailable],
        ..Spec::PLAIN
    };
    type Input = FreeRequest;
    type Output = FreeAnswer;

    /// Also names the arguments that only polls of an account have.
    fn without_effect(schema: &Schema, input: &Map<String, Value>) -> Vec<String> {
        let Some(paid) = crate::find(PollQuestion::SPEC.name) else { return Vec::new() };
        let (free_names, paid_names) = (schema::names(schema), schema::names(paid.input()));
        let of_accounts = |name: &str| paid_names.contains(&name) && !free_names.contains(&name);
        let is_implied = |name: &str, value: &Value| {
            IMPLIED.iter().any(|implied| *implied == (name, value.as_str().unwrap_or_default()))
        };
        let (of_accounts, others): (Map<_, _>, Map<_, _>) =
            input.clone().into_iter().partition(|(name, _)| of_accounts(name));
        let of_accounts = of_accounts.iter().filter(|(name, value)| !is_implied(name, value));
        let notice = |(name, _)| format!("{name} has no effect in a free poll; it needs an API key");
        of_accounts.map(notice).chain(schema::spelling_notices(schema, &others)).collect()
    }

    async fn call(cx: &Ctx, request: FreeRequest) -> Result<FreeAnswer, Fault> {
        if request.theme == Some(Theme::FreeSearch) {
            return Err(Fault::invalid(
                "theme",
                "theme free_search needs a search-capable free model, and none is configured here; leave theme out",
            ));
        }
        if request.private {
            let advice = "free polls are public; send an API key to ask a private poll";
            return Err(Fault::new(Kind::Unauthenticated, advice));
        }
        if request.models.is_some() || request.exclude.is_some() {
            let advice = "free polls ask the free models only; send an API key to choose models";
            return Err(Fault::new(Kind::Unauthenticated, advice));
        }
        let dry_run = request.dry_run;
        let (question, choices) = free_form::read(request)?;
        let (choices, proposed) = match choices {
            Some(choices) => (choices, None),
            // Nobody is asked for options, so as many as can be proposed are priced.
            None if dry_run => {
                (FreeOptions::new(&["1", "2", "3", "4", "5"]).map_err(Fault::internal)?.into(), None)
            }
            None => {
                let proposed = propose(cx, &question).await?;
                let options = FreeOptions::new(&proposed.options).map_err(Fault::internal)?;
                let proposers = proposed.proposers();
                (
                    options.into(),
                    Some(format!("the question had no options; these were proposed by {proposers}")),
                )
            }
        };
        let plan = plan(cx, free_draft(question, choices, false)).await?;
        if dry_run {
            return Ok(FreeAnswer::DryRun(DryRun::of(cx, &plan)));
        }
        let opener = Opener { request_ref: cx.request_ref.clone(), ..Opener::default() };
        let id = cx.open_poll(plan, opener).await?;
        let state = follow(cx, &id, None).await?;
        let Some(closing) = &state.record.closing else {
            return Err(Fault::new(
                Kind::PollFailed,
                format!("poll {id} has not ended yet; request its result later"),
            ));
        };
        let summary = Summary::new(&state, closing);
        let plan = &state.record.plan;
        let ended = EndedPoll::new(&state, closing, &summary);
        let counts = ended.counts();
        let mut notices = notices(&state, Some((closing, &summary)), Audience::Owner);
        // `reasoning` has the counts.
        notices.retain(|notice| *notice != counts);
        notices.splice(..0, proposed);
        Ok(FreeAnswer::Complete(FreeReply {
            question: plan.question.to_string(),
            options: plan.options.clone(),
            reasoning: reasoning(&ended),
            notices,
            answer: summary.winning_option.filter(|_| summary.no_answer.is_none()),
            cost: 0,
            theme: "free".into(),
            result_url: result_url(cx, &id),
            poll_id: id,
            confidence: summary.confidence,
            scale: summary.scale,
            simulated: plan.simulated,
        }))
    }
}

/// Drafts a poll of the free models.
pub(super) fn free_draft(question: FreeQuestion, options: Choices, complete: bool) -> Draft {
    Draft {
        question: question.into(),
        options,
        models: ModelChoice::preset(FREE_PRESET),
        panel: None,
        threshold: Threshold::DEFAULT,
        budget: Budget::DEFAULT,
        pace: Pace::Fast,
        private: false,
        explanations: None,
        complete,
        on_tie: TieRule::Report,
    }
}

/// Describes the outcome and the counts in sentences.
fn reasoning(poll: &EndedPoll<'_>) -> String {
    let votes: Vec<String> =
        poll.tally.0.iter().map(|(option, votes)| format!("{option}: {votes}")).collect();
    let (headline, counts) = (poll.headline(quoted), poll.counts());
    format!("{headline} {}. {counts}.{} {NOT_PROOF}", votes.join(", "), poll.level_note())
}

#[cfg(test)]
mod tests {
    use ep_kernel::Caller;
    use ep_polling::{ModelCounts, NamedTally, TerminationReason};
    use serde_json::json;

    use super::*;
    use crate::testing::Service;

    #[test]
    fn the_reasoning_distinguishes_late_calls_from_calls_that_were_not_made() {
        let tally = NamedTally(vec![("Tea".into(), 11), ("Coffee".into(), 3)]);
        let ended = EndedPoll {
            tally: &tally,
            winner: Some("Tea"),
            models: ModelCounts::new(22, 15, 14, 5),
            failed: 0,
            reason: Some(TerminationReason::MathematicalLock),
            confidence: 1.0,
            threshold: None,
            simulated: true,
            contested: false,
            no_answer: None,
            scale: None,
        };
        assert_eq!(
            reasoning(&ended),
            "Simulated voters: “Tea” won 11 of 14 votes. Tea: 11, Coffee: 3. 14 votes · 1 answer without a vote · 7 not needed. \
             Agreement is not proof."
        );
        let cancelled = reasoning(&EndedPoll { reason: None, ..ended });
        assert!(cancelled.contains("5 interrupted · 2 not asked"), "{cancelled}");
    }

    #[tokio::test]
    async fn free_polls_derive_options_and_reject_paid_features() {
        let service = Service::start().await;
        let call = |members| service.call::<PollFree>(const { &Caller::Local }, members);
        let answer = call(json!({ "q": "Is a hot dog a sandwich?" })).await.unwrap().value;
        assert_eq!((&answer["options"], &answer["cost"]), (&json!(["Yes", "No"]), &json!(0)));
        for (input, kind) in [
            (json!({ "q": "Is it?", "theme": "free_search" }), Kind::InvalidInput),
            (json!({ "q": "Is it?", "private": true }), Kind::Unauthenticated),
            (json!({ "q": "Is it?", "models": ["a/b", "c/d"] }), Kind::Unauthenticated),
        ] {
            assert_eq!(call(input).await.unwrap_err().kind(), kind);
        }
    }
}
