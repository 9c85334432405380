//! Messages about the arguments of `ep poll`: they name the flag that was typed, and not the field of the operation.

use ep_kernel::{Fault, Kind};
use ep_labels::options_message::{after_name, numbered, with_items};

/// Beginnings of messages, with what the command line calls them. A longer one precedes its own beginning.
const NAMES: &[(&str, &str)] = &[
    ("unknown preset", "--preset: unknown preset"),
    ("question", "the question"),
    ("scale.levels", "--levels"),
    ("scale.pass", "--pass"),
    ("scale", "--levels"),
    ("options", "--option"),
    ("preset", "--preset"),
    ("panel", "--panel"),
    ("models", "--model"),
    ("exclude", "--exclude"),
    ("profile", "--profile"),
    ("confidence_threshold", "--threshold"),
    ("max_cost_usd", "--max-cost"),
    ("pace", "--pace"),
    ("reasons", "--reasons"),
    ("complete", "--complete"),
    ("on_tie", "--on-tie"),
    ("private", "--private"),
    ("dry_run", "--dry-run"),
];

/// Returns a fault about the input with the flags in its message.
pub(super) fn with_flags(fault: Fault) -> Fault {
    match fault.kind() {
        Kind::InvalidInput | Kind::InvalidPreset | Kind::InsufficientBalance => {
            Fault::new(fault.kind(), as_typed(fault.message()))
        }
        _ => fault,
    }
}

/// Beginnings of messages about the models, which several commands name by the same flags.
const OF_MODELS: [&str; 3] = ["unknown preset", "models", "exclude"];

/// Returns an error with the flags of models in its message.
pub(super) fn with_model_flags(error: anyhow::Error) -> anyhow::Error {
    // A context belongs to the message.
    let is_whole = error.chain().count() == 1;
    match error.downcast_ref::<Fault>() {
        Some(fault)
            if is_whole && OF_MODELS.iter().any(|name| after_name(fault.message(), name).is_some()) =>
        {
            with_flags(fault.clone()).into()
        }
        _ => error,
    }
}

/// Replaces the names of fields in a message by the flags.
pub(super) fn as_typed(message: &str) -> String {
    let parts: Vec<String> = message.split("; ").map(part_as_typed).collect();
    parts.join("; ")
}

fn part_as_typed(part: &str) -> String {
    let found = NAMES.iter().find_map(|(field, flag)| Some((*field, *flag, after_name(part, field)?)));
    let (flag, rest, is_scale) = match found {
        Some((field, flag, rest)) => (flag, rest, field.starts_with("scale")),
        None => ("", part, false),
    };
    // A scale's levels are checked as a list of options.
    let (item, rest) = match after_name(rest.trim_start(), "options").filter(|_| is_scale) {
        Some(rest) if rest.starts_with('[') => ("level", format!(": options{rest}")),
        Some(rest) => ("level", rest.replace(" option", " level")),
        None => ("--option", rest.to_owned()),
    };
    let rest = match numbered(&rest, "[") {
        Some((number, rest)) => format!(" {number}{rest}"),
        None => rest,
    };
    flag.to_owned() + &snake_case(&with_items(&rest, item))
}

/// Replaces fields that are no words of a sentence.
fn snake_case(text: &str) -> String {
    let fields = NAMES.iter().filter(|(field, _)| field.contains('_'));
    fields.fold(text.to_owned(), |text, (field, flag)| text.replace(field, flag))
}

#[cfg(test)]
mod tests {
    use ep_tools::entry_of;
    use ep_tools::polls::PollQuestion;

    use super::*;

    #[test]
    fn messages_name_flags() {
        for (message, typed) in [
            ("confidence_threshold must be a number from 0 to 1", "--threshold must be a number from 0 to 1"),
            (
                "question has 1 character; write at least 10",
                "the question has 1 character; write at least 10",
            ),
            (
                "options[1] is the same as options[0]; change or remove one of them",
                "--option 2 is the same as --option 1; change or remove one of them",
            ),
            (
                "scale.levels options[1] is the same as options[0]; change or remove one of them",
                "--levels: level 2 is the same as level 1; change or remove one of them",
            ),
            (
                "scale.levels options: add at least one more option: 2 to 11 are allowed",
                "--levels: add at least one more level: 2 to 11 are allowed",
            ),
            (
                "pace must be fast; max_cost_usd must be above 0",
                "--pace must be fast; --max-cost must be above 0",
            ),
            ("unknown preset \"x\"; the presets are a", "--preset: unknown preset \"x\"; the presets are a"),
            ("the next call could exceed max_cost_usd", "the next call could exceed --max-cost"),
            ("questions are asked", "questions are asked"),
        ] {
            assert_eq!(as_typed(message), typed);
        }
    }

    /// Every field that `ep poll` sends has a flag.
    #[test]
    fn every_field_of_the_command_has_a_flag() {
        let fields = [
            "question",
            "options",
            "scale",
            "preset",
            "panel",
            "models",
            "exclude",
            "profile",
            "confidence_threshold",
            "max_cost_usd",
            "pace",
            "reasons",
            "complete",
            "on_tie",
            "private",
            "dry_run",
        ];
        let known = ep_kernel::schema::names(entry_of::<PollQuestion>().unwrap().input());
        for field in fields {
            assert!(known.contains(&field), "{field} is no field");
            assert!(!as_typed(&format!("{field} is wrong")).starts_with(field), "{field}");
        }
    }
}
