//! An account's polls as rows of a table.

use ep_polling::{Outcome, PollId, Timestamp};
use ep_site::layout::one_line;
use ep_store::PastPoll;

use crate::share_image::letter;

use super::amounts::figure;
use super::moments::Moment;
use crate::web::result::{colour, quoted};

/// A poll of the account.
pub(crate) struct PollRow {
    pub(super) id: PollId,
    pub(super) question: String,
    pub(super) path: String,
    pub(super) private: bool,
    /// True if the poll has ended.
    pub(super) ended: bool,
    pub(super) winner: Option<Winner>,
    /// The outcome if no option has won.
    pub(super) outcome: &'static str,
    pub(super) votes: String,
    pub(super) cost: Option<String>,
    pub(super) asked: Moment,
}

/// The option that won, with its letter and the number of its colour.
pub(crate) struct Winner {
    pub(super) key: char,
    pub(super) colour: usize,
    pub(super) option: String,
}

impl PollRow {
    /// Converts a listed poll. `page_of` returns the URL of a poll's page.
    pub(crate) fn new(poll: PastPoll, now: Timestamp, page_of: impl Fn(&str) -> String) -> Self {
        let all = poll.tally.votes();
        let counts = poll.tally.counts();
        let highest = counts.iter().max().copied().unwrap_or_default();
        let (outcome, winner, votes) = match (poll.end, poll.tally.outcome()) {
            (None, _) => ("Running", None, format!("{all} so far")),
            (Some(_), Outcome::Winner(position)) => ("", Some(position), format!("{highest} of {all}")),
            (Some(_), Outcome::Tie) => ("Tie", None, format!("{highest} each")),
            (Some(_), Outcome::NoVotes) => ("No votes", None, "none".to_owned()),
        };
        let winner = winner.and_then(|position| {
            let option = poll.options.get(position)?.clone();
            Some(Winner { key: letter(position), colour: colour(position), option })
        });
        let cost = poll.end.map(|end| end.cost.as_usd());
        Self {
            path: page_of(poll.id.as_str()),
            id: poll.id,
            private: poll.private,
            ended: poll.end.is_some(),
            winner,
            outcome,
            votes,
            cost: cost.map(|cost| if cost == 0.0 { "free".to_owned() } else { figure(cost) }),
            question: poll.question,
            asked: Moment::new(poll.created_at, now),
        }
    }

    /// Returns the question as one line of Markdown.
    pub(crate) fn line(&self) -> String {
        one_line(&self.question)
    }

    /// Returns the outcome as one line of Markdown.
    pub(crate) fn outcome_line(&self) -> String {
        let text =
            self.winner.as_ref().map_or_else(|| self.outcome.to_owned(), |winner| quoted(&winner.option));
        one_line(&format!("{text}, {}", self.votes))
    }
}
