//! The headline of a result: the answer and its score.

use ep_polling::{NoAnswer, PassResult, ScaleResult};
use ep_tools::polls::sentences::{EndedPoll, number};
use ep_tools::polls::summary::Status;
use ep_tools::results::PollResult;

use super::votes::{colour, index_of};
use super::words::isolated;

/// An answer with more characters is set smaller.
const LONG: usize = 24;
/// A tie names its options if there are two, each of at most this many characters.
const SHORT: usize = 24;
const CLOSE: &str = "Close: ";

/// The answer of a poll: the winner or leader, or a short text, and its score.
pub struct Answer {
    pub(crate) text: String,
    /// The index of the option; none for a tie, after too few votes, and without votes.
    pub(crate) option: Option<usize>,
    pub(crate) is_long: bool,
    /// True if a few other votes would have changed the winner.
    pub(crate) is_close: bool,
    /// For example "8 of 11 AI models".
    pub(crate) score: String,
}

impl Answer {
    pub(super) fn new(poll: &PollResult) -> Self {
        let all = poll.tally.votes();
        let voters = voters_of(poll);
        let running = poll.status.is_open();
        if poll.no_answer == Some(NoAnswer::Unsupported) {
            let score = format!("{all} from {} {voters}", panel_size(poll));
            return Self::without_option("Too few votes", score);
        }
        if let Some(scale) = poll.scale.as_ref().filter(|_| !running && all > 0) {
            return Self::of_scale(poll, scale);
        }
        let leader = match &poll.progress {
            Some(progress) => progress.leader.as_ref(),
            None => poll.winning_option.as_ref(),
        };
        if let Some(option) = leader {
            let votes = poll.tally.of(option);
            let lead = if running { "leads with " } else { "" };
            let is_close = !running && is_close(poll, option);
            return Self { is_close, ..Self::of(poll, option, format!("{lead}{votes} of {all} {voters}")) };
        }
        let (text, score) = match poll.status {
            Status::Queued => ("Waiting", "for its turn".to_owned()),
            _ if running && all == 0 => ("Asking", format!("the {voters}")),
            _ if running => ("Even", format!("after {}", number(all, "vote"))),
            _ if all > 0 => ("A tie", tied(poll, voters)),
            _ => ("No votes", format!("from {} {voters}", panel_size(poll))),
        };
        Self::without_option(text, score)
    }

    fn without_option(text: &str, score: String) -> Self {
        Self { text: text.to_owned(), option: None, is_long: false, is_close: false, score }
    }

    fn of(poll: &PollResult, option: &str, score: String) -> Self {
        let is_long = option.chars().count() > LONG;
        Self { is_long, option: index_of(poll, option), ..Self::without_option(option, score) }
    }

    /// Returns the answers of a running poll with the longest scores: the lead of each option, and no leader.
    pub(super) fn leads(poll: &PollResult) -> Vec<Self> {
        if !poll.status.is_open() {
            return Vec::new();
        }
        let (all, voters) = (panel_size(poll), voters_of(poll));
        let lead = |option: &String| Self::of(poll, option, format!("leads with {all} of {all} {voters}"));
        let even = Self::without_option("Even", format!("after {}", number(all, "vote")));
        poll.options.iter().map(lead).chain([even]).collect()
    }

    /// Returns the median of a scale, or its pass or fail.
    fn of_scale(poll: &PollResult, scale: &ScaleResult) -> Self {
        let (all, voters) = (poll.tally.votes(), voters_of(poll));
        let median = scale.median.clone().unwrap_or_default();
        match &scale.pass {
            None => Self::of(poll, &median, format!("median of {all} {voters}")),
            Some(PassResult { mark, passed, votes_for, votes_against }) => Self {
                is_close: all > 1 && votes_for.abs_diff(*votes_against) <= 1,
                ..Self::without_option(
                    if *passed == Some(true) { "Passed" } else { "Not passed" },
                    format!(
                        "{votes_for} of {all} {voters} at \u{2068}{mark}\u{2069} or above; median \u{2068}{median}\u{2069}"
                    ),
                )
            },
        }
    }

    /// Returns the number of the option's colour.
    pub(crate) fn colour(&self) -> Option<usize> {
        self.option.map(colour)
    }

    /// Returns the answer and its score on one line, for example "TypeScript · 8 of 11 AI models".
    pub(crate) fn line(&self) -> String {
        let close = if self.is_close { CLOSE } else { "" };
        format!("{close}{} · {}", isolated(&self.text), self.score)
    }

    /// Returns the score, with a narrow result marked.
    pub(crate) fn marked_score(&self) -> String {
        format!("{}{}", if self.is_close { CLOSE } else { "" }, self.score)
    }
}

/// Returns the option that is marked as the result: the winner, or the median of a scale. None after too few votes.
pub(super) fn decisive(poll: &PollResult) -> Option<&String> {
    match &poll.scale {
        _ if poll.no_answer == Some(NoAnswer::Unsupported) => None,
        Some(scale) if !poll.status.is_open() => scale.median.as_ref(),
        Some(_) => None,
        None => poll.winning_option.as_ref(),
    }
}

/// Returns the name of those who vote.
pub(super) const fn voters_of(poll: &PollResult) -> &'static str {
    if poll.simulated { "simulated voters" } else { "AI models" }
}

/// Returns the name of one who votes, for counts.
pub(super) const fn voter_of(poll: &PollResult) -> &'static str {
    if poll.simulated { "simulated voter" } else { "model" }
}

/// States the number of models that were asked.
pub(super) fn asked(poll: &PollResult) -> String {
    let were = if poll.models.requested() == 1 { "was" } else { "were" };
    format!("{} {were} asked", number(poll.models.requested(), voter_of(poll)))
}

/// True if the winner leads by one vote, or by less than a twentieth of the votes.
fn is_close(poll: &PollResult, winner: &str) -> bool {
    let others = poll.tally.0.iter().filter(|(option, _)| option != winner);
    let second = others.map(|(_, votes)| *votes).max().unwrap_or_default();
    let lead = poll.tally.of(winner).saturating_sub(second);
    second > 0 && (lead == 1 || lead.saturating_mul(20) < poll.tally.votes())
}

/// Describes a tie, for example "Tabs and Spaces, 7 AI models each".
fn tied(poll: &PollResult, voters: &str) -> String {
    let most = poll.tally.0.iter().map(|(_, votes)| *votes).max().unwrap_or_default();
    let first = poll.tally.0.iter().filter(|(_, votes)| *votes == most).map(|(option, _)| option);
    let options: Vec<&String> = first.collect();
    let each = if most == 1 {
        format!("1 {} each", voters.trim_end_matches('s'))
    } else {
        format!("{most} {voters} each")
    };
    match options[..] {
        [one, other] if [one, other].iter().all(|option| option.chars().count() <= SHORT) => {
            format!("\u{2068}{one}\u{2069} and \u{2068}{other}\u{2069}, {each}")
        }
        _ => format!("{}, {each}", number(options.len() as u32, "option")),
    }
}

/// Returns the number of models that may be asked, or might have been.
pub(super) fn panel_size(poll: &PollResult) -> u32 {
    poll.progress.as_ref().map_or_else(|| EndedPoll::from(poll).roster(), |progress| progress.roster_size)
}
