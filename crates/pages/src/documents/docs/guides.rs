//! The texts of the guides. Their sources are the files in `docs/`, parts of other documents and the operations'
//! manuals. Links use this service's URLs.
//!
//! A file marks text for some configurations only: `<!-- if charges -->…<!-- end -->`. `Offer::meets` knows the
//! conditions. Text for operators and developers is marked `<!-- if repository -->`: pages leave it out.

use std::fmt::Write;

use ep_kernel::{Spec, Tool};
use ep_site::layout::title;
use ep_site::rail::RailGuide;
use ep_site::{Offer, Site};
use ep_tools::account::GetBalance;
use ep_tools::examples::Language;
use ep_tools::keys::FundKey;

use crate::documents::auth_guide::NAME as AUTH_GUIDE;
use crate::documents::error_reference;
use crate::documents::price;
use crate::documents::skills::SKILL;

/// The guide to clients: several pages show parts of it.
pub(in crate::documents) const CLIENTS_FILE: &str = include_str!("../../../../../docs/clients.md");
const OPENAI_FILE: &str = include_str!("../../../../../docs/openai.md");
/// The example service URL in the guides.
const EXAMPLE: &str = "https://polls.example.com";
/// The example deposit chain in the guides.
const EXAMPLE_NETWORK: &str = "eip155:8453";
/// The sentence that explains the example URL. It is removed because the real URL replaces the example.
const ABOUT_EXAMPLE: &str = "`https://polls.example.com` stands for the service's address. ";
/// The sections of the skill that the start guide shows, before its programs and after them.
const ASK: [&str; 2] = ["Ask without a key", "Ask with a key"];
const READ: [&str; 3] = ["Read the result", "Polls that take long", "What it costs"];
/// The programs of the start guide, with their headings.
const PROGRAMS: [(&str, Language); 2] =
    [("Ask from Python", Language::Python), ("Ask from TypeScript", Language::Typescript)];

/// The guides for a first poll.
pub(super) const FIRST: &str = "Start here";
/// All other guides.
const FURTHER: &str = "Guides";

/// A guide: an HTML page and its Markdown document.
pub(in crate::documents) struct Guide {
    /// The name of the HTML page.
    pub(in crate::documents) name: &'static str,
    /// The name of the Markdown document.
    pub(super) twin: &'static str,
    /// A summary in one sentence.
    pub(super) about: &'static str,
    /// The title of the list that contains it.
    pub(super) chapter: &'static str,
    /// The guide's file in `docs/`, if it has one.
    file: &'static str,
    /// Returns the title; `None` if this configuration does not have the guide.
    pub(super) title: fn(&Site) -> Option<String>,
    /// Renders the Markdown; `None` if this configuration does not have the guide.
    pub(in crate::documents) markdown: fn(&Site) -> Option<String>,
}

