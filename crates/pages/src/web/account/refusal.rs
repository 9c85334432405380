//! Rejections of an account's forms, in words for people.

use ep_kernel::{Fault, Kind};
use ep_polling::PollId;
use ep_site::http::Form;
use ep_site::layout::{capitalized, message, uncapitalized};
use ep_site::names::ACCOUNT_FORMS;

/// The rejection of a form.
pub(crate) struct FormRejection {
    /// The form.
    pub(super) form: &'static str,
    /// The action that failed.
    pub(super) title: &'static str,
    pub(super) message: String,
    /// Seconds to wait.
    pub(super) wait: Option<u64>,
    /// The invalid field of the form.
    pub(super) field: Option<String>,
}

/// Account data that explains a rejection.
pub(crate) struct RejectionContext<'a> {
    /// The text that confirms the deletion of the account.
    pub(super) name: &'a str,
    /// True if the form names a poll that was deleted recently.
    pub(super) is_deleted_poll: bool,
    /// True if the form names a revoked key.
    pub(super) is_revoked_key: bool,
    /// True if the account has a positive balance.
    pub(super) has_balance: bool,
}

impl FormRejection {
    pub(crate) fn new(
        form: &'static str,
        fault: &Fault,
        typed: Option<&Form>,
        known: &RejectionContext<'_>,
    ) -> Self {
        let is_typed = |name: &str| typed.is_some_and(|typed| !typed.text(name).is_empty());
        let mut field = match fault.fields() {
            [wrong] => Some(wrong.field.clone()),
            _ => None,
        };
        let needs_consent = form == ACCOUNT_FORMS.deletion && fault.kind() == Kind::Conflict;
        if needs_consent && known.has_balance && !is_typed("forfeit_balance") {
            field = Some("forfeit_balance".to_owned());
        }
        let wait = fault.retry_after_seconds();
        if let Some(text) = without_change(form, fault, typed, known) {
            return Self { form, title: "Nothing changed", message: text.to_owned(), wait, field: None };
        }
        let message = if form == ACCOUNT_FORMS.deletion && field.as_deref() == Some("confirm") {
            format!("That is not {}. Type it exactly.", known.name)
        } else {
            in_words(fault)
        };
        Self { form, title: title_of(form), message, wait, field }
    }
}

/// Returns the message for a form from a stale page if the action already happened.
fn without_change(
    form: &str,
    fault: &Fault,
    typed: Option<&Form>,
    known: &RejectionContext<'_>,
) -> Option<&'static str> {
    let is_of_poll = form == ACCOUNT_FORMS.poll_deletion || form == ACCOUNT_FORMS.cancellation;
    let names_poll = typed.is_some_and(|typed| typed.text("poll_id").parse::<PollId>().is_ok());
    match fault.kind() {
        Kind::NotFound if is_of_poll && known.is_deleted_poll => Some("This poll is already deleted."),
        Kind::NotFound if is_of_poll && names_poll => {
            Some("Your account has no such poll. It may be deleted, or belong to another account.")
        }
        Kind::Conflict if form == ACCOUNT_FORMS.cancellation => Some("It has already ended."),
        Kind::NotFound if form == ACCOUNT_FORMS.revocation && known.is_revoked_key => {
            Some("This key is already revoked.")
        }
        _ => None,
    }
}

/// Returns the title for an action that failed.
fn title_of(form: &str) -> &'static str {
    match form {
        form if form == ACCOUNT_FORMS.keys => "No key was created",
        form if form == ACCOUNT_FORMS.revocation => "No key was revoked",
        form if form == ACCOUNT_FORMS.checkout => "Nothing was paid",
        form if form == ACCOUNT_FORMS.cancellation => "No poll was cancelled",
        form if form == ACCOUNT_FORMS.poll_deletion => "No poll was deleted",
        form if form == ACCOUNT_FORMS.export => "Nothing was downloaded",
        _ => "The account was not deleted",
    }
}

/// Returns the cause of a rejection without names that only programs use.
fn in_words(fault: &Fault) -> String {
    if let [wrong] = fault.fields() {
        let text = capitalized(&wrong.detail);
        return if text.starts_with("Must ") { format!("This {}", uncapitalized(&text)) } else { text };
    }
    let text = message(fault);
    let text = text.strip_prefix("This account cannot be deleted now: ").unwrap_or(&text);
    capitalized(&text.replace("set forfeit_balance", "tick the box to give it up"))
}
