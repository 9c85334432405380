//! A form that waits for a sign-in, in a cookie of the browser that sent it.
//!
//! The question is in no URL, so no log and no other website sees it. Browsers send the cookie to the form's path only.

use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::HeaderValue;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ep_site::http::{read_cookie, write_cookie};
use ep_site::names::{ASK_PATH, WAITING_FORM_COOKIE, WAITING_FORM_MINUTES};
use secrecy::ExposeSecret;

use super::form_values::PollFormValues;

/// Browsers keep at least 4096 bytes of a cookie with its name and attributes (RFC 6265, section 6.1).
const MAX_BYTES: usize = 3800;

/// Returns the `Set-Cookie` value that stores the form, or `None` if the form is too large for a cookie.
pub(super) fn store(values: &PollFormValues, base_url: &str) -> Option<HeaderValue> {
    let text = URL_SAFE_NO_PAD.encode(serde_json::to_vec(values).ok()?);
    let lifetime = Duration::from_mins(WAITING_FORM_MINUTES);
    let cookie = || write_cookie(WAITING_FORM_COOKIE, &text, ASK_PATH, lifetime, base_url);
    (text.len() <= MAX_BYTES).then(cookie).flatten()
}

/// Returns the form that waits in this browser, if any.
pub(super) fn read(headers: &HeaderMap) -> Option<PollFormValues> {
    let text = read_cookie(headers, WAITING_FORM_COOKIE)?;
    let bytes = URL_SAFE_NO_PAD.decode(text.expose_secret()).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Returns the `Set-Cookie` value that removes the form.
pub(super) fn clear(base_url: &str) -> Option<HeaderValue> {
    write_cookie(WAITING_FORM_COOKIE, "", ASK_PATH, Duration::ZERO, base_url)
}

#[cfg(test)]
mod tests {
    use axum::http::header::COOKIE;

    use super::*;

    #[test]
    fn forms_wait_if_they_fit_into_a_cookie() {
        let values = PollFormValues {
            question: "Äpfel; oder \"Birnen\"?".to_owned(),
            options: vec!["Äpfel".to_owned(), "Birnen, reif".to_owned()],
            voters: "quick".to_owned(),
            private: true,
            nonce: "n".to_owned(),
            ..PollFormValues::default()
        };
        let set = store(&values, "https://ep.example").unwrap();
        let set = set.to_str().unwrap();
        assert!(set.ends_with("; HttpOnly; SameSite=Lax; Secure; Path=/ask; Max-Age=1800"), "{set}");
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, set.split(';').next().unwrap().parse().unwrap());
        let again = read(&headers).unwrap();
        assert_eq!((&again.question, &again.options), (&values.question, &values.options));
        assert!(again.private && again.asks("quick") && again.nonce.is_empty());

        let large = PollFormValues { question: "a".repeat(3000), ..values };
        assert!(store(&large, "https://ep.example").is_none());
        for wrong in ["ep_question=%", "ep_question=bm90IEpTT04", "other=1"] {
            headers.insert(COOKIE, wrong.parse().unwrap());
            assert!(read(&headers).is_none(), "{wrong}");
        }
    }
}
