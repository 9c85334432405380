//! The text of a poll's result for models: a headline and a few lines of facts.

use std::borrow::Cow;
use std::fmt::Write;

use ep_kernel::PollState;
use ep_kernel::tool::Presentation;
use ep_polling::{NamedTally, PollId, Timestamp, Usd};
use ep_store::Closing;

use super::reasons::{VoterReason, reasons};
use super::sentences::{EndedPoll, quoted};
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
        let poll = EndedPoll::new(state, closing, summary);
        let quote = |option: &str, options: usize| quoted(&cut(option, NAMED / options.max(1)), options);
        let link = result_url.map(|url| format!(" {url}")).unwrap_or_default();
        let headline = format!("{} {}{link}", poll.headline(quote), poll.sure());
        let (votes, stopped) = (poll.counts(), poll.stopped());
        let mut facts = format!("poll_id {}; status {}. ", state.record.id, summary.status.as_str());
        let _ = write!(facts, "{}. {votes}. {stopped}", counts(&summary.tally, ROOM));
        if let Some(dissent) = poll.dissent() {
            let _ = write!(facts, " Contested: {dissent}");
        }
        if let Some(Usd(cost)) = cost {
            let _ = write!(facts, " Cost {cost}.");
        }
        for reason in reasons(state, closing) {
            let VoterReason { model_id, chosen_option, reason } = reason;
            let line =
                format!("{model_id} ({}), asked afterwards: “{reason}”", cut(&chosen_option, NAMED / 4));
            if length(&headline) + length(&facts) + length(&line) < LONGEST {
                let _ = write!(facts, "\n{line}");
            }
        }
        let said = |notice: &&String| **notice == votes || **notice == stopped;
        for notice in notices.iter().filter(|notice| !said(notice)) {
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
