//! What is no operation: protocols, documents, pages, and what browsers and other services are sent through.

use std::collections::BTreeMap;

use ep_kernel::method::Method;
use serde_json::{Value, json};

use super::super::{DOCUMENTS, Document};
use super::headers::{CACHING, LOCATION, SET_COOKIE};
use super::operation::{Body, Part};
use super::parameters::{self, IDEMPOTENCY_KEY, IF_NONE_MATCH};
use super::pieces::Pieces;
use super::schemas::Side;
use super::success::{EVENTS, Success, any_of};
use crate::surface::a2a::{HttpOperation, MAX_ID};
use crate::surface::mcp::TOOLSETS;
use crate::surface::route::{Protocol, Route, RouteKind};
use crate::surface::web::{self, DepositReceipt, DepositRequest, PaymentRequired, QueryMember};

/// The media type of A2A's HTTP+JSON binding.
pub(super) const A2A_JSON: &str = "application/a2a+json";
const JSON: &str = "application/json";

/// Describes a route that is no operation.
pub(super) fn part(pieces: &mut Pieces<'_>, route: &Route) -> Part {
    match route.kind {
        RouteKind::Document(place) => document(pieces, route, &DOCUMENTS[place]),
        RouteKind::Mirror(_) => Part {
            parameters: vec![parameters::header(IF_NONE_MATCH)],
            successes: vec![ok(vec![(JSON, json!({ "type": "object" }))], &CACHING), not_modified()],
            ..plain(route)
        },
        RouteKind::Redirect(_) => Part {
            parameters: web::query(route.name).iter().map(in_query).collect(),
            successes: vec![
                Success {
                    status: 302,
                    description: "The browser goes on to another address.".to_owned(),
                    headers: vec![LOCATION, SET_COOKIE],
                    content: Vec::new(),
                },
                ok(vec![(HTML, json!({ "type": "string" }))], &[]),
            ]
            .into_iter()
            .take(if route.name == web::LOGOUT { 2 } else { 1 })
            .collect(),
            ..plain(route)
        },
        RouteKind::Webhook(_) => Part {
            parameters: vec![json!({
                "name": "Stripe-Signature",
                "in": "header",
                "required": true,
                "description": "Stripe's signature of the body.",
                "schema": { "type": "string" },
            })],
            body: Some(object(json!({ "type": "object", "description": "An event, as Stripe sends it." }))),
            successes: vec![ok(
                vec![(
                    JSON,
                    json!({ "type": "object", "required": ["received"], "properties": { "received": { "type": "boolean" } } }),
                )],
                &[],
            )],
            ..plain(route)
        },
        RouteKind::Page(_) => {
            let page = DOCUMENTS.iter().find(|document| document.name == route.name);
            page.map_or_else(|| own_page(route), |page| document(pieces, route, page))
        }
        RouteKind::Probe(_) => {
            let schema = json!({ "type": "object", "required": ["status"], "properties": { "status": { "type": "string" } } });
            Part { successes: vec![ok(vec![(JSON, schema)], &[])], ..plain(route) }
        }
        RouteKind::Payment(_) => payment(pieces, route),
        RouteKind::Protocol(protocol) => self::protocol(pieces, route, protocol),
        RouteKind::Operation(..) | RouteKind::Stream(..) | RouteKind::Form(_) => plain(route),
    }
}

const HTML: &str = "text/html";

/// The schema of what stands in a route's path where it has this placeholder.
pub(super) fn placeholder(route: &Route, name: &str) -> Value {
    match route.kind {
        RouteKind::Document(place) => {
            let mirrors = DOCUMENTS[place].mirrors.iter().filter(|mirrors| mirrors.path == route.path);
            let mut values = mirrors.flat_map(|mirrors| mirrors.values).filter(|(known, _)| *known == name);
            // Clients encode what they send: values that are encoded already are left out.
            let values = values.next().into_iter().flat_map(|(_, values)| *values);
            let values: Vec<&&str> = values.filter(|value| !value.contains('%')).collect();
            json!({ "type": "string", "enum": values })
        }
        RouteKind::Protocol(Protocol::Mcp) => {
            let name = TOOLSETS.join("|");
            json!({ "type": "string", "pattern": format!("^({name})(,({name}))*$") })
        }
        RouteKind::Protocol(_) => {
            json!({ "type": "string", "minLength": 1, "maxLength": MAX_ID, "pattern": "^[^\\u0000-\\u001F\\u007F-\\u009F]+$" })
        }
        _ => json!({ "type": "string", "minLength": 1 }),
    }
}

/// What every route says of itself.
fn plain(route: &Route) -> Part {
    let title = route.summary.split(['.', ':', ',']).next().unwrap_or_default();
    Part {
        title: title.to_owned(),
        description: route.summary.to_string(),
        parameters: Vec::new(),
        body: None,
        successes: Vec::new(),
        own_errors: BTreeMap::new(),
    }
}

