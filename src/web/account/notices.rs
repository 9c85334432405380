//! Sentences on the account page: notices at its top, and outcomes of its forms.

use super::page_data::AccountView;

/// Returns the notices at the top of the page.
pub(super) fn notices(view: &AccountView<'_>) -> Vec<String> {
    let funded = match view.funded {
        "" => None,
        "no" => Some("The payment was not made, and nothing was charged."),
        _ => Some(
            "Thank you. The payment is credited as soon as its processor reports it, which takes seconds.",
        ),
    };
    let notice = (view.notice == "no_starter_credit")
        .then_some("No starter credit was given: today's allowance is used up. Everything else works.");
    [funded, notice].into_iter().flatten().map(str::to_owned).collect()
}

/// Returns the outcome of a form and the section that shows it.
pub(super) fn outcome(done: &str) -> Option<(&'static str, &'static str)> {
    match done {
        "revoked" => Some(("keys", "The key is revoked. Programs that send it are refused.")),
        "cancelled" => Some(("polls", "The poll has ended with the votes so far.")),
        "deleted" => Some((
            "polls",
            "The poll is deleted. Its page answers \"not found\" from now on. Caches outside this service can show it \
             for up to a day.",
        )),
        _ => None,
    }
}
