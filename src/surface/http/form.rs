//! Forms as browsers send them.

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use ep_kernel::fault::{Fault, Kind};

use super::read_bytes;

/// The fields of a form (WHATWG URL, `application/x-www-form-urlencoded`). Of several with one name the first counts.
#[derive(Debug, Default)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a request's body.
    pub async fn read(headers: &HeaderMap, body: Body) -> Result<Self, Fault> {
        let declared = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = declared.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Fault::new(
                Kind::UnsupportedMediaType,
                "this address takes the form of its page; programs use the operations of the API",
            ));
        }
        Ok(Self::parse(&read_bytes(body).await?))
    }

    /// Reads the fields of a query.
    pub fn parse(text: &[u8]) -> Self {
        let fields = url::form_urlencoded::parse(text);
        // Browsers end lines with CRLF (WHATWG HTML, section 4.10.21.4).
        Self(fields.map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n"))).collect())
    }

    /// Every field that was sent, as it was sent.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A field's text without the space around it; empty if it was not sent.
    pub fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim())
    }
}
