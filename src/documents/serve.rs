//! Serves documents: rendered once, with entity tags.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY};
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::method::Method;
use ep_kernel::tool::{Access, Rate};

use super::{DOCUMENTS, Site};
use crate::surface::http::Exchange;
use crate::surface::route::{Route, RouteKind};

/// The routes of every served document.
pub fn routes(site: &Site) -> Vec<Route> {
    let of = |document: &'static super::Document| {
        (document.paths)(site).into_iter().map(|path| Route {
            name: document.name,
            method: Method::Get,
            path: path.into(),
            access: Access::PUBLIC,
            rate: Rate::Public,
            kind: RouteKind::Document,
            summary: Cow::Borrowed(document.summary),
        })
    };
    DOCUMENTS.iter().flat_map(of).collect()
}

/// Answers a request for a document, in the form that its headers ask for.
pub fn serve(site: &Site, exchange: &Exchange) -> Result<Response<Body>, Fault> {
    let request = &exchange.request;
    let path = request.uri().path();
    let is_here = |document: &super::Document| (document.paths)(site).iter().any(|served| served == path);
    let Some((index, document)) = DOCUMENTS.iter().enumerate().find(|(_, document)| is_here(document)) else {
        return Err(Fault::internal("a document's route has no document"));
    };
    let headers = request.headers();
    let other = document.forms.iter().position(|form| form.wanted.as_ref().is_some_and(|w| (w.by)(headers)));
    let place = other.unwrap_or_default();
    let Some(rendered) = site.rendered(index, place) else {
        return Err(Fault::new(Kind::NotFound, document.absent));
    };
    let mut response = Response::new(Body::from(rendered.bytes.clone()));
    let of = response.headers_mut();
    of.insert(CONTENT_TYPE, HeaderValue::from_static(document.forms[place].media_type));
    if let Ok(cache) = HeaderValue::try_from(format!("public, max-age={}", document.max_age)) {
        of.insert(CACHE_CONTROL, cache);
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
