//! Serves documents, rendered once and with entity tags.

use std::time::{Duration, UNIX_EPOCH};

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, LAST_MODIFIED, VARY,
};
use axum::http::{HeaderMap, Response};
use ep_kernel::fault::{Fault, Kind};
use ep_polling::time::Timestamp;

use super::{AliasPaths, Changes, DOCUMENTS, Document, Form, Site};
use crate::layout::protect;
use crate::site::{Route, RouteKind};

/// Returns the routes of every served document.
pub fn routes(site: &Site) -> Vec<Route> {
    let of = |(index, document): (usize, &'static Document)| {
        (document.paths)(site).into_iter().map(move |path| route(index, document, path))
    };
    DOCUMENTS.iter().enumerate().flat_map(of).collect()
}

/// Returns the routes of the alias paths of every document.
pub fn aliases() -> Vec<Route> {
    let of = |(index, document): (usize, &'static Document)| {
        let paths = document.aliases.iter().flat_map(AliasPaths::paths);
        paths.map(move |path| route(index, document, path))
    };
    DOCUMENTS.iter().enumerate().flat_map(of).collect()
}

/// Returns one descriptive route with placeholders for each alias pattern. These routes are not served.
pub(super) fn families() -> Vec<Route> {
    let of = |(index, document): (usize, &'static Document)| {
        document.aliases.iter().map(move |aliases| route(index, document, aliases.path.to_owned()))
    };
    DOCUMENTS.iter().enumerate().flat_map(of).collect()
}

fn route(index: usize, document: &'static Document, path: String) -> Route {
    let kind = RouteKind::Document(index);
    let for_people = document.forms[0].media_type.starts_with("text/html");
    let route = Route::get(document.name, "", kind, document.summary);
    Route { path: path.into(), for_people, ..route }
}

/// Serves the document at an index of [`DOCUMENTS`], in the form that the request headers select.
pub fn serve(site: &Site, index: usize, headers: &HeaderMap) -> Result<Response<Body>, Fault> {
    let document = &DOCUMENTS[index];
    let other =
        document.forms.iter().position(|form| form.condition.as_ref().is_some_and(|w| (w.by)(headers)));
    let form = other.unwrap_or_default();
    let Some(rendered) = site.rendered(index, form) else {
        return Err(Fault::new(Kind::NotFound, document.absent));
    };
    Ok(match document.changes {
        Changes::Never => rendered.respond(headers),
        Changes::WithTime | Changes::WithModels => rendered.respond_plainly(headers),
    })
}

/// Serves the document with this name, in the form that the request headers select.
pub fn serve_named(site: &Site, name: &str, headers: &HeaderMap) -> Result<Response<Body>, Fault> {
    let index = DOCUMENTS.iter().position(|document| document.name == name);
    index.map_or_else(
        || Err(Fault::new(Kind::NotFound, "there is no such document")),
        |index| serve(site, index, headers),
    )
}

/// Returns the headers of a form of a document.
pub(super) fn headers(site: &Site, document: &Document, form: &Form) -> HeaderMap {
    let mut of = HeaderMap::new();
    of.insert(CONTENT_TYPE, HeaderValue::from_static(form.media_type));
    if let Ok(cache) = HeaderValue::try_from(format!("public, max-age={}", document.max_age)) {
        of.insert(CACHE_CONTROL, cache);
    }
    if let Some(since) =
        site.settings.since.filter(|_| document.changes == Changes::Never).and_then(http_date)
    {
        of.insert(LAST_MODIFIED, since);
    }
    for condition in document.forms.iter().filter_map(|form| form.condition.as_ref()) {
        of.append(VARY, HeaderValue::from_static(condition.header));
    }
    let open = document.open.then_some(OPEN).into_iter().flatten();
    of.extend(open.map(|(name, value)| (name, HeaderValue::from_static(value))));
    if form.media_type.starts_with("text/html") {
        protect(&mut of);
    }
    let further = (document.headers)(site).into_iter();
    of.extend(further.filter_map(|(name, value)| Some((name, HeaderValue::try_from(value).ok()?))));
    of
}

/// The headers that let pages of every website read a document (SEP-2127 of the Model Context Protocol, "CORS
/// Requirements").
const OPEN: [(HeaderName, &str); 4] = [
    (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    (ACCESS_CONTROL_ALLOW_METHODS, "GET"),
    (ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, If-None-Match"),
    (ACCESS_CONTROL_EXPOSE_HEADERS, "ETag"),
];

/// Formats a time for HTTP headers (RFC 9110 §5.6.7).
fn http_date(at: Timestamp) -> Option<HeaderValue> {
    let since_epoch = Duration::from_millis(u64::try_from(at.millis()).ok()?);
    HeaderValue::try_from(httpdate::fmt_http_date(UNIX_EPOCH + since_epoch)).ok()
}
