//! Callers of every surface, who retry interrupted requests until they get a response.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::lane::Lane;
use crate::harness::{Client, Reply, question};

/// The time that a caller waits for a response or event before it tries another replica; and the maximum after
/// missing responses.
const PATIENCE: Duration = Duration::from_secs(4);
const LONGEST_PATIENCE: Duration = Duration::from_secs(30);

/// The information that a caller received about its poll.
#[derive(Clone)]
pub struct Observed {
    /// The number in its question.
    pub case: u64,
    pub poll: String,
    /// True if the caller requested cancellation.
    pub asked_to_cancel: bool,
    /// The number of responses if the service confirmed the cancellation.
    pub cancelled: Option<Value>,
    /// The path of the poll's notification. Polls of batches have none.
    pub notified_at: String,
    /// The batch that asked the poll.
    pub batch: Option<String>,
    /// The path of the task's push notification.
    pub pushed_at: Option<String>,
}

/// Rows of a batch.
const ROWS: u64 = 3;
/// The distance of the numbers in the questions of a batch. No lane has as many callers.
const NEXT_ROW: u64 = 1_000_000;

/// Opens one poll, or the polls of a batch, in one of the available ways, and follows them to their end.
pub async fn call(lane: Arc<Lane>, case: u64) -> Vec<Observed> {
    let caller = Caller { lane: &lane, case };
    let observed = match case % 7 {
        0 => vec![caller.waits().await],
        1 => vec![caller.streams().await],
        2 => vec![caller.cancels().await],
        3 => vec![caller.asks_for_a_task().await],
        4 => vec![caller.streams_as_an_agent().await],
        5 => vec![caller.sends_as_an_agent().await],
        _ => caller.creates_a_batch().await,
    };
    lane.calling.lock().unwrap().remove(&case);
    observed
}

struct Caller<'a> {
    lane: &'a Lane,
    case: u64,
}

