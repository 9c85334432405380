//! The table of single votes, with its orders and filters, and the votes by position.

use ep_polling::OptionProbability;
use ep_site::layout::own;
use ep_tools::polls::reply::VoteResult;
use ep_tools::results::PollResult;

use crate::share_image::{PALETTE, letter};

use super::words::isolated;

/// Returns the index of an option, which determines its letter and colour.
pub(super) fn index_of(poll: &PollResult, option: &str) -> Option<usize> {
    poll.options.iter().position(|known| known == option)
}

/// The order of the votes.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The order of arrival.
    #[default]
    Arrival,
    Model,
    Choice,
    Time,
}

impl Order {
    const ALL: [(Self, &str, &str); 4] = [
        (Self::Arrival, "arrival", "By arrival"),
        (Self::Model, "model", "Model"),
        (Self::Choice, "choice", "Vote"),
        (Self::Time, "time", "Time"),
    ];
}

/// The query of a request.
#[derive(Default, Clone, Copy)]
pub(crate) struct Query {
    order: Order,
    /// Shows only votes for this option.
    option: Option<usize>,
}

impl Query {
    /// Parses a query; unknown parameters are ignored.
    pub(crate) fn read(query: &str) -> Self {
        let mut read = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "sort" => {
                    let known = Order::ALL.iter().find(|(_, word, _)| *word == value);
                    read.order = known.map_or_else(Order::default, |(order, _, _)| *order);
                }
                "option" => {
                    let number = value.parse::<usize>().ok();
                    read.option = number.and_then(|number| number.checked_sub(1));
                }
                _ => {}
            }
        }
        read
    }

    /// True for the order of arrival without a filter.
    pub(super) fn is_default(self) -> bool {
        self.order == Order::Arrival && self.option.is_none()
    }

    /// Returns the URL of the page with this order and filter.
    fn href(self, address: &str) -> String {
        let word =
            Order::ALL.iter().find(|(order, _, _)| *order == self.order).map_or("", |(_, word, _)| word);
        let sort = (self.order != Order::Arrival).then(|| format!("sort={word}"));
        let option = self.option.map(|position| format!("option={}", position + 1));
        let query: Vec<String> = sort.into_iter().chain(option).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{mark}{}#votes", own(address), query.join("&"))
    }
}

/// A vote in the table.
pub struct Row {
    pub(crate) model: String,
    pub(crate) key: Option<char>,
    pub(crate) colour: usize,
    pub(crate) choice: String,
    /// The probabilities of a decision model.
    pub(crate) probabilities: Option<String>,
    pub(crate) time: String,
}

/// A link to another order or filter.
pub struct Link {
    pub(crate) href: String,
    pub(crate) text: String,
    pub(crate) current: bool,
}

/// Votes for options that were shown at one position.
pub struct PositionVotes {
    pub(crate) position: usize,
    pub(crate) votes: usize,
}

/// Returns the number of an option's colour.
pub(in crate::web) const fn colour(position: usize) -> usize {
    position % PALETTE.len()
}

pub(super) fn rows(poll: &PollResult, query: Query) -> Vec<Row> {
    let position =
        |vote: &VoteResult| vote.chosen_option.as_deref().and_then(|option| index_of(poll, option));
    let wanted = |vote: &&VoteResult| query.option.is_none_or(|wanted| position(vote) == Some(wanted));
    let mut votes: Vec<&VoteResult> = poll.votes.iter().filter(wanted).collect();
    match query.order {
        Order::Arrival => {}
        Order::Model => votes.sort_by(|one, other| one.model_id.cmp(&other.model_id)),
        Order::Choice => votes.sort_by_key(|vote| position(vote).unwrap_or(usize::MAX)),
        Order::Time => votes.sort_by_key(|vote| vote.latency_ms),
    }
    let row = |vote: &VoteResult| {
        let position = position(vote);
        let failed = || format!("no vote: {}", vote.error.as_deref().unwrap_or("no response"));
        Row {
            model: vote.model_id.clone(),
            key: position.map(letter),
            colour: colour(position.unwrap_or_default()),
            choice: vote.chosen_option.clone().unwrap_or_else(failed),
            probabilities: vote.probabilities.as_deref().map(in_words),
            time: format!("{:.1} s", f64::from(vote.latency_ms) / 1000.0),
        }
    };
    votes.into_iter().map(row).collect()
}

/// Writes the probabilities of a decision model beside the letters of their options.
fn in_words(probabilities: &[OptionProbability]) -> String {
    let shown = probabilities.iter().enumerate();
    let shown: Vec<String> =
        shown.map(|(position, given)| format!("{} {:.2}", letter(position), given.probability)).collect();
    format!("probabilities {}", shown.join(", "))
}

pub(super) fn filters(poll: &PollResult, query: Query, address: &str) -> Vec<Link> {
    let one = |option: Option<usize>, text: String| Link {
        href: Query { option, ..query }.href(address),
        text,
        current: query.option == option,
    };
    let options = poll.options.iter().enumerate();
    let each = options
        .map(|(position, label)| one(Some(position), format!("{} {}", letter(position), isolated(label))));
    std::iter::once(one(None, "All".to_owned())).chain(each).collect()
}

pub(super) fn columns(query: Query, address: &str) -> Vec<Link> {
    let column = |(order, _, text): &(Order, &str, &str)| Link {
        href: Query { order: if query.order == *order { Order::Arrival } else { *order }, ..query }
            .href(address),
        text: (*text).to_owned(),
        current: query.order == *order,
    };
    Order::ALL[1..].iter().map(column).collect()
}

pub(super) fn slots(poll: &PollResult) -> Vec<PositionVotes> {
    let chosen = |vote: &VoteResult| {
        let option = index_of(poll, vote.chosen_option.as_deref()?)?;
        vote.option_order.iter().position(|shown| *shown == option)
    };
    let positions: Vec<usize> = poll.votes.iter().filter_map(chosen).collect();
    let slot = |position| PositionVotes {
        position: position + 1,
        votes: positions.iter().filter(|chosen| **chosen == position).count(),
    };
    (0..poll.options.len()).map(slot).collect()
}
