//! Sentences about a running poll, and options as the pages quote them.

use crate::share_image::has_rtl;

use ep_polling::text::is_direction_mark;
use ep_site::layout::capitalized;
use ep_tools::polls::sentences::{EndedPoll, number};
use ep_tools::polls::summary::Status;
use ep_tools::results::PollResult;

/// States the outcome in one sentence.
pub(crate) fn sentence(poll: &PollResult) -> String {
    let all = poll.tally.votes();
    if poll.status.is_open() {
        return match (poll.progress.as_ref().and_then(|progress| progress.leader.as_ref()), all) {
            _ if poll.status == Status::Queued => "This poll waits for its turn.".to_owned(),
            (_, 0) => "The models are being asked.".to_owned(),
            (Some(leader), _) => {
                format!("{} leads with {} of {}.", quoted(leader), poll.tally.of(leader), number(all, "vote"))
            }
            (None, _) => format!("There is no leader after {}.", number(all, "vote")),
        };
    }
    EndedPoll::from(poll).headline(|option, _| quoted(option))
}

/// Formats a notice as a sentence.
pub(crate) fn notice(text: &str) -> String {
    format!("{}.", capitalized(text.trim_end_matches('.')))
}

/// States the progress of a running poll.
pub(crate) fn progress(poll: &PollResult) -> String {
    poll.progress.as_ref().map_or_else(String::new, |progress| {
        format!("{} of up to {} models have responded.", progress.answered, progress.roster_size)
    })
}

/// Isolates the text direction of a text that reads from right to left in part, or that has marks of direction (Unicode Annex
/// 9, isolates). All other texts stay as they are.
pub(crate) fn isolated(text: &str) -> String {
    if has_rtl(text) || text.contains(is_direction_mark) {
        format!("\u{2068}{text}\u{2069}")
    } else {
        text.to_owned()
    }
}

/// Quotes an option and isolates its text direction (Unicode Annex 9, isolates).
pub(crate) fn quoted(option: &str) -> String {
    format!("“\u{2068}{option}\u{2069}”")
}

/// The length of a question: longer ones are clamped to three lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Never clamped.
    Short,
    /// Clamped on phones.
    Long,
    /// Clamped everywhere.
    VeryLong,
}

impl Length {
    /// Widths in letters, which are surely more than three lines: on a phone, and on any screen.
    const LIMITS: (usize, usize) = (130, 200);

    pub(crate) fn of(question: &str) -> Self {
        // The letters of East Asia are twice as wide.
        let width: usize = question.chars().map(|c| if c >= '\u{2e80}' { 2 } else { 1 }).sum();
        match width {
            width if width > Self::LIMITS.1 => Self::VeryLong,
            width if width > Self::LIMITS.0 => Self::Long,
            _ => Self::Short,
        }
    }

    /// Returns the CSS class of the question.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Short => "",
            Self::Long => " clamped-on-phones",
            Self::VeryLong => " clamped clamped-on-phones",
        }
    }
}