impl Caller<'_> {
    fn observed(&self, poll: &str) -> Observed {
        Observed {
            case: self.case,
            poll: poll.to_owned(),
            asked_to_cancel: false,
            cancelled: None,
            notified_at: "/all".to_owned(),
            batch: None,
            pushed_at: None,
        }
    }

    fn question(&self, members: Value) -> Value {
        let pace = if self.lane.dice.below(2) == 0 { "thrifty" } else { "fast" };
        let mut asked = question(json!({ "confidence_threshold": 1, "pace": pace }));
        asked["question"] = json!(format!("Which of the two is the better one in case {}?", self.case));
        asked.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        asked
    }

    /// Records the pending request, to be shown if it never completes.
    fn note(&self, what: String) {
        self.lane.calling.lock().unwrap().insert(self.case, what);
    }

    /// Repeats a request until it gets a response that does not ask for a retry.
    async fn answered(
        &self,
        is_answer: impl Fn(&Reply) -> bool,
        request: impl Fn(&Client) -> RequestBuilder,
    ) -> Reply {
        let mut patience = PATIENCE;
        loop {
            let client = self.lane.client();
            let sent = async {
                let response = request(&client).send().await?;
                let (status, headers) = (response.status().as_u16(), response.headers().clone());
                Ok::<_, reqwest::Error>(Reply { status, headers, text: response.text().await? })
            };
            match timeout(patience, sent).await {
                Ok(Ok(reply)) if is_answer(&reply) => return reply,
                Ok(Ok(reply)) => self.note(format!("{} {}", reply.status, reply.text)),
                Ok(Err(error)) => self.note(error.to_string()),
                Err(_) => {
                    self.note(format!("no answer within {patience:?}"));
                    patience = (patience * 2).min(LONGEST_PATIENCE);
                }
            }
            self.lane.dice.pause(50, 250).await;
        }
    }

    /// Returns the response of a REST operation.
    async fn rest(&self, status: u16, request: impl Fn(&Client) -> RequestBuilder) -> Reply {
        let reply =
            self.answered(|reply| reply.status < 500 && ![409, 429].contains(&reply.status), request).await;
        assert_eq!(reply.status, status, "case {}: {}", self.case, reply.text);
        reply
    }

    /// Returns the result of a JSON-RPC call, or `None` if it has this error code.
    async fn rpc(&self, error: i64, request: impl Fn(&Client) -> RequestBuilder) -> Option<Value> {
        let is_answer = |reply: &Reply| {
            reply.status == 200 && {
                let body = reply.json();
                body.get("result").is_some() || body["error"]["code"] == error
            }
        };
        self.answered(is_answer, request).await.json().get("result").cloned()
    }

    /// Starts a poll twice without waiting for it; both requests return the same poll.
    async fn start(&self, members: Value) -> String {
        let key = format!("start-{}", self.case);
        let body = self.question(members);
        let start = |client: &Client| {
            client.request(Method::POST, "/api/polls").header("idempotency-key", &key).json(&body)
        };
        let poll = self.rest(202, start).await.json()["poll_id"].clone();
        assert_eq!(self.rest(202, start).await.json()["poll_id"], poll);
        poll.as_str().unwrap().to_owned()
    }

    async fn waits(&self) -> Observed {
        let key = format!("wait-{}", self.case);
        let body = self.question(json!({}));
        let ask = |client: &Client| {
            client.request(Method::POST, "/api/poll").header("idempotency-key", &key).json(&body)
        };
        let poll = self.rest(200, ask).await.json();
        assert_eq!(self.rest(200, ask).await.json()["poll_id"], poll["poll_id"]);
        self.observed(poll["poll_id"].as_str().unwrap())
    }

    async fn streams(&self) -> Observed {
        let notified_at = format!("/own/{}", self.case);
        let url = format!("{}{notified_at}", self.lane.receiver.url);
        let poll = self.start(json!({ "notify_url": url })).await;
        self.watch(&poll).await;
        Observed { notified_at, ..self.observed(&poll) }
    }

    async fn cancels(&self) -> Observed {
        let poll = self.start(json!({})).await;
        let lane = self.lane;
        lane.dice.pause(0, 400).await;
        let path = format!("/api/polls/{poll}/cancel");
        let is_answer = |reply: &Reply| reply.status < 500;
        let cancel = |client: &Client| client.request(Method::POST, &path).json(&json!({}));
        let reply = self.answered(is_answer, cancel).await;
        assert!([200, 202, 409].contains(&reply.status), "{} {}", reply.status, reply.text);
        let cancelled =
            (reply.status == 200).then(|| reply.json()).filter(|extra| extra["cancelled"] == true);
        self.watch(&poll).await;
        Observed { asked_to_cancel: true, cancelled, ..self.observed(&poll) }
    }

    /// Creates a batch twice; both requests return the same batch. Every row has one result, and so one poll.
    async fn creates_a_batch(&self) -> Vec<Observed> {
        let case_of = |row: u64| self.case + row * NEXT_ROW;
        let row = |row: u64| {
            let mut asked = question(json!({}));
            asked["question"] =
                json!(format!("Which of the two is the better one in case {}?", case_of(row)));
            json!({ "question": asked["question"], "options": asked["options"] })
        };
        let rows: Vec<Value> = (1..=ROWS).map(row).collect();
        let (key, body) =
            (format!("batch-{}", self.case), json!({ "rows": rows, "confidence_threshold": 1 }));
        let create = |client: &Client| {
            client.request(Method::POST, "/api/batches").header("idempotency-key", &key).json(&body)
        };
        let batch = self.rest(202, create).await.json()["batch_id"].as_str().unwrap().to_owned();
        assert_eq!(self.rest(202, create).await.json()["batch_id"], batch);
        let path = format!("/api/batches/{batch}");
        let state = loop {
            let state = self.rest(200, |client| client.request(Method::GET, &path)).await.json();
            if !state["ended_at"].is_null() {
                break state;
            }
            self.note(format!("{batch}: {} {}", state["status"], state["rows"]));
            self.lane.dice.pause(50, 200).await;
        };
        let all = json!({ "total": ROWS, "completed": ROWS, "failed": 0 });
        assert_eq!((&state["status"], &state["rows"]), (&json!("completed"), &all), "{state}");
        let path = format!("{path}/results");
        let found = self.rest(200, |client| client.request(Method::GET, &path)).await.json();
        let results = found["results"].as_array().unwrap();
        assert_eq!(results.len() as u64, ROWS, "{found}");
        let observed = results.iter().map(|result| {
            let row: u64 = result["custom_id"].as_str().unwrap().parse().unwrap();
            let poll = result["response"]["body"]["poll_id"].as_str().unwrap();
            Observed { case: case_of(row), batch: Some(batch.clone()), ..self.observed(poll) }
        });
        observed.collect()
    }

    /// Watches a poll to its end and reconnects after the last received vote.
    async fn watch(&self, poll: &str) {
        let path = format!("/api/polls/{poll}/events");
        let mut seen: Vec<Value> = Vec::new();
        loop {
            let request = self.lane.client().request(Method::GET, &path);
            let request = match seen.len() {
                0 => request,
                last => request.header("last-event-id", last.to_string()),
            };
            self.note(format!("watches {poll} after {}", seen.len()));
            if let Some(mut events) = Events::of(request).await {
                while let Some((name, event)) = events.next().await {
                    match name.as_str() {
                        "started" => assert!(seen.is_empty(), "{poll} has started twice"),
                        "vote" => {
                            assert_eq!(event["seq"], seen.len() + 1, "{poll}: {event}");
                            let model = event["model_id"].as_str().unwrap();
                            self.lane.recorded([(poll.to_owned(), model.to_owned())], Instant::now());
                            seen.push(event["model_id"].clone());
                        }
                        "complete" => {
                            let votes = event["votes"].as_array().unwrap().iter();
                            let all: Vec<Value> = votes.map(|vote| vote["model_id"].clone()).collect();
                            assert_eq!(all, seen, "{poll}");
                            return;
                        }
                        _ => self.note(format!("watches {poll}: {event}")),
                    }
                }
            }
            self.lane.dice.pause(20, 120).await;
        }
    }

    /// Polls over MCP as a client that supports tasks.
    async fn asks_for_a_task(&self) -> Observed {
        let arguments = self.question(json!({ "idempotency_key": format!("task-{}", self.case) }));
        let asked = json!({ "name": "poll_question", "arguments": arguments });
        let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        let request = |client: &Client, method: &str, name: &str, params: &Value| {
            client.mcp_request("/api/mcp", tasks.clone(), method, Some(name), params.clone())
        };
        let id = loop {
            let asked = |client: &Client| request(client, "tools/call", "poll_question", &asked);
            let result = self.rpc(0, asked).await.unwrap();
            let id = result["taskId"].as_str().or_else(|| result["structuredContent"]["poll_id"].as_str());
            if let Some(id) = id {
                break id.to_owned();
            }
            self.note(result.to_string());
            self.lane.dice.pause(20, 120).await;
        };
        let named = json!({ "taskId": id });
        let asked_to_cancel = self.lane.dice.below(3) == 0;
        if asked_to_cancel {
            self.rpc(0, |client| request(client, "tasks/cancel", &id, &named)).await;
        }
        let status = loop {
            let task = self.rpc(0, |client| request(client, "tasks/get", &id, &named)).await.unwrap();
            if task["status"] != "working" {
                break task["status"].clone();
            }
            self.note(task.to_string());
            self.lane.dice.pause(50, 200).await;
        };
        let cancelled = (status == "cancelled").then_some(Value::Null);
        assert!(cancelled.is_some() && asked_to_cancel || status == "completed", "{id}: {status}");
        Observed { asked_to_cancel, cancelled, ..self.observed(&id) }
    }

    /// A message that asks for a push notification.
    fn message(&self, pushed_at: &str) -> Value {
        let message = json!({
            "messageId": format!("m-{}", self.case),
            "role": "ROLE_USER",
            "parts": [{ "data": self.question(json!({ "pace": "thrifty" })) }]
        });
        let push = json!({ "url": format!("{}{pushed_at}", self.lane.receiver.url) });
        json!({
            "message": message,
            "configuration": { "returnImmediately": true, "taskPushNotificationConfig": push }
        })
    }

    /// Polls over A2A with a stream and resubscribes to it.
    async fn streams_as_an_agent(&self) -> Observed {
        let pushed_at = format!("/push/{}", self.case);
        let message = self.message(&pushed_at);
        let mut task: Option<String> = None;
        loop {
            let by_id = json!({ "id": task });
            let (method, params) = match (&task, self.lane.dice.below(2)) {
                (None, _) => ("SendStreamingMessage", &message),
                (Some(_), 0) => ("SubscribeToTask", &by_id),
                (Some(_), _) => ("tasks/resubscribe", &by_id),
            };
            self.note(format!("{method} {task:?}"));
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let client = self.lane.client();
            let request = client.request(Method::POST, "/api/a2a").header("accept", "text/event-stream");
            if let Some(mut events) = Events::of(request.json(&body)).await {
                while let Some((_, frame)) = events.next().await {
                    if let Some(error) = frame.get("error") {
                        self.note(format!("{method}: {error}"));
                    }
                    let frame = &frame["result"];
                    let shown = frame.get("task").unwrap_or(frame);
                    if let (None, Some(id)) = (&task, shown["id"].as_str()) {
                        task = Some(id.to_owned());
                    }
                }
            }
            if let Some(id) = &task
                && let Some(state) = self.agent_task(id).await
            {
                assert_eq!(state, "TASK_STATE_COMPLETED");
                return Observed { pushed_at: Some(pushed_at), ..self.observed(id) };
            }
        }
    }

    async fn sends_as_an_agent(&self) -> Observed {
        let pushed_at = format!("/push/{}", self.case);
        let message = self.message(&pushed_at);
        let call = |client: &Client, method: &str, params: &Value| {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            client.request(Method::POST, "/api/a2a").json(&body)
        };
        let sent = self.rpc(0, |client| call(client, "SendMessage", &message)).await.unwrap();
        let id = sent["task"]["id"].as_str().unwrap_or_else(|| panic!("{sent}")).to_owned();
        let asked_to_cancel = self.lane.dice.below(3) == 0;
        if asked_to_cancel {
            // -32002: the task has ended.
            self.rpc(-32002, |client| call(client, "CancelTask", &json!({ "id": id }))).await;
        }
        let state = loop {
            if let Some(state) = self.agent_task(&id).await {
                break state;
            }
            self.lane.dice.pause(50, 200).await;
        };
        let cancelled = (state == "TASK_STATE_CANCELED").then_some(Value::Null);
        assert!(cancelled.is_some() && asked_to_cancel || state == "TASK_STATE_COMPLETED", "{id}: {state}");
        Observed { asked_to_cancel, cancelled, pushed_at: Some(pushed_at), ..self.observed(&id) }
    }

    /// Returns the state of a task that has ended.
    async fn agent_task(&self, id: &str) -> Option<String> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": id } });
        let get = |client: &Client| client.request(Method::POST, "/api/a2a").json(&body);
        let task = self.rpc(0, get).await.unwrap();
        self.note(task["status"].to_string());
        let state = task["status"]["state"].as_str().unwrap();
        (state != "TASK_STATE_WORKING").then(|| state.to_owned())
    }
}

