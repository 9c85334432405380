//! The mark of the service.

use axum::body::Bytes;
use axum::http::header::CONTENT_SECURITY_POLICY;

use super::{Document, Form, LOGO, Site};

pub(super) const DOCUMENT: Document = Document::new(
    LOGO,
    "The mark of the service.",
    |_| vec!["/logo.svg".into(), "/favicon.ico".into()],
    &[Form::new("image/svg+xml", svg)],
)
.headers(|_| vec![(CONTENT_SECURITY_POLICY, "default-src 'none'".into())])
.open()
.unlisted();

#[expect(clippy::unnecessary_wraps, reason = "the signature of every renderer")]
fn svg(_: &Site) -> Option<Bytes> {
    Some(Bytes::from_static(include_bytes!("../../well-known/logo.svg")))
}
