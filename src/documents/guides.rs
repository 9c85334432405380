//! `/docs/…`: the guides, as HTML and Markdown. Their sources are the files in `docs/`, parts of other documents
//! and the operations' manuals. Links use this service's URLs.
//!
//! A file marks text for some configurations only: `<!-- if charges -->…<!-- end -->`. `Offer::meets` knows the
//! conditions.

use std::fmt::Write;

use axum::body::Bytes;
use ep_kernel::tool::{Spec, Tool};
use ep_tools::account::GetBalance;
use ep_tools::keys::FundKey;

use super::auth_guide::NAME as AUTH_GUIDE;
use super::error_reference;
use super::page::Page;
use super::price;
use super::skills::SKILL;
use crate::layout::title;
use crate::site::HTML;
use crate::site::rails::RailGuide;
use crate::site::{Document, Form, MARKDOWN, Offer, Site};

/// The guide to clients.
pub(super) const CLIENTS: &str = include_str!("../../docs/clients.md");
/// The example service URL in the guides.
const EXAMPLE: &str = "https://polls.example.com";
/// The example deposit chain in the guides.
const EXAMPLE_NETWORK: &str = "eip155:8453";
/// The sentence that explains the example URL. It is removed because the real URL replaces the example.
const ABOUT_EXAMPLE: &str = "`https://polls.example.com` stands for the service's address. ";
/// The sections of the skill that the start guide shows.
const BEGINNING: [&str; 5] =
    ["Ask without a key", "Ask with a key", "Read the result", "Polls that take long", "What it costs"];

/// A guide: an HTML page and its Markdown document.
pub(super) struct Guide {
    /// The HTML page.
    pub(super) page: Document,
    /// The Markdown document.
    pub(super) text: Document,
    /// The guide's file in `docs/`, if it has one.
    file: &'static str,
    /// Renders the Markdown; `None` if this configuration does not have the guide.
    pub(super) markdown: fn(&Site) -> Option<String>,
}

impl Guide {
    /// A guide that quotes the price of a poll.
    const fn with_models(self) -> Self {
        Self { page: self.page.with_models(), text: self.text.with_models(), ..self }
    }
}

macro_rules! guide {
    ($name:literal, $about:literal, $absent:expr, $file:literal, $markdown:expr) => {{
        const NAME: &str = concat!("guide_", $name);
        const TEXT: &str = concat!("guide_", $name, "_markdown");
        const MARKDOWN_OF: fn(&Site) -> Option<String> = $markdown;
        fn html(site: &Site) -> Option<Bytes> {
            let markdown = &MARKDOWN_OF(site)?;
            let title = title(markdown)?;
            Page { name: NAME, title, description: $about, markdown, twin: TEXT }.guide(site)
        }
        fn text(site: &Site) -> Option<Bytes> {
            MARKDOWN_OF(site).map(Bytes::from)
        }
        Guide {
            page: Document::new(
                NAME,
                $about,
                |_| vec![concat!("/docs/", $name).into()],
                &[Form::new(HTML, html), Form::markdown(text)],
            )
            .absent($absent),
            text: Document::new(
                TEXT,
                $about,
                |_| vec![concat!("/docs/", $name, ".md").into()],
                &[Form::new(MARKDOWN, text)],
            )
            .absent($absent)
            .unlisted(),
            file: $file,
            markdown: MARKDOWN_OF,
        }
    }};
}

pub(super) const START: Guide = guide!(
    "start",
    "Ask a first poll with curl, without a key and with one, and read the result.",
    "this service takes no polls",
    "",
    start
)
.with_models();
pub(super) const CONNECT: Guide = guide!(
    "clients",
    "Connect over MCP or A2A, or sign in with a wallet. Lists the tested clients.",
    "",
    "clients.md",
    |site| Some(at(site, CLIENTS))
);
pub(super) const ACCOUNTS: Guide = guide!(
    "accounts",
    "Get an account and keys: by a wallet, a payment, a login or the operator.",
    "this service has no accounts",
    "",
    |site| text_of(site, AUTH_GUIDE)
);
pub(super) const OAUTH: Guide = guide!(
    "oauth",
    "Call with access tokens of an identity provider. Lists the requirements for the provider.",
    "",
    "oauth.md",
    |site| Some(at(site, include_str!("../../docs/oauth.md")))
);
pub(super) const FUNDING: Guide = guide!(
    "funding",
    "Fund an account, read the amount left, and put money on a key.",
    "this service does not charge, so there is nothing to fund",
    "",
    funding
)
.with_models();
pub(super) const WEBHOOKS: Guide = guide!(
    "webhooks",
    "Receive a notification when a poll ends, and verify its sender.",
    "",
    "webhooks.md",
    |site| Some(at(site, include_str!("../../docs/webhooks.md")))
);
pub(super) const PACE: Guide = guide!(
    "pace",
    "Choose between fewer calls and less waiting: the number of concurrent calls of a poll.",
    "",
    "pace.md",
    |site| Some(at(site, include_str!("../../docs/pace.md")))
);
pub(super) const ERRORS: Guide = guide!(
    "errors",
    "Every error with its status, its codes in each protocol, and its remedy.",
    "",
    "errors.md",
    |site| Some(format!(
        "# Errors\n\n{}",
        error_reference::table(|kind| site.settings.offer.has_error(kind))
    ))
);