/// The events of a stream, until it ends or is interrupted.
struct Events {
    body: BoxStream<'static, reqwest::Result<Vec<u8>>>,
    read: Vec<u8>,
}

impl Events {
    /// Opens a stream; `None` if it is not available now.
    async fn of(request: RequestBuilder) -> Option<Self> {
        let response: Response = timeout(PATIENCE, request.send()).await.ok()?.ok()?;
        let status = response.status().as_u16();
        let is_stream = response.headers()["content-type"] == "text/event-stream";
        assert!(status == 200 || status >= 500 || status == 409, "{status}: {:?}", response.text().await);
        let body = response.bytes_stream().map(|bytes| bytes.map(|bytes| bytes.to_vec())).boxed();
        (status == 200 && is_stream).then_some(Self { body, read: Vec::new() })
    }

    /// Returns name and data of the next event.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(end) = self.read.windows(2).position(|pair| pair == b"\n\n") {
                let event = String::from_utf8(self.read.drain(..end + 2).collect()).unwrap();
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                if let Some(data) = field("data: ") {
                    let name = field("event: ").unwrap_or_default().to_owned();
                    return Some((name, serde_json::from_str(data).unwrap()));
                }
                continue;
            }
            let bytes = timeout(PATIENCE, self.body.next()).await.ok()??.ok()?;
            // A part can end inside of a character.
            self.read.extend(bytes);
        }
    }
}
