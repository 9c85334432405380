//! The progress of labelling, on standard error: a bar on a terminal, else a line every ten seconds.

use std::io::IsTerminal;
use std::time::Duration;

use ep_labels::asking::{Counts, duration};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use crate::cli::printable::printable;

/// Time between two lines of a log.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The progress of a run.
pub(super) struct LabelProgress {
    bar: ProgressBar,
    begun: Instant,
    line_at: Instant,
    /// Rows to label; none if they come from standard input.
    rows: Option<u64>,
    counts: Counts,
}

impl LabelProgress {
    /// Begins to show progress.
    pub(super) fn new(rows: Option<u64>) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let target = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(rows, target);
        if let Ok(style) = ProgressStyle::with_template("{bar:30.cyan/dim} {pos}/{len} rows · {wide_msg}") {
            bar.set_style(style.progress_chars("━━─"));
        }
        let begun = Instant::now();
        Self { bar, begun, line_at: begun + LINE_EVERY, rows, counts: Counts::default() }
    }

    /// Shows these figures.
    pub(super) fn show(&mut self, counts: Counts) {
        self.counts = counts;
        let message = self.message();
        self.bar.set_position(self.counts.done);
        self.bar.set_message(message.clone());
        if self.bar.is_hidden() && Instant::now() >= self.line_at {
            self.line_at = Instant::now() + LINE_EVERY;
            let of = self.rows.map_or_else(String::new, |rows| format!(" of {rows}"));
            eprintln!("{}{of} rows · {message}", self.counts.done);
        }
    }

    /// Writes a line above the bar.
    pub(super) fn note(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{}", printable(line)));
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn message(&self) -> String {
        let Counts { done, unanimous, ties, review, failed, cost } = self.counts;
        let seconds = self.begun.elapsed().as_secs_f64();
        let rate = done as f64 / seconds.max(0.001);
        let share = |part: u64| 100.0 * part as f64 / done.max(1) as f64;
        let left = self.rows.filter(|_| done > 0).map_or_else(String::new, |rows| {
            let left = rows.saturating_sub(done) as f64 / rate;
            format!(" · about {} left", duration(left))
        });
        format!(
            "{rate:.1} rows/s · {cost}{left} · {:.0} % unanimous · {:.0} % ties · {:.0} % for review · \
             {failed} failed",
            share(unanimous),
            share(ties),
            share(review)
        )
    }
}
