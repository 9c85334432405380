//! A poll to try: the page's visitors choose its numbers. `assets/how-sure.js` computes and draws the same.

use askama::Template;
use ep_polling::Evidence;
use ep_polling::stopping::{confidence, locked, p_value};

use super::plot::{BOTTOM, HEIGHT, LEFT, RIGHT, Range, TOP, Tick, WIDTH, per_cent};

/// Sizes of the panel, in models.
pub const PANELS: std::ops::RangeInclusive<u32> = 3..=100;
/// Thresholds, in per cent.
pub const THRESHOLDS: std::ops::RangeInclusive<u32> = 50..=100;

/// Tolerance for rounding, relative to the accepted risk.
const ROUNDING: f64 = 1e-9;

/// The numbers of the poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplePoll {
    panel: u32,
    leader: u32,
    rival: u32,
    threshold: u32,
}

impl Default for SamplePoll {
    fn default() -> Self {
        Self { panel: 50, leader: 11, rival: 3, threshold: 95 }
    }
}

impl SamplePoll {
    /// Parses a query. Numbers outside of their limits are moved to the nearest limit.
    pub fn read(query: &str) -> Self {
        let mut read = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let Ok(value) = value.trim().parse::<u32>() else { continue };
            match &*name {
                "panel" => read.panel = value.clamp(*PANELS.start(), *PANELS.end()),
                "leader" => read.leader = value,
                "runner_up" => read.rival = value,
                "threshold" => read.threshold = value.clamp(*THRESHOLDS.start(), *THRESHOLDS.end()),
                _ => {}
            }
        }
        read.leader = read.leader.min(read.panel);
        read.rival = read.rival.min(read.leader).min(read.panel - read.leader);
        read
    }

    /// Returns the evidence if the leader had this many votes.
    const fn evidence(self, leader: u32) -> Evidence {
        Evidence { leader, rival: self.rival, remaining: self.remaining_beside(leader) }
    }

    const fn remaining_beside(self, leader: u32) -> u32 {
        self.panel.saturating_sub(leader).saturating_sub(self.rival)
    }

    /// Returns the confidence in per cent, rounded down; 100 only if the winner cannot change.
    pub(super) fn percent(self) -> String {
        let evidence = self.evidence(self.leader);
        if locked(evidence) {
            return "100 %".to_owned();
        }
        format!("{:.1} %", ((confidence(evidence) * 1000.0).floor() / 10.0).min(99.9))
    }

    /// True if the confidence has reached the threshold. Compares as [`Rule`](ep_polling::stopping::Rule) does, but
    /// leaves the rules of running polls in their cache.
    fn stops(self) -> bool {
        let risk = f64::from(100 - self.threshold) / 100.0;
        p_value(self.evidence(self.leader)) <= risk * (1.0 + ROUNDING)
    }

    /// Returns the decision of the poll.
    pub(super) fn verdict(self) -> String {
        let evidence = self.evidence(self.leader);
        match evidence.remaining {
            0 if !evidence.has_leader() => "A tie: every model has voted.".to_owned(),
            _ if !evidence.has_leader() => "Nobody leads, so the poll goes on.".to_owned(),
            0 => "Settled: every model has voted.".to_owned(),
            rest if locked(evidence) => format!("Settled: the other {rest} could not change the winner."),
            rest if self.stops() => format!("The poll stops here and does not ask the other {rest}."),
            _ => format!("The poll goes on until {} %.", self.threshold),
        }
    }

    /// Returns the shares of the panel that voted for the leader and for the runner-up, for a bar.
    pub(super) fn shares(self) -> [String; 2] {
        [self.leader, self.rival]
            .map(|votes| format!("{:.2}%", 100.0 * f64::from(votes) / f64::from(self.panel)))
    }

    /// Returns the numbers in words.
    pub(super) fn sentence(self) -> String {
        let Self { panel, leader, rival, .. } = self;
        format!("In a panel of {panel} models, {leader} to {rival} votes are {} sure.", self.percent())
    }

    /// Draws the poll.
    pub(super) fn drawn(self) -> SampleTemplate {
        let (across, upwards) = (self.across(), Range { from: 0.0, to: 100.0 });
        let place = |leader: u32| {
            let confidence = confidence(self.evidence(leader));
            (across.x(f64::from(leader)), upwards.y(confidence * 100.0))
        };
        let points = (self.rival..=self.panel - self.rival).map(place);
        let points: Vec<String> = points.map(|(x, y)| format!("{x},{y}")).collect();
        let (x, y) = place(self.leader);
        SampleTemplate {
            poll: self,
            marks: across.across(step(self.panel), |votes| votes.to_string()),
            steps: upwards.upwards(20.0, per_cent),
            points: points.join(" "),
            x,
            y,
            threshold_y: upwards.y(f64::from(self.threshold)),
        }
    }

    /// Returns the horizontal axis: the votes for the leader.
    fn across(self) -> Range {
        Range { from: 0.0, to: f64::from(self.panel) }
    }
}

