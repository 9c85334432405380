//! The sentences about a poll that has ended: its outcome, its counts, why it stopped and how sure the outcome is. The
//! pages, their Markdown, the terminal and the texts for models all take them from here.
//!
//! They describe the votes of models and never claim what is true.

use ep_kernel::PollState;
use ep_polling::contested::is_low_share;
use ep_polling::counted::counted;
use ep_polling::text::capitalized;
use ep_polling::{ModelCounts, NamedTally, NoAnswer, PassResult, ScaleResult, TerminationReason};
use ep_store::Closing;

use super::summary::{FamilySpread, Summary};

/// Prefix of each statement about simulated voters.
pub const SIMULATED: &str = "Simulated voters: ";

/// A poll that has ended, as its sentences describe it.
#[derive(Debug, Clone)]
pub struct EndedPoll<'a> {
    pub(crate) tally: &'a NamedTally,
    pub(crate) winner: Option<&'a str>,
    pub(crate) models: ModelCounts,
    /// Number of calls without a complete response: their votes are unknown.
    pub(crate) failed: u32,
    pub(crate) reason: Option<TerminationReason>,
    pub(crate) confidence: f64,
    pub(crate) threshold: Option<f64>,
    pub(crate) simulated: bool,
    /// True if the result is contested.
    pub(crate) contested: bool,
    /// The reason why the votes give no answer.
    pub(crate) no_answer: Option<NoAnswer>,
    /// The votes on a scale.
    pub(crate) scale: Option<&'a ScaleResult>,
}

impl<'a> EndedPoll<'a> {
    /// Describes a stored poll.
    pub fn new(state: &PollState, closing: &Closing, summary: &'a Summary) -> Self {
        let plan = &state.record.plan;
        Self {
            tally: &summary.tally,
            winner: summary.winning_option.as_deref(),
            models: summary.models,
            failed: summary.failed_calls,
            reason: closing.reason,
            confidence: summary.confidence,
            threshold: Some(plan.threshold.get()),
            simulated: plan.simulated,
            contested: summary.contested,
            no_answer: summary.no_answer,
            scale: summary.scale.as_ref(),
        }
    }
}

