//! The session cookie: its name, and how it is read and set.

use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HeaderValue};
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use ep_kernel::tool::SessionChange;
use secrecy::{ExposeSecret, SecretString};

/// The cookie's name.
pub(super) const NAME: &str = "ep_session";

/// The value of the session cookie, where the request has one.
pub(super) fn read(headers: &HeaderMap) -> Option<SecretString> {
    let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = texts.flat_map(Cookie::split_parse).filter_map(Result::ok);
    cookies.find(|cookie| cookie.name() == NAME).map(|cookie| cookie.value().to_owned().into())
}

/// The `Set-Cookie` value that starts or ends a session. Browsers send the cookie back over HTTPS alone
/// where the service is reached by HTTPS.
pub fn write(change: &SessionChange, base_url: &str) -> Option<HeaderValue> {
    let (value, lifetime) = match change {
        SessionChange::Start { token, lifetime } => {
            (token.expose_secret(), Duration::try_from(*lifetime).unwrap_or(Duration::ZERO))
        }
        SessionChange::End => ("", Duration::ZERO),
    };
    let cookie = Cookie::build((NAME, value))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(base_url.starts_with("https://"))
        .max_age(lifetime);
    let mut value = HeaderValue::try_from(cookie.to_string()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_read_and_written() {
        let mut headers = HeaderMap::new();
        assert!(read(&headers).is_none());
        headers.insert(COOKIE, "theme=dark; ep_session=abc.def; x=y".parse().unwrap());
        assert_eq!(read(&headers).unwrap().expose_secret(), "abc.def");
        let start = SessionChange::Start {
            token: "abc".to_owned().into(),
            lifetime: std::time::Duration::from_secs(60),
        };
        assert_eq!(
            write(&start, "https://ep.example").unwrap(),
            "ep_session=abc; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=60"
        );
        assert_eq!(
            write(&SessionChange::End, "http://127.0.0.1").unwrap(),
            "ep_session=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0"
        );
    }
}
