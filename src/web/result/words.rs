//! Sentences about a running poll, and options as the pages quote them.

use ep_tools::polls::sentences::{EndedPoll, number};
use ep_tools::polls::summary::Status;
use ep_tools::results::PollResult;

use crate::layout::capitalized;

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

/// Quotes an option and isolates its text direction (Unicode Annex 9, isolates).
pub(crate) fn quoted(option: &str) -> String {
    format!("“\u{2068}{option}\u{2069}”")
}
