//! HTML form submissions.

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use ep_kernel::reading;
use ep_kernel::{Fault, Kind};

use super::read_bytes;

/// The fields of a form (WHATWG URL, `application/x-www-form-urlencoded`). If a name repeats, the first value counts.
#[derive(Debug, Default)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a form from a request body of at most `max` bytes.
    pub async fn read(headers: &HeaderMap, body: Body, max: usize) -> Result<Self, Fault> {
        let declared = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = declared.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Fault::new(
                Kind::UnsupportedMediaType,
                "this URL accepts only the form of its page; programs must use the API",
            ));
        }
        let bytes = read_bytes(body, max).await?;
        reading::read(bytes.len(), move || Self::parse(&bytes)).await
    }

    /// Parses the fields of a query string.
    pub fn parse(text: &[u8]) -> Self {
        let fields = url::form_urlencoded::parse(text);
        // Browsers end lines with CRLF (WHATWG HTML, section 4.10.21.4).
        Self(fields.map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n"))).collect())
    }

    /// Returns all fields unchanged.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// True if the form has the field, even without text.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// Returns a trimmed field, or an empty string if it is missing.
    pub fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim())
    }
}
