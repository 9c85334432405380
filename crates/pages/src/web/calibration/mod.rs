//! The page that compares the agreement of panels with people's judgements.

mod view;

use askama::Template;
use axum::body::Body;
use axum::http::Response;
use ep_kernel::guard::Admission;
use ep_kernel::{Fault, Nothing};
use ep_site::http::{Exchange, HandlerFuture};
use ep_site::{HTML, MARKDOWN, wants_markdown};
use ep_tools::reputation::GetCalibration;
use futures::FutureExt;

use self::view::CalibrationPage;
use super::operation::ask;
use super::public_page::public_page;

/// Serves the page as HTML, or as Markdown if the client prefers it.
pub(super) fn page(exchange: Exchange, admission: Admission) -> HandlerFuture {
    let markdown = wants_markdown(exchange.request.headers());
    shown(exchange, admission, markdown).boxed()
}

/// Serves the page as Markdown.
pub(super) fn markdown(exchange: Exchange, admission: Admission) -> HandlerFuture {
    shown(exchange, admission, true).boxed()
}

async fn shown(exchange: Exchange, admission: Admission, markdown: bool) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, .. } = exchange;
    let request = request.into_parts().0;
    let calibration = ask::<GetCalibration>(&state, &head, &admission, Nothing {}).await?;
    let page = CalibrationPage::new(&state.site, calibration);
    let (text, media_type) = if markdown { (page.markdown(), MARKDOWN) } else { (page.render(), HTML) };
    // The figures are cached for the same time.
    let bytes = text.map_err(Fault::internal)?.into();
    Ok(public_page(bytes, media_type, "public, max-age=300", &request.headers))
}
