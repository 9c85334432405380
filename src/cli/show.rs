//! A poll on the terminal: a progress bar while it runs, and its tally as bars afterwards.

use console::{Color, Term, measure_text_width, style, truncate_str};
use ep_polling::apportion::percentages;
use ep_polling::counted::counted;
use ep_polling::{NamedTally, NoAnswer, PollId, ScaleResult};
use ep_tools::polls::reasons::VoterReason;
use ep_tools::polls::reply::RunningPoll;
use ep_tools::polls::sentences::{EndedPoll, independence, quoted};
use ep_tools::polls::{DryRun, FreeReply};
use ep_tools::results::PollResult;
use serde::Deserialize;

use super::typed_flags::as_typed;

/// The reply to a poll.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Reply {
    /// The poll is still running.
    Running(RunningPoll),
    /// An ended poll. The replies of `get_poll_result` and `poll_question` both have these fields.
    Result(Box<PollResult>),
    /// The poll was only validated and priced.
    DryRun(DryRun),
    /// The reply of a server to a caller without a key.
    Free(FreeReply),
}

/// Maximum number of lines below the bars, apart from reasons.
const MOST_LINES: usize = 10;

/// The way to read a result again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readable {
    /// At its URL.
    AtUrl,
    /// With `ep show`: nothing serves the database of this command.
    ByCommand,
    /// At its URL, and with `ep show`.
    Both,
}

impl Reply {
    /// Returns the URL of the result, if the service has one.
    pub(super) fn url(&self) -> Option<&str> {
        match self {
            Self::Result(poll) => poll.result_url.as_deref(),
            Self::Running(_) | Self::DryRun(_) | Self::Free(_) => None,
        }
    }
}

/// Prints a poll's result.
pub(super) fn result(reply: &Reply, readable: Readable) -> anyhow::Result<()> {
    let term = Term::stdout();
    let running = |id: &PollId| {
        let line = format!(
            "Poll {id} is still running; `ep show {id}{}` reads it.",
            if readable == Readable::AtUrl { " --server URL" } else { "" }
        );
        Ok(term.write_line(&line)?)
    };
    match reply {
        Reply::DryRun(checked) => dry_run(&term, checked),
        Reply::Running(poll) => running(&poll.poll_id),
        Reply::Free(poll) => running(&poll.poll_id),
        Reply::Result(poll) if poll.status.is_open() => running(&poll.poll_id),
        Reply::Result(poll) => {
            let question = poll.question.as_deref().unwrap_or_default();
            term.write_line(&format!("\n{}", style(question).bold()))?;
            tally(&term, &poll.tally)?;
            Ok(lines(poll, readable).iter().try_for_each(|line| term.write_line(line))?)
        }
    }
}

/// Returns the colour of a headline: green for a winner, a median or a pass, yellow for a tie, red for a fail, and without
/// votes or after too few.
fn colour(poll: &PollResult) -> Color {
    let is_decided = match &poll.scale {
        _ if poll.no_answer == Some(NoAnswer::Unsupported) => return Color::Red,
        Some(ScaleResult { pass: Some(pass), .. }) => pass.passed == Some(true),
        Some(scale) => scale.median.is_some(),
        None => poll.winning_option.is_some(),
    };
    match (is_decided, poll.scale.is_none() && poll.is_tie) {
        (true, _) => Color::Green,
        (false, true) => Color::Yellow,
        (false, false) => Color::Red,
    }
}

/// Returns the lines below the bars.
fn lines(poll: &PollResult, readable: Readable) -> Vec<String> {
    let sentences = EndedPoll::from(poll);
    let headline = style(sentences.headline(quoted)).bold().fg(colour(poll));
    let (counts, stopped) = (sentences.counts(), sentences.stopped());
    let mut lines = vec![
        String::new(),
        format!("  {headline}"),
        fact("Votes", &counts),
        fact("Stopped", &stopped),
        fact("How sure", &sentences.sure()),
    ];
    lines.extend(sentences.dissent().map(|dissent| fact("Contested", &dissent)));
    if poll.families.with_votes > 0 {
        lines.push(fact("Families", &independence(&poll.families)));
    }
    lines.push(cost_and_time(poll));
    let command = format!("`ep show {}`", poll.poll_id);
    let url = poll.result_url.as_deref().map(|url| style(url).underlined());
    let place = match (readable, url) {
        (Readable::ByCommand | Readable::Both, None) | (Readable::ByCommand, _) => Some(command),
        (Readable::Both, Some(url)) => Some(format!("{url}, or {command}")),
        (Readable::AtUrl, url) => url.map(|url| url.to_string()),
    };
    lines.extend(place.map(|place| fact("Result", &place)));
    let reason = |VoterReason { model_id, chosen_option, reason }: &VoterReason| {
        fact("Reason", &format!("{model_id}, for {chosen_option}, asked afterwards: {reason}"))
    };
    let facts = lines.len();
    lines.extend(poll.reasons.iter().map(reason));
    let notices: Vec<&String> =
        poll.notices.iter().filter(|notice| **notice != counts && **notice != stopped).collect();
    let room = MOST_LINES - facts;
    let shown = if notices.len() > room { room - 1 } else { notices.len() };
    lines.extend(notices.iter().take(shown).map(|notice| format!("  {}", style(notice).dim())));
    if shown < notices.len() {
        let rest = format!("{}: --json shows them", counted(notices.len() - shown, "more notice"));
        lines.push(format!("  {}", style(rest).dim()));
    }
    lines
}

