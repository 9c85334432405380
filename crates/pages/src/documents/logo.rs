//! The logo as SVG and as icons for browsers and phones, and the web manifest that lists them.

use axum::body::Bytes;
use axum::http::header::CONTENT_SECURITY_POLICY;
use ep_site::names::HOME;
use ep_site::names::LOGO;
use ep_site::{Document, Form, Site, owner};
use serde_json::json;

use super::json::json_text;

const MARK: &str = include_str!("../../../../well-known/logo.svg");

pub(super) const DOCUMENT: Document = Document::new(
    LOGO,
    "The mark of the service.",
    |_| vec!["/logo.svg".into()],
    &[Form::new("image/svg+xml", |_| Some(Bytes::from_static(MARK.as_bytes())))],
)
.headers(|_| vec![(CONTENT_SECURITY_POLICY, "default-src 'none'".into())])
.open()
.unlisted();

/// The icon that browsers request without reading a page.
pub(super) const FAVICON: Document = icon(
    "favicon",
    "The mark in 48 pixels.",
    |_| vec!["/favicon.ico".into()],
    &[Form::new("image/png", |_| png(48))],
);

/// The icon for the home screen of phones.
pub(super) const TOUCH_ICON: Document = icon(
    "touch_icon",
    "The mark in 180 pixels.",
    |_| vec!["/apple-touch-icon.png".into()],
    &[Form::new("image/png", |_| png(180))],
);

/// The large icon of the manifest.
pub(super) const LARGE_ICON: Document = icon(
    "large_icon",
    "The mark in 512 pixels.",
    |_| vec!["/icon-512.png".into()],
    &[Form::new("image/png", |_| png(512))],
);

pub(super) const MANIFEST: Document = Document::new(
    "manifest",
    "The web manifest of the pages.",
    |_| vec!["/manifest.webmanifest".into()],
    &[Form::new("application/manifest+json", manifest)],
)
.unlisted();

const fn icon(
    name: &'static str,
    summary: &'static str,
    paths: fn(&Site) -> Vec<String>,
    forms: &'static [Form],
) -> Document {
    Document { max_age: 86_400, ..Document::new(name, summary, paths, forms) }.unlisted()
}

fn png(pixels: u32) -> Option<Bytes> {
    crate::share_image::icon(MARK, pixels).ok().map(Bytes::from)
}

/// The manifest for installing the pages as an app (W3C Web Application Manifest).
fn manifest(site: &Site) -> Option<Bytes> {
    let owner = owner();
    json_text(&json!({
        "name": owner["name"],
        "short_name": owner["name"],
        "description": owner["tagline"],
        "id": "/",
        "start_url": site.url_of(HOME)?,
        "display": "minimal-ui",
        "background_color": "#fcfbf8",
        "theme_color": "#17171a",
        "icons": [
            { "src": site.url_of(LOGO)?, "type": "image/svg+xml", "sizes": "any" },
            { "src": site.url_of(LARGE_ICON.name)?, "type": "image/png", "sizes": "512x512" },
            { "src": site.url_of(TOUCH_ICON.name)?, "type": "image/png", "sizes": "180x180" },
        ],
    }))
}
