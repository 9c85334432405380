//! Pages for people: each asks its operation through dispatch, like every other surface.

use askama::Template;
use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY};
use ep_kernel::answer::{Answer, Cache};
use ep_kernel::dispatch::{Call, dispatch};
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::{Admission, Credential};
use ep_kernel::tool::Tool;
use ep_tools::results::GetPollResult;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::RESULT_PAGE;
use crate::documents::{MARKDOWN, wants_markdown};
use crate::pages::{ResultPage, Shape, protect};
use crate::surface::http::{AppState, EntityTag, Exchange, RequestHead};

/// The page of a poll, its Markdown, or its votes as CSV.
pub(super) fn result(
    exchange: Exchange,
    admission: Admission,
) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    async move {
        let part = exchange
            .params
            .as_ref()
            .ok()
            .and_then(|params| params.iter().next().map(|(_, value)| value.to_owned()));
        let (id, shape) = Shape::of(part.as_deref().unwrap_or_default());
        let answer = read(
            &exchange.state,
            &exchange.head,
            &admission,
            GetPollResult::SPEC.name,
            json!({ "poll_id": id }),
        )
        .await?;
        let Exchange { state, request, .. } = &exchange;
        let headers = request.headers();
        let address = state.links().url(RESULT_PAGE, &[("poll_id", id)]);
        let ended = answer.presentation.interim.is_none();
        let private = ended && matches!(answer.presentation.cache, Cache::NoStore);
        let query = request.uri().query().unwrap_or_default();
        let page =
            ResultPage::new(&state.site, &answer.value, &address, private, query).map_err(Fault::internal)?;
        let settled = matches!(answer.presentation.cache, Cache::Immutable);
        let (text, media_type): (Bytes, &str) = match shape {
            Shape::Csv => (page.csv().map_err(Fault::internal)?.into(), "text/csv; charset=utf-8"),
            Shape::Png => {
                let kept = settled.then_some(id);
                (state.pictures.png(kept, || page.card()).await?, "image/png")
            }
            Shape::Svg => (page.card().svg().into(), "image/svg+xml"),
            Shape::Page if !wants_markdown(headers) => {
                (page.render().map_err(Fault::internal)?.into(), "text/html; charset=utf-8")
            }
            Shape::Page | Shape::Markdown => (page.markdown().map_err(Fault::internal)?.into(), MARKDOWN),
        };
        let tag = EntityTag::of(&text);
        let mut response = Response::new(Body::from(text));
        let of = response.headers_mut();
        of.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        let cache = if settled { "public, max-age=86400" } else { "no-store" };
        of.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        of.insert(VARY, HeaderValue::from_static("accept"));
        protect(of);
        if let Some(tag) = tag.filter(|_| settled) {
            tag.apply(headers, &mut response);
        }
        Ok(response)
    }
    .boxed()
}

/// Asks an operation that reads, as the visitor's account. Whoever comes with a session that has ended reads what anyone may.
async fn read(
    state: &AppState,
    head: &RequestHead,
    admission: &Admission,
    operation: &str,
    input: Value,
) -> Result<Answer, Fault> {
    let entry =
        ep_tools::find(operation).ok_or_else(|| Fault::new(Kind::NotFound, "there is no such operation"))?;
    let ask = |request| dispatch(&state.app, entry, Call::new(request), Ok(input.clone()));
    if !matches!(head.credential, Credential::None) {
        match ask(head.guarded("web", head.credential.clone())).await.result {
            Err(fault) if fault.rejects_credential() => {}
            done => return done.map(|done| done.answer),
        }
    }
    ask(head.admitted("web", admission.clone())).await.result.map(|done| done.answer)
}
