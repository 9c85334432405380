//! The progress of a running poll, as a bar on standard error.

use std::time::Duration;

use console::style;
use ep_kernel::{StartedEvent, VoteEvent};
use ep_polling::PollId;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::printable::printable;

/// Progress of a running poll, on standard error.
pub(super) struct Live {
    bar: ProgressBar,
    shown: bool,
    poll_id: Option<PollId>,
}

impl Live {
    /// Creates the display; it draws nothing if `shown` is false.
    pub(super) fn new(shown: bool) -> Self {
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self::on(target, shown)
    }

    fn on(target: ProgressDrawTarget, shown: bool) -> Self {
        Self { bar: ProgressBar::with_draw_target(None, target), shown, poll_id: None }
    }

    /// Returns the poll's id after the poll has begun.
    pub(super) fn poll_id(&self) -> Option<&PollId> {
        self.poll_id.as_ref()
    }

    pub(super) fn started(&mut self, event: &StartedEvent) {
        self.poll_id = Some(event.poll_id.clone());
        if self.shown && event.simulated {
            eprintln!(
                "{}",
                style("These voters are simulated: the demo roster only shows how polls work.").yellow()
            );
        }
        // The bar is drawn as soon as its length is set, so set the template first.
        let template = "{bar:30.cyan/dim} {pos}/{len} models · {elapsed} · {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("━━─"));
        }
        self.bar.set_length(u64::from(event.roster_size));
        self.bar.enable_steady_tick(Duration::from_millis(100));
    }

    pub(super) fn vote(&mut self, event: &VoteEvent) {
        self.bar.set_position(u64::from(event.answered));
        let leader = event.leader.as_deref().map_or_else(
            || "no leader yet".to_owned(),
            |option| format!("{} leads", printable(option).replace('\n', " ")),
        );
        let sure = match event.confidence {
            known if known > 0.0 => format!("confidence {}", percent(known)),
            _ => "not sure yet".to_owned(),
        };
        self.bar.set_message(format!("{leader} · {sure}"));
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Formats a percentage, rounded down so that it never overstates a figure.
fn percent(share: f64) -> String {
    format!("{:.1} %", (share * 1000.0).floor() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::TermLike;
    use serde_json::json;
    use std::sync::{Arc, Mutex};

    /// A terminal that keeps everything that was ever written to it.
    #[derive(Debug, Clone, Default)]
    struct RecordingTerm(Arc<Mutex<String>>);

    impl TermLike for RecordingTerm {
        fn width(&self) -> u16 {
            120
        }
        fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn write_line(&self, line: &str) -> std::io::Result<()> {
            self.write_str(line)
        }
        fn write_str(&self, text: &str) -> std::io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> std::io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_bar_has_one_form_and_shows_only_known_figures() {
        let paper = RecordingTerm::default();
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(paper.clone()), 255);
        let mut live = Live::on(target, false);
        let started = json!({ "poll_id": "EP-20260131-7KQ2M4X9TB", "result_url": "u", "question": "q", "options": ["a", "b"],
            "roster_size": 50, "simulated": true });
        live.started(&serde_json::from_value(started).unwrap());
        let vote = |answered: u32, confidence: f64| {
            let vote = json!({ "seq": answered, "model_id": "m", "chosen_option": "a", "error": null, "latency_ms": 1,
                "tally": { "a": answered, "b": 0 }, "leader": "a", "confidence": confidence, "cost_so_far": 0.0,
                "answered": answered, "roster_size": 50 });
            serde_json::from_value(vote).unwrap()
        };
        live.vote(&vote(1, 0.0));
        live.bar.force_draw();
        let early = paper.0.lock().unwrap().clone();
        assert!(early.contains("a leads · not sure yet") && !early.contains("0.0 %"), "{early}");
        live.vote(&vote(6, 0.9739));
        live.bar.force_draw();
        let shown = paper.0.lock().unwrap().clone();
        assert!(shown.contains("6/50 models") && shown.contains("confidence 97.3 %"), "{shown}");
        assert!(!shown.contains('░') && !shown.contains('█'), "the default form was drawn: {shown}");
        live.clear();
    }
}