fn ok(content: Vec<(&str, Value)>, headers: &[&'static str]) -> Success {
    Success {
        status: 200,
        description: "The answer.".to_owned(),
        headers: headers.to_vec(),
        content: content.into_iter().map(|(kind, schema)| (kind.to_owned(), schema)).collect(),
    }
}

/// The response to a caller who has it already.
pub(super) fn not_modified() -> Success {
    let description = "The caller has it already.".to_owned();
    Success { status: 304, description, headers: CACHING.to_vec(), content: Vec::new() }
}

const fn object(schema: Value) -> Body {
    Body { schema, example: None, required: true }
}

fn in_query(member: &QueryMember) -> Value {
    let QueryMember { name, description, required, schema } = member;
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let mut described = json!({ "name": name, "in": "query", "description": description, "schema": schema });
    if *required {
        described["required"] = true.into();
    }
    described
}

/// A page that is written for each request.
fn own_page(route: &Route) -> Part {
    let schema = |kind: &str| json!({ "type": if kind == JSON { "object" } else { "string" } });
    let content = web::media_types(route.name).iter().map(|kind| (*kind, schema(kind)));
    let query = web::query(route.name).iter().map(in_query);
    if web::leads_on(route.name) {
        let elsewhere = Success {
            status: 303,
            description: "The browser goes on: who is not signed in to the page where one signs in."
                .to_owned(),
            headers: Vec::new(),
            content: Vec::new(),
        };
        let successes = vec![ok(content.collect(), &[]), elsewhere];
        return Part { parameters: query.collect(), successes, ..plain(route) };
    }
    Part {
        parameters: query.chain([parameters::header(IF_NONE_MATCH)]).collect(),
        successes: vec![ok(content.collect(), &CACHING), not_modified()],
        ..plain(route)
    }
}

fn document(pieces: &mut Pieces<'_>, route: &Route, document: &Document) -> Part {
    let content = document.forms.iter().map(|form| {
        let kind = form.media_type.split(';').next().unwrap_or_default();
        let schema = match form.schema {
            Some(schema) => pieces.schema(&schema(), Side::Response),
            None if kind.ends_with("json") => json!({ "type": "object" }),
            None => json!({ "type": "string" }),
        };
        (kind, schema)
    });
    let found = Success { description: document.summary.to_owned(), ..ok(content.collect(), &CACHING) };
    let successes = vec![found, not_modified()];
    Part { parameters: vec![parameters::header(IF_NONE_MATCH)], successes, ..plain(route) }
}

fn payment(pieces: &mut Pieces<'_>, route: &Route) -> Part {
    let request = ep_kernel::schema::request::<DepositRequest>();
    let schema = pieces.schema(&request, Side::Request);
    let receipt = pieces.response::<DepositReceipt>();
    let required = pieces.response::<PaymentRequired>();
    let header = |name: &str, description: &str| json!({ "name": name, "in": "header", "description": description, "schema": { "type": "string" } });
    let offer = Success {
        status: 402,
        description: "What has to be paid, or why a payment was refused.".to_owned(),
        headers: Vec::new(),
        content: vec![(JSON.to_owned(), required)],
    };
    Part {
        parameters: vec![
            parameters::idempotency_key(
                "Returned with the response. A repeated payment is recognised by the payment itself, so that it is \
                 credited once under any key.",
            ),
            header("X-Payment", "The signed payment, in base64 (x402, version 1)."),
            header("PAYMENT-SIGNATURE", "The same (x402, version 2)."),
        ],
        body: Some(Body { schema, example: Some(json!({ "amount_usd": 5 })), required: true }),
        successes: vec![ok(vec![(JSON, receipt)], &[])],
        own_errors: BTreeMap::from([(402, offer.into_value())]),
        ..plain(route)
    }
}

fn protocol(pieces: &mut Pieces<'_>, route: &Route, protocol: Protocol) -> Part {
    let asks = match protocol {
        Protocol::Mcp | Protocol::A2a | Protocol::A2aTasksSend => true,
        Protocol::A2aHttp { operation, .. } => {
            matches!(operation, HttpOperation::Send | HttpOperation::Stream)
        }
    };
    // The protocols refuse a malformed key in their own form of an error, with status 200.
    let key = json!({
        "name": IDEMPOTENCY_KEY,
        "in": "header",
        "description": "The same call under the same key runs once: a repetition gets the response of the first one.",
        "schema": { "type": "string" },
    });
    let parameters = if asks { vec![key] } else { Vec::new() };
    let base = Part { parameters, ..plain(route) };
    match protocol {
        Protocol::Mcp | Protocol::A2a => {
            let request = pieces.schemas.add(&rpc_request(), Side::Request);
            let response = pieces.schemas.add(&rpc_response(), Side::Response);
            let mut successes = vec![ok(vec![(JSON, response), (EVENTS, message_event())], &[])];
            if protocol == Protocol::Mcp {
                successes.push(Success {
                    status: 202,
                    description: "A notification was taken.".to_owned(),
                    headers: Vec::new(),
                    content: Vec::new(),
                });
            }
            Part { body: Some(object(request)), successes, ..base }
        }
        Protocol::A2aTasksSend => {
            let envelope = pieces.schemas.add(&rpc_request(), Side::Request);
            let message = pieces.schemas.add(&agent_message(), Side::Request);
            Part {
                body: Some(object(any_of([message, envelope]))),
                successes: vec![ok(vec![(JSON, json!({ "type": "object" }))], &[])],
                ..base
            }
        }
        Protocol::A2aHttp { operation, .. } => {
            let media = |kind| (kind, json!({ "type": "object" }));
            let events = (EVENTS, message_event());
            let content = match operation {
                HttpOperation::Stream => vec![events],
                HttpOperation::Read | HttpOperation::Act => vec![media(JSON), media(A2A_JSON), events],
                _ => vec![media(JSON), media(A2A_JSON)],
            };
            let body = match operation {
                HttpOperation::Send | HttpOperation::Stream => {
                    object(pieces.schemas.add(&agent_message(), Side::Request))
                }
                HttpOperation::CreatePush => object(json!({
                    "type": "object",
                    "required": ["url"],
                    "properties": { "url": { "type": "string", "format": "uri" } },
                })),
                _ => Body { required: false, ..object(json!({ "type": "object" })) },
            };
            let body = (route.method == Method::Post).then_some(body);
            Part {
                title: about(operation).to_owned(),
                description: format!("{} {}", about(operation), route.summary),
                body,
                successes: vec![ok(content, &[])],
                ..base
            }
        }
    }
}

/// What an operation of A2A's HTTP+JSON binding does.
const fn about(operation: HttpOperation) -> &'static str {
    match operation {
        HttpOperation::Send => "Sends a message.",
        HttpOperation::Stream => "Sends a message, and streams what becomes of it.",
        HttpOperation::List => "Lists the caller's tasks.",
        HttpOperation::Read => "Reads a task, or with `:subscribe` behind its id streams its events.",
        HttpOperation::Act => {
            "With `:cancel` behind a task's id cancels it, with `:subscribe` streams its events."
        }
        HttpOperation::CreatePush => "Sets where a task's push notifications go.",
        HttpOperation::ListPushes => "Lists where a task's push notifications go.",
        HttpOperation::GetPush => "Reads one of them.",
        HttpOperation::DeletePush => "Deletes one of them.",
        HttpOperation::ExtendedCard => "Reads the agent card for callers who have authenticated.",
    }
}

