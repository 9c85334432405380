//! Sentences about a result, for lay readers. They describe the models' votes and never claim what is true.

use std::fmt::Write;

use ep_polling::money::Usd;
use ep_polling::stopping::TerminationReason;
use ep_tools::polls::summary::Status;
use ep_tools::results::PollResult;

use crate::layout::capitalized;

/// States the outcome in one sentence.
pub(crate) fn sentence(poll: &PollResult) -> String {
    let all = poll.tally.votes();
    let votes = |count: u32| if count == 1 { "1 vote".to_owned() } else { format!("{count} votes") };
    if poll.status.is_open() {
        return match (poll.progress.as_ref().and_then(|progress| progress.leader.as_ref()), all) {
            _ if poll.status == Status::Queued => "This poll waits for its turn.".to_owned(),
            (_, 0) => "The models are being asked.".to_owned(),
            (Some(leader), _) => {
                format!("{} leads with {} of {}.", quoted(leader), poll.tally.of(leader), votes(all))
            }
            (None, _) => format!("There is no leader after {}.", votes(all)),
        };
    }
    match &poll.winning_option {
        Some(winner) => {
            format!("{} won with {} of {}.", quoted(winner), poll.tally.of(winner), votes(all))
        }
        None if poll.is_tie => {
            let most = poll.tally.0.iter().map(|(_, votes)| *votes).max().unwrap_or_default();
            let tied: Vec<String> = poll
                .options
                .iter()
                .filter(|option| poll.tally.of(option) == most)
                .map(|option| quoted(option))
                .collect();
            format!("A tie: {} have {} each.", listed(&tied), votes(most))
        }
        None => "No model gave a vote.".to_owned(),
    }
}

/// States the confidence in the outcome and its meaning.
pub(crate) fn sure(poll: &PollResult) -> String {
    if poll.status.is_open() {
        return "That is said when the poll has ended.".to_owned();
    }
    let Some(outcome) = poll
        .winning_option
        .as_ref()
        .map(|winner| format!("{} would still win", quoted(winner)))
        .or_else(|| poll.is_tie.then(|| "it would still be a tie".to_owned()))
    else {
        return "Nothing can be said: there are no votes.".to_owned();
    };
    let roster = poll.models_requested + poll.models_skipped;
    if poll.models_skipped == 0 && !is_sure(poll) {
        return format!(
            "All {roster} models of this poll were asked, but some could not be heard, and their votes could change the outcome. Whether it is true is another question."
        );
    }
    if poll.models_skipped == 0 {
        return format!(
            "All {roster} models of this poll were asked, so this is what they say. Whether it is true is another question."
        );
    }
    if poll.termination_reason == Some(TerminationReason::MathematicalLock) {
        return format!(
            "Certain, of this: if all {roster} models were asked, {outcome}, because too few are left to change it. Whether it is true is another question."
        );
    }
    let percent = percent(poll.confidence);
    format!(
        "If all {roster} models were asked, {outcome}: at least {percent} % sure. Whether it is true is another question."
    )
}

/// States the confidence in a few words.
pub(crate) fn sure_in_short(poll: &PollResult) -> String {
    if poll.status.is_open() || (poll.winning_option.is_none() && !poll.is_tie) {
        return String::new();
    }
    let roster = poll.models_requested + poll.models_skipped;
    let says = if poll.models_skipped == 0 && !is_sure(poll) {
        format!("All {roster} models were asked; some could not be heard, which could change it.")
    } else if poll.models_skipped == 0 {
        format!("All {roster} models were asked.")
    } else if poll.termination_reason == Some(TerminationReason::MathematicalLock) {
        format!("Certain for all {roster} models: too few are left to change it.")
    } else {
        format!(
            "At least {} % sure that all {roster} models together would say so.",
            percent(poll.confidence)
        )
    };
    format!("{says} It says nothing about the truth.")
}

/// True if missing votes could not change the outcome.
fn is_sure(poll: &PollResult) -> bool {
    poll.confidence >= 1.0
}

/// Returns a confidence in per cent, rounded down because the page says "at least".
fn percent(confidence: f64) -> f64 {
    (confidence * 1000.0).floor() / 10.0
}

/// States the reason for the poll's end and the number of calls saved.
pub(crate) fn stopped(poll: &PollResult) -> String {
    if poll.status.is_open() {
        return "It still runs.".to_owned();
    }
    let not_asked = poll.models_skipped.saturating_sub(poll.models_unused);
    let saved = match not_asked {
        0 => String::new(),
        1 => " 1 model did not have to be asked.".to_owned(),
        more => format!(
            " {more} of {} models did not have to be asked.",
            poll.models_requested + poll.models_skipped
        ),
    };
    let saved = match poll.models_unused {
        0 => saved,
        1 => format!("{saved} 1 answer that was under way was no longer needed."),
        more => format!("{saved} {more} answers that were under way were no longer needed."),
    };
    let threshold = poll
        .confidence_threshold
        .map_or_else(String::new, |threshold| format!(", {} %", (threshold * 1000.0).round() / 10.0));
    let why = match poll.termination_reason {
        Some(TerminationReason::MathematicalLock) => {
            "The votes that were left could not change the outcome any more.".to_owned()
        }
        Some(TerminationReason::Confidence) => {
            format!("The confidence that was asked for{threshold}, was reached.")
        }
        Some(TerminationReason::Budget) => {
            let most = poll.max_cost_usd.map_or_else(String::new, |Usd(usd)| {
                let usd = usd.as_usd();
                if usd < 0.01 { format!(" of ${usd}") } else { format!(" of ${usd:.2}") }
            });
            return format!(
                "The budget{most} was used up.{}",
                if not_asked > 0 { format!(" {not_asked} models were not asked.") } else { String::new() }
            );
        }
        Some(TerminationReason::RosterExhausted) => "Every model that could be asked was asked.".to_owned(),
        None => return "It was cancelled.".to_owned(),
    };
    format!("{why}{saved}")
}

/// States the number of responses and of effective independent votes.
pub(crate) fn heard(poll: &PollResult) -> String {
    if poll.status.is_open() {
        return "That is said when the poll has ended.".to_owned();
    }
    let mut text = match poll.models_succeeded {
        1 => "1 model voted".to_owned(),
        count => format!("{count} models voted"),
    };
    if poll.models_failed > 0 {
        let _ = write!(text, ", {} gave no vote", poll.models_failed);
    }
    if let (families, true) = (&poll.families, poll.models_succeeded > 0) {
        let kind = if families.heard == 1 { "family" } else { "families" };
        let _ = write!(
            text,
            ", of {} {kind} of models, worth about {:.1} independent voices at most: models of one maker make the same errors",
            families.heard, families.effective
        );
    }
    text + "."
}

/// Formats a notice as a sentence.
pub(crate) fn notice(text: &str) -> String {
    format!("{}.", capitalized(text.trim_end_matches('.')))
}

/// States the progress of a running poll.
pub(crate) fn progress(poll: &PollResult) -> String {
    poll.progress.as_ref().map_or_else(String::new, |progress| {
        format!("{} of up to {} models have answered.", progress.answered, progress.roster_size)
    })
}

/// Quotes an option and isolates its text direction (Unicode Annex 9, isolates).
pub(crate) fn quoted(option: &str) -> String {
    format!("“\u{2068}{option}\u{2069}”")
}

/// Joins items for a sentence.
fn listed(things: &[String]) -> String {
    match things {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => things.concat(),
    }
}
