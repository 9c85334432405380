//! The URL of an upstream, and its HTTP client.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use secrecy::ExposeSecret;

use crate::config::{SetupError, UpstreamConfig};
use crate::decision_rules::Dialect;

/// The base URL of an upstream, and the headers of every request to it.
pub(crate) struct Endpoint {
    base: Url,
    /// The URL without credentials, which identifies the upstream in the database.
    pub(crate) name: Arc<str>,
    /// Host and port, for metrics.
    pub(crate) label: Arc<str>,
    pub(crate) headers: HeaderMap,
    /// The API key, as the value of a header.
    api_key: Option<HeaderValue>,
    /// True if the upstream is OpenRouter, which accepts additional headers and parameters.
    pub(crate) is_openrouter: bool,
}

/// The URL of a resource that requests are posted to, and their headers.
pub(crate) struct Route {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
}

impl Endpoint {
    pub(crate) fn new(config: &UpstreamConfig) -> Result<Self, SetupError> {
        let text = config.base_url.trim().trim_end_matches('/');
        let mut base = Url::parse(text).map_err(|_| SetupError::BaseUrl("it must be an absolute URL"))?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(SetupError::BaseUrl("it must begin with http:// or https:// and name a host"));
        }
        base.set_query(None);
        base.set_fragment(None);
        let mut without_credentials = base.clone();
        // Both calls fail only for URLs without a host.
        let _ = without_credentials.set_username("");
        let _ = without_credentials.set_password(None);
        let name: Arc<str> = without_credentials.as_str().trim_end_matches('/').into();
        if config.api_key.is_some() {
            base = without_credentials;
        }
        let host = base.host_str().unwrap_or_default();
        let label: Arc<str> =
            base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")).into();
        let is_openrouter = host == "openrouter.ai" || host.ends_with(".openrouter.ai");
        let mut headers = HeaderMap::new();
        let key = config.api_key.as_ref().map(|key| key.expose_secret().trim());
        let api_key = key.map(|key| secret_header(key.to_owned())).transpose()?;
        if let Some(key) = key {
            headers.insert(AUTHORIZATION, secret_header(format!("Bearer {key}"))?);
        }
        if is_openrouter {
            headers.insert(
                HeaderName::from_static("x-openrouter-title"),
                HeaderValue::from_static("Ensemble Poll"),
            );
            if let Some(public) = &config.public_url {
                let value = HeaderValue::try_from(public).map_err(|_| SetupError::PublicUrl)?;
                headers.insert(HeaderName::from_static("http-referer"), value);
            }
        }
        Ok(Self { base, name, label, headers, api_key, is_openrouter })
    }

    /// Returns the URL of a resource, for example `/models`.
    pub(crate) fn url(&self, resource: &str) -> Result<Url, SetupError> {
        let base = self.base.as_str().trim_end_matches('/');
        Url::parse(&format!("{base}{resource}"))
            .map_err(|_| SetupError::BaseUrl("no path can be appended to it"))
    }

    /// Returns the URL of the model list. OpenRouter's lists decision models only on request.
    pub(crate) fn models(&self) -> Result<Url, SetupError> {
        let mut url = self.url("/models")?;
        if self.is_openrouter {
            url.set_query(Some("output_modalities=text,decisions"));
        }
        Ok(url)
    }

    /// Returns the route of votes by chat.
    pub(crate) fn chat(&self) -> Result<Route, SetupError> {
        Ok(self.route(self.url("/chat/completions")?))
    }

    /// Returns the route of votes by a decision API. OpenRouter and Gemini serve theirs beside the base URL.
    pub(crate) fn decisions(&self, dialect: Dialect) -> Result<Route, SetupError> {
        let base = self.base.as_str().trim_end_matches('/');
        let base = match dialect {
            Dialect::Gemini => base.strip_suffix("/openai").unwrap_or(base),
            Dialect::OpenAi | Dialect::SystemOne => base,
        };
        let root = ["/v1beta", "/v1"].into_iter().find_map(|version| base.strip_suffix(version));
        let root = root.unwrap_or(base);
        let url = match dialect {
            Dialect::OpenAi => format!("{base}/decisions"),
            Dialect::SystemOne if self.is_openrouter => format!("{root}/alpha/decisions"),
            Dialect::SystemOne => format!("{base}/systemone"),
            Dialect::Gemini => format!("{root}/v1beta/decisions"),
        };
        let url = Url::parse(&url).map_err(|_| SetupError::BaseUrl("no path can be appended to it"))?;
        let mut route = self.route(url);
        if dialect == Dialect::Gemini
            && let Some(key) = &self.api_key
        {
            // Google reads a bearer token as OAuth, and rejects a key there.
            route.headers.remove(AUTHORIZATION);
            route.headers.insert(HeaderName::from_static("x-goog-api-key"), key.clone());
        }
        Ok(route)
    }

    fn route(&self, url: Url) -> Route {
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Route { url, headers }
    }

    /// Returns true if the upstream is on this machine, so that no proxy is used.
    fn is_local(&self) -> bool {
        let host = self.base.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// Returns the value of a header that is not logged.
fn secret_header(text: String) -> Result<HeaderValue, SetupError> {
    let mut value = HeaderValue::try_from(text).map_err(|_| SetupError::ApiKey)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Builds a client for one upstream, sized for hundreds of calls in flight.
pub(crate) fn build_client(endpoint: &Endpoint, config: &UpstreamConfig) -> Result<Client, SetupError> {
    let client = config
        .http
        .builder()
        .connect_timeout(config.connect_timeout)
        .pool_max_idle_per_host(config.max_concurrent)
        .pool_idle_timeout(Duration::from_secs(90))
        .tcp_keepalive(Duration::from_secs(30))
        // Over TLS, the client uses HTTP/2 if the upstream offers it. All calls then share one connection,
        // and pings detect a dead one.
        .http2_keep_alive_interval(Duration::from_secs(20))
        .http2_keep_alive_timeout(Duration::from_secs(10))
        .http2_adaptive_window(true);
    let client = if endpoint.is_local() { client.no_proxy() } else { client };
    client.build().map_err(|error| SetupError::Client(Box::new(error)))
}

/// Formats a transport error and its causes for the log, without the URL.
pub(crate) fn describe(error: &reqwest::Error) -> String {
    let mut text = match () {
        () if error.is_timeout() => "timed out".to_owned(),
        () if error.is_connect() => "cannot connect".to_owned(),
        () => "connection broken".to_owned(),
    };
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(base_url: &str, api_key: Option<&str>) -> Result<Endpoint, SetupError> {
        let api_key = api_key.map(Into::into);
        Endpoint::new(&UpstreamConfig { base_url: base_url.to_owned(), api_key, ..UpstreamConfig::default() })
    }

    #[test]
    fn names_contain_no_credentials() {
        let plain = endpoint("http://me:pass@host:8000/v1/?key=1", None).unwrap();
        assert_eq!(&*plain.name, "http://host:8000/v1");
        assert_eq!(&*plain.label, "host:8000");
        assert_eq!(plain.url("/models").unwrap().as_str(), "http://me:pass@host:8000/v1/models");
        let keyed = endpoint("http://me:pass@host:8000/v1", Some("sk-1")).unwrap();
        assert_eq!(keyed.url("/models").unwrap().as_str(), "http://host:8000/v1/models");
        assert!(!format!("{:?}", keyed.headers).contains("sk-1"));
    }

    #[test]
    fn each_dialect_has_its_url_and_gemini_a_header_for_the_key() {
        let url =
            |base: &str, dialect| endpoint(base, None).unwrap().decisions(dialect).unwrap().url.to_string();
        let own = "http://127.0.0.1:8000/v1";
        assert_eq!(url(own, Dialect::OpenAi), "http://127.0.0.1:8000/v1/decisions");
        assert_eq!(url(own, Dialect::SystemOne), "http://127.0.0.1:8000/v1/systemone");
        assert_eq!(url(own, Dialect::Gemini), "http://127.0.0.1:8000/v1beta/decisions");
        let openrouter = "https://openrouter.ai/api/v1/";
        assert_eq!(url(openrouter, Dialect::SystemOne), "https://openrouter.ai/api/alpha/decisions");
        let google = "https://generativelanguage.googleapis.com/v1beta/openai";
        let decisions = "https://generativelanguage.googleapis.com/v1beta/decisions";
        assert_eq!(url(google, Dialect::Gemini), decisions);
        let route = endpoint(google, Some("key-1")).unwrap().decisions(Dialect::Gemini).unwrap();
        assert_eq!(route.headers["x-goog-api-key"], "key-1");
        assert!(
            !route.headers.contains_key(AUTHORIZATION) && !format!("{:?}", route.headers).contains("key-1")
        );
    }

    #[test]
    fn invalid_urls_are_rejected() {
        for bad in ["", "openrouter.ai", "ftp://host", "unix:/tmp/x"] {
            assert!(endpoint(bad, None).is_err(), "{bad}");
        }
        assert!(endpoint("http://host", Some("a\nb")).is_err());
        assert!(endpoint("https://openrouter.ai/api/v1", None).unwrap().is_openrouter);
        assert!(!endpoint("https://evilopenrouter.ai/api/v1", None).unwrap().is_openrouter);
    }

    #[test]
    fn openrouter_gets_attribution_headers() {
        let config = UpstreamConfig {
            base_url: "https://openrouter.ai/api/v1/".to_owned(),
            public_url: Some("https://poll.example".to_owned()),
            ..UpstreamConfig::default()
        };
        let headers = Endpoint::new(&config).unwrap().headers;
        assert_eq!(headers["http-referer"], "https://poll.example");
        assert_eq!(headers["x-openrouter-title"], "Ensemble Poll");
    }
}
