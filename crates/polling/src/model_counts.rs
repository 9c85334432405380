//! The numbers of models of a poll.

use serde::{Deserialize, Serialize};

/// The numbers of models of a poll. Every number follows from the one constructor:
///
/// - requested = succeeded + failed + unused
/// - requested + skipped = roster
///
/// ```
/// use ep_polling::model_counts::ModelCounts;
///
/// // 50 models, 20 ballots with 18 votes, and 7 calls in flight at the end.
/// let models = ModelCounts::new(50, 20, 18, 7);
/// assert_eq!((models.requested(), models.succeeded(), models.failed()), (27, 18, 2));
/// assert_eq!((models.unused(), models.skipped(), models.roster()), (7, 23, 50));
/// assert!(!models.is_complete() && ModelCounts::new(20, 20, 18, 0).is_complete());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenCounts")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelCounts {
    /// Number of models that were asked: `models_succeeded`, `models_failed` and `models_unused`. The roster is these and
    /// `models_skipped`.
    models_requested: u32,
    /// Number of models that voted.
    models_succeeded: u32,
    /// Number of models that gave no vote, or did not respond.
    models_failed: u32,
    /// Number of models that were asked, but had not responded when the poll ended: not counted, but paid for.
    models_unused: u32,
    /// Number of models that were never asked, because the poll ended early.
    models_skipped: u32,
}

/// The numbers in a response. Responses of earlier versions, which batches and repeated requests keep, count unused models
/// as skipped, and not as requested. Those to a new poll have only `models_skipped` and `models_unused`.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct WrittenCounts {
    #[serde(default)]
    models_requested: u32,
    #[serde(default)]
    models_succeeded: u32,
    #[serde(default)]
    models_failed: u32,
    models_unused: u32,
    models_skipped: u32,
}

impl From<WrittenCounts> for ModelCounts {
    fn from(written: WrittenCounts) -> Self {
        let WrittenCounts { models_succeeded: votes, models_failed: failed, models_unused: unused, .. } =
            written;
        let counted = votes.saturating_add(failed);
        let is_earlier = written.models_requested < counted.saturating_add(unused);
        let skipped = written.models_skipped.saturating_sub(if is_earlier { unused } else { 0 });
        let roster = counted.saturating_add(unused).saturating_add(skipped);
        Self::new(roster, counted, votes, unused)
    }
}

impl ModelCounts {
    /// Counts the models of a roster of which `ballots` are counted, with so many `votes`, and `unused` were asked without
    /// being counted.
    pub const fn new(roster: u32, ballots: u32, votes: u32, unused: u32) -> Self {
        let requested = ballots.saturating_add(unused);
        Self {
            models_requested: requested,
            models_succeeded: votes,
            models_failed: ballots.saturating_sub(votes),
            models_unused: unused,
            models_skipped: roster.saturating_sub(requested),
        }
    }

    /// Returns the number of models that were asked.
    pub const fn requested(&self) -> u32 {
        self.models_requested
    }

    /// Returns the number of models that voted.
    pub const fn succeeded(&self) -> u32 {
        self.models_succeeded
    }

    /// Returns the number of counted models without a vote.
    pub const fn failed(&self) -> u32 {
        self.models_failed
    }

    /// Returns the number of models that were asked, but not counted.
    pub const fn unused(&self) -> u32 {
        self.models_unused
    }

    /// Returns the number of models that were never asked.
    pub const fn skipped(&self) -> u32 {
        self.models_skipped
    }

    /// Returns the number of models that counted, with a vote or without.
    pub const fn counted(&self) -> u32 {
        self.models_succeeded + self.models_failed
    }

    /// Returns the number of models that did not count: never asked, or asked without a response before the end.
    pub const fn uncounted(&self) -> u32 {
        self.models_unused + self.models_skipped
    }

    /// Returns the number of models on the roster.
    pub const fn roster(&self) -> u32 {
        self.counted() + self.uncounted()
    }

    /// True if every model of the roster counted.
    pub const fn is_complete(&self) -> bool {
        self.uncounted() == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The equations of the interface hold for every outcome.
        #[test]
        fn the_numbers_add_up(
            (votes, failed, unused, skipped) in (0_u32..100, 0_u32..100, 0_u32..100, 0_u32..100)
        ) {
            let roster = votes + failed + unused + skipped;
            let models = ModelCounts::new(roster, votes + failed, votes, unused);
            prop_assert_eq!((models.succeeded(), models.failed()), (votes, failed));
            prop_assert_eq!((models.unused(), models.skipped()), (unused, skipped));
            prop_assert_eq!(models.requested(), models.succeeded() + models.failed() + models.unused());
            prop_assert_eq!(models.requested() + models.skipped(), roster);
            prop_assert_eq!(models.counted() + models.uncounted(), models.roster());
            prop_assert_eq!((models.roster(), models.is_complete()), (roster, unused + skipped == 0));
        }

        /// A response keeps its numbers when it is read.
        #[test]
        fn the_numbers_survive_json((votes, failed, unused, skipped) in (0_u32..9, 0_u32..9, 0_u32..9, 0_u32..9)) {
            let models = ModelCounts::new(votes + failed + unused + skipped, votes + failed, votes, unused);
            let read: ModelCounts = serde_json::from_value(serde_json::to_value(models).unwrap()).unwrap();
            prop_assert_eq!(read, models);
        }

        /// A response of an earlier version gives the same numbers; without those of the votes, at least the others.
        #[test]
        fn earlier_responses_are_read((votes, failed, unused, skipped) in (0_u32..9, 0_u32..9, 0_u32..9, 0_u32..9)) {
            let (counted, uncounted) = (votes + failed, unused + skipped);
            let written = serde_json::json!({ "models_requested": counted, "models_succeeded": votes, "models_failed": failed,
                "models_unused": unused, "models_skipped": uncounted });
            let read: ModelCounts = serde_json::from_value(written).unwrap();
            prop_assert_eq!(read, ModelCounts::new(counted + uncounted, counted, votes, unused));
            let written = serde_json::json!({ "models_unused": unused, "models_skipped": uncounted });
            let read: ModelCounts = serde_json::from_value(written).unwrap();
            prop_assert_eq!((read.unused(), read.skipped(), read.is_complete()), (unused, skipped, uncounted == 0));
        }
    }
}
