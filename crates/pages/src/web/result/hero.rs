//! The proof of a result: the chamber and the meter.

use ep_polling::TerminationReason;
use ep_tools::polls::reply::VoteResult;
use ep_tools::polls::sentences::{EndedPoll, number};
use ep_tools::results::PollResult;

use crate::share_image::chamber::{Chamber, LETTER, SQUARE};
use crate::share_image::{Seat as State, letter};

use super::answer::{decisive, panel_size, voter_of};
use super::votes::{colour, index_of};
use super::words::isolated;

/// Seats of panels with more models have larger letters on phones.
const MANY: usize = 40;

/// A seat of the chamber.
pub struct Seat {
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) base_line: String,
    pub(crate) state: State,
    /// True for a vote for the winner.
    won: bool,
    /// The model and its vote; none for a model that was not needed, and while the poll runs.
    pub(crate) voter: Option<(String, String)>,
}

impl Seat {
    /// Returns the CSS class: the option's colour, `none` or `pale`.
    pub(crate) fn class(&self) -> String {
        match self.state {
            State::Vote(option) if self.won => format!("option-{} won", colour(option)),
            State::Vote(option) => format!("option-{}", colour(option)),
            State::NoVote => "none".to_owned(),
            State::Empty => "pale".to_owned(),
        }
    }

    /// Returns the letter of the vote.
    pub(crate) fn key(&self) -> Option<char> {
        match self.state {
            State::Vote(option) => Some(letter(option)),
            State::NoVote | State::Empty => None,
        }
    }
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
    pub(crate) skipped: u32,
    /// "not needed"; or "not asked" or "not counted", if the votes did not decide the end.
    pub(crate) skipped_text: &'static str,
}

impl Seats {
    pub(super) fn new(poll: &PollResult) -> Option<Self> {
        let roster = panel_size(poll);
        if roster == 0 {
            return None;
        }
        let chamber = Chamber::new(roster as usize);
        let letter = chamber.radius * LETTER;
        let mut voters = voters(poll);
        voters.resize_with(roster as usize, || (State::Empty, None));
        let winner = decisive(poll).and_then(|option| index_of(poll, option)).map(State::Vote);
        let seats: Vec<Seat> = std::iter::zip(&chamber.places, voters)
            .map(|(place, (state, voter))| Seat {
                x: place.x(),
                y: place.y(),
                base_line: place.base_line(letter),
                state,
                won: Some(state) == winner,
                voter,
            })
            .collect();
        let panel = number(roster, voter_of(poll));
        let votes = number(poll.tally.votes(), "vote");
        let of_panel = format!("of {}", number(roster, if poll.simulated { "voter" } else { "model" }));
        // The counts of a running poll change, and its status line says them.
        let skipped_text = match stopped_early(poll) {
            None => "not needed",
            Some(_) if poll.models.unused() == 0 => "not asked",
            Some(_) => "not counted",
        };
        let (without_vote, skipped) =
            if poll.status.is_open() { (0, 0) } else { (poll.models.failed(), poll.models.uncounted()) };
        let mut description = format!("Seats of {panel}");
        if !poll.status.is_open() {
            let counts = poll.tally.0.iter().map(|(option, votes)| (*votes, isolated(option)));
            let rest = [(without_vote, "without a usable answer"), (skipped, skipped_text)];
            let rest = rest.map(|(count, text)| (count, text.to_owned()));
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
            middle: (votes, of_panel),
            without_vote,
            skipped,
            skipped_text,
        })
    }
}

/// The state of a seat; the model and its vote.
type Voter = (State, Option<(String, String)>);

/// Returns those who have responded, in seating order: the votes for each option, then responses without a vote. A
/// running poll keeps the order of its options, so that a vote moves each border by one seat at most; so does a scale.
fn voters(poll: &PollResult) -> Vec<Voter> {
    let mut order: Vec<usize> = (0..poll.options.len()).collect();
    let votes = |position: &usize| poll.tally.of(&poll.options[*position]);
    if !poll.status.is_open() && poll.scale.is_none() {
        order.sort_by_key(|position| std::cmp::Reverse(votes(position)));
    }
    let mut voters = Vec::new();
    for position in order {
        let option = &poll.options[position];
        let chose = |vote: &&VoteResult| vote.chosen_option.as_ref() == Some(option);
        let mut named = poll.votes.iter().filter(chose);
        for _ in 0..votes(&position) {
            let voter =
                named.next().map(|vote| (vote.model_id.clone(), format!("voted {}", isolated(option))));
            voters.push((State::Vote(position), voter));
        }
    }
    let answered = poll.progress.as_ref().map_or(poll.models.counted(), |progress| progress.answered);
    let mut failed = poll.votes.iter().filter(|vote| vote.chosen_option.is_none());
    while voters.len() < answered as usize {
        let voter = failed.next().map(|vote| (vote.model_id.clone(), "no usable answer".to_owned()));
        voters.push((State::NoVote, voter));
    }
    voters
}

/// Certainty that the whole panel would give this outcome.
pub enum Meter {
    /// A bound in per cent, and the threshold in per cent, if the poll had one.
    Bound(f64, Option<f64>),
    /// Nothing could change the outcome, or the votes do not tell.
    Text(String),
}

impl Meter {
    /// Returns none without votes, and while the poll runs.
    pub(super) fn new(poll: &PollResult) -> Option<Self> {
        if poll.status.is_open() || poll.tally.votes() == 0 {
            return None;
        }
        let ended = EndedPoll::from(poll);
        let percent = ended.percent();
        let is_complete = poll.models.is_complete();
        let text = if let Some(missing) = ended.missing_votes() {
            return Some(Self::Text(missing));
        } else if percent >= 100.0 {
            if is_complete { "Settled: the whole panel was asked." } else { ended.settled() }
        } else if is_complete {
            // There is no panel left to predict.
            "Not settled: the models without a vote could change the outcome."
        } else if percent > 0.0 && (poll.scale.is_some() || !poll.is_tie) {
            return Some(Self::Bound(percent, ended.threshold_percent()));
        } else {
            "Not settled: too few votes to predict the whole panel."
        };
        Some(Self::Text(text.to_owned()))
    }
}

/// Returns the line above the meter, for a poll that ended before its votes decided it.
pub(super) fn stopped_early(poll: &PollResult) -> Option<&'static str> {
    match poll.termination_reason {
        Some(TerminationReason::Budget) => Some("Stopped at the budget"),
        None if !poll.status.is_open() => Some("Stopped early: the votes so far count"),
        _ => None,
    }
}
