//! The text of a poll's result for models: a headline and a few lines of facts.

use std::borrow::Cow;
use std::fmt::Write;

use ep_kernel::executor::PollState;
use ep_kernel::ports::Closing;
use ep_kernel::tool::Presentation;
use ep_polling::money::Usd;
use ep_polling::poll_id::PollId;
use ep_polling::stopping::TerminationReason;
use ep_polling::tally::NamedTally;
use ep_polling::time::Timestamp;

use super::summary::{Status, Summary};

/// Maximum length of a headline with its facts: about 300 tokens. All lengths here are measured by
/// [`length`].
const LONGEST: usize = 1_150;
/// Maximum length of the vote counts; longer options are shortened.
pub const ROOM: usize = 360;
/// Maximum length of an option in a headline: 200 ASCII characters.
const NAMED: usize = 200;
/// Maximum length of a notice.
const NOTICE: usize = 260;

/// The text of a closed poll: its headline and facts.
#[derive(Debug)]
pub struct ResultText {
    headline: String,
    facts: String,
    closed_at: Timestamp,
    failed: bool,
    cancelled: bool,
}

impl ResultText {
    /// Builds the text with these notices, and with the cost if the caller may see it.
    pub fn new(
        state: &PollState,
        closing: &Closing,
        summary: &Summary,
        result_url: Option<&str>,
        notices: &[String],
        cost: Option<Usd>,
    ) -> Self {
        let plan = &state.record.plan;
        let headline = headline(summary, plan.roster.len(), result_url);
        let mut facts = format!("poll_id {}; status {}. ", state.record.id, summary.status.as_str());
        let _ = write!(facts, "Votes: {}. ", counts(&summary.tally, ROOM));
        let ended = closing.reason.map_or("cancelled", TerminationReason::as_str);
        let _ = write!(facts, "Ended by {ended} after {} of {} models.", summary.counted, plan.roster.len());
        if let Some(Usd(cost)) = cost {
            let _ = write!(facts, " Cost {cost}.");
        }
        if plan.simulated {
            facts.push_str(" The voters are simulated: this says nothing about real models.");
        }
        for notice in notices {
            let notice = cut(notice, NOTICE);
            if length(&headline) + length(&facts) + length(&notice) < LONGEST {
                let _ = write!(facts, "\n{notice}");
            }
        }
        Self {
            headline,
            facts,
            closed_at: closing.closed_at,
            failed: summary.status == Status::Failed,
            cancelled: closing.cancelled,
        }
    }

    /// Adds the text to the presentation of a response about this poll.
    pub fn present(&self, presentation: Presentation, id: &PollId) -> Presentation {
        presentation
            .summary(&*self.headline)
            .facts(&*self.facts)
            .task(id, self.closed_at)
            .failed(self.failed)
            .cancelled(self.cancelled)
    }
}

/// Returns the outcome of a poll in one sentence.
fn headline(summary: &Summary, roster: usize, url: Option<&str>) -> String {
    let link = url.map(|url| format!(": {url}")).unwrap_or_default();
    let votes = summary.succeeded;
    match &summary.winning_option {
        Some(option) => {
            let won = summary.tally.0.iter().find(|(name, _)| name == option).map_or(0, |(_, votes)| *votes);
            // Round down, so that the figure never exceeds the confidence reached.
            let percent = (summary.confidence * 1000.0).floor() / 10.0;
            let sure = if percent > 0.0 {
                format!(
                    "confidence {percent} % that all {roster} models together would choose it, which does not make it right"
                )
            } else {
                format!("too little to say what all {roster} models together would choose")
            };
            let option = cut(option, NAMED);
            format!("“{option}” won {won} of {votes} votes; {sure}{link}")
        }
        None if summary.is_tie => format!("The lead is shared after {votes} votes{link}"),
        None => format!("No model produced a vote{link}"),
    }
}

/// Lists the votes per option, most votes first. Options are shortened so that the list has about the length
/// `room`.
pub fn counts(tally: &NamedTally, room: usize) -> String {
    let mut options: Vec<_> = tally.0.iter().collect();
    options.sort_by_key(|(_, votes)| std::cmp::Reverse(*votes));
    let each = (room / options.len().max(1)).saturating_sub(8);
    let counts: Vec<String> =
        options.iter().map(|(option, votes)| format!("{} {votes}", cut(option, each))).collect();
    counts.join("; ")
}

/// Shortens a text to this length and appends an ellipsis.
fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    let mut length = 0;
    for (start, c) in text.char_indices() {
        length += width(c);
        if length > longest {
            return format!("{}…", &text[..start]).into();
        }
    }
    text.into()
}

/// Returns the length of a text for a model; four units are about a token.
fn length(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Returns the length of a character. Common tokens have several letters of an alphabet, one ideogram, or
/// part of an emoji.
fn width(c: char) -> usize {
    match c.len_utf8() {
        1 => 1,
        2 => 2,
        3 => 4,
        _ => 10,
    }
}
