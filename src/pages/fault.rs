//! What a person reads where something was refused or failed.

use askama::Template;
use ep_kernel::fault::Fault;
use ep_kernel::links::Links;

use super::Layout;
use super::layout::own;
use crate::documents::Site;

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

/// What people can do about a fault.
pub(super) fn actions(fault: &Fault, links: &Links) -> Vec<Action> {
    let actions = fault.problem(links, "").recovery_actions.into_iter().map(|action| Action {
        // What takes another method is for programs.
        url: action.href.map(|url| own(&url)).filter(|_| action.method.as_deref() == Some("GET")),
        text: action.description,
    });
    actions.collect()
}

impl<'a> FaultPage<'a> {
    /// A page about this fault, for the request of this id.
    pub fn new(site: &'a Site, fault: &Fault, request_id: String) -> Self {
        let row = fault.kind().row();
        let inner = Content {
            status: row.http,
            message: capitalized(fault.message()),
            wait: fault.retry_after_seconds(),
            actions: actions(fault, &site.links),
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
