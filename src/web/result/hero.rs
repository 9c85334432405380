//! The head of a result: its answer, the chamber and the meter.

use ep_tools::polls::reply::VoteResult;
use ep_tools::polls::sentences::{EndedPoll, number};
use ep_tools::polls::summary::Status;
use ep_tools::results::PollResult;

use super::chamber::Chamber;
use super::votes::{colour, index_of, key};

/// An answer with more characters is set smaller.
const LONG: usize = 24;
/// Half of the side of a square seat, in radii.
const SQUARE: f64 = 0.84;
/// Panels with more models show no letters on phones.
const MANY: usize = 40;

/// The answer of a poll: what won, and by how much.
pub struct Answer {
    pub(crate) text: String,
    /// The option's colour; none for a tie, and without votes.
    pub(crate) colour: Option<usize>,
    pub(crate) is_long: bool,
    /// For example "8 of 11 AI models".
    pub(crate) score: String,
}

impl Answer {
    pub(super) fn new(poll: &PollResult) -> Self {
        let all = poll.tally.votes();
        let voters = if poll.simulated { "simulated voters" } else { "AI models" };
        let running = poll.status.is_open();
        let leader = match &poll.progress {
            Some(progress) => progress.leader.as_ref(),
            None => poll.winning_option.as_ref(),
        };
        if let Some(option) = leader {
            let votes = poll.tally.of(option);
            let score = if running {
                format!("leads with {votes} of {all} so far")
            } else {
                format!("{votes} of {all} {voters}")
            };
            let colour = index_of(poll, option).map(colour);
            return Self { is_long: option.chars().count() > LONG, text: option.clone(), colour, score };
        }
        let most = poll.tally.0.iter().map(|(_, votes)| *votes).max().unwrap_or_default();
        let (text, score) = match poll.status {
            Status::Queued => ("Waiting", "for its turn".to_owned()),
            _ if running && all == 0 => ("Asking", "the models".to_owned()),
            _ if running => ("Even", format!("after {}", number(all, "vote"))),
            _ if most > 0 => {
                let tied = poll.tally.0.iter().filter(|(_, votes)| *votes == most).count();
                ("Tie", format!("{tied} options with {} each", number(most, "vote")))
            }
            _ => ("No votes", format!("from {} {voters}", panel_size(poll))),
        };
        Self { text: text.to_owned(), colour: None, is_long: false, score }
    }
}

/// Returns the number of models that may be asked, or might have been.
fn panel_size(poll: &PollResult) -> u32 {
    poll.progress.as_ref().map_or_else(|| EndedPoll::from(poll).roster(), |progress| progress.roster_size)
}

/// A seat of the chamber.
pub struct Seat {
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) base_line: String,
    /// The CSS class: the option's colour, `none` or `pale`.
    pub(crate) class: String,
    pub(crate) key: Option<char>,
    /// The model and its vote; none for a model that was not needed, and while the poll runs.
    pub(crate) voter: Option<(String, String)>,
}

/// The chamber: every model of the panel in a seat.
pub struct Seats {
    pub(crate) seats: Vec<Seat>,
    pub(crate) radius: String,
    /// The side of a square seat, and the distance of its corner from its middle.
    pub(crate) side: String,
    pub(crate) corner: String,
    /// The size of the letters.
    pub(crate) letter: String,
    pub(crate) is_many: bool,
    /// True for simulated voters, whose seats are square.
    pub(crate) is_square: bool,
    /// All counts of a poll that has ended, for people who do not see the picture.
    pub(crate) description: String,
    /// The two lines in the middle.
    pub(crate) middle: (String, String),
    pub(crate) without_vote: u32,
    pub(crate) not_needed: u32,
}

