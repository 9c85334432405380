//! The rejection of the form, in the terms of the form.

use std::fmt::Write;

use ep_kernel::fault::Fault;
use ep_polling::options::{FREE_MAX_OPTIONS, MAX_OPTIONS};

use super::form_values::PollFormValues;
use crate::layout::{Action, actions, capitalized, message};
use crate::site::Site;

/// The rejection of a form.
pub(super) struct FormRejection {
    pub(super) title: String,
    /// The message for the whole form, or the full message if no field is named.
    pub(super) message: String,
    pub(super) fields: Vec<(&'static str, String)>,
    pub(super) wait: Option<u64>,
    pub(super) actions: Vec<Action>,
}

impl FormRejection {
    pub(super) fn new(fault: &Fault, site: &Site, values: &PollFormValues) -> Self {
        let fields = fault.fields().iter().map(|wrong| (field(&wrong.field), sentence(&wrong.detail)));
        let mut fields: Vec<_> = fields.filter(|(name, _)| !name.is_empty()).collect();
        let has_too_many_for_free = values.profile().is_none()
            && (FREE_MAX_OPTIONS + 1..=MAX_OPTIONS).contains(&values.option_lines().count());
        for (_, detail) in fields.iter_mut().filter(|(name, _)| has_too_many_for_free && *name == "options") {
            let _ = write!(detail, " The panels of an account take up to {MAX_OPTIONS}.");
        }
        let (title, actions) = if fields.is_empty() {
            (fault.kind().row().title.to_owned(), actions(fault, site, None))
        } else {
            ("Please change what is marked".to_owned(), Vec::new())
        };
        let message = if fields.is_empty() { message(fault) } else { String::new() };
        Self { title, message, fields, wait: fault.retry_after_seconds(), actions }
    }

    /// Returns the message for a field.
    pub(super) fn at(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, detail)| detail.as_str())
    }
}

/// Maps a field of the operation's input to a field of the form.
pub(super) fn field(member: &str) -> &'static str {
    match member.split(['[', '.']).next().unwrap_or_default() {
        "question" | "q" | "poll" => "question",
        "options" | "o" => "options",
        "profile" => "who",
        "confidence_threshold" => "confidence",
        "max_cost_usd" => "max_cost",
        _ => "",
    }
}

/// Rewrites a field's message in the terms of the form.
pub(super) fn sentence(detail: &str) -> String {
    let mut text = detail.trim_start_matches("options: ").trim_end_matches('.').to_owned();
    for (index, letter) in ('A'..='J').enumerate() {
        text = text.replace(&format!("options[{index}]"), &format!("option {letter}"));
    }
    for (member, field) in [("max_cost_usd", "the maximum cost"), ("confidence_threshold", "the confidence")]
    {
        text = text.replace(member, field);
    }
    capitalized(&format!("{text}."))
}
