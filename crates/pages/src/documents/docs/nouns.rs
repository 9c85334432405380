//! The offered operations, grouped by noun.

use ep_kernel::Entry;
use ep_site::Site;
use ep_site::names::OPERATION_PAGE;

use crate::documents::openapi;

/// The operations on one noun.
pub(super) struct Noun {
    /// The noun.
    pub(super) name: String,
    /// A summary in one sentence.
    pub(super) about: String,
    /// The operations.
    pub(super) entries: Vec<&'static Entry>,
}

/// Returns every noun with its operations, in the order of the catalogue.
pub(super) fn nouns(site: &Site) -> Vec<Noun> {
    let mut nouns: Vec<Noun> = Vec::new();
    for entry in site.offered() {
        let Some((name, about)) = entry.bindings().next().map(|rest| openapi::noun_of(rest.path)) else {
            continue;
        };
        match nouns.iter_mut().find(|noun| noun.name == name) {
            Some(noun) => noun.entries.push(entry),
            None => nouns.push(Noun { name, about, entries: vec![entry] }),
        }
    }
    nouns
}

/// Returns the URL of an operation's page.
pub(super) fn page_url(site: &Site, entry: &Entry) -> String {
    site.links.url(OPERATION_PAGE, &[("operation", entry.spec.name)])
}

/// Returns the URL of the page of each offered operation.
pub(in crate::documents) fn page_urls(site: &Site) -> impl Iterator<Item = String> {
    nouns(site).into_iter().flat_map(|noun| noun.entries).map(|entry| page_url(site, entry))
}
