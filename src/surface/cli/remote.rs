//! Operations at a server, over its REST doors and event streams.

use std::time::Duration;

use anyhow::Context;
use ep_kernel::event::Progress;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tool::{Entry, Method, Rest};
use futures::StreamExt;
use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

/// A server of Ensemble Poll.
pub(super) struct Remote {
    base: Url,
    key: Option<String>,
    client: Client,
}

const CONNECT: Duration = Duration::from_secs(10);
/// Silence after which a stream is given up; keep-alives come every 15 s.
const SILENCE: Duration = Duration::from_mins(1);

impl Remote {
    pub(super) fn new(url: &str) -> anyhow::Result<Self> {
        let base: Url = url.trim_end_matches('/').parse().with_context(|| format!("{url} is not a URL"))?;
        let client =
            Client::builder().connect_timeout(CONNECT).read_timeout(SILENCE).tcp_nodelay(true).build()?;
        let key =
            std::env::var("EP_API_KEY").ok().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
        Ok(Self { base, key, client })
    }

    /// Carries out an operation: through its event stream where there is one and a key, so that steps can
    /// be told and no proxy cuts a long silence, else through its REST door.
    pub(super) async fn ask(
        &self,
        entry: &'static Entry,
        input: Value,
        steps: Option<UnboundedSender<Progress>>,
    ) -> Result<Value, Fault> {
        match (entry.spec.stream, entry.spec.rest) {
            (Some(stream), _) if self.key.is_some() => self.stream(stream, input, steps).await,
            (_, Some(rest)) => self.rest(rest, input).await,
            _ => {
                Err(Fault::new(Kind::UnknownRoute, format!("{} has no REST door; use MCP", entry.spec.name)))
            }
        }
    }

    async fn rest(&self, rest: Rest, input: Value) -> Result<Value, Fault> {
        let response = self.send(self.request(rest, input)?).await?;
        response.json().await.map_err(|error| unusable(&error))
    }

    async fn stream(
        &self,
        rest: Rest,
        input: Value,
        steps: Option<UnboundedSender<Progress>>,
    ) -> Result<Value, Fault> {
        let response = self.send(self.request(rest, input)?).await?;
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or("");
        if !kind.starts_with("text/event-stream") {
            return response.json().await.map_err(|error| unusable(&error));
        }
        let mut bytes = response.bytes_stream();
        let mut events = Events::default();
        while let Some(chunk) = bytes.next().await {
            for (event, data) in events.take(&chunk.map_err(|error| unusable(&error))?) {
                let data: Value = serde_json::from_str(&data).map_err(Fault::internal)?;
                match event.as_str() {
                    "complete" => return Ok(data),
                    "error" => return Err(from_problem(&data)),
                    name => {
                        if let (Some(steps), Some(name)) = (&steps, known(name)) {
                            drop(steps.send(Progress {
                                event: name,
                                id: 0,
                                data,
                                done: 0,
                                total: 0,
                                message: String::new(),
                            }));
                        }
                    }
                }
            }
        }
        Err(Fault::new(
            Kind::Unavailable,
            "the server closed the stream before the poll ended; ask for the result later",
        ))
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
                request.query(
                    &members.iter().map(|(name, value)| (name.as_str(), plain(value))).collect::<Vec<_>>(),
                )
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
            Fault::new(Kind::Unavailable, format!("{} cannot be reached; is the server running?", self.base))
                .caused_by(error)
        })?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let problem: Value = response.json().await.unwrap_or_default();
        if problem.get("code").is_some() {
            return Err(from_problem(&problem));
        }
        Err(Fault::new(
            Kind::Unavailable,
            format!("{} answered {status}; is it a server of Ensemble Poll?", self.base),
        ))
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn unusable(error: &reqwest::Error) -> Fault {
    Fault::new(Kind::Unavailable, "the server's answer broke off or is not JSON").caused_by(error.to_string())
}

/// The fault that a server showed as problem details.
fn from_problem(problem: &Value) -> Fault {
    let text = |name: &str| problem.get(name).and_then(Value::as_str).unwrap_or("");
    Fault::new(Kind::from_code(text("code")).unwrap_or(Kind::Internal), text("detail"))
}

fn known(event: &str) -> Option<&'static str> {
    ["started", "vote"].into_iter().find(|name| *name == event)
}

/// Cuts a stream of bytes into server-sent events.
#[derive(Default)]
struct Events {
    rest: Vec<u8>,
}

impl Events {
    fn take(&mut self, chunk: &[u8]) -> Vec<(String, String)> {
        self.rest.extend_from_slice(chunk);
        let mut events = Vec::new();
        while let Some(end) = self.rest.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = self.rest.drain(..end + 2).collect();
            let block = String::from_utf8_lossy(&block).into_owned();
            let field = |name: &str| {
                let lines = block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                lines.map(|value| value.strip_prefix(' ').unwrap_or(value)).collect::<Vec<_>>().join("\n")
            };
            let (event, data) = (field("event"), field("data"));
            if !data.is_empty() {
                events.push((event, data));
            }
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_any_cut() {
        let stream =
            b": keep-alive\n\nevent: started\nid: 0\ndata: {\"a\":1}\n\nevent: complete\ndata: {}\n\n";
        for cut in 0..stream.len() {
            let mut events = Events::default();
            let mut seen = events.take(&stream[..cut]);
            seen.extend(events.take(&stream[cut..]));
            assert_eq!(
                seen,
                [("started".into(), "{\"a\":1}".into()), ("complete".to_owned(), "{}".to_owned())]
            );
        }
    }
}
