//! Pages for refusals and failures.

use askama::Template;
use ep_kernel::{Fault, Kind};
use ep_polling::text::capitalized;

use super::Layout;
use super::own;
use crate::Site;
use crate::names::{DASHBOARD, DOCS, FUNDS, HOME, LOGIN_PAGE};

/// A fault as a page.
#[derive(Template)]
#[template(path = "layout/fault.html")]
pub struct FaultPage<'a> {
    page: Layout<'a>,
    inner: Content,
}

#[derive(Template)]
#[template(path = "layout/fault.md")]
struct Content {
    status: u16,
    title: String,
    message: String,
    wait: Option<u64>,
    actions: Vec<Action>,
    request_id: String,
}

/// A fault in the frame of another website: one line.
#[derive(Template)]
#[template(path = "layout/fault_embedded.html")]
struct EmbeddedFault<'a> {
    page: &'a Layout<'a>,
    message: &'a str,
}

/// A remedy for a fault.
pub struct Action {
    /// The instruction.
    pub text: String,
    /// The page on which it is followed, if there is one.
    pub url: Option<String>,
}

/// Lists the remedies for a fault. `requested` is the page that was requested.
pub fn actions(fault: &Fault, site: &Site, requested: Option<&str>) -> Vec<Action> {
    let links = &site.links;
    let page = |text: &str, name: &str, behind: &str| Action {
        text: text.to_owned(),
        url: Some(format!("{}{behind}", own(&links.url(name, &[])))),
    };
    match fault.kind() {
        Kind::Unauthenticated => {
            let behind = requested.map_or_else(String::new, return_to);
            return vec![
                page("Sign in and come back to this page.", LOGIN_PAGE, &behind),
                page("Ask the free models without an account.", HOME, ""),
            ];
        }
        Kind::InsufficientBalance => {
            let cheaper = |text: &str| Action { text: text.to_owned(), url: None };
            return if site.settings.offer.takes_payments() {
                vec![
                    page("Add funds to your account.", DASHBOARD, FUNDS),
                    cheaper("Or choose a cheaper panel: free models, where available, cost nothing."),
                ]
            } else {
                let contact = match site.settings.operator.contact.as_str() {
                    "" => "the operator",
                    contact => contact,
                };
                vec![
                    cheaper("Choose free models, where available: they cost nothing."),
                    cheaper(&format!("Or ask {contact} for credit: no payment method is set up.")),
                ]
            };
        }
        Kind::UnknownRoute => {
            let near = readable(fault)
                .map(|(_, url)| Action { text: format!("Did you mean {url}?"), url: Some(url) });
            let known = [page("Go to the start page.", HOME, ""), page("Read the documentation.", DOCS, "")];
            return near.chain(known).collect();
        }
        Kind::NotFound => {
            let mut own: Vec<Action> =
                readable(fault).map(|(text, url)| Action { text: text.to_owned(), url: Some(url) }).collect();
            if own.is_empty() {
                let behind = requested.map_or_else(String::new, return_to);
                own.push(page("Sign in, if it is yours.", LOGIN_PAGE, &behind));
            }
            own.push(page("Ask a question of your own.", HOME, ""));
            return own;
        }
        Kind::MethodNotAllowed => {
            return vec![page("Ask a question.", HOME, ""), page("Read the documentation.", DOCS, "")];
        }
        _ => {}
    }
    let known = fault.problem(links, "").recovery_actions.into_iter();
    // The page shows a countdown instead.
    let actions = known.filter(|action| action.action != "wait").map(|action| Action {
        // Only programs can follow actions with other methods.
        url: action.href.map(|url| own(&url)).filter(|_| action.method.as_deref() == Some("GET")),
        text: action.description,
    });
    actions.collect()
}

/// Returns the descriptions and paths of the fault's actions that a browser can follow.
fn readable(fault: &Fault) -> impl Iterator<Item = (&str, String)> {
    let with_get = fault.actions().iter().filter(|action| action.method.as_deref() == Some("GET"));
    with_get.filter_map(|action| Some((action.description.as_str(), own(action.href.as_deref()?))))
}

/// Returns the title of a fault's page.
fn title(fault: &Fault) -> &'static str {
    match fault.kind() {
        Kind::MethodNotAllowed => "This address is for programs",
        Kind::NotFound if fault.lacks_poll() => "We can't find this poll",
        kind => kind.row().title,
    }
}

/// Describes the fault for people. Details about credentials are left out because they are meant for programs.
pub fn message(fault: &Fault) -> String {
    if fault.rejects_credential() {
        "Your session has ended.".to_owned()
    } else if fault.asks_for_credential() {
        "This needs an account.".to_owned()
    } else if fault.kind() == Kind::RateLimited {
        // The page shows a countdown.
        "You sent many requests in one minute. Please wait a moment.".to_owned()
    } else if fault.kind() == Kind::MethodNotAllowed {
        "A browser cannot open it as a page.".to_owned()
    } else if fault.lacks_poll() {
        "It may be private or deleted.".to_owned()
    } else {
        let known = fault.message();
        // The agent card and the API are for programs. The nearest path is shown as a link.
        let end = match fault.kind() {
            Kind::UnknownRoute => known.rfind("; did you mean ").or_else(|| known.rfind("; see ")),
            // The remedies are listed below the message.
            Kind::InsufficientBalance => known.find("; "),
            _ => known.find("; see "),
        };
        capitalized(&known[..end.unwrap_or(known.len())])
    }
}

/// Returns the query that makes the sign-in page return to this path and query.
pub fn return_to(path: &str) -> String {
    format!(
        "?{}",
        url::form_urlencoded::Serializer::new(String::new()).append_pair("return_to", path).finish()
    )
}

impl<'a> FaultPage<'a> {
    /// Creates the page of a fault. `requested` is the path and query of the requested page.
    pub fn new(site: &'a Site, fault: &Fault, request_id: String, requested: Option<&str>) -> Self {
        let row = fault.kind().row();
        let inner = Content {
            status: row.http,
            message: message(fault),
            wait: fault.retry_after_seconds(),
            actions: actions(fault, site, requested),
            request_id,
            title: title(fault).to_owned(),
        };
        let page = Layout::new(site, inner.title.clone(), inner.message.clone());
        Self { page: Layout { noindex: true, ..page }, inner }
    }

    /// Renders the page for the frame of another website.
    pub fn embedded(&self, fault: &Fault) -> askama::Result<String> {
        let Content { title, message, .. } = &self.inner;
        let message = if fault.lacks_poll() { format!("{title}. {message}") } else { message.clone() };
        EmbeddedFault { page: &self.page, message: &message }.render()
    }

    /// Renders the page as Markdown.
    pub fn markdown(&self) -> askama::Result<String> {
        self.inner.render()
    }
}

/// Returns the text with its first letter in lower case.
pub fn uncapitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
