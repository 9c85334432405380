//! The committed figures that a bench measured on recorded votes.

use serde::Deserialize;

/// The output of the bench.
const MEASURED: &str = include_str!("../../../../../docs/stopping-figures.json");

/// The figures of every set of votes.
#[derive(Deserialize)]
pub(super) struct Figures {
    /// The command that reproduces the figures.
    pub(super) command: String,
    /// The maximum difference in votes between the first two options of a close question.
    pub(super) close_margin: u32,
    pub(super) sets: Vec<Set>,
}

/// The results of the stopping rules on one set of votes.
#[derive(Deserialize)]
pub(super) struct Set {
    pub(super) set: String,
    pub(super) source: String,
    pub(super) questions: u32,
    pub(super) models: u32,
    /// The result for a threshold of 1: a poll stops only when the winner cannot change.
    pub(super) lock: Replayed,
    pub(super) thresholds: Vec<AtThreshold>,
}

#[derive(Deserialize)]
pub(super) struct AtThreshold {
    pub(super) threshold: f64,
    pub(super) bridge: Replayed,
    pub(super) beta: Replayed,
}

/// The outcome of replayed polls.
#[derive(Deserialize)]
pub(super) struct Replayed {
    pub(super) polls: u64,
    calls: u64,
    different: u64,
}

impl Figures {
    /// Parses the committed file.
    pub(super) fn read() -> Option<Self> {
        serde_json::from_str(MEASURED).ok()
    }
}

impl Replayed {
    /// Returns the average share of the panel that a poll asked, in per cent.
    pub(super) fn calls_share(&self, models: u32) -> f64 {
        100.0 * self.calls as f64 / (self.polls * u64::from(models)) as f64
    }

    /// Returns the share of polls that agree with the whole panel, in per cent.
    pub(super) fn agreement(&self) -> f64 {
        100.0 * (self.polls - self.different) as f64 / self.polls as f64
    }

    /// Returns the agreement as text, rounded down: only polls without an exception show 100 %.
    pub(super) fn agreement_in_words(&self) -> String {
        if self.different == 0 {
            "100 %".to_owned()
        } else {
            format!("{:.2} %", (self.agreement() * 100.0).floor() / 100.0)
        }
    }
}
