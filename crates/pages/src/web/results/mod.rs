//! `/results`: opens a result by its link, and says who can find one. It lists only polls that the start page shows
//! to everyone: other results have links that cannot be guessed.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use ep_kernel::guard::Admission;
use ep_kernel::{Fault, Kind};
use ep_polling::PollId;
use ep_site::http::{Exchange, Form, HandlerFuture};
use ep_site::layout::{Layout, own};
use ep_site::names::{RESULT_PAGE, RESULTS};
use ep_site::{HTML, MARKDOWN, QueryParameter, Site, reads_html, wants_markdown};
use futures::FutureExt;

use super::public_page::public_page;
use super::{PageState, see_other};

/// Query parameters.
pub(super) const QUERY: [QueryParameter; 1] =
    [QueryParameter::text("poll", "The link or the id of a poll. The response redirects to its result.")];

/// Faults of the page.
pub(super) const FAULTS: [Kind; 1] = [Kind::NotFound];

/// Start of each poll's id.
const ID_PREFIX: &str = "EP-";

/// The message about a text without an id.
const WRONG: &str = "This names no poll. Paste the whole link, or the id that begins with EP-.";

#[derive(Template)]
#[template(path = "web/results/results.html")]
struct ResultsPage<'a> {
    page: Layout<'a>,
    /// The text that names no poll.
    wrong: &'a str,
    /// The poll of the start page, as HTML.
    featured: Option<Arc<str>>,
}

#[derive(Template)]
#[template(path = "web/results/results.md")]
struct ResultsText<'a> {
    page: Layout<'a>,
}

/// Serves the page as HTML or Markdown, or redirects to the result that the query names.
pub(super) fn show(of_pages: PageState, exchange: Exchange, _: Admission) -> HandlerFuture {
    std::future::ready(page(&of_pages, &exchange)).boxed()
}

fn page(of_pages: &PageState, exchange: &Exchange) -> Result<Response<Body>, Fault> {
    let Exchange { state, request, .. } = exchange;
    let query = Form::parse(request.uri().query().unwrap_or_default().as_bytes());
    let wrong = query.text("poll");
    if let Some(id) = poll_in(wrong) {
        return see_other(&own(&state.links().url(RESULT_PAGE, &[("poll_id", id.as_str())])));
    }
    if !wrong.is_empty() && !reads_html(request.headers()) {
        return Err(Fault::new(Kind::NotFound, WRONG));
    }
    let page = layout(&state.site);
    let (text, media_type) = if wants_markdown(request.headers()) {
        (ResultsText { page }.render(), MARKDOWN)
    } else {
        (ResultsPage { page, wrong, featured: of_pages.featured.html() }.render(), HTML)
    };
    let text = text.map_err(Fault::internal)?;
    let mut response = public_page(text.into(), media_type, "public, max-age=300", request.headers());
    if !wrong.is_empty() {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    Ok(response)
}

fn layout(site: &Site) -> Layout<'_> {
    let description = "Open the result of a poll by its link or id, and read who can find a result.";
    let page = Layout::new(site, "Open a result".to_owned(), description.to_owned());
    Layout { canonical: site.url_of(RESULTS), ..page }
}

/// Returns the first id of a poll in a text: a link, or the id itself.
fn poll_in(text: &str) -> Option<PollId> {
    // People type an id in lower case, too.
    let text = text.to_ascii_uppercase();
    text.match_indices(ID_PREFIX).find_map(|(start, _)| {
        let is_of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-';
        // One byte more than an id: a longer word is none.
        let length = text.as_bytes()[start..].iter().take(PollId::LENGTH + 1).take_while(is_of_word).count();
        text[start..start + length].parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_are_found_in_links() {
        let id = "EP-20260101-0000000000";
        for text in [
            id.to_owned(),
            id.to_lowercase(),
            format!("https://ep.example/results/{id}.md?x=1#y"),
            format!("EP-1 {id},"),
        ] {
            assert_eq!(poll_in(&text).unwrap().as_str(), id, "{text}");
        }
        for text in
            ["", "EP-", "EP-20260101", "https://ep.example/results/", "é EP-é", "EP-20260101-00000000001"]
        {
            assert_eq!(poll_in(text), None, "{text}");
        }
    }
}