impl EndedPoll<'_> {
    /// Returns the confidence in per cent, rounded down, so that the figure never exceeds the confidence reached. The median
    /// of a scale without a pass mark is certain once the missing votes cannot change it, and has no bound before.
    pub fn percent(&self) -> f64 {
        if self.is_median() {
            let is_settled = self.tally.unnamed().has_settled_median(self.failed + self.models.uncounted());
            return if is_settled { 100.0 } else { 0.0 };
        }
        (self.confidence * 1000.0).floor() / 10.0
    }

    /// True if the outcome is the median of a scale without a pass mark.
    fn is_median(&self) -> bool {
        self.scale.is_some() && self.pass().is_none()
    }

    /// Returns the effect of the failed calls on the median of a scale; `None` for other polls, before every model
    /// counted, and without failed calls.
    pub fn missing_votes(&self) -> Option<String> {
        if !self.is_median() || self.failed == 0 || !self.models.is_complete() {
            return None;
        }
        Some(match self.failed {
            _ if self.percent() >= 100.0 => {
                "Settled: the missing votes could not change the median.".to_owned()
            }
            1 => "1 model did not answer; its vote could change the median.".to_owned(),
            failed => format!("{failed} models did not answer; their votes could change the median."),
        })
    }

    /// Returns the votes on the pass of a scale with a pass mark.
    pub fn pass(&self) -> Option<&PassResult> {
        self.scale?.pass.as_ref()
    }

    /// Returns the text before the confidence: what the whole panel would do likewise.
    pub fn held(&self) -> &'static str {
        match self.pass().and_then(|pass| pass.passed) {
            Some(true) => "The pass would hold for the whole panel",
            Some(false) => "The fail would hold for the whole panel",
            None => "Would hold for the whole panel",
        }
    }

    /// Returns the line about an outcome that no further vote could have changed.
    pub fn settled(&self) -> &'static str {
        match (self.scale, self.winner) {
            (Some(_), _) if self.is_median() => "Settled: the rest could not change the median.",
            (Some(_), _) => "Settled: the rest could not change whether it passes.",
            (None, Some(_)) => "Settled: the rest could not change the winner.",
            (None, None) => "Settled: the rest could not change the tie.",
        }
    }

    /// Returns the caveat of a pass or fail that was decided early; an empty text for other polls.
    pub fn level_note(&self) -> &'static str {
        if self.pass().is_some() && !self.models.is_complete() {
            " The median level could still change."
        } else {
            ""
        }
    }

    /// Returns the threshold in per cent, if the poll had one.
    pub fn threshold_percent(&self) -> Option<f64> {
        self.threshold.map(|threshold| (threshold * 1000.0).round() / 10.0)
    }

    /// Returns the number of models on the roster.
    pub const fn roster(&self) -> u32 {
        self.models.roster()
    }

    /// Returns the number of complete responses without a vote: refusals, and texts that name no option.
    const fn without_a_vote(&self) -> u32 {
        self.models.failed().saturating_sub(self.failed)
    }

    /// Returns the outcome, for example `“Tabs” won 17 of 22 votes.` `quote` quotes an option; its second argument is
    /// the number of quoted options.
    pub fn headline(&self, quote: impl Fn(&str, usize) -> String) -> String {
        let prefix = if self.simulated { SIMULATED } else { "" };
        let counts = || self.tally.0.iter();
        let most = counts().map(|(_, votes)| *votes).max().unwrap_or_default();
        let outcome = match (self.scale, self.winner) {
            (Some(scale), _) if most > 0 => self.median(scale, quote),
            (_, Some(winner)) => format!(
                "{} won {} of {}.",
                quote(winner, 1),
                self.tally.of(winner),
                number(self.tally.votes(), "vote")
            ),
            (_, None) if most > 0 => {
                let tied: Vec<&String> =
                    counts().filter(|(_, votes)| *votes == most).map(|(option, _)| option).collect();
                let quoted: Vec<String> = tied.iter().map(|option| quote(option, tied.len())).collect();
                format!("{} tie with {} each.", listed(&quoted), number(most, "vote"))
            }
            (_, None) => "no model voted.".to_owned(),
        };
        let too_few = if self.no_answer == Some(NoAnswer::Unsupported) { TOO_FEW } else { "" };
        let sentence = format!("{prefix}{too_few}{outcome}");
        if prefix.is_empty() { capitalized(&sentence) } else { sentence }
    }

    /// Describes the median of a scale and its pass, for example `passed with 9 votes for and 2 against; the median is “4”,
    /// the pass mark is “3”.`
    fn median(&self, scale: &ScaleResult, quote: impl Fn(&str, usize) -> String) -> String {
        let median = quote(scale.median.as_deref().unwrap_or_default(), 2);
        let Some(PassResult { mark, passed, votes_for, votes_against }) = &scale.pass else {
            return format!("the median of {} is {median}.", number(self.tally.votes(), "vote"));
        };
        let verdict = if *passed == Some(true) { "passed" } else { "not passed," };
        let votes = number(*votes_for, "vote");
        format!(
            "{verdict} with {votes} for and {votes_against} against; the median is {median}, the pass mark is {}.",
            quote(mark, 2)
        )
    }

    /// Returns one line with the number of votes, of models without a vote, and of models that were not needed.
    pub fn counts(&self) -> String {
        let decided =
            matches!(self.reason, Some(TerminationReason::MathematicalLock | TerminationReason::Confidence));
        let (not_needed, interrupted) = match self.reason {
            _ if decided => (self.models.uncounted(), 0),
            None => (0, self.models.unused()),
            Some(_) => (self.models.unused(), 0),
        };
        let not_asked = self.models.uncounted() - not_needed - interrupted;
        let parts = [
            (true, number(self.tally.votes(), "vote")),
            (
                self.without_a_vote() > 0,
                format!("{} without a vote", number(self.without_a_vote(), "answer")),
            ),
            (self.failed > 0, number(self.failed, "failed call")),
            (not_needed > 0, format!("{not_needed} not needed")),
            (interrupted > 0, format!("{interrupted} interrupted")),
            (not_asked > 0, format!("{not_asked} not asked")),
        ];
        parts.into_iter().filter_map(|(shown, text)| shown.then_some(text)).collect::<Vec<_>>().join(" · ")
    }

    /// True if a model that was called gave no vote.
    pub const fn lacks_votes(&self) -> bool {
        self.models.failed() > 0
    }

    /// Returns the reason why the poll stopped.
    pub fn stopped(&self) -> String {
        match self.reason {
            Some(TerminationReason::MathematicalLock) => self.settled().to_owned(),
            Some(TerminationReason::Confidence) => match self.threshold_percent() {
                Some(threshold) => format!("Past the threshold of {threshold} %: {UNLIKELY}."),
                None => format!("Past the threshold: {UNLIKELY}."),
            },
            Some(TerminationReason::Budget) => "Stopped at its budget.".to_owned(),
            Some(TerminationReason::RosterExhausted) => "Complete: every model was asked.".to_owned(),
            None => CANCELLED.to_owned(),
        }
    }

    /// Returns the reason why the result is contested. None if it is not; the headline already says a tie.
    pub fn dissent(&self) -> Option<String> {
        if !self.contested {
            return None;
        }
        let (votes, winner, another) = match (self.scale, self.pass()) {
            (_, Some(pass)) if pass.passed? => (pass.votes_for, "pass", "the fail"),
            (_, Some(pass)) => (pass.votes_against, "fail", "the pass"),
            (Some(scale), None) => (self.tally.of(scale.median.as_deref()?), "median level", "another level"),
            (None, None) => (self.tally.of(self.winner?), "winner", "another option"),
        };
        let all = self.tally.votes();
        Some(if is_low_share(votes, all) {
            format!("Less than two thirds of the votes are for the {winner}.")
        } else if self.models.is_complete() && is_low_share(votes, self.models.counted()) {
            format!("Less than two thirds of the models voted for the {winner}.")
        } else {
            format!("The strongest model that voted chose {another}.")
        })
    }

    /// Returns the confidence in the outcome and its meaning.
    pub fn sure(&self) -> String {
        if self.tally.votes() == 0 {
            return "Not known.".to_owned();
        }
        let roster = self.roster();
        let (percent, held) = (self.percent(), self.held());
        let sure = if let Some(missing) = self.missing_votes() {
            missing
        } else if percent >= 100.0 {
            format!("{held} of {roster} models: 100 %.")
        } else if self.models.is_complete() {
            "Not known: the failed calls could change it.".to_owned()
        } else if percent > 0.0 {
            format!("{held} of {roster} models: at least {percent} %.")
        } else {
            format!("Not known: too few votes to predict the whole panel of {roster} models.")
        };
        format!("{sure}{} {}", self.level_note(), if self.simulated { MADE_UP } else { NOT_PROOF })
    }
}