const START_TITLE: &str = "Getting started";
pub(super) const START: Guide = Guide {
    name: "guide_start",
    twin: "guide_start_markdown",
    about: "Ask a first poll with curl, Python or TypeScript, without a key and with one, and read the result.",
    chapter: FIRST,
    file: "",
    title: |site| site.document(SKILL).map(|_| START_TITLE.to_owned()),
    markdown: start,
};
const CLIENTS_TITLE: &str = "Connect an MCP client";
pub(super) const CLIENTS: Guide = Guide {
    name: "guide_clients",
    twin: "guide_clients_markdown",
    about: "Connect Claude Code, Cursor, VS Code, Codex and other clients over MCP.",
    chapter: FIRST,
    file: "clients.md",
    title: |_| Some(CLIENTS_TITLE.to_owned()),
    markdown: |site| {
        let parts = |heading: &str| heading.starts_with("MCP") || heading == "Tested clients";
        Some(format!("# {CLIENTS_TITLE}\n\n{}", of_clients(site, parts)))
    },
};
const A2A_TITLE: &str = "Connect an A2A agent";
pub(super) const A2A: Guide = Guide {
    name: "guide_a2a",
    twin: "guide_a2a_markdown",
    about: "Send a question from an agent, follow its task, and get a notification when it ends.",
    chapter: FIRST,
    file: "",
    title: |_| Some(A2A_TITLE.to_owned()),
    markdown: |site| Some(one_section(site, A2A_TITLE, |heading| heading == "A2A")),
};
const ACCOUNTS_TITLE: &str = "Accounts and keys";
pub(super) const ACCOUNTS: Guide = Guide {
    name: "guide_accounts",
    twin: "guide_accounts_markdown",
    about: "Get an account and keys: by a wallet, a payment, a login or the operator.",
    chapter: FIRST,
    file: "",
    title: |site| site.document(AUTH_GUIDE).map(|_| ACCOUNTS_TITLE.to_owned()),
    markdown: |site| {
        let text = text_of(site, AUTH_GUIDE)?;
        let (_, body) = text.split_once('\n')?;
        Some(format!("# {ACCOUNTS_TITLE}\n{body}"))
    },
};
const FUNDING_TITLE: &str = "Funding";
pub(super) const FUNDING: Guide = Guide {
    name: "guide_funding",
    twin: "guide_funding_markdown",
    about: "Fund an account, read the amount left, and put money on a key.",
    chapter: FIRST,
    file: "",
    title: |site| site.settings.offer.charges.then(|| FUNDING_TITLE.to_owned()),
    markdown: funding,
};
pub(in crate::documents) const OPENAI: Guide = Guide {
    name: "guide_openai",
    twin: "guide_openai_markdown",
    about: "Ask a panel from any client of OpenAI's API: grades, labels and decisions by votes.",
    chapter: FURTHER,
    file: "openai.md",
    title: |_| title(OPENAI_FILE).map(str::to_owned),
    markdown: |site| {
        let text = at(site, OPENAI_FILE);
        let (own, _) = text.split_once(OPENAI_CLIENTS_HEADING)?;
        let clients = format!("]({})", site.links.url(OPENAI_CLIENTS.name, &[]));
        let own = own.replace("](#tested-clients)", &clients);
        let Some(caution) = site.settings.offer.caution() else { return Some(own) };
        let (heading, body) = own.split_once('\n')?;
        Some(format!("{heading}\n\n**{caution}**\n{body}"))
    },
};
const OPENAI_CLIENTS_HEADING: &str = "\n## Tested clients\n";
const OPENAI_CLIENTS_TITLE: &str = "Tested OpenAI clients";
pub(super) const OPENAI_CLIENTS: Guide = Guide {
    name: "guide_openai_clients",
    twin: "guide_openai_clients_markdown",
    about: "Examples for clients of OpenAI's API: SDKs, frameworks, evaluation tools and decision clients.",
    chapter: FURTHER,
    file: "",
    title: |_| Some(OPENAI_CLIENTS_TITLE.to_owned()),
    markdown: |site| {
        let text = at(site, OPENAI_FILE);
        let (_, clients) = text.split_once(OPENAI_CLIENTS_HEADING)?;
        Some(format!("# {OPENAI_CLIENTS_TITLE}\n{}", clients.replace("\n### ", "\n## ")))
    },
};
macro_rules! files {
    ($($guide:ident $name:literal $file:literal $about:literal)*) => {$(
        pub(in crate::documents) const $guide: Guide = Guide {
            name: $name,
            twin: concat!($name, "_markdown"),
            about: $about,
            chapter: FURTHER,
            file: $file,
            title: |_| title(include_str!(concat!("../../../../../docs/", $file))).map(str::to_owned),
            markdown: |site| Some(at(site, include_str!(concat!("../../../../../docs/", $file)))),
        };
    )*};
}

// Guides that are files of `docs`.
files! {
    SHARING "guide_sharing" "sharing.md" "Share a result by its link, embed it in a website, download it, or keep it private."
    WEBHOOKS "guide_webhooks" "webhooks.md" "Receive a notification when a poll ends, and verify its sender."
    LABELS "guide_labels" "labels.md" "Label the rows of a file by the votes of a panel, choose the panel, and prove how many labels are wrong at most."
    PACE "guide_pace" "pace.md" "Choose between fewer calls and less waiting: the number of concurrent calls of a poll."
    OAUTH "guide_oauth" "oauth.md" "Call with access tokens of an identity provider: scopes, metadata and accounts."
}
const FRAMEWORKS_TITLE: &str = "Agent frameworks";
pub(super) const FRAMEWORKS: Guide = Guide {
    name: "guide_frameworks",
    twin: "guide_frameworks_markdown",
    about: "Ask from FastMCP, LangChain, the OpenAI Agents SDK, Pydantic AI, CrewAI, smolagents or Google ADK.",
    chapter: FURTHER,
    file: "",
    title: |_| Some(FRAMEWORKS_TITLE.to_owned()),
    markdown: |site| Some(one_section(site, FRAMEWORKS_TITLE, |heading| heading == FRAMEWORKS_TITLE)),
};
const ERRORS_TITLE: &str = "Errors";
pub(super) const ERRORS: Guide = Guide {
    name: "guide_errors",
    twin: "guide_errors_markdown",
    about: "Every error with its status, its codes in each protocol, and its remedy.",
    chapter: FURTHER,
    file: "errors.md",
    title: |_| Some(ERRORS_TITLE.to_owned()),
    markdown: |site| {
        let sections = error_reference::sections(|kind| site.settings.offer.has_error(kind));
        Some(format!("# {ERRORS_TITLE}\n\n{sections}"))
    },
};

/// Every guide, in the order of the list.
pub(super) static GUIDES: [Guide; 14] = [
    START,
    CLIENTS,
    A2A,
    ACCOUNTS,
    FUNDING,
    OPENAI,
    OPENAI_CLIENTS,
    SHARING,
    LABELS,
    WEBHOOKS,
    PACE,
    OAUTH,
    FRAMEWORKS,
    ERRORS,
];

