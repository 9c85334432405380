//! The search in the documentation: every word of the query in the title, a heading or the text of a passage.

use std::ops::Range;

use ep_kernel::{Entry, Kind};
use ep_site::Site;
use ep_site::layout::{own, passages, title};

use super::guides::{ERRORS, GUIDES};
use super::nouns::page_url;

/// Maximum length of a query, in bytes.
const MAX_QUERY: usize = 200;
/// Maximum number of words in a query.
const MAX_WORDS: usize = 8;
/// Maximum number of hits.
const MAX_HITS: usize = 20;
/// Maximum number of times that a word in a text counts.
const MAX_REPEATED: usize = 6;
/// Length of a snippet, in bytes.
const SNIPPET: usize = 220;
/// Text before the first found word, in bytes.
const BEFORE: usize = 70;

/// Pages outside of the documentation that are searched, too: the page and its Markdown.
const PAGES: [(&str, &str); 4] = [
    ("how_sure", "how_sure_markdown"),
    ("about", "about_markdown"),
    ("privacy", "privacy_markdown"),
    ("terms", "terms_markdown"),
];

/// Every passage of the documentation.
pub struct SearchIndex(Vec<IndexedPassage>);

/// A passage with its lower-case form, in which every byte has the same place.
struct IndexedPassage {
    kind: &'static str,
    title: String,
    heading: String,
    text: String,
    lower_title: String,
    lower_heading: String,
    lower_text: String,
    /// The weight of a word in the title.
    of_title: u32,
    url: String,
}

/// A passage that contains the words of a query.
#[derive(Debug)]
pub(super) struct Hit {
    /// The kind of page.
    pub(super) kind: &'static str,
    /// The title of the page, and the heading.
    pub(super) title: Vec<Piece>,
    /// A part of the text.
    pub(super) snippet: Vec<Piece>,
    /// The path, with the heading's anchor.
    pub(super) url: String,
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The text.
    pub(super) text: String,
    /// True if it is a word of the query.
    pub(super) is_found: bool,
}

impl SearchIndex {
    /// Indexes the documentation of this site.
    pub fn new(site: &Site) -> Self {
        let mut all = Vec::new();
        for guide in GUIDES.iter().filter(|guide| guide.name != ERRORS.name) {
            let text = (guide.title)(site).zip((guide.markdown)(site));
            if let Some((title, markdown)) = text {
                add_text(&mut all, "Guide", &title, &markdown, &own(&site.links.url(guide.name, &[])));
            }
        }
        for (name, twin) in PAGES {
            let markdown = site.document(twin).and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
            if let Some((markdown, url)) = markdown.zip(site.url_of(name)) {
                let title = title(&markdown).unwrap_or_default().to_owned();
                add_text(&mut all, "Page", &title, &markdown, &own(&url));
            }
        }
        all.extend(site.offered().map(|entry| operation(site, entry)));
        let errors = own(&site.links.url(ERRORS.name, &[]));
        let kinds = Kind::all().filter(|kind| site.settings.offer.has_error(*kind)).map(Kind::row);
        all.extend(kinds.map(|row| {
            let remedies = row.recovery.iter().map(|recovery| recovery.description);
            let text = [row.title].into_iter().chain(remedies).collect::<Vec<_>>().join(". ");
            let url = format!("{errors}#{}", row.code);
            IndexedPassage::new("Error", row.code.to_owned(), String::new(), text, url)
        }));
        Self(all)
    }

    /// Returns the best passages with every word of the query, and the number of all such passages.
    pub(super) fn find(&self, query: &str) -> (Vec<Hit>, usize) {
        let query = query_of(query).to_ascii_lowercase();
        let words: Vec<&str> = query.split_whitespace().take(MAX_WORDS).collect();
        if words.is_empty() {
            return (Vec::new(), 0);
        }
        let ranked = self.0.iter().filter_map(|passage| Some((passage.rank(&words)?, passage)));
        let mut found: Vec<(u32, &IndexedPassage)> = ranked.collect();
        // Equal passages stay in the order of the documentation.
        found.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
        (found.iter().take(MAX_HITS).map(|(_, passage)| passage.hit(&words)).collect(), found.len())
    }
}

/// Cuts a query to the maximum length.
pub(super) fn query_of(query: &str) -> &str {
    let query = query.trim();
    &query[..query.floor_char_boundary(MAX_QUERY)]
}

/// Adds the passages of a text.
fn add_text(all: &mut Vec<IndexedPassage>, kind: &'static str, title: &str, markdown: &str, url: &str) {
    for passage in passages(markdown) {
        let url = if passage.id.is_empty() { url.to_owned() } else { format!("{url}#{}", passage.id) };
        all.push(IndexedPassage::new(kind, title.to_owned(), passage.title, passage.text, url));
    }
}

/// Indexes an operation: its name, its texts, and its fields.
fn operation(site: &Site, entry: &Entry) -> IndexedPassage {
    let spec = &entry.spec;
    let mut text = spec.summary.to_owned();
    for passage in passages(spec.manual) {
        text.extend([" ", &passage.title, " ", &passage.text]);
    }
    for (name, field) in entry.input().as_value()["properties"].as_object().into_iter().flatten() {
        text.extend([" ", name, ": ", field["description"].as_str().unwrap_or_default()]);
    }
    let title = spec.title.trim_end_matches('.').to_owned();
    IndexedPassage::new("Operation", title, spec.name.to_owned(), text, own(&page_url(site, entry)))
}

