//! `security.txt`: the contact for security reports (RFC 9116).

use std::fmt::Write;

use axum::body::Bytes;
use ep_polling::Timestamp;
use ep_site::{Document, Form, Site};
use url::Url;

const NAME: &str = "security";

pub(super) const DOCUMENT: Document = Document::new(
    NAME,
    "The contact for security reports (RFC 9116).",
    |_| vec!["/.well-known/security.txt".into(), "/security.txt".into()],
    &[Form::new("text/plain; charset=utf-8", text)],
)
.timed()
.absent(
    "this service names nobody to report security problems to: the operator sets EP_CONTACT to an e-mail address or to \
     a URL that begins with https://",
);

fn text(site: &Site) -> Option<Bytes> {
    let contact = &site.settings.operator.contact;
    let contact = match Url::parse(contact) {
        Ok(url) if matches!(url.scheme(), "https" | "mailto" | "tel") => url.into(),
        Err(_) if contact.contains('@') && !contact.contains(char::is_whitespace) => {
            format!("mailto:{contact}")
        }
        _ => return None,
    };
    let mut text =
        format!("Contact: {contact}\nExpires: {}\nPreferred-Languages: en\n", expires(site.now()?));
    // URLs in this file must start with https:// (RFC 9116 §2.5).
    if let Some(url) = site.url_of(NAME).filter(|url| url.starts_with("https:")) {
        let _ = writeln!(text, "Canonical: {url}");
    }
    Some(text.into())
}

/// Returns a date at least 330 days and less than a year from now, as RFC 9116 §2.5.5 recommends. It changes
/// every 30 days, at the same time on every replica.
fn expires(now: Timestamp) -> String {
    const STEP_MS: i64 = 30 * 24 * 60 * 60 * 1000;
    let at = Timestamp::from_millis((now.millis().div_euclid(STEP_MS) + 12) * STEP_MS);
    at.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_is_330_to_365_days_ahead() {
        for day in 0..1000 {
            let now = Timestamp::from_millis(1_790_000_000_123 + day * 86_400_000);
            let at: Timestamp = serde_json::from_str(&format!("\"{}\"", expires(now))).unwrap();
            let days = at.since(now).as_secs() / 86_400;
            assert!((329..=360).contains(&days), "{days}");
        }
    }
}
