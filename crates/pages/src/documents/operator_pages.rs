//! The operator's pages: about, privacy and terms. The texts are templates in `well-known/`, filled from the
//! settings.

use askama::Template;
use axum::body::Bytes;
use ep_outside::identity::FLOW_LIFETIME;
use ep_site::config::{Content, Limits, Operator};
use ep_site::layout::one_line;
use ep_site::names::WAITING_FORM_MINUTES;
use ep_site::{Document, Form, HTML, MARKDOWN as MARKDOWN_TYPE, Site};

use super::agent_card::CARD_VERSION;
use super::page::About;
use super::prose;
use super::prose::Prose;

const ABOUT_PAGE: About = About {
    title: "About",
    description: "A description of this service and of its operator.",
    name: "about",
    markdown: "about_markdown",
};
const PRIVACY_PAGE: About = About {
    title: "Privacy",
    description: "The data that this service stores, publishes and passes on, with retention times.",
    name: "privacy",
    markdown: "privacy_markdown",
};
pub(super) const TERMS_PAGE: About = About {
    title: "Terms",
    description: "The terms of this service: its offer, its limits, and payments.",
    name: "terms",
    markdown: "terms_markdown",
};

/// Each page with its twin in Markdown.
macro_rules! pages {
    ($($page:ident $twin:ident $about:ident $path:literal $text:ident $summary:literal)*) => {$(
        pub(super) const $page: Document = Document::new(
            $about.name,
            $about.description,
            |_| vec![$path.into()],
            &[Form::new(HTML, |site| $about.html(site, &text($text(site))?)), Form::markdown($text)],
        );
        pub(super) const $twin: Document = Document::new(
            $about.markdown,
            $summary,
            |_| vec![concat!($path, ".md").into()],
            &[Form::new(MARKDOWN_TYPE, $text)],
        )
        .headers(|site| $about.canonical(site))
        .unlisted();
    )*};
}

pages! {
    ABOUT ABOUT_MARKDOWN ABOUT_PAGE "/about" about "The about page in Markdown."
    PRIVACY PRIVACY_MARKDOWN PRIVACY_PAGE "/privacy" privacy "The privacy page in Markdown."
    TERMS TERMS_MARKDOWN TERMS_PAGE "/terms" terms "The terms page in Markdown."
}

#[derive(Template)]
#[template(path = "about.md")]
struct AboutText<'a> {
    p: Prose<'a>,
    o: Named<'a>,
    version: &'static str,
    card_version: &'static str,
}

#[derive(Template)]
#[template(path = "privacy.md")]
struct PrivacyText<'a> {
    p: Prose<'a>,
    o: Named<'a>,
    content: &'a Content,
    /// The time limit for a sign-in in a browser, in minutes.
    sign_in_minutes: u64,
    /// The time for which a question waits for a sign-in, in minutes.
    waiting_form_minutes: u64,
}

#[derive(Template)]
#[template(path = "terms.md")]
struct TermsText<'a> {
    p: Prose<'a>,
    o: Named<'a>,
    limits: &'a Limits,
}

/// The operator, formatted as Markdown.
struct Named<'a>(&'a Operator);

impl Named<'_> {
    /// The operator's name, linked if the operator has a website.
    fn name(&self) -> String {
        let name = one_line(&self.0.name);
        if self.0.url.is_empty() { name } else { format!("[{name}](<{}>)", self.0.url) }
    }

    /// The operator's contact, if one is published.
    fn contact(&self) -> Option<String> {
        let contact = Some(&self.0.contact).filter(|contact| !contact.is_empty())?;
        let is_text = contact.contains(['<', '>', ' ']);
        Some(if is_text { one_line(contact) } else { format!("<{contact}>") })
    }

    /// The operator's refund policy.
    fn refunds(&self) -> String {
        one_line(&self.0.refunds)
    }

    /// The applicable law.
    fn law(&self) -> String {
        one_line(&self.0.law)
    }
}

fn about(site: &Site) -> Option<Bytes> {
    let version = env!("CARGO_PKG_VERSION");
    let (p, o) = (Prose::new(site), Named(&site.settings.operator));
    prose::bytes(&AboutText { p, o, version, card_version: CARD_VERSION })
}

fn privacy(site: &Site) -> Option<Bytes> {
    prose::bytes(&PrivacyText {
        p: Prose::new(site),
        o: Named(&site.settings.operator),
        content: &site.settings.content,
        sign_in_minutes: FLOW_LIFETIME.as_secs() / 60,
        waiting_form_minutes: WAITING_FORM_MINUTES,
    })
}

fn terms(site: &Site) -> Option<Bytes> {
    let (o, limits) = (Named(&site.settings.operator), &site.settings.limits);
    prose::bytes(&TermsText { p: Prose::new(site), o, limits })
}

fn text(bytes: Option<Bytes>) -> Option<String> {
    String::from_utf8(bytes?.into()).ok()
}
