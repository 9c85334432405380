//! Serves documents: rendered once, with entity tags.

use std::borrow::Cow;
use std::time::{Duration, UNIX_EPOCH};

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LAST_MODIFIED, VARY,
};
use axum::http::{HeaderMap, Response};
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::method::Method;
use ep_kernel::tool::{Access, Rate};
use ep_polling::time::Timestamp;

use super::{DOCUMENTS, Site};
use crate::surface::route::{Route, RouteKind};

/// The routes of every served document.
pub fn routes(site: &Site) -> Vec<Route> {
    let of = |(place, document): (usize, &'static super::Document)| {
        (document.paths)(site).into_iter().map(move |path| Route {
            name: document.name,
            method: Method::Get,
            path: path.into(),
            access: Access::PUBLIC,
            rate: Rate::Public,
            kind: RouteKind::Document(place),
            summary: Cow::Borrowed(document.summary),
        })
    };
    DOCUMENTS.iter().enumerate().flat_map(of).collect()
}

/// Answers a request for the document at this place of the table, in the form that its headers ask for.
pub fn serve(site: &Site, place: usize, headers: &HeaderMap) -> Result<Response<Body>, Fault> {
    let document = &DOCUMENTS[place];
    let other = document.forms.iter().position(|form| form.wanted.as_ref().is_some_and(|w| (w.by)(headers)));
    let form = other.unwrap_or_default();
    let Some(rendered) = site.rendered(place, form) else {
        return Err(Fault::new(Kind::NotFound, document.absent));
    };
    let mut response = Response::new(Body::from(rendered.bytes.clone()));
    let of = response.headers_mut();
    of.insert(CONTENT_TYPE, HeaderValue::from_static(document.forms[form].media_type));
    if let Ok(cache) = HeaderValue::try_from(format!("public, max-age={}", document.max_age)) {
        of.insert(CACHE_CONTROL, cache);
    }
    if let Some(policy) = &rendered.policy {
        of.insert(CONTENT_SECURITY_POLICY, policy.clone());
    }
    if let Some(since) = site.settings.since.and_then(http_date) {
        of.insert(LAST_MODIFIED, since);
    }
    for form in document.forms {
        if let Some(wanted) = &form.wanted {
            of.append(VARY, HeaderValue::from_static(wanted.header));
        }
    }
    if let Some(tag) = &rendered.tag {
        tag.apply(headers, &mut response);
    }
    Ok(response)
}

/// A time as headers have it (RFC 9110 §5.6.7).
fn http_date(at: Timestamp) -> Option<HeaderValue> {
    let since_epoch = Duration::from_millis(u64::try_from(at.millis()).ok()?);
    HeaderValue::try_from(httpdate::fmt_http_date(UNIX_EPOCH + since_epoch)).ok()
}
