//! The results of a search in the documentation, as HTML and Markdown.

use std::fmt::Write;

use askama::Template;
use axum::body::Bytes;
use ep_site::Site;
use ep_site::layout::{Layout, one_line};

use super::navigation::{Frame, PageLink};
use super::search::{Hit, Piece, SearchIndex, query_of};
use crate::documents::page::bytes;

#[derive(Template)]
#[template(path = "documents/docs/search.html")]
struct SearchPage<'a> {
    page: Layout<'a>,
    frame: Frame,
    hits: Vec<Hit>,
    /// The number of passages, in words.
    found: String,
}

/// Renders the passages that contain the words of a query.
pub fn page(site: &Site, index: &SearchIndex, query: &str, markdown: bool) -> Option<Bytes> {
    let query = query_of(query);
    let (hits, count) = index.find(query);
    let found = match count {
        0 => "Nothing found. Try fewer or other words.".to_owned(),
        1 => "1 result".to_owned(),
        _ if count > hits.len() => format!("The best {} of {count} results", hits.len()),
        _ => format!("{count} results"),
    };
    if markdown {
        return Some(text(site, &hits, &found).into());
    }
    let about = "Passages of the documentation that contain the words of a search.".to_owned();
    let layout = Layout::new(site, "Search".to_owned(), about);
    let parents = vec![PageLink::docs(site)];
    let frame = Frame { parents, query: query.to_owned(), ..Frame::new(site, "") };
    bytes(&SearchPage { page: Layout { noindex: true, ..layout }, frame, hits, found })
}

fn text(site: &Site, hits: &[Hit], found: &str) -> String {
    let plain =
        |pieces: &[Piece]| one_line(&pieces.iter().map(|piece| piece.text.as_str()).collect::<String>());
    let mut text = format!("# Search\n\n{found}\n\n");
    for Hit { title, snippet, url, .. } in hits {
        let base_url = &site.settings.base_url;
        let _ = writeln!(text, "- [{}]({base_url}{url}): {}", plain(title), plain(snippet));
    }
    text
}
