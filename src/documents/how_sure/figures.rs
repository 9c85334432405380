//! The figures of the committed file, which a bench measured on recorded votes.

use serde::Deserialize;

/// What the bench printed.
const MEASURED: &str = include_str!("../../../docs/stopping-figures.json");

/// Every set of votes.
#[derive(Deserialize)]
pub(super) struct Figures {
    /// What makes them again.
    pub(super) command: String,
    /// Votes between the first two options of a contested question, at most.
    pub(super) contested_margin: u32,
    pub(super) sets: Vec<Set>,
}

/// The rules on one set of votes.
#[derive(Deserialize)]
pub(super) struct Set {
    pub(super) set: String,
    pub(super) source: String,
    pub(super) questions: u32,
    pub(super) models: u32,
    /// Stopping only when nothing can change any more: what a threshold of 1 does.
    pub(super) lock: Replayed,
    pub(super) thresholds: Vec<AtThreshold>,
}

#[derive(Deserialize)]
pub(super) struct AtThreshold {
    pub(super) threshold: f64,
    pub(super) bridge: Replayed,
    pub(super) beta: Replayed,
}

/// What became of polls.
#[derive(Deserialize)]
pub(super) struct Replayed {
    pub(super) polls: u64,
    calls: u64,
    different: u64,
}

impl Figures {
    /// Reads the file.
    pub(super) fn read() -> Option<Self> {
        serde_json::from_str(MEASURED).ok()
    }
}

impl Replayed {
    /// The models that a poll asked on average, in per cent of the panel.
    pub(super) fn asked(&self, models: u32) -> f64 {
        100.0 * self.calls as f64 / (self.polls * u64::from(models)) as f64
    }

    /// The polls whose answer was the whole panel's, in per cent.
    pub(super) fn agreement(&self) -> f64 {
        100.0 * (self.polls - self.different) as f64 / self.polls as f64
    }

    /// The same in words, rounded down: 100 % is only what had no exception.
    pub(super) fn agreement_in_words(&self) -> String {
        if self.different == 0 {
            "100 %".to_owned()
        } else {
            format!("{:.2} %", (self.agreement() * 100.0).floor() / 100.0)
        }
    }
}
