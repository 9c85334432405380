//! The rejection of the form, in the terms of the form.

use std::fmt::Write;

use ep_kernel::{Fault, Kind};
use ep_polling::options::{FREE_MAX_OPTIONS, MAX_OPTIONS};
use ep_site::Site;
use ep_site::layout::{Action, actions, capitalized, message};

use super::form_values::PollFormValues;

/// The fields of the form, in their order on the page.
pub(super) const FIELDS: [&str; 5] = ["question", "options", "who", "confidence", "max_cost"];

/// The rejection of a form.
pub(super) struct FormRejection {
    pub(super) title: String,
    /// The message for the whole form; empty if a field is named.
    pub(super) message: String,
    pub(super) fields: Vec<(&'static str, String)>,
    /// The position of the option to change.
    pub(super) option: usize,
    pub(super) wait: Option<u64>,
    pub(super) actions: Vec<Action>,
}

impl FormRejection {
    pub(super) fn new(fault: &Fault, site: &Site, values: &PollFormValues) -> Self {
        let given = values.options.len();
        let limit = if values.profile().is_none() { FREE_MAX_OPTIONS } else { MAX_OPTIONS };
        let mut option = given.min(limit);
        let mut fields = Vec::new();
        for wrong in fault.fields() {
            let name = field(&wrong.field);
            if name.is_empty() || fields.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let mut detail = sentence(name, &wrong.detail);
            if name == "options" {
                option = position(&wrong.detail).unwrap_or(option);
                if given > limit && limit == FREE_MAX_OPTIONS {
                    let _ = write!(detail, " The panels of an account take up to {MAX_OPTIONS}.");
                }
            }
            fields.push((name, detail));
        }
        let is_about_field = !fields.is_empty();
        let title = match fault.kind() {
            _ if is_about_field => "Please change the marked field",
            Kind::Unauthenticated => "Sign in to use this panel",
            kind => kind.row().title,
        };
        Self {
            title: title.to_owned(),
            message: if is_about_field { String::new() } else { message(fault) },
            fields,
            option: option.min(MAX_OPTIONS - 1),
            wait: fault.retry_after_seconds(),
            actions: if is_about_field { Vec::new() } else { actions(fault, site, None) },
        }
    }

    /// Returns the message for a field.
    pub(super) fn at(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, detail)| detail.as_str())
    }

    /// Returns the first field to change.
    pub(super) fn first(&self) -> Option<&'static str> {
        FIELDS.into_iter().find(|name| self.at(name).is_some())
    }
}

/// Maps a field of the operation's input to a field of the form.
fn field(member: &str) -> &'static str {
    match member.split(['[', '.']).next().unwrap_or_default() {
        "question" | "q" | "poll" => "question",
        "options" | "o" => "options",
        "profile" => "who",
        "confidence_threshold" => "confidence",
        "max_cost_usd" => "max_cost",
        _ => "",
    }
}

/// Returns the position of the option that a message begins with.
fn position(detail: &str) -> Option<usize> {
    detail.strip_prefix("options[")?.split(']').next()?.parse().ok()
}

/// Rewrites a field's message in the terms of the form.
fn sentence(name: &str, detail: &str) -> String {
    let detail = detail.trim_start_matches("poll: ").trim_start_matches("options: ").trim_end_matches('.');
    // The hint below the options states their number.
    let detail = detail.split_once(": 2 to ").map_or(detail, |(remedy, _)| remedy);
    let mut text = detail.replace("poll must look like:", "write it like this:");
    // A message of a text's rule has no subject.
    if name == "question" && ["has ", "is ", "contains "].iter().any(|verb| text.starts_with(verb)) {
        text.insert_str(0, "the question ");
    }
    for (index, letter) in ('A'..='J').enumerate() {
        text = text.replace(&format!("options[{index}]"), &format!("option {letter}"));
    }
    for (member, field) in [("max_cost_usd", "the maximum cost"), ("confidence_threshold", "the confidence")]
    {
        text = text.replace(member, field);
    }
    capitalized(&format!("{text}."))
}
