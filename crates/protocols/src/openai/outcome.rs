//! The outcome of a field's poll: its value, its shares, a sentence, and the evidence.

use axum::http::HeaderMap;
use axum::http::header::{HeaderName, HeaderValue, LINK};
use ep_polling::NoAnswer;
use ep_tools::polls::sentences::number;
use ep_tools::results::PollResult;
use serde_json::{Value, json};

use super::field::{Field, FieldKind, text_of};

/// Maximum length of the header of notices.
const MAX_NOTICES: usize = 1000;

/// A field with the result of its poll.
#[derive(Debug, Clone, Copy)]
pub struct FieldResult<'a> {
    /// The field.
    pub field: &'a Field,
    /// Its poll.
    pub poll: &'a PollResult,
}

/// The outcome of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The value that won, or the lower median of a score.
    Decided(Value),
    /// Several values share the most votes.
    Tie,
    /// No model voted.
    NoVotes,
    /// Too few votes: the missing ones could give another outcome.
    Unsupported,
}

impl Outcome {
    /// Returns the name in headers and in the member `poll`.
    const fn name(&self) -> &'static str {
        match self {
            Self::Decided(_) => "decided",
            Self::Tie => NoAnswer::Tie.as_str(),
            Self::NoVotes => NoAnswer::NoVotes.as_str(),
            Self::Unsupported => NoAnswer::Unsupported.as_str(),
        }
    }

    /// True if the votes give neither an answer nor probabilities. A tie gives equal ones.
    pub const fn lacks_votes(&self) -> bool {
        matches!(self, Self::NoVotes | Self::Unsupported)
    }
}

