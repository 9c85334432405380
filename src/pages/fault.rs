//! What a person reads where something was refused or failed.

use askama::Template;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::links::Links;

use super::Layout;
use super::layout::own;
use crate::documents::{self, Site};
use crate::site::names::{DASHBOARD, FUNDS, HOME, LOGIN_PAGE};

/// A fault as a page.
#[derive(Template)]
#[template(path = "fault.html")]
pub struct FaultPage<'a> {
    page: Layout<'a>,
    inner: Content,
}

/// The same in Markdown.
#[derive(Template)]
#[template(path = "fault.md")]
struct FaultText<'a> {
    inner: &'a Content,
}

struct Content {
    status: u16,
    title: String,
    message: String,
    wait: Option<u64>,
    actions: Vec<Action>,
    request_id: String,
}

/// What can be done about it.
pub(super) struct Action {
    pub(super) text: String,
    pub(super) url: Option<String>,
}

/// What people can do about a fault. `wanted` is the page that they asked for.
pub(super) fn actions(fault: &Fault, links: &Links, wanted: Option<&str>) -> Vec<Action> {
    let page = |text: &str, name: &str, behind: &str| Action {
        text: text.to_owned(),
        url: Some(format!("{}{behind}", own(&links.url(name, &[])))),
    };
    match fault.kind() {
        Kind::Unauthenticated => {
            let behind = wanted.map_or_else(String::new, return_to);
            return vec![
                page("Sign in, and come back.", LOGIN_PAGE, &behind),
                page("Ask the free models, without an account.", HOME, ""),
            ];
        }
        Kind::InsufficientBalance => {
            return vec![
                page("Add funds to your account.", DASHBOARD, FUNDS),
                Action {
                    text: "Or choose a cheaper panel. Free models, where available, cost nothing.".to_owned(),
                    url: None,
                },
            ];
        }
        Kind::UnknownRoute => {
            return vec![
                page("Go to the start page.", HOME, ""),
                page("Look into the documentation.", documents::DOCS, ""),
            ];
        }
        Kind::NotFound => {
            return vec![
                page("Sign in, if it is yours.", LOGIN_PAGE, &wanted.map_or_else(String::new, return_to)),
                page("Ask a question of your own.", HOME, ""),
            ];
        }
        _ => {}
    }
    let known = fault.problem(links, "").recovery_actions.into_iter();
    // Pages count the wait down.
    let actions = known.filter(|action| action.action != "wait").map(|action| Action {
        // What takes another method is for programs.
        url: action.href.map(|url| own(&url)).filter(|_| action.method.as_deref() == Some("GET")),
        text: action.description,
    });
    actions.collect()
}

/// What happened, in words for people: what programs are told of credentials is not for them.
pub(super) fn message(fault: &Fault) -> String {
    if fault.rejects_credential() {
        "Your session has ended.".to_owned()
    } else if fault.asks_for_credential() {
        "This needs an account: sign in first.".to_owned()
    } else if fault.kind() == Kind::RateLimited {
        // The page counts the wait down.
        "This service takes only so many requests from one visitor in a minute, and these were more."
            .to_owned()
    } else {
        let known = fault.message();
        // What programs read instead is no help to people.
        let shown = known.split_once("; see ").map_or(known, |(shown, _)| shown);
        capitalized(shown)
    }
}

/// The query by which somebody who signs in comes back to this path and query.
pub fn return_to(path: &str) -> String {
    format!(
        "?{}",
        url::form_urlencoded::Serializer::new(String::new()).append_pair("return_to", path).finish()
    )
}

impl<'a> FaultPage<'a> {
    /// A page about this fault, for the request of this id; `wanted` is the page that was asked for: its path and query.
    pub fn new(site: &'a Site, fault: &Fault, request_id: String, wanted: Option<&str>) -> Self {
        let row = fault.kind().row();
        let inner = Content {
            status: row.http,
            message: message(fault),
            wait: fault.retry_after_seconds(),
            actions: actions(fault, &site.links, wanted),
            request_id,
            title: row.title.to_owned(),
        };
        let page = Layout::new(site, inner.title.clone(), inner.message.clone());
        Self { page: Layout { noindex: true, ..page }, inner }
    }

    /// The page as Markdown.
    pub fn markdown(&self) -> askama::Result<String> {
        FaultText { inner: &self.inner }.render()
    }
}

/// A text as a sentence begins.
pub(super) fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A text as it stands within a sentence.
pub(super) fn uncapitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
