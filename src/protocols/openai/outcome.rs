//! The outcome of a poll as an answer: values, shares, a sentence, and the member `poll`.

use axum::http::HeaderMap;
use axum::http::header::{HeaderName, HeaderValue, LINK};
use ep_tools::polls::sentences::{EndedPoll, number};
use ep_tools::results::PollResult;
use serde_json::{Value, json};

use super::shape::Field;

/// The outcome of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The value that won.
    Decided(Value),
    /// Several values share the most votes.
    Tie,
    /// No model voted.
    NoVotes,
}

impl Outcome {
    /// Returns the outcome of a field's poll: the winner, or the lower median of a score.
    pub fn of(field: &Field, poll: &PollResult) -> Self {
        let votes: Vec<u32> = counts(field, poll);
        let all: u32 = votes.iter().sum();
        if all == 0 {
            return Self::NoVotes;
        }
        if field.is_score {
            let half = all.div_ceil(2);
            let mut seen = 0;
            for (value, votes) in std::iter::zip(&field.values, votes) {
                seen += votes;
                if seen >= half {
                    return Self::Decided(value.clone());
                }
            }
        }
        let winner = poll.winning_option.as_ref();
        let position = winner.and_then(|winner| poll.options.iter().position(|option| option == winner));
        match position.and_then(|position| field.values.get(position)) {
            Some(value) => Self::Decided(value.clone()),
            None => Self::Tie,
        }
    }

    /// Returns the name in headers and in the member `poll`.
    const fn name(&self) -> &'static str {
        match self {
            Self::Decided(_) => "decided",
            Self::Tie => "tie",
            Self::NoVotes => "no_votes",
        }
    }
}

/// Returns the votes for each value of a field.
fn counts(field: &Field, poll: &PollResult) -> Vec<u32> {
    (0..field.values.len())
        .map(|position| poll.options.get(position).map_or(0, |option| poll.tally.of(option)))
        .collect()
}

/// Describes the vote in one true sentence.
pub fn sentence(field: &Field, poll: &PollResult) -> String {
    let votes = poll.tally.votes();
    let voters = if poll.simulated { "simulated voters" } else { "AI models" };
    let subject = match field.name.as_str() {
        "" => String::new(),
        name => format!("{name}: "),
    };
    let link = poll.result_url.as_deref().unwrap_or(poll.poll_id.as_str());
    match Outcome::of(field, poll) {
        Outcome::Decided(value) => {
            let text = super::shape::text_of(&value);
            let how = if field.is_score { "is the median of" } else { "was chosen in" };
            let position = field.values.iter().position(|known| *known == value).unwrap_or_default();
            let won = counts(field, poll).get(position).copied().unwrap_or(0);
            let all = number(votes, "vote");
            let count = if field.is_score { all } else { format!("{won} of {all}") };
            format!("{subject}{text} {how} {count} of {voters}; agreement is not proof. {link}")
        }
        Outcome::Tie => format!("{subject}{} of {voters} tie. {link}", number(votes, "vote")),
        Outcome::NoVotes => format!("{subject}no model voted. {link}"),
    }
}

/// Returns a poll as evidence: its counts, its bound and its link. Shares are smoothed, so that none is 0 or 1: shares of
/// models, not chances of being right.
pub fn evidence(field: &Field, poll: &PollResult) -> Value {
    let votes = counts(field, poll);
    let all = f64::from(votes.iter().sum::<u32>());
    let half = 0.5 * votes.len() as f64;
    let shares = std::iter::zip(&field.values, &votes).map(|(value, votes)| {
        json!({ "value": value, "votes": votes, "share": (f64::from(*votes) + 0.5) / (all + half) })
    });
    json!({
        "poll_id": poll.poll_id,
        "field": field.name,
        "outcome": Outcome::of(field, poll).name(),
        "votes": poll.tally.votes(),
        "panel": EndedPoll::from(poll).roster(),
        "shares": shares.collect::<Vec<Value>>(),
        "confidence": poll.confidence,
        "termination_reason": poll.termination_reason,
        "cost_usd": poll.costs.as_ref().map(|costs| costs.total_estimated_cost),
        "simulated": poll.simulated,
        "result_url": poll.result_url,
        "notices": poll.notices,
    })
}

/// Adds the headers that describe the first poll of an answer.
pub fn write_headers(headers: &mut HeaderMap, field: &Field, poll: &PollResult) {
    let mut set = |name: &'static str, value: String| {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    set("poll-id", poll.poll_id.to_string());
    set("poll-outcome", Outcome::of(field, poll).name().to_owned());
    set("poll-votes", format!("{}/{}", poll.tally.votes(), EndedPoll::from(poll).roster()));
    set("poll-confidence", poll.confidence.to_string());
    if let Some(reason) = poll.termination_reason {
        set("poll-termination", reason.as_str().to_owned());
    }
    if let Some(costs) = &poll.costs {
        set("poll-cost-usd", costs.total_estimated_cost.0.to_string().trim_start_matches('$').to_owned());
    }
    if let Some(url) = &poll.result_url
        && let Ok(link) = HeaderValue::try_from(format!("<{url}>; rel=\"describedby\""))
    {
        headers.append(LINK, link);
    }
}