impl FieldResult<'_> {
    /// Returns the outcome.
    pub fn outcome(&self) -> Outcome {
        let winner = || self.winner().and_then(|position| self.field.values.get(position));
        match self.poll.no_answer {
            Some(NoAnswer::NoVotes) => Outcome::NoVotes,
            Some(NoAnswer::Unsupported) => Outcome::Unsupported,
            Some(NoAnswer::Tie) => Outcome::Tie,
            None => winner().map_or(Outcome::Tie, |value| Outcome::Decided(value.clone())),
        }
    }

    /// Returns the position of the value that won or was decided by the tie rule of the panel, or of the median of a score.
    pub fn winner(&self) -> Option<usize> {
        let winner = match self.field.kind {
            FieldKind::Score => self.poll.scale.as_ref().and_then(|scale| scale.median.as_ref()),
            FieldKind::Choice | FieldKind::Predicate => {
                let by_rule = self.poll.decision.as_ref().and_then(|decision| decision.option.as_ref());
                self.poll.winning_option.as_ref().or(by_rule)
            }
        };
        winner.and_then(|winner| self.poll.options.iter().position(|option| option == winner))
    }

    /// True if the votes tie and the tie rule of the panel decided.
    fn is_tie_break(&self) -> bool {
        self.poll.is_tie && self.field.kind != FieldKind::Score && self.winner().is_some()
    }

    /// Returns the confidence that the whole panel would choose the same value; none if no value has the most votes.
    fn confidence(&self) -> Option<f64> {
        let won = matches!(self.outcome(), Outcome::Decided(_)) && !self.is_tie_break();
        won.then_some(self.poll.confidence)
    }

    /// Returns the number of models on the roster.
    const fn panel(&self) -> u32 {
        self.poll.models.roster()
    }

    /// Returns the votes for each value.
    pub fn counts(&self) -> Vec<u32> {
        (0..self.field.values.len())
            .map(|position| self.poll.options.get(position).map_or(0, |option| self.poll.tally.of(option)))
            .collect()
    }

    /// Returns the smoothed share of votes for each value: (votes + ½) ÷ (all + ½ × values). None is 0 or 1, and their sum
    /// is 1. They are shares of models, not chances of being right.
    pub fn shares(&self) -> Vec<f64> {
        let votes = self.counts();
        let all = f64::from(votes.iter().sum::<u32>()) + 0.5 * votes.len() as f64;
        votes.into_iter().map(|votes| (f64::from(votes) + 0.5) / all).collect()
    }

    /// Describes the vote in one true sentence.
    pub fn sentence(&self) -> String {
        let Self { field, poll } = self;
        let votes = number(poll.tally.votes(), "vote");
        let voters = if poll.simulated { "simulated voters" } else { "AI models" };
        let subject = match field.name.as_str() {
            "" => String::new(),
            name => format!("{name}: "),
        };
        let link = poll.result_url.as_deref().unwrap_or(poll.poll_id.as_str());
        match self.outcome() {
            Outcome::Decided(value) if field.kind == FieldKind::Score => {
                let text = text_of(&value);
                format!(
                    "{subject}{text} is the median of {votes} of {voters}; agreement is not proof. {link}"
                )
            }
            Outcome::Decided(value) => {
                let won = self.winner().and_then(|winner| poll.options.get(winner));
                let won = won.map_or(0, |winner| poll.tally.of(winner));
                let text = text_of(&value);
                let by = if self.is_tie_break() { ", a tie that the strongest model decided" } else { "" };
                format!(
                    "{subject}{text} was chosen in {won} of {votes} of {voters}{by}; agreement is not proof. {link}"
                )
            }
            Outcome::Tie => format!("{subject}{votes} of {voters} tie. {link}"),
            Outcome::Unsupported => {
                let panel = self.panel();
                // A poll that its budget ended has no notice.
                let reasons = match poll.notices.join("; ") {
                    none if none.is_empty() => none,
                    reasons => format!(" ({reasons})"),
                };
                format!(
                    "{subject}too few votes for an answer: {votes} from {panel} {voters}{reasons}. {link}"
                )
            }
            Outcome::NoVotes => {
                let reasons = poll.notices.join("; ");
                format!("{subject}no model voted ({reasons}). {link}")
            }
        }
    }

    /// Returns the poll as evidence: its counts, its bound and its link.
    pub fn evidence(&self) -> Value {
        let Self { field, poll } = self;
        let values = field.values.iter().zip(self.counts()).zip(self.shares());
        let shares =
            values.map(|((value, votes), share)| json!({ "value": value, "votes": votes, "share": share }));
        json!({
            "poll_id": poll.poll_id,
            "field": field.name,
            "outcome": self.outcome().name(),
            "votes": poll.tally.votes(),
            "panel": self.panel(),
            "shares": shares.collect::<Vec<Value>>(),
            "confidence": self.confidence(),
            "contested": poll.contested,
            "termination_reason": poll.termination_reason,
            "cost_usd": poll.costs.as_ref().map(|costs| costs.total_estimated_cost),
            "simulated": poll.simulated,
            "result_url": poll.result_url,
            "notices": poll.notices,
        })
    }

    /// Adds the headers that describe the poll.
    pub fn write_headers(&self, headers: &mut HeaderMap) {
        let poll = self.poll;
        let mut set = |name: &'static str, value: String| {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        set("poll-id", poll.poll_id.to_string());
        set("poll-outcome", self.outcome().name().to_owned());
        set("poll-votes", format!("{}/{}", poll.tally.votes(), self.panel()));
        if let Some(confidence) = self.confidence() {
            set("poll-confidence", confidence.to_string());
        }
        if let Some(reason) = poll.termination_reason {
            set("poll-termination", reason.as_str().to_owned());
        }
        let notices = poll.notices.join("; ");
        if !notices.is_empty() {
            let shown = |c: char| if matches!(c, ' '..='~') { c } else { '?' };
            set("poll-notices", notices.chars().map(shown).take(MAX_NOTICES).collect());
        }
        if let Some(costs) = &poll.costs {
            let cost = costs.total_estimated_cost.0.to_string();
            set("poll-cost-usd", cost.trim_start_matches('$').to_owned());
        }
        if let Some(url) = &poll.result_url
            && let Ok(link) = HeaderValue::try_from(format!("<{url}>; rel=\"describedby\""))
        {
            headers.append(LINK, link);
        }
    }
}
