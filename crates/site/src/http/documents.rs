//! Responses with documents: entity tags, compression, caching and headers.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, UNIX_EPOCH};

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, LAST_MODIFIED, VARY,
};
use axum::http::{HeaderMap, Response};
use ep_kernel::{Fault, Kind};
use ep_polling::Timestamp;

use super::protection::protect;
use super::rendered::Rendered;
use crate::{Changes, Document, Form, Site};

/// Responses with documents. Those that never change are built once, with their compressed form.
#[derive(Default)]
pub struct DocumentResponses(HashMap<&'static str, Vec<OnceLock<Option<Arc<Rendered>>>>>);

impl DocumentResponses {
    /// Creates the responses for the documents of a site.
    pub fn new(site: &Site) -> Self {
        let unbuilt = |document: &Document| document.forms.iter().map(|_| OnceLock::new()).collect();
        Self(site.documents.iter().map(|document| (document.name, unbuilt(document))).collect())
    }

    /// Serves a document in the form that the request headers select.
    pub fn serve(
        &self,
        site: &Site,
        document: &Document,
        headers: &HeaderMap,
    ) -> Result<Response<Body>, Fault> {
        let form = document.form(headers);
        let absent = || Fault::new(Kind::NotFound, document.absent);
        let build = || {
            let headers = headers_of(site, document, &document.forms[form]);
            site.rendered(document, form).map(|bytes| Arc::new(Rendered::new(bytes, headers)))
        };
        let cell = self.0.get(document.name).and_then(|forms| forms.get(form));
        match (document.changes, cell) {
            (Changes::Never, Some(cell)) => {
                Ok(cell.get_or_init(build).as_ref().ok_or_else(absent)?.respond(headers))
            }
            _ => Ok(build().ok_or_else(absent)?.respond_plainly(headers)),
        }
    }

    /// Serves the document with this name, in the form that the request headers select.
    pub fn serve_named(&self, site: &Site, name: &str, headers: &HeaderMap) -> Result<Response<Body>, Fault> {
        let document = site.documents.iter().find(|document| document.name == name);
        let document = document.ok_or_else(|| Fault::new(Kind::NotFound, "there is no such document"))?;
        self.serve(site, document, headers)
    }
}

/// Returns the headers of a form of a document.
fn headers_of(site: &Site, document: &Document, form: &Form) -> HeaderMap {
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