/// Anchors within the guide to clients whose section is on another page: the anchor, the page and its anchor.
const MOVED: [(&str, &str, &str); 2] =
    [("](#agent-frameworks)", FRAMEWORKS.name, ""), ("](#tested-clients)", CLIENTS.name, "#tested-clients")];

/// Returns the sections of the guide to clients with a heading that `selected` accepts, for a page of their own.
pub(in crate::documents) fn of_clients(site: &Site, selected: impl Fn(&str) -> bool) -> String {
    MOVED.iter().fold(sections(&at(site, CLIENTS_FILE), selected), |text, (anchor, name, behind)| {
        text.replace(anchor, &format!("]({}{behind})", site.links.url(name, &[])))
    })
}

/// Returns one section of the guide to clients as a page: its headings are raised by one level.
fn one_section(site: &Site, title: &str, selected: impl Fn(&str) -> bool) -> String {
    let text = of_clients(site, selected);
    let body = text.split_once('\n').map_or("", |(_, body)| body);
    format!("# {title}\n{}", body.replace("\n### ", "\n## "))
}

/// Returns a file of `docs/` with this service's URLs. Links to files of the same folder lead to the pages.
pub(in crate::documents) fn at(site: &Site, file: &str) -> String {
    let here = offered(&site.settings.offer, file);
    let here = here.replace(ABOUT_EXAMPLE, "").replace(EXAMPLE, &site.settings.base_url);
    let here = match site.settings.offer.network.as_str() {
        "" => here,
        network => here.replace(EXAMPLE_NETWORK, network),
    };
    GUIDES.iter().filter(|guide| !guide.file.is_empty()).fold(here, |text, guide| {
        let url = site.links.url(guide.name, &[]);
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
pub(in crate::documents) fn sections(markdown: &str, selected: impl Fn(&str) -> bool) -> String {
    let sections = markdown.split("\n## ").skip(1);
    let selected = sections.filter(|section| selected(section.lines().next().unwrap_or_default()));
    selected.flat_map(|section| ["## ", section, "\n"]).collect()
}

fn text_of(site: &Site, document: &str) -> Option<String> {
    String::from_utf8(site.document(document)?.to_vec()).ok()
}

fn start(site: &Site) -> Option<String> {
    let skill = text_of(site, SKILL)?;
    let mut text = format!("# {START_TITLE}\n\n{}", sections(&skill, |heading| ASK.contains(&heading)));
    for (heading, language) in PROGRAMS {
        let (name, code) = (language.as_str(), language.example(&site.links));
        write!(text, "## {heading}\n\n```{name}\n{}\n```\n\n", code.trim_end()).ok()?;
    }
    text.push_str(&sections(&skill, |heading| READ.contains(&heading)));
    text.push_str(&price::paragraph(site));
    Some(text)
}

fn funding(site: &Site) -> Option<String> {
    let offer = &site.settings.offer;
    if !offer.charges {
        return None;
    }
    let mut text = format!("# {FUNDING_TITLE}\n\n{}", price::paragraph(site));
    for rail in offer.rails() {
        match rail.guide {
            RailGuide::Operation(name) => {
                let begins = site.tools.iter().find(|entry| entry.spec.name == name)?;
                manual(site, &mut text, &begins.spec)?;
            }
            RailGuide::Section(wanted) => {
                text.push_str(&of_clients(site, |heading| heading == wanted));
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
    use ep_site::config::{BillingMode, Config};

    use super::*;

    #[test]
    fn pages_find_the_guide_of_labels_by_its_name() {
        assert_eq!(LABELS.name, ep_site::names::LABELS_GUIDE);
    }

    #[test]
    fn unavailable_parts_are_removed() {
        let offer = |mode| {
            let mut config = Config::defaults().unwrap();
            config.billing.mode = mode;
            Offer::new(&config, &[])
        };
        let text = "A<!-- if charges -->, paid<!-- end -->.\n\n<!-- if usdc -->\nUSDC.\n\n<!-- end -->\nB.\n";
        assert_eq!(offered(&offer(BillingMode::Prepaid), text), "A, paid.\n\nB.\n");
        assert_eq!(offered(&offer(BillingMode::Off), text), "A.\n\nB.\n");
        let markers = |file: &str| (file.matches("<!-- if ").count(), file.matches("<!-- end -->").count());
        for name in ["clients", "openai", "oauth", "pace", "webhooks", "sharing", "labels"] {
            let file = format!("{}/../../docs/{name}.md", env!("CARGO_MANIFEST_DIR"));
            let (begun, ended) = markers(&std::fs::read_to_string(file).unwrap());
            assert_eq!(begun, ended, "{name}");
        }
    }

    #[test]
    fn sections_are_selected_by_heading() {
        let page = "# A\n\nx\n\n## B\n\ny\n\n## C\nz";
        assert_eq!(sections(page, |heading| heading == "B"), "## B\n\ny\n\n");
        assert_eq!(sections(page, |_| true), "## B\n\ny\n\n## C\nz\n");
    }
}