impl IndexedPassage {
    fn new(kind: &'static str, title: String, heading: String, text: String, url: String) -> Self {
        let lower = |text: &str| text.to_ascii_lowercase();
        let (lower_title, lower_heading, lower_text) = (lower(&title), lower(&heading), lower(&text));
        let of_title = if url.contains('#') && !heading.is_empty() { 0 } else { 12 };
        Self { kind, title, heading, text, lower_title, lower_heading, lower_text, of_title, url }
    }

    /// Returns the weight of the passage; `None` if a word is missing.
    fn rank(&self, words: &[&str]) -> Option<u32> {
        let weight = |word: &&str| {
            let in_heading = if self.lower_heading.contains(word) { 8 } else { 0 };
            let in_text: u32 = self.lower_text.matches(word).take(MAX_REPEATED).map(|_| 1).sum();
            // The title alone is found once, at the beginning of its page.
            let in_title = if self.lower_title.contains(word) { self.of_title } else { 0 };
            let found = in_heading + in_text + in_title;
            (found > 0).then_some(found)
        };
        words.iter().map(weight).sum()
    }

    fn hit(&self, words: &[&str]) -> Hit {
        let joined = |title: &str, heading: &str| match heading {
            "" => title.to_owned(),
            heading => format!("{title} · {heading}"),
        };
        let title = joined(&self.title, &self.heading);
        let lower = joined(&self.lower_title, &self.lower_heading);
        Hit {
            kind: self.kind,
            title: pieces(&title, &lower, 0..title.len(), words),
            snippet: self.snippet(words),
            url: self.url.clone(),
        }
    }

    /// Returns the text around the first found word.
    fn snippet(&self, words: &[&str]) -> Vec<Piece> {
        let first = words.iter().filter_map(|word| self.lower_text.find(word)).min().unwrap_or_default();
        let begin = match self.text.floor_char_boundary(first.saturating_sub(BEFORE)) {
            0 => 0,
            // A snippet begins with a whole word.
            cut => self.text[cut..first].find(' ').map_or(cut, |space| cut + space + 1),
        };
        let cut = self.text.floor_char_boundary(begin + SNIPPET);
        let end = match self.text[begin..cut].rfind(' ') {
            Some(space) if cut < self.text.len() => begin + space,
            _ => cut,
        };
        let plain = |text: &str| Piece { text: text.to_owned(), is_found: false };
        let mut snippet = pieces(&self.text, &self.lower_text, begin..end, words);
        if begin > 0 {
            snippet.insert(0, plain("… "));
        }
        if end < self.text.len() {
            snippet.push(plain(" …"));
        }
        snippet
    }
}

/// Splits a part of a text at the words of the query. `lower` is the text in lower case.
fn pieces(text: &str, lower: &str, part: Range<usize>, words: &[&str]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut place = part.start;
    while place < part.end {
        let rest = &lower[place..part.end];
        let next = words.iter().filter_map(|word| Some((rest.find(word)?, word.len())));
        // The longest of the words at the same place.
        let Some((at, length)) = next.min_by_key(|(at, length)| (*at, std::cmp::Reverse(*length))) else {
            break;
        };
        let (begin, end) = (place + at, place + at + length);
        for (range, is_found) in [(place..begin, false), (begin..end, true)] {
            if !range.is_empty() {
                pieces.push(Piece { text: text[range].to_owned(), is_found });
            }
        }
        place = end;
    }
    if place < part.end {
        pieces.push(Piece { text: text[place..part.end].to_owned(), is_found: false });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(text: &str) -> SearchIndex {
        let (title, heading) = ("Sharing".to_owned(), "Embed it".to_owned());
        SearchIndex(vec![IndexedPassage::new("Guide", title, heading, text.to_owned(), "/a#b".to_owned())])
    }

    #[test]
    fn words_are_found_in_titles_headings_and_texts() {
        let index = index("A frame shows İ the result.");
        for query in ["EMBED", "frame result", "  i̇ nothing"] {
            assert_eq!(index.find(query).1, usize::from(!query.contains("nothing")), "{query}");
        }
        let (hits, count) = index.find("result");
        let found: Vec<&str> =
            hits[0].snippet.iter().filter(|piece| piece.is_found).map(|piece| piece.text.as_str()).collect();
        assert_eq!((found.as_slice(), count, hits[0].url.as_str()), (&["result"][..], 1, "/a#b"));
    }

    #[test]
    fn a_title_is_found_at_the_beginning_of_its_page() {
        let found = |url: &str, heading: &str| {
            let (title, text) = ("Sharing".to_owned(), "A text.".to_owned());
            let passage = IndexedPassage::new("Guide", title, heading.to_owned(), text, url.to_owned());
            SearchIndex(vec![passage]).find("sharing").1
        };
        assert_eq!((found("/a", ""), found("/a#b", "Embed it")), (1, 0));
    }

    #[test]
    fn snippets_are_short_and_cut_between_letters() {
        let long = format!("{} needle {}", "äöü ".repeat(200), "日本 語".repeat(200));
        let (hits, _) = index(&long).find("needle");
        let snippet: String = hits[0].snippet.iter().map(|piece| piece.text.as_str()).collect();
        assert!(
            snippet.len() < SNIPPET + 10 && snippet.starts_with("… ") && snippet.ends_with(" …"),
            "{snippet}"
        );
    }

    #[test]
    fn queries_are_bounded() {
        assert!(query_of(&"ä".repeat(1000)).len() <= MAX_QUERY);
        assert_eq!(index("text").find(&"zz ".repeat(1000)).1, 0);
        assert_eq!(index("text").find(" \u{a0} ").1, 0);
    }
}
