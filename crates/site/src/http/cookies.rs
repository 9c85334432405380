//! Cookies: the session cookie, and the cookies of a sign-in in progress.

use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HeaderValue};
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use ep_kernel::tool::SessionChange;
use secrecy::{ExposeSecret, SecretString};

use crate::names::SESSION_COOKIE;

/// Returns the value of the session cookie, if sent.
pub(super) fn read(headers: &HeaderMap) -> Option<SecretString> {
    read_cookie(headers, SESSION_COOKIE)
}

/// Returns the `Set-Cookie` value that starts or ends a session.
pub fn session_cookie(change: &SessionChange, base_url: &str) -> Option<HeaderValue> {
    let (value, lifetime) = match change {
        SessionChange::Start { token, lifetime } => (token.expose_secret(), *lifetime),
        SessionChange::End => ("", std::time::Duration::ZERO),
    };
    write_cookie(SESSION_COOKIE, value, "/", lifetime, base_url)
}

/// Returns the value of a cookie, if sent.
pub fn read_cookie(headers: &HeaderMap, name: &str) -> Option<SecretString> {
    let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = texts.flat_map(Cookie::split_parse).filter_map(Result::ok);
    cookies.find(|cookie| cookie.name() == name).map(|cookie| cookie.value().to_owned().into())
}

/// Returns the `Set-Cookie` value that sets a cookie, or clears it if its lifetime is zero. If the service uses
/// HTTPS, the cookie is `Secure`.
pub fn write_cookie(
    name: &'static str,
    value: &str,
    path: &'static str,
    lifetime: std::time::Duration,
    base_url: &str,
) -> Option<HeaderValue> {
    let cookie = Cookie::build((name, value))
        .path(path)
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(base_url.starts_with("https://"))
        .max_age(Duration::try_from(lifetime).unwrap_or(Duration::ZERO));
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
            session_cookie(&start, "https://ep.example").unwrap(),
            "ep_session=abc; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=60"
        );
        assert_eq!(
            session_cookie(&SessionChange::End, "http://127.0.0.1").unwrap(),
            "ep_session=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0"
        );
    }
}