/// The beginning of an outcome that is no answer.
const TOO_FEW: &str = "too few votes for an answer: ";
/// The reason of a poll that no rule ended.
const CANCELLED: &str = "Cancelled, or interrupted until its deadline passed. The votes so far count.";
/// The reason to stop at the threshold.
const UNLIKELY: &str = "more votes were unlikely to change it";
/// The caveat of every result.
pub(super) const NOT_PROOF: &str = "Agreement is not proof.";
/// The caveat for simulated voters.
const MADE_UP: &str = "Simulated votes say nothing about real models.";

/// Returns a line about the families of the models that voted.
pub fn independence(families: &FamilySpread) -> String {
    let kind = if families.with_votes == 1 { "family" } else { "families" };
    format!("{} model {kind}; related models share errors.", families.with_votes)
}

/// Formats a count with its noun.
pub fn number(count: u32, noun: &str) -> String {
    counted(count, noun)
}

/// Quotes an option for plain text.
pub fn quoted(option: &str, _: usize) -> String {
    format!("“{option}”")
}

/// Joins items for a sentence.
fn listed(items: &[String]) -> String {
    match items {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => items.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers for a tally, with so many counted models without a vote, and so many that were not asked.
    fn models(tally: &NamedTally, failed: u32, skipped: u32) -> ModelCounts {
        let (votes, ballots) = (tally.votes(), tally.votes() + failed);
        ModelCounts::new(ballots + skipped, ballots, votes, 0)
    }

    fn poll(tally: &NamedTally) -> EndedPoll<'_> {
        EndedPoll {
            tally,
            winner: Some("Tabs"),
            models: models(tally, 4, 9),
            failed: 2,
            reason: Some(TerminationReason::MathematicalLock),
            confidence: 1.0,
            threshold: Some(0.95),
            simulated: false,
            contested: false,
            no_answer: None,
            scale: None,
        }
    }

    #[test]
    fn a_result_is_one_headline_and_three_lines() {
        let tally = NamedTally(vec![("Tabs".into(), 30), ("Spaces".into(), 7)]);
        let locked = poll(&tally);
        assert_eq!(locked.headline(quoted), "“Tabs” won 30 of 37 votes.");
        assert_eq!(locked.counts(), "37 votes · 2 answers without a vote · 2 failed calls · 9 not needed");
        assert_eq!(locked.stopped(), "Settled: the rest could not change the winner.");
        assert_eq!(
            locked.sure(),
            "Would hold for the whole panel of 50 models: 100 %. Agreement is not proof."
        );
        let stopped = EndedPoll {
            reason: Some(TerminationReason::Confidence),
            confidence: 0.97399,
            simulated: true,
            models: ModelCounts::new(47, 38, 37, 1),
            failed: 1,
            ..locked
        };
        assert_eq!(stopped.headline(quoted), "Simulated voters: “Tabs” won 30 of 37 votes.");
        assert_eq!(stopped.counts(), "37 votes · 1 failed call · 9 not needed");
        assert_eq!(stopped.stopped(), "Past the threshold of 95 %: more votes were unlikely to change it.");
        assert_eq!(
            stopped.sure(),
            "Would hold for the whole panel of 47 models: at least 97.3 %. Simulated votes say nothing about real \
             models."
        );
    }

    #[test]
    fn a_scale_is_described_by_its_median_and_its_pass() {
        let tally = NamedTally(vec![("1".into(), 3), ("2".into(), 0), ("3".into(), 4), ("4".into(), 4)]);
        let scale = ScaleResult { median: Some("3".into()), pass: None, bound: None };
        let complete = EndedPoll {
            scale: Some(&scale),
            winner: None,
            reason: Some(TerminationReason::RosterExhausted),
            confidence: 0.2,
            models: models(&tally, 2, 0),
            failed: 0,
            ..poll(&tally)
        };
        assert_eq!(complete.headline(quoted), "The median of 11 votes is “3”.");
        assert_eq!(complete.stopped(), "Complete: every model was asked.");
        assert!(complete.sure().starts_with("Would hold for the whole panel of 13 models: 100 %."));
        let failing = |failed, skipped| {
            EndedPoll { failed, models: models(&tally, failed + 2, skipped), ..complete.clone() }.sure()
        };
        assert!(failing(1, 0).starts_with("Settled: the missing votes could not change the median."));
        assert!(failing(9, 0).starts_with("9 models did not answer; their votes could change the median."));
        assert!(failing(1, 1).starts_with("Would hold for the whole panel of 15 models: 100 %."));
        assert!(failing(1, 8).starts_with("Not known: too few votes"));
        let pass = PassResult { mark: "3".into(), passed: Some(true), votes_for: 8, votes_against: 3 };
        let marked = ScaleResult { pass: Some(pass), bound: Some(0.97), ..scale.clone() };
        let stopped = EndedPoll {
            scale: Some(&marked),
            reason: Some(TerminationReason::MathematicalLock),
            confidence: 0.97,
            models: models(&tally, 2, 3),
            ..complete
        };
        let headline = "Passed with 8 votes for and 3 against; the median is “3”, the pass mark is “3”.";
        assert_eq!(stopped.headline(quoted), headline);
        assert_eq!(stopped.stopped(), "Settled: the rest could not change whether it passes.");
        assert_eq!(
            stopped.sure(),
            "The pass would hold for the whole panel of 16 models: at least 97 %. The median level could still change. \
             Agreement is not proof."
        );
    }

    #[test]
    fn a_contested_winner_has_a_low_share_or_no_vote_of_the_strongest() {
        let low = NamedTally(vec![("Tabs".into(), 3), ("Spaces".into(), 2)]);
        let high = NamedTally(vec![("Tabs".into(), 2), ("Spaces".into(), 1)]);
        let dissent = |tally: &NamedTally, contested| EndedPoll { contested, ..poll(tally) }.dissent();
        assert!(dissent(&low, true).unwrap().contains("two thirds"));
        assert!(dissent(&high, true).unwrap().contains("strongest model"));
        assert_eq!(dissent(&high, false), None);
        // Of a complete poll, models without a vote count, too.
        let complete = EndedPoll { contested: true, models: models(&high, 4, 0), ..poll(&high) };
        assert_eq!(complete.dissent().unwrap(), "Less than two thirds of the models voted for the winner.");
        assert_eq!(EndedPoll { winner: None, contested: true, ..poll(&low) }.dissent(), None);
        let pass = PassResult { mark: "4".into(), passed: Some(false), votes_for: 1, votes_against: 2 };
        let scale = ScaleResult { median: Some("3".into()), pass: None, bound: None };
        let marked = ScaleResult { pass: Some(pass), ..scale.clone() };
        let levels = NamedTally(vec![("3".into(), 1), ("4".into(), 1), ("2".into(), 1)]);
        let dissent =
            |scale| EndedPoll { scale: Some(scale), contested: true, ..poll(&levels) }.dissent().unwrap();
        assert_eq!(dissent(&scale), "Less than two thirds of the votes are for the median level.");
        assert_eq!(dissent(&marked), "The strongest model that voted chose the pass.");
    }

    #[test]
    fn ties_and_polls_without_votes_name_no_winner() {
        let tally = NamedTally(vec![("a".into(), 2), ("b".into(), 2), ("c".into(), 1)]);
        let tie = EndedPoll { winner: None, confidence: 0.0, ..poll(&tally) };
        assert_eq!(tie.headline(quoted), "“a” and “b” tie with 2 votes each.");
        assert_eq!(tie.counts(), "5 votes · 2 answers without a vote · 2 failed calls · 9 not needed");
        assert_eq!(tie.stopped(), "Settled: the rest could not change the tie.");
        assert_eq!(
            tie.sure(),
            "Not known: too few votes to predict the whole panel of 18 models. Agreement is not proof."
        );
        let none = NamedTally(vec![("a".into(), 0), ("b".into(), 0)]);
        let failed = EndedPoll {
            winner: None,
            reason: Some(TerminationReason::RosterExhausted),
            confidence: 0.0,
            models: models(&none, 2, 0),
            ..poll(&none)
        };
        assert_eq!(failed.headline(quoted), "No model voted.");
        assert_eq!(failed.counts(), "0 votes · 2 failed calls");
        assert_eq!(failed.sure(), "Not known.");
        let interrupted = EndedPoll { reason: None, models: ModelCounts::new(7, 2, 0, 3), ..failed.clone() };
        assert_eq!(interrupted.counts(), "0 votes · 2 failed calls · 3 interrupted · 2 not asked");
        let one = NamedTally(vec![("Tabs".into(), 1), ("Spaces".into(), 0)]);
        let few = EndedPoll {
            tally: &one,
            winner: Some("Tabs"),
            models: models(&one, 49, 0),
            failed: 49,
            no_answer: Some(NoAnswer::Unsupported),
            ..failed.clone()
        };
        assert_eq!(few.headline(quoted), "Too few votes for an answer: “Tabs” won 1 of 1 vote.");
        let simulated = EndedPoll { simulated: true, ..few }.headline(quoted);
        assert_eq!(simulated, "Simulated voters: too few votes for an answer: “Tabs” won 1 of 1 vote.");
        let cancelled = EndedPoll { reason: None, ..failed };
        assert_eq!(
            (cancelled.counts().as_str(), cancelled.stopped().as_str()),
            ("0 votes · 2 failed calls", CANCELLED)
        );
    }
}
