//! `/docs/…`: the guides as pages and in Markdown.

use askama::Template;
use axum::body::Bytes;
use ep_site::layout::{Layout, Text, linked_text, own};
use ep_site::{Document, Form, HTML, MARKDOWN, Site};

use super::guides;
use super::guides::Guide;
use super::navigation::{Frame, PageLink};
use crate::documents::page::{bytes, layout};

/// The documents of a guide.
pub(in crate::documents) struct GuideDocuments {
    /// The HTML page.
    pub(in crate::documents) page: Document,
    /// The Markdown document.
    pub(in crate::documents) text: Document,
}

impl GuideDocuments {
    /// Documents that quote the price of a poll.
    const fn with_models(self) -> Self {
        Self { page: self.page.with_models(), text: self.text.with_models() }
    }
}

macro_rules! documents {
    ($guide:expr, $slug:literal, $absent:literal) => {{
        fn html(site: &Site) -> Option<Bytes> {
            page(site, &$guide)
        }
        fn text(site: &Site) -> Option<Bytes> {
            ($guide.markdown)(site).map(Bytes::from)
        }
        GuideDocuments {
            page: Document::new(
                $guide.name,
                $guide.about,
                |_| vec![concat!("/docs/", $slug).into()],
                &[Form::new(HTML, html), Form::markdown(text)],
            )
            .absent($absent),
            text: Document::new(
                $guide.twin,
                $guide.about,
                |_| vec![concat!("/docs/", $slug, ".md").into()],
                &[Form::new(MARKDOWN, text)],
            )
            .absent($absent)
            .unlisted(),
        }
    }};
}

pub(in crate::documents) const START: GuideDocuments =
    documents!(guides::START, "start", "this service takes no polls").with_models();
pub(in crate::documents) const CLIENTS: GuideDocuments = documents!(guides::CLIENTS, "clients", "");
pub(in crate::documents) const A2A: GuideDocuments = documents!(guides::A2A, "a2a", "");
pub(in crate::documents) const ACCOUNTS: GuideDocuments =
    documents!(guides::ACCOUNTS, "accounts", "this service has no accounts");
pub(in crate::documents) const FUNDING: GuideDocuments =
    documents!(guides::FUNDING, "funding", "this service does not charge, so there is nothing to fund")
        .with_models();
pub(in crate::documents) const SHARING: GuideDocuments = documents!(guides::SHARING, "sharing", "");
pub(in crate::documents) const OPENAI: GuideDocuments = documents!(guides::OPENAI, "openai", "");
pub(in crate::documents) const OPENAI_CLIENTS: GuideDocuments =
    documents!(guides::OPENAI_CLIENTS, "openai-clients", "");
pub(in crate::documents) const WEBHOOKS: GuideDocuments = documents!(guides::WEBHOOKS, "webhooks", "");
pub(in crate::documents) const LABELS: GuideDocuments = documents!(guides::LABELS, "labels", "");
pub(in crate::documents) const PACE: GuideDocuments = documents!(guides::PACE, "pace", "");
pub(in crate::documents) const OAUTH: GuideDocuments = documents!(guides::OAUTH, "oauth", "");
pub(in crate::documents) const FRAMEWORKS: GuideDocuments = documents!(guides::FRAMEWORKS, "frameworks", "");
pub(in crate::documents) const ERRORS: GuideDocuments = documents!(guides::ERRORS, "errors", "");

#[derive(Template)]
#[template(path = "documents/docs/guide.html")]
struct GuidePage<'a> {
    page: Layout<'a>,
    frame: Frame,
    text: Text,
}

fn page(site: &Site, guide: &Guide) -> Option<Bytes> {
    let markdown = (guide.markdown)(site)?;
    let text = linked_text(&markdown, &site.settings.base_url);
    let frame = Frame::new(site, &own(&site.url_of(guide.name)?));
    let frame = Frame { parents: vec![PageLink::docs(site)], ..frame };
    bytes(&GuidePage {
        page: layout(site, guide.name, guide.twin, &(guide.title)(site)?, guide.about),
        frame,
        text,
    })
}
