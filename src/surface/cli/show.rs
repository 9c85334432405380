//! A poll on the terminal: a bar while it runs, the tally as bars when it has ended.

use std::time::Duration;

use console::{Term, measure_text_width, style, truncate_str};
use ep_kernel::event::{StartedEvent, VoteEvent};
use ep_polling::poll_id::PollId;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

/// The poll while it runs, on standard error.
pub(super) struct Live {
    bar: ProgressBar,
    shown: bool,
    poll_id: Option<PollId>,
}

impl Live {
    /// Draws nothing where `shown` is false.
    pub(super) fn new(shown: bool) -> Self {
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        Self { bar, shown, poll_id: None }
    }

    /// The poll, once it has begun.
    pub(super) fn poll_id(&self) -> Option<&PollId> {
        self.poll_id.as_ref()
    }

    pub(super) fn started(&mut self, event: &StartedEvent) {
        self.poll_id = Some(event.poll_id.clone());
        self.bar.set_length(u64::from(event.roster_size));
        let template = "{bar:30.cyan/dim} {pos}/{len} models · {elapsed} · {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("━━─"));
        }
        self.bar.enable_steady_tick(Duration::from_millis(100));
        if self.shown && event.simulated {
            eprintln!(
                "{}",
                style("These voters are simulated: the demo roster shows how it works.").yellow()
            );
        }
    }

    pub(super) fn vote(&mut self, event: &VoteEvent) {
        self.bar.set_position(u64::from(event.answered));
        let leader = event
            .leader
            .as_deref()
            .map_or_else(|| "no leader yet".to_owned(), |option| format!("{option} leads"));
        self.bar.set_message(format!("{leader} · confidence {}", percent(event.confidence)));
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Rounded down, so that no figure promises more than was reached.
fn percent(share: f64) -> String {
    format!("{:.1} %", (share * 1000.0).floor() / 10.0)
}

/// Prints what a poll came to.
pub(super) fn result(answer: &Value, here: bool) -> anyhow::Result<()> {
    let term = Term::stdout();
    if answer.get("dry_run") == Some(&Value::Bool(true)) {
        return dry_run(&term, answer);
    }
    let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or("");
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
    let asked = answer.get("votes").and_then(Value::as_array).map_or(0, Vec::len);
    let failed =
        answer["votes"].as_array().into_iter().flatten().filter(|vote| vote["success"] == false).count();
    let skipped = number("/models_skipped") as u64;
    let confidence = percent(number("/confidence"));
    let threshold = percent(number("/confidence_threshold"));
    term.write_line(&format!(
        "  Confidence  {confidence} (threshold {threshold}) that the full roster of {} models gives this outcome",
        asked as u64 + skipped
    ))?;
    let why = match answer.get("termination_reason").and_then(Value::as_str) {
        Some(reason) => reason.replace('_', " "),
        None => "cancelled".to_owned(),
    };
    // Only these two reasons say that the rest was not needed.
    let decided = matches!(text("termination_reason"), "confidence" | "mathematical_lock");
    let reason = if decided { "not needed" } else { "without an answer" };
    let skipped_text = if skipped > 0 { format!(", {skipped} {reason}") } else { String::new() };
    let failed_text = if failed > 0 { format!(", {failed} of them without a vote") } else { String::new() };
    term.write_line(&format!("  Stopped by  {why}: {asked} models answered{failed_text}{skipped_text}"))?;
    let families = (number("/families/heard") as u64, number("/families/effective"));
    term.write_line(&format!("  Families    {} (effective number {:.1})", families.0, families.1))?;
    let unknown = number("/costs/unknown_cost_calls") as u64;
    let unknown_text =
        if unknown > 0 { format!(" plus {unknown} answers of unknown cost") } else { String::new() };
    term.write_line(&format!("  Cost        ${:.6}{unknown_text}", number("/costs/total_estimated_cost")))?;
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
        term.write_line(&format!("  {name}{padding}  {votes:>3}  {:>3} %  {bar}", votes * 100 / total))?;
    }
    Ok(())
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
