//! The sitemap: pages and documents for people and agents (sitemaps.org, protocol 0.9).

use std::fmt::Write;

use axum::body::Bytes;
use ep_site::names::LISTED_PAGES;
use ep_site::{Document, Form, Site};

use super::docs::operation_urls;

pub(super) const DOCUMENT: Document = Document::new(
    "sitemap",
    "Lists the pages and documents of this service.",
    |_| vec!["/sitemap.xml".into()],
    &[Form::new("application/xml", xml)],
)
.unlisted();

#[expect(clippy::unnecessary_wraps, reason = "the signature of every renderer")]
fn xml(site: &Site) -> Option<Bytes> {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    // Only the day, so replicas that start at different times agree.
    let changed = site.settings.since.map(|since| since.calendar().strftime("%Y-%m-%d").to_string());
    let changed = changed.map(|day| format!("<lastmod>{day}</lastmod>")).unwrap_or_default();
    let pages = LISTED_PAGES.iter().filter_map(|name| site.url_of(name));
    let documents = site.listed().map(|(_, url)| url);
    let urls = pages.chain(documents).filter(|url| !url.contains('{')).chain(operation_urls(site));
    for url in urls {
        let url = url.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(text, "<url><loc>{url}</loc>{changed}</url>");
    }
    text.push_str("</urlset>\n");
    Some(text.into())
}