/// Every guide, in the order of the list.
pub(super) static GUIDES: [Guide; 8] = [START, CONNECT, ACCOUNTS, OAUTH, FUNDING, WEBHOOKS, PACE, ERRORS];

/// Returns a file of `docs/` with this service's URLs. Links to files of the same folder lead to the pages.
pub(super) fn at(site: &Site, file: &str) -> String {
    let here = offered(&site.settings.offer, file);
    let here = here.replace(ABOUT_EXAMPLE, "").replace(EXAMPLE, &site.settings.base_url);
    let here = match site.settings.offer.network.as_str() {
        "" => here,
        network => here.replace(EXAMPLE_NETWORK, network),
    };
    GUIDES.iter().filter(|guide| !guide.file.is_empty()).fold(here, |text, guide| {
        let url = site.links.url(guide.page.name, &[]);
        text.replace(&format!("]({}", guide.file), &format!("]({url}"))
    })
}

/// Removes the parts that this configuration does not offer, including parts with an unknown condition.
fn offered(offer: &Offer, text: &str) -> String {
    let mut parts = text.split("<!-- if ");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (condition, rest) = part.split_once(" -->").unwrap_or((part, ""));
        let (conditional, rest) = rest.split_once("<!-- end -->").unwrap_or((rest, ""));
        // A mark on its own line is removed together with the line end.
        let (conditional, rest) = match conditional.strip_prefix('\n') {
            Some(lines) => (lines, rest.strip_prefix('\n').unwrap_or(rest)),
            None => (conditional, rest),
        };
        if offer.meets(condition) == Some(true) {
            shown.push_str(conditional);
        }
        shown.push_str(rest);
    }
    shown
}

/// Returns the sections with a heading that `selected` accepts.
pub(super) fn sections(markdown: &str, selected: impl Fn(&str) -> bool) -> String {
    let sections = markdown.split("\n## ").skip(1);
    let selected = sections.filter(|section| selected(section.lines().next().unwrap_or_default()));
    selected.flat_map(|section| ["## ", section, "\n"]).collect()
}

fn text_of(site: &Site, document: &str) -> Option<String> {
    String::from_utf8(site.document(document)?.to_vec()).ok()
}

fn start(site: &Site) -> Option<String> {
    let skill = text_of(site, SKILL)?;
    let beginning = sections(&skill, |heading| BEGINNING.contains(&heading));
    Some(format!("# Getting started\n\n{beginning}{}", price::paragraph(site)))
}

fn funding(site: &Site) -> Option<String> {
    let offer = &site.settings.offer;
    if !offer.charges {
        return None;
    }
    let mut text = format!("# Funding\n\n{}", price::paragraph(site));
    for rail in offer.rails() {
        match rail.guide {
            RailGuide::Operation(name) => {
                let begins = site.tools.iter().find(|entry| entry.spec.name == name)?;
                manual(site, &mut text, &begins.spec)?;
            }
            RailGuide::Section(wanted) => {
                text.push_str(&sections(&at(site, CLIENTS), |heading| heading == wanted));
            }
        }
        if rail.settings.on_chain {
            let _ = write!(text, "Deposits are taken on the chain `{}`.\n\n", offer.network);
        }
    }
    if !offer.takes_payments() {
        let contact = &site.settings.operator.contact;
        let whom = if contact.is_empty() { "the operator" } else { contact };
        let _ = write!(text, "No payment is configured here. Ask {whom} to fund an account.\n\n");
    }
    manual(site, &mut text, &GetBalance::SPEC)?;
    manual(site, &mut text, &FundKey::SPEC)?;
    Some(text)
}

/// Appends the manual of an operation; `None` if the service does not have the operation.
fn manual(site: &Site, text: &mut String, spec: &Spec) -> Option<()> {
    let route = site.routes.iter().find(|route| route.name == spec.name)?;
    let address = format!("{} {}", route.method.as_str(), site.url_of(spec.name)?);
    let (title, manual) = (spec.title.trim_end_matches('.'), spec.manual.trim());
    write!(text, "## {title}\n\n`{address}`\n\n{manual}\n\n").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unavailable_parts_are_removed() {
        let offer = |variables: &[(&str, &str)]| {
            let read = |name: &str| match variables.iter().find(|(known, _)| *known == name) {
                None if name == "EP_CONFIG" => Some("/dev/null".to_owned()),
                found => found.map(|(_, value)| (*value).to_owned()),
            };
            Offer::new(&crate::config::load(read).unwrap())
        };
        let text = "A<!-- if charges -->, paid<!-- end -->.\n\n<!-- if usdc -->\nUSDC.\n\n<!-- end -->\nB.\n";
        assert_eq!(offered(&offer(&[]), text), "A, paid.\n\nB.\n");
        assert_eq!(offered(&offer(&[("EP_BILLING", "off")]), text), "A.\n\nB.\n");
        let markers = |file: &str| (file.matches("<!-- if ").count(), file.matches("<!-- end -->").count());
        for file in [CLIENTS, include_str!("../../docs/oauth.md")] {
            assert_eq!(markers(file).0, markers(file).1);
        }
    }

    #[test]
    fn sections_are_selected_by_heading() {
        let page = "# A\n\nx\n\n## B\n\ny\n\n## C\nz";
        assert_eq!(sections(page, |heading| heading == "B"), "## B\n\ny\n\n");
        assert_eq!(sections(page, |_| true), "## B\n\ny\n\n## C\nz\n");
    }
}
