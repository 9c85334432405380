//! A poll, running or ended, for people: what [`GetPollResult`](ep_tools::results::GetPollResult) says, in words.

mod view;
mod words;

pub(super) use self::words::quoted;

use askama::Template;
use ep_kernel::tool::Tool;
use ep_share_image::Card;
use ep_tools::results::{GetPollResult, WatchResult};
use serde_json::{Value, json};
use url::Url;

use self::view::Query;
pub(super) use self::view::View;
use super::Layout;
use super::layout::{linked_data, own};
use crate::documents::{HTML, MARKDOWN, Site};

/// The page of a poll.
#[derive(Template)]
#[template(path = "result.html")]
pub struct ResultPage<'a> {
    page: Layout<'a>,
    pub(super) poll: View,
}

#[derive(Template)]
#[template(path = "embed.html")]
struct Embedded<'a> {
    page: &'a Layout<'a>,
    poll: &'a View,
}

#[derive(Template)]
#[template(path = "result.md")]
struct ResultText<'a> {
    poll: &'a View,
}

/// Where a poll's pages are, absolute.
pub struct Addresses {
    /// The page.
    pub page: String,
    /// What other websites show in a frame.
    pub embed: String,
    /// What describes that frame.
    pub oembed: String,
}

/// The forms of a poll's page, by the ending of its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// The page.
    Page,
    /// Its Markdown.
    Markdown,
    /// The votes as comma-separated values (RFC 4180).
    Csv,
    /// The picture, as links to the poll are shown with it.
    Png,
    /// The same as SVG.
    Svg,
}

impl Shape {
    /// The id in the last part of a path, and which form of it is wanted.
    pub fn of(part: &str) -> (&str, Self) {
        let endings =
            [(".md", Self::Markdown), (".csv", Self::Csv), (".png", Self::Png), (".svg", Self::Svg)];
        let found = endings.iter().find_map(|(ending, shape)| Some((part.strip_suffix(ending)?, *shape)));
        found.unwrap_or((part, Self::Page))
    }

    /// Its media type.
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
    /// The page of a result, as the operation answers it; `query` is what it was asked with.
    pub fn new(
        site: &'a Site,
        result: &Value,
        addresses: Addresses,
        private: bool,
        query: &str,
    ) -> serde_json::Result<Self> {
        let links = view::Links {
            addresses,
            json: view::url(site, GetPollResult::SPEC.name, result),
            events: own(&view::url(site, WatchResult::SPEC.name, result)),
        };
        let poll = View::new(serde_json::from_value(result.clone())?, links, private, &Query::read(query));
        let page = Layout::new(site, poll.question.clone(), poll.sentence.clone());
        let page = Layout {
            canonical: Some(poll.address.clone()),
            markdown: Some(format!("{}.md", poll.address)),
            noindex: private || poll.running,
            ..page
        };
        Ok(Self { page, poll })
    }

    /// What other websites show of it in a frame.
    pub fn embedded(&self) -> askama::Result<String> {
        Embedded { page: &self.page, poll: &self.poll }.render()
    }

    /// What programs are told that show links as frames (oEmbed 1.0, section 2.3.4.4), in a box of at most this size.
    pub fn oembed(&self, max_width: Option<u32>, max_height: Option<u32>) -> Value {
        let (page, poll) = (&self.page, &self.poll);
        let (width, height) = poll.frame_size();
        let (width, height) =
            (width.min(max_width.unwrap_or(width)), height.min(max_height.unwrap_or(height)));
        json!({
            "version": "1.0",
            "type": "rich",
            "title": poll.question,
            "provider_name": page.name,
            "provider_url": format!("{}/", page.site.settings.base_url),
            "cache_age": if poll.running { 0 } else { 86_400 },
            "html": poll.frame_of(width, height),
            "width": width,
            "height": height,
            "thumbnail_url": format!("{}.png", poll.address),
            "thumbnail_width": ep_share_image::WIDTH,
            "thumbnail_height": ep_share_image::HEIGHT,
        })
    }

    /// What search engines read of it (schema.org): a question and what was answered, none of it as accepted.
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
            "description": poll.sentence,
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

    /// The page as Markdown.
    pub fn markdown(&self) -> askama::Result<String> {
        ResultText { poll: &self.poll }.render()
    }

    /// The picture of the poll.
    pub fn card(&self) -> Card {
        let base = Url::parse(&self.page.site.settings.base_url).ok();
        let host = base.as_ref().and_then(Url::host_str).unwrap_or_default();
        self.poll.card(&self.page.name, host)
    }

    /// Every vote as a line of comma-separated values, under a line of names.
    pub fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        self.poll.csv()
    }
}