fn cost_and_time(poll: &PollResult) -> String {
    let time = format!("{:.1} s", poll.timing.total_ms as f64 / 1000.0);
    let Some(costs) = poll.costs else { return fact("Time", &time) };
    let (unknown, open) =
        (costs.unknown_cost_calls, costs.unused_calls_cost.is_none() && poll.models.unused() > 0);
    let cost = [
        (true, format!("${:.6}", costs.total_estimated_cost.0.as_usd())),
        (unknown > 0, format!(" plus {} with unknown cost", counted(unknown, "response"))),
        (open, " so far (get_poll_result with costs returns the final cost)".to_owned()),
        (poll.simulated, ": no model was paid".to_owned()),
        (true, format!(" · {time}")),
    ];
    let cost: String = cost.into_iter().filter_map(|(said, text)| said.then_some(text)).collect();
    fact("Cost", &cost)
}

fn fact(name: &str, text: &str) -> String {
    format!("  {name:<10}{text}")
}

fn tally(term: &Term, tally: &NamedTally) -> anyhow::Result<()> {
    let most = tally.0.iter().map(|(_, votes)| *votes).max().unwrap_or(0);
    let shares = percentages(tally.0.iter().map(|(_, votes)| *votes));
    let width = tally.0.iter().map(|(option, _)| measure_text_width(option)).max().unwrap_or(0).min(40);
    for ((option, votes), share) in tally.0.iter().zip(shares) {
        let name = truncate_str(option, width, "…");
        let padding = " ".repeat(width.saturating_sub(measure_text_width(&name)));
        let bar = "█".repeat((votes * 30).div_ceil(most.max(1)) as usize);
        let bar = if *votes == most { style(bar).green() } else { style(bar).dim() };
        let line = format!("  {name}{padding}  {votes:>3}  {share:>3} %  {bar}");
        term.write_line(&line)?;
    }
    Ok(())
}

fn dry_run(term: &Term, checked: &DryRun) -> anyhow::Result<()> {
    for error in &checked.errors {
        term.write_line(&format!("  {} {}", style("✗").red(), as_typed(error)))?;
    }
    if let Some(estimates) = checked.estimates.as_ref().filter(|_| checked.valid) {
        let (least, most) = (estimates.calls_at_least, estimates.calls_at_most);
        term.write_line(&format!("  {} valid; asks {}", style("✓").green(), range(least, most)))?;
        let (low, high) = (estimates.cost_usd_at_least.0, estimates.cost_usd_at_most.0);
        let line = format!("  Costs ${:.6} at least and ${:.6} at most", low.as_usd(), high.as_usd());
        term.write_line(&line)?;
    }
    Ok(())
}

/// Describes a number of models.
fn range(least: u32, most: u32) -> String {
    if least == most { counted(most, "model") } else { format!("{least} to {most} models") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn at_most_ten_lines_follow_the_bars() {
        let vote = |success: bool| {
            json!({ "model_id": "m", "success": success, "chosen_option": success.then_some("Tabs"),
                "transition": "vote", "latency_ms": 1, "error": null,
                "error_code": (!success).then_some("timeout"), "family": "f", "option_order": [0, 1] })
        };
        let notices: Vec<String> = (0..7).map(|n| format!("notice {n}")).collect();
        let counts = "1 vote · 1 failed call · 8 not needed";
        let notices: Vec<String> = std::iter::once(counts.to_owned()).chain(notices).collect();
        let poll = json!({ "poll_id": "EP-20260131-7KQ2M4X9TB", "status": "partial", "outcome": "Tabs",
            "question": "Tabs or spaces?", "options": ["Tabs", "Spaces"], "poll_type": "fptp",
            "winning_option": "Tabs", "is_tie": false, "confidence_threshold": 0.95, "max_cost_usd": 1.0,
            "early_terminated": true, "termination_reason": "confidence", "models_requested": 2, "models_succeeded": 1,
            "models_failed": 1, "models_unused": 0, "models_skipped": 8, "tally": { "Tabs": 1, "Spaces": 0 }, "votes": [vote(true), vote(false)],
            "timing": { "gather_ms": 1, "total_ms": 1500 },
            "costs": { "total_estimated_cost": 0.0001, "unused_calls_cost": 0, "unknown_cost_calls": 0 },
            "confidence": 0.96, "families": { "with_votes": 1, "effective": 1.0 }, "preset": null,
            "pace": "fast", "simulated": true, "notices": notices, "result_url": "http://x/EP",
            "created_at": "2026-01-31T00:00:00.000Z", "a field of a newer server": 1 });
        let Ok(Reply::Result(poll)) = serde_json::from_value(poll) else {
            panic!("the response of a poll was not read");
        };
        let lines = lines(&poll, Readable::AtUrl);
        let text = console::strip_ansi_codes(&lines.join("\n")).into_owned();
        assert_eq!(lines.len(), MOST_LINES, "{text}");
        assert_eq!(text.matches(counts).count(), 1, "{text}");
        for words in [
            "Simulated voters: “Tabs” won 1 of 1 vote.",
            "Past the threshold of 95 %: more votes were unlikely to change it.",
            "$0.000100: no model was paid · 1.5 s",
            "6 more notices",
        ] {
            assert!(text.contains(words), "{words} in {text}");
        }
    }
}
