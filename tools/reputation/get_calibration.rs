//! `get_calibration`: reads how often the outcomes of each panel were right, by the agreement of its votes.

use std::collections::BTreeMap;
use std::time::Duration;

use ep_kernel::reputation::MIN_JUDGED;
use ep_polling::evaluation::{Fraction, binomial};
use ep_polling::reputation::CalibrationSums;
use ep_polling::{AgreementLevel, CalibrationGroup, Timestamp};

use super::{mean, rounded};
use crate::prelude::*;

/// Reads the calibration of the panels.
pub struct GetCalibration;

/// The share of right outcomes by panel and agreement.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Calibration {
    /// Panels with judged polls, by name.
    pub panels: Vec<PanelCalibration>,
    /// Minimum number of judged polls for the figures of a level.
    pub minimum_judged: i64,
    /// Public polls, judged or not, whose votes an earlier version of the reader has read.
    pub polls_read_earlier: i64,
    /// The limits of these figures.
    pub caveat: String,
    /// Time of computation, at most 5 minutes ago.
    pub computed_at: Timestamp,
    #[serde(skip)]
    fresh_for: Duration,
}

/// The figures of one panel.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PanelCalibration {
    /// The preset.
    pub panel: String,
    /// Every level of agreement, the highest first.
    pub levels: Vec<LevelCalibration>,
}

/// The judged polls of a panel with one level of agreement. Below 30 polls, all but their number is null.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct LevelCalibration {
    /// The share of the models that voted for the winner.
    pub level: AgreementLevel,
    /// Number of polls that accounts judged.
    pub judged: i64,
    /// Polls among these with an outcome that most of their judges called correct.
    pub right: Option<i64>,
    /// The share of `right` in `judged`.
    pub share: Option<f64>,
    /// The 95 % confidence interval of this share, by Clopper and Pearson.
    pub interval: Option<Interval>,
}

/// A confidence interval of a share.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Interval {
    /// The lowest plausible share.
    pub low: f64,
    /// The highest plausible share.
    pub high: f64,
}

/// The limits of the figures, in full sentences.
const CAVEAT: &str = "The judged polls are self-selected: accounts choose the polls that they judge, and nobody checks their \
                      judgement. Only polls that asked every model count. Agreement of models is not truth.";

impl LevelCalibration {
    fn new(level: AgreementLevel, sums: CalibrationSums) -> Self {
        let enough = sums.judged >= MIN_JUDGED;
        Self {
            level,
            judged: sums.judged,
            right: enough.then_some(sums.right),
            share: mean(sums.right, sums.judged).filter(|_| enough),
            interval: enough.then(|| Interval::of(sums)),
        }
    }
}

impl Interval {
    fn of(sums: CalibrationSums) -> Self {
        let [right, judged] = [sums.right, sums.judged].map(i64::unsigned_abs);
        let interval = binomial::interval(right, judged, Fraction::FIVE_PERCENT);
        Self { low: rounded(*interval.start()), high: rounded(*interval.end()) }
    }
}

impl ToolOutput for Calibration {
    fn presentation(&self) -> Presentation {
        Presentation::shared(self.fresh_for)
    }
}

impl Tool for GetCalibration {
    const SPEC: Spec = Spec {
        name: "get_calibration",
        title: "Read the calibration of panels",
        summary: "Returns, for each panel and level of agreement, the share of outcomes that accounts judged right. Free.",
        manual: include_str!("get_calibration.md"),
        access: Access::PUBLIC,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/reputation/calibration")),
        agents: Agents::Set(ToolSet::Polls),
        intents: &[
            "how often is a panel right",
            "are unanimous polls right more often",
            "the calibration of a panel",
            "is agreement of the models a sign of a right answer",
            "the share of right outcomes per panel",
            "how well calibrated are the polls",
            "accuracy by level of agreement",
        ],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = Calibration;

    async fn call(cx: &Ctx, _: Nothing) -> Result<Calibration, Fault> {
        let figures = cx.reputation().figures().await?;
        let mut panels: BTreeMap<&str, BTreeMap<AgreementLevel, CalibrationSums>> = BTreeMap::new();
        for (CalibrationGroup { panel, level }, sums) in &figures.sums.calibration {
            if sums.judged > 0 {
                panels.entry(panel).or_default().insert(*level, *sums);
            }
        }
        let panel = |(panel, levels): (&str, BTreeMap<AgreementLevel, CalibrationSums>)| {
            let sums = |level| levels.get(&level).copied().unwrap_or_default();
            let levels = AgreementLevel::ALL.map(|level| LevelCalibration::new(level, sums(level)));
            PanelCalibration { panel: panel.to_owned(), levels: levels.into() }
        };
        Ok(Calibration {
            panels: panels.into_iter().map(panel).collect(),
            minimum_judged: MIN_JUDGED,
            polls_read_earlier: figures.sums.read_earlier(),
            caveat: CAVEAT.to_owned(),
            computed_at: figures.computed_at,
            fresh_for: cx.reputation().fresh_for(&figures),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_need_thirty_judged_polls() {
        let level = |judged, right| {
            LevelCalibration::new(AgreementLevel::Unanimous, CalibrationSums { judged, right })
        };
        let few = level(29, 29);
        assert!(few.right.is_none() && few.share.is_none() && few.interval.is_none());
        let enough = level(30, 24);
        assert_eq!((enough.judged, enough.right, enough.share), (30, Some(24), Some(0.8)));
        // The bounds are known from tables of Clopper and Pearson.
        let interval = enough.interval.unwrap();
        assert!(
            (interval.low - 0.614_3).abs() < 1e-3 && (interval.high - 0.922_9).abs() < 1e-3,
            "{interval:?}"
        );
    }
}
