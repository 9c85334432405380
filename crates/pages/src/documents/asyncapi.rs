//! `asyncapi.json` (AsyncAPI 3.0.0): the event streams and the notifications when a poll ends.

use axum::body::Bytes;
use ep_kernel::Entry;
use ep_kernel::schema;
use ep_kernel::webhooks::HEADERS;
use ep_site::names::ASYNCAPI;
use ep_site::{Document, Form, Route, Site, owner};
use ep_tools::polls::PollCompleted;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::json::json_text;
use super::openapi;
use super::openapi::{Schemas, Side};

pub(super) const DOCUMENT: Document = Document::new(
    ASYNCAPI,
    "Describes the event streams and notifications (AsyncAPI 3.0.0).",
    |_| vec!["/asyncapi.json".into()],
    &[Form::new("application/json", render)],
);

/// The channel of notifications. Each account sets its URL.
const NOTIFICATIONS: &str = "notifications";

fn render(site: &Site) -> Option<Bytes> {
    json_text(&description(site))
}

fn description(site: &Site) -> Value {
    let mut pieces = Pieces::default();
    let (mut channels, mut operations) = (Map::new(), Map::new());
    for route in &site.routes {
        if let Some((entry, _)) = route.as_operation().filter(|_| route.is_stream()) {
            let (channel, operation) = stream(&mut pieces, site, route, entry);
            channels.insert(route.name.to_owned(), channel);
            operations.insert(route.name.to_owned(), operation);
        }
    }
    let completed = pieces.message::<PollCompleted>(PollCompleted::NAME, "A poll has ended.");
    let headers: Map<String, Value> =
        HEADERS.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    pieces.messages[PollCompleted::NAME]["headers"] =
        json!({ "type": "object", "required": HEADERS, "properties": headers });
    channels.insert(
        NOTIFICATIONS.to_owned(),
        json!({
            "address": null,
            "title": "Notifications",
            "description": "The service notifies the URL of an account or a poll when a poll ends, signed according to Standard Webhooks 1.0.0.",
            "messages": { "completed": completed },
        }),
    );
    operations
        .insert(NOTIFICATIONS.to_owned(), operation(NOTIFICATIONS, "POST", "A poll has ended.", Vec::new()));
    json!({
        "asyncapi": "3.0.0",
        "info": info(site),
        "defaultContentType": "application/json",
        "servers": { "service": server(site) },
        "channels": channels,
        "operations": operations,
        "components": {
            "messages": pieces.messages,
            "schemas": pieces.schemas.into_value(),
            "securitySchemes": security_schemes(site),
        },
    })
}

/// Returns the OpenAPI `info` object without the fields that AsyncAPI does not have.
fn info(site: &Site) -> Value {
    let mut info = openapi::info(site);
    info.as_object_mut().map(|info| info.remove("summary"));
    info["license"].as_object_mut().map(|license| license.remove("identifier"));
    info
}

#[derive(Default)]
struct Pieces {
    schemas: Schemas,
    messages: Map<String, Value>,
}

impl Pieces {
    /// Returns a reference to the message with this name and this payload type.
    fn message<T: JsonSchema>(&mut self, name: &str, summary: &str) -> Value {
        let payload = self.schemas.add(schema::output::<T>().as_value(), Side::Response);
        self.named(name, summary, payload)
    }

    /// Returns the message of an operation's event. Operations share the message of that name unless their
    /// payloads differ.
    fn of_operation(&mut self, operation: &str, event: &str, summary: &str, payload: Value) -> Value {
        let other = self.messages.get(event).is_some_and(|known| known["payload"] != payload);
        let key = if other { format!("{operation}.{event}") } else { event.to_owned() };
        let reference = self.named(&key, summary, payload);
        self.messages[&key]["name"] = event.into();
        reference
    }

    fn named(&mut self, name: &str, summary: &str, payload: Value) -> Value {
        let message = json!({
            "name": name,
            "title": name,
            "summary": summary,
            "contentType": "application/json",
            "payload": payload,
        });
        self.messages.insert(name.to_owned(), message);
        json!({ "$ref": format!("#/components/messages/{name}") })
    }
}

/// Returns the channel of an event stream and the service's operation on it.
fn stream(pieces: &mut Pieces, site: &Site, route: &Route, entry: &Entry) -> (Value, Value) {
    let messages = openapi::events(&mut pieces.schemas, entry).into_iter();
    let messages: Map<String, Value> = messages
        .map(|event| {
            let message = pieces.of_operation(entry.spec.name, event.name, event.summary, event.data);
            (event.name.to_owned(), message)
        })
        .collect();
    let mut channel = json!({
        "address": openapi::shown(&route.path),
        "title": entry.spec.title,
        "description": "Server-sent events (WHATWG HTML, section 9.2): the name of a message is the name of its event.",
        "servers": [{ "$ref": "#/servers/service" }],
        "messages": messages,
    });
    let placeholders = openapi::placeholders(&route.path);
    if !placeholders.is_empty() {
        let members = &entry.input().as_value()["properties"];
        let parameter = |(member, name): (&str, &str)| {
            (name.to_owned(), json!({ "description": members[member]["description"] }))
        };
        channel["parameters"] = placeholders.into_iter().map(parameter).collect();
    }
    let schemes = openapi::alternatives(site, route.access);
    let schemes = schemes.iter().filter_map(|scheme| scheme.as_object()?.keys().next().cloned());
    let security = schemes.map(|name| json!({ "$ref": format!("#/components/securitySchemes/{name}") }));
    let operation = operation(route.name, route.method.as_str(), &route.summary, security.collect());
    (channel, operation)
}

/// Returns the operation that sends on a channel.
fn operation(channel: &str, method: &str, summary: &str, security: Vec<Value>) -> Value {
    let mut operation = json!({
        "action": "send",
        "channel": { "$ref": format!("#/channels/{channel}") },
        "summary": summary,
        "bindings": { "http": { "method": method, "bindingVersion": "0.3.0" } },
    });
    if !security.is_empty() {
        operation["security"] = security.into();
    }
    operation
}

fn server(site: &Site) -> Value {
    let base = url::Url::parse(&site.settings.base_url).ok();
    let protocol = base.as_ref().map_or("https", url::Url::scheme);
    let host = base.as_ref().map_or("", |base| &base[url::Position::BeforeHost..url::Position::AfterPort]);
    let mut server = json!({ "host": host, "protocol": protocol, "description": owner()["name"] });
    if let Some(path) = base.as_ref().map(url::Url::path).filter(|path| *path != "/") {
        server["pathname"] = path.into();
    }
    server
}

/// Returns the OpenAPI security schemes with AsyncAPI's names.
fn security_schemes(site: &Site) -> Value {
    let mut schemes = openapi::schemes(site);
    for scheme in schemes.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if scheme["type"] == "apiKey" {
            scheme["type"] = "httpApiKey".into();
        }
    }
    schemes
}
