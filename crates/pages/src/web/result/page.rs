//! The page of a running or finished poll: the output of `get_poll_result` in words.

use askama::Template;
use ep_site::layout::{Layout, linked_data};
use ep_site::{HTML, MARKDOWN, Site};
use ep_tools::results::PollResult;
use serde_json::{Value, json};
use url::Url;

use super::hero::Meter;
use super::view::Query;
pub(super) use super::view::View;
use super::words::Length;
use crate::share_image::Card;

/// The page of a poll.
#[derive(Template)]
#[template(path = "web/result/result.html")]
pub struct ResultPage<'a> {
    page: Layout<'a>,
    pub(crate) poll: View,
}

#[derive(Template)]
#[template(path = "web/result/embed.html")]
struct Embedded<'a> {
    page: &'a Layout<'a>,
    poll: &'a View,
}

/// The format of a poll's page, selected by the suffix of its URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultFormat {
    /// HTML.
    Page,
    /// Markdown.
    Markdown,
    /// The votes as comma-separated values (RFC 4180).
    Csv,
    /// The preview picture, as PNG.
    Png,
    /// The preview picture, as SVG.
    Svg,
}

impl ResultFormat {
    /// Splits the last segment of a path into the id and the requested format.
    pub fn of(part: &str) -> (&str, Self) {
        let endings =
            [(".md", Self::Markdown), (".csv", Self::Csv), (".png", Self::Png), (".svg", Self::Svg)];
        let found = endings.iter().find_map(|(ending, format)| Some((part.strip_suffix(ending)?, *format)));
        found.unwrap_or((part, Self::Page))
    }

    /// Returns the media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Page => HTML,
            Self::Markdown => MARKDOWN,
            Self::Csv => "text/csv; charset=utf-8",
            Self::Png => "image/png",
            Self::Svg => "image/svg+xml",
        }
    }
}

impl<'a> ResultPage<'a> {
    /// Creates the page from the operation's output. `query` is the query of the request.
    pub fn new(site: &'a Site, result: PollResult, private: bool, query: &str) -> Self {
        let poll = View::new(site, result, private, &Query::read(query));
        let description = if poll.running { poll.sentence.clone() } else { poll.answer.line() };
        let page = Layout::new(site, poll.title(), description);
        let page = Layout {
            canonical: Some(poll.address.clone()),
            markdown: Some(format!("{}.md", poll.address)),
            noindex: private || poll.running,
            ..page
        };
        Self { page, poll }
    }

    /// Renders the version that other websites show in a frame.
    pub fn embedded(&self) -> askama::Result<String> {
        Embedded { page: &self.page, poll: &self.poll }.render()
    }

    /// Returns the oEmbed response for a frame of at most this size (oEmbed 1.0, section 2.3.4.4).
    pub fn oembed(&self, max_width: Option<u32>, max_height: Option<u32>) -> Value {
        let (page, poll) = (&self.page, &self.poll);
        let (width, height) = poll.frame_size(max_width);
        let height = height.min(max_height.unwrap_or(height));
        json!({
            "version": "1.0",
            "type": "rich",
            "title": poll.title(),
            "provider_name": page.name,
            "provider_url": format!("{}/", page.site.settings.base_url),
            "cache_age": if poll.running { 0 } else { 86_400 },
            "html": poll.frame_of(width, height),
            "width": width,
            "height": height,
            "thumbnail_url": format!("{}.png", poll.address),
            "thumbnail_width": crate::share_image::WIDTH,
            "thumbnail_height": crate::share_image::HEIGHT,
        })
    }

    /// Returns structured data for search engines (schema.org): a question with suggested answers, none of them
    /// accepted.
    fn linked_data(&self) -> String {
        let poll = &self.poll;
        let answers: Vec<Value> = poll
            .bars
            .iter()
            .map(|bar| json!({ "@type": "Answer", "text": bar.label, "upvoteCount": bar.votes }))
            .collect();
        linked_data(&json!({
            "@context": "https://schema.org",
            "@type": "WebPage",
            "url": poll.address,
            "name": self.page.title,
            "description": self.page.description,
            "dateCreated": poll.created_at,
            "primaryImageOfPage": { "@type": "ImageObject", "url": format!("{}.png", poll.address) },
            "mainEntity": {
                "@type": "Question",
                "name": poll.question,
                "answerCount": answers.len(),
                "suggestedAnswer": answers,
            },
        }))
    }

    /// Renders the page as Markdown.
    pub fn markdown(&self) -> askama::Result<String> {
        self.poll.render()
    }

    /// Returns the data of the poll's picture.
    pub fn card(&self) -> Card {
        let base = Url::parse(&self.page.site.settings.base_url).ok();
        let host = base.as_ref().and_then(Url::host_str).unwrap_or_default();
        self.poll.card(&self.page.name, host)
    }

    /// Renders every vote as a line of comma-separated values, below a header line.
    pub fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        self.poll.csv()
    }
}
