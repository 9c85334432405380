//! Calls operations on a server, over its REST bindings and event streams.

use std::time::Duration;

use ep_kernel::tool::Method;
use ep_kernel::{Entry, Fault, Kind, Progress, Rest};
use ep_labels::operations::{OnceReply, Operations};
use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::{Map, Value};
use tokio::sync::mpsc::Sender;

use super::event_stream::{broken_off, read_events};
use crate::config;

/// An Ensemble Poll server.
pub(super) struct Remote {
    base: Url,
    key: Option<String>,
    client: Client,
}

/// The header of a repeated reply.
const REPLAYED: &str = "idempotent-replayed";
const CONNECT: Duration = Duration::from_secs(10);
/// Maximum silence of a stream; keep-alives arrive every 15 s.
const SILENCE: Duration = Duration::from_mins(1);

impl Remote {
    pub(super) fn new(url: &str) -> anyhow::Result<Self> {
        let base = server_url(url)?;
        let client =
            Client::builder().connect_timeout(CONNECT).read_timeout(SILENCE).tcp_nodelay(true).build()?;
        let key = config::read_variable(&|name: &str| std::env::var(name).ok(), "EP_API_KEY")?;
        let key = key.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
        Ok(Self { base, key, client })
    }

    /// Calls an operation. With an event stream and a key, uses the stream, so that progress is shown and no proxy
    /// closes a silent connection; otherwise uses the REST binding.
    pub(super) async fn call_with_progress(
        &self,
        entry: &'static Entry,
        input: Value,
        steps: Option<Sender<Progress>>,
    ) -> Result<Value, Fault> {
        match (entry.spec.stream, entry.spec.rest) {
            (Some(stream), _) if self.key.is_some() => self.stream(stream, input, steps).await,
            (_, Some(rest)) => Ok(self.rest(rest, input, None).await?.value),
            _ => Err(Fault::new(
                Kind::UnknownRoute,
                format!("{} has no REST binding; use MCP", entry.spec.name),
            )),
        }
    }

    /// Returns the URL of the server.
    pub(super) fn url(&self) -> &str {
        self.base.as_str()
    }

    /// Returns the URL of the server for a message, without credentials.
    fn shown(&self) -> String {
        let mut shown = self.base.clone();
        // Both calls fail only for URLs without a host.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        shown.into()
    }

    /// True if calls are made with a key.
    pub(super) const fn has_key(&self) -> bool {
        self.key.is_some()
    }

    async fn rest(&self, rest: Rest, input: Value, key: Option<&str>) -> Result<OnceReply, Fault> {
        let request = self.request(rest, input)?;
        let response = self.send(match key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        });
        let response = response.await?;
        let is_replayed = response.headers().contains_key(REPLAYED);
        if rest.media_type != "application/json" {
            let text = response.text().await.map_err(|error| broken_off(&error))?;
            return Ok(OnceReply { value: Value::String(text), is_replayed });
        }
        let body: Value = response.json().await.map_err(|error| broken_off(&error))?;
        let value = match rest.field {
            Some(field) => Value::Object([(field.to_owned(), body)].into_iter().collect()),
            None => body,
        };
        Ok(OnceReply { value, is_replayed })
    }

    async fn stream(
        &self,
        rest: Rest,
        input: Value,
        steps: Option<Sender<Progress>>,
    ) -> Result<Value, Fault> {
        let response = self.send(self.request(rest, input)?).await?;
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or("");
        if !kind.starts_with("text/event-stream") {
            return response.json().await.map_err(|error| broken_off(&error));
        }
        read_events(response.bytes_stream(), |event, data| {
            if let Some(steps) = &steps {
                let (id, done, total, message) = (0, 0, 0, String::new());
                drop(steps.try_send(Progress { event, id, data, done, total, message }));
            }
        })
        .await
    }

    fn request(&self, rest: Rest, input: Value) -> Result<RequestBuilder, Fault> {
        let Value::Object(mut members) = input else {
            return Err(Fault::invalid("", "the input must be a JSON object"));
        };
        let mut path = rest.path.to_owned();
        let names: Vec<String> = members.keys().cloned().collect();
        for name in names {
            let hole = format!("{{{name}}}");
            if path.contains(&hole) {
                let value = members.remove(&name).map(|value| plain(&value)).unwrap_or_default();
                path = path.replace(
                    &hole,
                    &url::form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>(),
                );
            }
        }
        let url = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        let request = match rest.method {
            Method::Post => self.client.post(url).json(&Value::Object(members)),
            other => {
                let request =
                    if other == Method::Get { self.client.get(url) } else { self.client.delete(url) };
                request.query(&query(&members))
            }
        };
        let request =
            request.header("accept", "application/json, text/event-stream, application/problem+json");
        Ok(match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        })
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Fault> {
        let response = request.send().await.map_err(|error| {
            Fault::new(Kind::Unavailable, format!("{} is unreachable; is the server running?", self.shown()))
                .caused_by(error)
        })?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let wait = retry_after(&response);
        let problem: Value = response.json().await.unwrap_or_default();
        let fault = if problem.get("code").is_some() {
            Fault::from_problem(&problem)
        } else {
            let text = format!("{} returned {status}; is it an Ensemble Poll server?", self.shown());
            Fault::new(Kind::Unavailable, text)
        };
        Err(match wait {
            Some(wait) => fault.retry_after(wait),
            None => fault,
        })
    }
}

impl Operations for Remote {
    async fn call(&self, operation: &'static Entry, input: Value) -> Result<Value, Fault> {
        self.call_with_progress(operation, input, None).await
    }

    /// The reference is an Idempotency-Key.
    async fn call_once(
        &self,
        operation: &'static Entry,
        input: Value,
        reference: &str,
    ) -> Result<OnceReply, Fault> {
        let rest = operation.spec.rest.ok_or_else(|| Fault::internal("the operation has no REST binding"))?;
        self.rest(rest, input, Some(reference)).await
    }
}

/// Parses the URL of a server. A message does not show a value with credentials.
fn server_url(given: &str) -> Result<Url, Fault> {
    let shown = if given.contains('@') { "the URL" } else { given };
    let trimmed = given.trim_end_matches('/');
    let parsed = trimmed.parse::<Url>();
    if let Ok(url) = &parsed
        && matches!(url.scheme(), "http" | "https")
        && url.has_host()
    {
        return Ok(url.clone());
    }
    let with_scheme = format!("http://{trimmed}").parse::<Url>();
    let advice = match with_scheme {
        Ok(_) if !trimmed.contains("://") && !trimmed.contains('@') => format!("write http://{trimmed}"),
        _ => "it must begin with http:// or https:// and have a host".to_owned(),
    };
    Err(Fault::new(Kind::InvalidInput, format!("--server: {shown} is not the URL of a server; {advice}")))
}

/// Returns the time that a server asks to wait before a retry, in seconds (RFC 9110, section 10.2.3).
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Converts fields to a query; a list repeats its name per element.
fn query(members: &Map<String, Value>) -> Vec<(&str, String)> {
    let pairs = members.iter().flat_map(|(name, value)| {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        values.iter().map(move |value| (name.as_str(), plain(value)))
    });
    pairs.collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