/// Returns the distance between two labels on an axis of votes: at most ten fit.
fn step(panel: u32) -> f64 {
    let steps = [1_u32, 2, 5, 10];
    f64::from(steps.into_iter().find(|step| panel / step <= 10).unwrap_or(20))
}

/// The template of the poll.
#[derive(Template)]
#[template(path = "documents/how_sure/sample.html")]
pub(super) struct SampleTemplate {
    poll: SamplePoll,
    marks: Vec<Tick>,
    steps: Vec<Tick>,
    points: String,
    x: String,
    y: String,
    threshold_y: String,
}

#[cfg(test)]
mod tests {
    use ep_polling::{Rule, Threshold};

    use super::*;

    #[test]
    fn numbers_are_moved_to_their_limits() {
        let read = |query: &str| {
            let SamplePoll { panel, leader, rival, threshold } = SamplePoll::read(query);
            (panel, leader, rival, threshold)
        };
        assert_eq!(read("utm_source=x"), (50, 11, 3, 95));
        assert_eq!(read("panel=25&leader=8&runner_up=1&threshold=80"), (25, 8, 1, 80));
        assert_eq!(read("panel=4294967295&leader=4294967295&runner_up=9&threshold=1"), (100, 100, 0, 50));
        assert_eq!(read("panel=0&leader=2&runner_up=2&threshold=1000"), (3, 2, 1, 100));
        assert_eq!(read("leader=-1&panel=x"), (50, 11, 3, 95));
    }

    #[test]
    fn decisions_are_those_of_the_stopping_rule() {
        for threshold in THRESHOLDS {
            let rule = Rule::for_threshold(Threshold::new(f64::from(threshold) / 100.0).unwrap());
            for leader in 0..=25 {
                let poll = SamplePoll { panel: 25, leader, rival: leader.min(25 - leader) / 3, threshold };
                assert_eq!(poll.stops(), rule.stops(poll.evidence(leader)), "{poll:?}");
            }
        }
    }

    #[test]
    fn verdict_follows_the_numbers() {
        let shown = |query: &str| {
            let poll = SamplePoll::read(query);
            (poll.percent(), poll.verdict())
        };
        let settled = "Settled: the other 24 could not change the winner.";
        for (query, percent, verdict) in [
            ("panel=25&leader=6&runner_up=0", "97.3 %", "The poll stops here and does not ask the other 19."),
            ("panel=25&leader=5&runner_up=0", "93.5 %", "The poll goes on until 95 %."),
            ("panel=25&leader=5&runner_up=5", "0.0 %", "Nobody leads, so the poll goes on."),
            ("panel=50&leader=26&runner_up=0", "100 %", settled),
            ("panel=50&leader=24&runner_up=0&threshold=100", "99.9 %", "The poll goes on until 100 %."),
            ("panel=4&leader=2&runner_up=2", "0.0 %", "A tie: every model has voted."),
            ("panel=3&leader=3", "100 %", "Settled: every model has voted."),
        ] {
            assert_eq!(shown(query), (percent.to_owned(), verdict.to_owned()), "{query}");
        }
    }
}