/// A message to the agent, as far as both versions of A2A agree.
fn agent_message() -> Value {
    json!({
        "title": "AgentMessage",
        "type": "object",
        "description": "A message of A2A: its parts hold a question and options, as data or as plain words.",
        "required": ["message"],
        "properties": {
            "message": {
                "type": "object",
                "required": ["role", "parts", "messageId"],
                "properties": {
                    "role": { "type": "string", "enum": ["ROLE_USER", "user"] },
                    "messageId": { "type": "string", "minLength": 1 },
                    "parts": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "anyOf": [
                                { "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } } },
                                { "type": "object", "required": ["data"], "properties": { "data": {} } },
                            ],
                        },
                    },
                },
            },
        },
    })
}

/// An event without a name of its own.
fn message_event() -> Value {
    json!({
        "type": "object",
        "description": "One event of the stream (WHATWG HTML, section 9.2).",
        "required": ["data"],
        "properties": {
            "event": { "type": "string" },
            "id": { "type": "string" },
            "data": { "type": "string", "contentMediaType": "application/json" },
        },
    })
}

/// A request of JSON-RPC 2.0.
fn rpc_request() -> Value {
    json!({
        "title": "RpcRequest",
        "type": "object",
        "description": "A request or a notification of JSON-RPC 2.0.",
        "required": ["jsonrpc", "method"],
        "properties": {
            "jsonrpc": { "type": "string", "const": "2.0" },
            "id": { "type": ["string", "integer"], "description": "Absent in notifications." },
            "method": { "type": "string" },
            "params": { "type": ["object", "null"] },
        },
    })
}

/// A response of JSON-RPC 2.0.
pub(super) fn rpc_response() -> Value {
    json!({
        "title": "RpcResponse",
        "type": "object",
        "description": "A response of JSON-RPC 2.0: result or error.",
        "required": ["jsonrpc"],
        "properties": {
            "jsonrpc": { "type": "string", "const": "2.0" },
            "id": { "type": ["string", "number", "null"] },
            "result": {},
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": { "code": { "type": "integer" }, "message": { "type": "string" }, "data": {} },
            },
        },
    })
}

/// An error of A2A's HTTP+JSON binding (specification 1.0, section 11.6).
pub(super) fn agent_error() -> Value {
    json!({
        "title": "AgentError",
        "type": "object",
        "description": "An error of A2A over HTTP+JSON.",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "status", "message"],
                "properties": {
                    "code": { "type": "integer" },
                    "status": { "type": "string" },
                    "message": { "type": "string" },
                    "details": { "type": "array", "items": { "type": "object" } },
                },
            },
        },
    })
}