impl Seats {
    pub(super) fn new(poll: &PollResult) -> Option<Self> {
        let roster = panel_size(poll);
        if roster == 0 {
            return None;
        }
        let chamber = Chamber::new(roster as usize);
        let letter = chamber.radius * 0.86;
        let mut voters = voters(poll);
        voters.resize_with(roster as usize, || ("pale".to_owned(), None, None));
        let seats: Vec<Seat> = std::iter::zip(&chamber.places, voters)
            .map(|(place, (class, key, voter))| Seat {
                x: place.x(),
                y: place.y(),
                base_line: place.base_line(letter),
                class,
                key,
                voter,
            })
            .collect();
        let panel = number(roster, if poll.simulated { "simulated voter" } else { "model" });
        let middle = number(roster, if poll.simulated { "voter" } else { "model" });
        let votes = number(poll.tally.votes(), "vote");
        // The counts of a running poll change, and its status line says them.
        let (without_vote, not_needed) =
            if poll.status.is_open() { (0, 0) } else { (poll.models_failed, poll.models_skipped) };
        let mut description = format!("Seats of {panel}");
        if !poll.status.is_open() {
            let counts = poll.tally.0.iter().map(|(option, votes)| (*votes, option.as_str()));
            let rest = [(without_vote, "without a usable answer"), (not_needed, "not needed")];
            let counts = counts.chain(rest).filter(|(count, _)| *count > 0);
            let counts: Vec<String> = counts.map(|(count, text)| format!("{count} {text}")).collect();
            description = format!("{description}: {}", counts.join(", "));
        }
        Some(Self {
            seats,
            radius: chamber.radius(),
            side: format!("{:.1}", chamber.radius * SQUARE * 2.0),
            corner: format!("{:.1}", chamber.radius * -SQUARE),
            letter: format!("{letter:.1}"),
            is_many: roster as usize > MANY,
            is_square: poll.simulated,
            description,
            middle: (middle, votes),
            without_vote,
            not_needed,
        })
    }
}

type Voter = (String, Option<char>, Option<(String, String)>);

/// Returns those who have responded, in seating order: the votes for each option, then responses without a vote. A
/// running poll keeps the order of its options, so that a vote moves each border by one seat at most.
fn voters(poll: &PollResult) -> Vec<Voter> {
    let mut order: Vec<usize> = (0..poll.options.len()).collect();
    let votes = |position: &usize| poll.tally.of(&poll.options[*position]);
    if !poll.status.is_open() {
        order.sort_by_key(|position| std::cmp::Reverse(votes(position)));
    }
    let mut voters = Vec::new();
    for position in order {
        let option = &poll.options[position];
        let won = if poll.winning_option.as_ref() == Some(option) { " won" } else { "" };
        let class = format!("option-{}{won}", colour(position));
        let chose = |vote: &&VoteResult| vote.chosen_option.as_ref() == Some(option);
        let mut named = poll.votes.iter().filter(chose);
        for _ in 0..votes(&position) {
            let voter = named.next().map(|vote| (vote.model_id.clone(), format!("voted {option}")));
            voters.push((class.clone(), Some(key(position)), voter));
        }
    }
    let answered = poll.progress.as_ref().map_or(poll.models_requested, |progress| progress.answered);
    let mut failed = poll.votes.iter().filter(|vote| vote.chosen_option.is_none());
    while voters.len() < answered as usize {
        let voter = failed.next().map(|vote| (vote.model_id.clone(), "no usable answer".to_owned()));
        voters.push(("none".to_owned(), None, voter));
    }
    voters
}

/// Certainty that the whole panel would choose the winner.
pub enum Meter {
    /// Nothing could change the winner.
    Settled(&'static str),
    /// A bound in per cent, and the threshold in per cent, if the poll had one.
    Bound(f64, Option<f64>),
}

impl Meter {
    /// Returns none without a winner, and if nothing is known.
    pub(super) fn new(poll: &PollResult) -> Option<Self> {
        if poll.status.is_open() || poll.winning_option.is_none() {
            return None;
        }
        let ended = EndedPoll::from(poll);
        let percent = ended.percent();
        if percent >= 100.0 {
            let text = if poll.models_skipped == 0 {
                "Every model of the panel was asked."
            } else {
                "The rest could not change the winner."
            };
            return Some(Self::Settled(text));
        }
        (percent > 0.0).then(|| Self::Bound(percent, ended.threshold_percent()))
    }
}
