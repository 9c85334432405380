//! The frame of a documentation page: the list of all pages, the way back, and the neighbours.

use ep_site::Site;
use ep_site::layout::own;
use ep_site::names::{API_REFERENCE, DOCS};

use super::guides::{FIRST, GUIDES};
use super::nouns::{nouns, page_url};

/// The name of the page about confidence.
const HOW_SURE: &str = "how_sure";

/// Data of the frame. Templates see it as `frame`.
pub(super) struct Frame {
    /// The guides, by chapter.
    pub(super) chapters: Vec<Chapter>,
    /// The link to the list of operations.
    pub(super) operations: PageLink,
    /// The operations, by noun.
    pub(super) nouns: Vec<Chapter>,
    /// The pages above this page.
    pub(super) parents: Vec<PageLink>,
    /// The page before this page in the list.
    pub(super) previous: Option<PageLink>,
    /// The page after this page in the list.
    pub(super) next: Option<PageLink>,
    /// The words of the search.
    pub(super) query: String,
}

/// A part of the list of pages.
pub(super) struct Chapter {
    /// The title.
    pub(super) title: String,
    /// True if it contains this page.
    pub(super) is_open: bool,
    /// The pages.
    pub(super) pages: Vec<PageLink>,
}

/// A link to a page.
#[derive(Clone)]
pub(super) struct PageLink {
    /// The title of the page.
    pub(super) title: String,
    /// The path of the page.
    pub(super) url: String,
    /// True for the page that shows the link.
    pub(super) is_current: bool,
}

impl PageLink {
    /// Creates a link to a named page.
    fn named(site: &Site, name: &str, title: &str) -> Self {
        Self { title: title.to_owned(), url: own(&site.links.url(name, &[])), is_current: false }
    }

    /// Creates the link to the start of the documentation.
    pub(super) fn docs(site: &Site) -> Self {
        Self::named(site, DOCS, "Docs")
    }

    /// Creates the link to the list of operations.
    pub(super) fn operations(site: &Site) -> Self {
        Self::named(site, API_REFERENCE, "Operations")
    }
}

impl Frame {
    /// Creates the frame of the page at this path.
    pub(super) fn new(site: &Site, current: &str) -> Self {
        let chapters = chapters(site, current);
        let nouns: Vec<Chapter> = nouns(site)
            .into_iter()
            .map(|noun| {
                let pages = noun.entries.into_iter().map(|entry| {
                    let url = own(&page_url(site, entry));
                    let title = entry.spec.title.trim_end_matches('.').to_owned();
                    PageLink { title, is_current: url == current, url }
                });
                Chapter::new(noun.name, pages.collect())
            })
            .collect();
        let how_sure = own(&site.links.url(HOW_SURE, &[]));
        // The page about confidence is outside of the documentation.
        let guides = chapters.iter().flat_map(|chapter| &chapter.pages).filter(|page| page.url != how_sure);
        let operations = PageLink::operations(site);
        let operations = PageLink { is_current: operations.url == current, ..operations };
        let pages = nouns.iter().flat_map(|noun| &noun.pages);
        let order: Vec<PageLink> = guides.chain([&operations]).chain(pages).cloned().collect();
        let place = order.iter().position(|page| page.is_current);
        let previous = place.and_then(|place| order.get(place.checked_sub(1)?)).cloned();
        let next = place.and_then(|place| order.get(place + 1)).cloned();
        Self { chapters, operations, nouns, parents: Vec::new(), previous, next, query: String::new() }
    }
}

impl Chapter {
    fn new(title: String, pages: Vec<PageLink>) -> Self {
        Self { title, is_open: pages.iter().any(|page| page.is_current), pages }
    }
}

/// Returns the guides by chapter. The page about confidence opens the second one.
fn chapters(site: &Site, current: &str) -> Vec<Chapter> {
    let mut chapters: Vec<Chapter> = Vec::new();
    for guide in &GUIDES {
        let Some(title) = (guide.title)(site) else { continue };
        let url = own(&site.links.url(guide.name, &[]));
        let page = PageLink { title, is_current: url == current, url };
        if let Some(chapter) = chapters.iter_mut().find(|chapter| chapter.title == guide.chapter) {
            chapter.pages.push(page);
            continue;
        }
        let how_sure = PageLink::named(site, HOW_SURE, "How sure is a result?");
        let pages = [how_sure, page].into_iter().skip(usize::from(guide.chapter == FIRST));
        chapters.push(Chapter { title: guide.chapter.to_owned(), is_open: true, pages: pages.collect() });
    }
    chapters
}
