//! The page of the models.

mod family_mark;
mod order;
mod row;
mod view;

use askama::Template;
use axum::body::Body;
use axum::http::Response;
use ep_kernel::guard::Admission;
use ep_kernel::schema::decode;
use ep_kernel::{Fault, Kind};
use ep_site::http::{Exchange, HandlerFuture};
use ep_site::{HTML, MARKDOWN, QueryParameter, wants_markdown};
use ep_tools::models::{ListModels, ModelQuery};
use ep_tools::reputation::ListModelReputation;
use futures::FutureExt;
use serde_json::json;

pub(super) use self::row::preset_title;
use self::view::ModelsPage;
use super::operation::ask;
use super::public_page::public_page;

/// Kinds of error.
pub(super) const FAULTS: [Kind; 2] = [Kind::NotConfigured, Kind::Unavailable];

/// Query parameters.
pub(super) const QUERY: [QueryParameter; 3] = [
    QueryParameter::text(
        "q",
        "Shows the models with all of these words in their name, id, family, price or presets.",
    ),
    QueryParameter::text(
        "sort",
        "The sort column of the table: `model`, `family`, `price`, `input`, `output`, `context`, `answers`, `time` or \
         `majority`.",
    ),
    QueryParameter::text("preset", "Selects the models of this preset."),
];

/// Serves the page as HTML, or as Markdown if the client prefers it.
pub(crate) fn page(exchange: Exchange, admission: Admission) -> HandlerFuture {
    let markdown = wants_markdown(exchange.request.headers());
    shown(exchange, admission, markdown).boxed()
}

/// Serves the page as Markdown.
pub(crate) fn markdown(exchange: Exchange, admission: Admission) -> HandlerFuture {
    shown(exchange, admission, true).boxed()
}

async fn shown(exchange: Exchange, admission: Admission, markdown: bool) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, .. } = exchange;
    let request = request.into_parts().0;
    let registry = ask::<ListModels>(&state, &head, &admission, ModelQuery::default()).await?;
    let query = decode(json!({}))?;
    let reputation = ask::<ListModelReputation>(&state, &head, &admission, query).await?;
    let query = request.uri.query().unwrap_or_default();
    let page = ModelsPage::new(&state.site, &registry.registry, reputation, query);
    let (text, media_type) = if markdown { (page.markdown(), MARKDOWN) } else { (page.render(), HTML) };
    // The figures are cached for the same time.
    let bytes = text.map_err(Fault::internal)?.into();
    Ok(public_page(bytes, media_type, "public, max-age=300", &request.headers))
}
