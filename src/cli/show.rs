//! A poll on the terminal: a progress bar while it runs, and its tally as bars afterwards.

use std::time::Duration;

use console::{Term, measure_text_width, style, truncate_str};
use ep_kernel::event::{StartedEvent, VoteEvent};
use ep_polling::ballot::Reason;
use ep_polling::poll_id::PollId;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Deserialize;
use serde_json::Value;

use super::printable::{printable, printable_value};

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

/// Prints a poll's result.
pub(super) fn result(answer: &Value, here: bool) -> anyhow::Result<()> {
    let answer = &printable_value(answer);
    let term = Term::stdout();
    if answer.get("dry_run") == Some(&Value::Bool(true)) {
        return dry_run(&term, answer);
    }
    let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or("");
    if text("status") == "running" {
        let id = text("poll_id");
        let line = format!(
            "Poll {id} is still running; ep call get_poll_result '{{\"poll_id\": \"{id}\"}}' reads it."
        );
        return Ok(term.write_line(&line)?);
    }
    let number = |pointer: &str| answer.pointer(pointer).and_then(Value::as_f64).unwrap_or(0.0);
    term.write_line(&format!("\n{}", style(text("question")).bold()))?;
    tally(&term, answer)?;
    let winner = answer.get("winning_option").and_then(Value::as_str);
    let outcome = match winner {
        Some(option) => style(option.to_owned()).green().bold(),
        None if answer["is_tie"] == true => style("a tie".to_owned()).yellow().bold(),
        None => style("no votes".to_owned()).red().bold(),
    };
    term.write_line(&format!("\n  Outcome     {outcome}"))?;
    let votes = answer["votes"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    let voted = votes.iter().filter(|vote| vote["success"] == true).count();
    let failed = votes.iter().filter(|vote| has_unknown_vote(vote)).count();
    let responded = votes.len() - failed;
    let unneeded = number("/models_skipped") as usize;
    let roster = votes.len() + unneeded;
    let confidence = match number("/confidence") {
        known if known > 0.0 => format!(
            "{} (threshold {}) that the full roster of {roster} models gives this outcome, not that it is right",
            percent(known),
            percent(number("/confidence_threshold"))
        ),
        _ => format!("none: too few votes to predict the choice of the full roster of {roster} models"),
    };
    term.write_line(&format!("  Confidence  {confidence}"))?;
    let why = match answer.get("termination_reason").and_then(Value::as_str) {
        Some(reason) => reason.replace('_', " "),
        None => "cancelled".to_owned(),
    };
    // Only these two reasons mean that the rest was not needed.
    let decided = matches!(text("termination_reason"), "confidence" | "mathematical_lock");
    let rest = if decided { "not needed" } else { "without a response" };
    let counts =
        [(responded - voted, "of them without a vote"), (failed, "failed or unreadable"), (unneeded, rest)];
    let counts: Vec<String> = std::iter::once(format!("{responded} models responded"))
        .chain(counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")))
        .collect();
    term.write_line(&format!("  Stopped by  {why}: {}", counts.join(", ")))?;
    let families = number("/families/heard") as u64;
    term.write_line(&format!(
        "  Families    {families} (makers and product lines: a weak sign of independence)"
    ))?;
    let unknown = number("/costs/unknown_cost_calls") as u64;
    let unused_unknown = answer["costs"]["unused_calls_cost"].is_null() && number("/models_unused") > 0.0;
    let cost = [
        (true, format!("${:.6}", number("/costs/total_estimated_cost"))),
        (unknown > 0, format!(" plus {unknown} responses with unknown cost")),
        (unused_unknown, " so far: get_poll_result with costs returns the final cost".to_owned()),
        (answer["simulated"] == true, ", simulated: no model was paid".to_owned()),
    ];
    let cost: String = cost.into_iter().filter_map(|(said, text)| said.then_some(text)).collect();
    if answer.get("costs").is_some() {
        term.write_line(&format!("  Cost        {cost}"))?;
    }
    term.write_line(&format!("  Time        {:.1} s", number("/timing/total_ms") / 1000.0))?;
    let later = if here { " (available while `ep serve` is running)" } else { "" };
    term.write_line(&format!("  Result      {}{later}", style(text("result_url")).underlined()))?;
    for notice in
        answer.get("notices").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        term.write_line(&format!("  {}", style(notice).dim()))?;
    }
    if answer["simulated"] == true {
        term.write_line(&format!(
            "  {}",
            style("Simulated voters: this result says nothing about any real model.").yellow()
        ))?;
    }
    Ok(())
}

/// True if a vote is unknown, because its call failed or its output was truncated.
fn has_unknown_vote(vote: &Value) -> bool {
    Reason::deserialize(&vote["error_code"]).is_ok_and(|reason| !reason.is_final_response())
}

fn tally(term: &Term, answer: &Value) -> anyhow::Result<()> {
    let Some(counts) = answer.get("tally").and_then(Value::as_object) else { return Ok(()) };
    let most = counts.values().filter_map(Value::as_u64).max().unwrap_or(0).max(1);
    let total = counts.values().filter_map(Value::as_u64).sum::<u64>().max(1);
    let width = counts.keys().map(|option| measure_text_width(option)).max().unwrap_or(0).min(40);
    for (option, votes) in counts {
        let votes = votes.as_u64().unwrap_or(0);
        let name = truncate_str(option, width, "…");
        let padding = " ".repeat(width.saturating_sub(measure_text_width(&name)));
        let bar = "█".repeat((votes * 30).div_ceil(most) as usize);
        let bar = if votes == most { style(bar).green() } else { style(bar).dim() };
        term.write_line(&format!(
            "  {name}{padding}  {votes:>3}  {:>3} %  {bar}",
            whole_percent(votes, total)
        ))?;
    }
    Ok(())
}

/// The share of the votes in whole percent, rounded.
const fn whole_percent(votes: u64, total: u64) -> u64 {
    (votes * 100 + total / 2) / total
}

fn dry_run(term: &Term, answer: &Value) -> anyhow::Result<()> {
    for error in answer["errors"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        term.write_line(&format!("  {} {error}", style("✗").red()))?;
    }
    if answer["valid"] == true {
        let number = |pointer: &str| answer.pointer(pointer).and_then(Value::as_f64).unwrap_or(0.0);
        let (least, most) = (number("/estimates/calls_at_least"), number("/estimates/calls_at_most"));
        term.write_line(&format!("  {} valid; asks {least} to {most} models", style("✓").green()))?;
        let (low, high) = (number("/estimates/cost_usd_at_least"), number("/estimates/cost_usd_at_most"));
        term.write_line(&format!("  Costs ${low:.6} at least and ${high:.6} at most"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;
    use serde_json::json;

    use super::*;

    #[test]
    fn shares_are_rounded() {
        assert_eq!([17, 5].map(|votes| whole_percent(votes, 22)), [77, 23]);
        assert_eq!([2, 1].map(|votes| whole_percent(votes, 3)), [67, 33]);
    }

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
