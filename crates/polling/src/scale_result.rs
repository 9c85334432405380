//! The votes of a poll on a scale, as its results show them.

use serde::{Deserialize, Serialize};

use crate::choices::ChoiceKind;
use crate::scale::PassVotes;
use crate::tally::Tally;

/// The votes of a poll on a scale, beside its tally by level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaleResult {
    /// The lower median of the votes; null without votes. After an early stop, further votes could still change it.
    pub median: Option<String>,
    /// The votes on the pass; absent without a pass mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "PassResult"))]
    pub pass: Option<PassResult>,
    /// Confidence that the whole roster would pass or fail likewise: the same as `confidence`. Absent without a pass mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub bound: Option<f64>,
}

/// The votes on a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PassResult {
    /// The pass mark: the lowest level that passes.
    pub mark: String,
    /// True if the median is at least the mark, which needs more votes for than against; null without votes.
    pub passed: Option<bool>,
    /// Votes for the mark and the levels above it.
    pub votes_for: u32,
    /// Votes for the levels below it.
    pub votes_against: u32,
}

impl ScaleResult {
    /// Describes these votes; `None` if the options are no levels. `confidence` is that of the poll.
    pub fn of(kind: ChoiceKind, levels: &[String], tally: &Tally, confidence: f64) -> Option<Self> {
        let text = |level: usize| levels.get(level).cloned();
        let median = kind.is_scale().then(|| tally.lower_median().and_then(text))?;
        let pass = kind.pass_mark().and_then(|mark| {
            let votes = mark.votes(tally);
            let (passed, PassVotes { votes_for, votes_against }) = (votes.passed(), votes);
            Some(PassResult { mark: text(mark.level())?, passed, votes_for, votes_against })
        });
        let bound = pass.as_ref().map(|_| confidence);
        Some(Self { median, pass, bound })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::Choices;
    use crate::options::Levels;
    use crate::scale::Scale;

    #[test]
    fn a_scale_has_a_median_and_with_a_mark_the_votes_on_the_pass() {
        let levels = ["1", "2", "3"].map(str::to_owned);
        let tally = Tally::of(3, [0, 1, 2, 2].map(Some));
        let result = |pass: Option<&str>| {
            let scale = Scale::new(Levels::new(&levels).unwrap(), pass).unwrap();
            ScaleResult::of(Choices::from(scale).kind(), &levels, &tally, 0.5)
        };
        let median = Some("2".to_owned());
        let without = ScaleResult { median: median.clone(), pass: None, bound: None };
        assert_eq!(result(None), Some(without));
        let pass = PassResult { mark: "3".into(), passed: Some(false), votes_for: 2, votes_against: 2 };
        assert_eq!(result(Some("3")), Some(ScaleResult { median, pass: Some(pass), bound: Some(0.5) }));
        assert_eq!(ScaleResult::of(ChoiceKind::Options, &levels, &tally, 0.5), None);
    }
}
