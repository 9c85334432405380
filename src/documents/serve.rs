//! Serves documents: rendered once, with entity tags.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH, VARY};
use axum::http::{Method, Response, StatusCode};
use axum::routing::any;

use super::{DOCUMENTS, Document, Site};
use crate::surface::http::{Gate, entity_tag, wrong_method};

/// One rendered form of a document.
struct Form {
    body: String,
    tag: String,
}

#[derive(Default)]
struct Rendered {
    plain: OnceLock<Form>,
    variant: OnceLock<Form>,
}

/// The routes of every document.
pub fn routes() -> Router<Gate> {
    DOCUMENTS.iter().fold(Router::new(), |router, document| {
        let rendered = Arc::new(Rendered::default());
        document.paths.iter().fold(router, |router, path| {
            let rendered = Arc::clone(&rendered);
            let handler = move |State(gate): State<Gate>, request: Request| {
                std::future::ready(serve(&gate, document, &rendered, request))
            };
            router.route(path, any(handler))
        })
    })
}

fn serve(gate: &Gate, document: &Document, rendered: &Rendered, request: Request) -> Response<Body> {
    let (request, _) = request.into_parts();
    if request.method != Method::GET && request.method != Method::HEAD {
        return wrong_method(gate, &request, "GET, HEAD, OPTIONS");
    }
    let site = Site::new(&gate.app.settings.base_url, gate.tools);
    let wants = |name: &str, prefix: &str| {
        request
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.trim().starts_with(prefix))
    };
    let form = match &document.variant {
        Some(other) if wants(other.header, other.prefix) => {
            rendered.variant.get_or_init(|| Form::new((other.render)(&site)))
        }
        _ => rendered.plain.get_or_init(|| Form::new((document.render)(&site))),
    };
    let known = request.headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let unchanged = known
        .is_some_and(|known| known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == form.tag));
    let mut response = Response::new(if unchanged { Body::empty() } else { Body::from(form.body.clone()) });
    if unchanged {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    };
    set(CONTENT_TYPE, document.media_type);
    set(CACHE_CONTROL, &format!("public, max-age={}", document.max_age));
    set(ETAG, &form.tag);
    if let Some(other) = &document.variant {
        set(VARY, other.header);
    }
    response
}

impl Form {
    fn new(body: String) -> Self {
        let tag = entity_tag(&body);
        Self { body, tag }
    }
}
