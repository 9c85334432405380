//! Code that calls an operation, in several languages, from its example and its binding.

use ep_kernel::method::Method;
use ep_kernel::{Access, Agents, Entry, Rest};
use ep_site::names::SESSION_COOKIE;
use ep_site::{Route, Site};
use serde_json::{Value, json};
use url::form_urlencoded::byte_serialize;

use super::literal::{Language, literal};
use crate::documents::openapi::placeholders;

/// Code in one language.
pub(super) struct Sample {
    /// A short id, for the tab.
    pub(super) id: &'static str,
    /// The name of the language.
    pub(super) label: &'static str,
    /// The code.
    pub(super) code: String,
    /// The address and the credential of a message; empty for a program.
    pub(super) note: String,
}

/// The credential of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    Anyone,
    Key,
    Session,
}

/// The request of the example.
struct Request {
    method: Method,
    url: String,
    body: Option<Value>,
    sender: Sender,
    is_stream: bool,
    is_json: bool,
}

/// Returns the code for an operation, in every language that has a way to call it.
pub(super) fn samples(site: &Site, entry: &Entry) -> Vec<Sample> {
    let example: Value = serde_json::from_str(entry.spec.example).unwrap_or_default();
    let routes = site.routes.iter().filter(|route| route.name == entry.spec.name);
    let bound = routes.filter_map(|route| Some((route, route.as_operation()?.1, route.is_stream())));
    let mut samples = Vec::new();
    // The plain binding comes before the event stream.
    if let Some((route, rest, is_stream)) = bound.into_iter().next() {
        let program = |id: &'static str, label, code: fn(&Request) -> String| {
            let mut example = example.clone();
            // An example that names a language asks for the language of its program.
            if let Some(language) = example.get_mut("language") {
                *language = id.into();
            }
            let request = request(site, entry, route, rest, is_stream, &example);
            Sample { id, label, code: code(&request), note: String::new() }
        };
        samples.extend([
            program("curl", "curl", curl),
            program("python", "Python", python),
            program("typescript", "TypeScript", typescript),
        ]);
    }
    if entry.spec.agents != Agents::None {
        samples.extend(tool_call(site, entry, &example));
        samples.extend(message(site, entry, &example));
    }
    samples
}

fn request(
    site: &Site,
    entry: &Entry,
    route: &Route,
    rest: Rest,
    is_stream: bool,
    example: &Value,
) -> Request {
    let mut fields = example.as_object().cloned().unwrap_or_default();
    let mut url = format!("{}{}", site.settings.base_url, route.path);
    for (member, _) in placeholders(&route.path) {
        let value = fields.shift_remove(member).unwrap_or_default();
        url = url.replace(&format!("{{{member}}}"), &encoded(&value));
    }
    let has_body = rest.method == Method::Post;
    if !has_body && !fields.is_empty() {
        let pairs: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        url = format!("{url}?{}", pairs.join("&"));
    }
    let takes_fields = entry.input().as_value()["properties"].as_object().is_some_and(|all| !all.is_empty());
    Request {
        method: rest.method,
        url,
        body: (has_body && (takes_fields || !fields.is_empty())).then_some(Value::Object(fields)),
        sender: sender(route.access),
        is_stream,
        is_json: rest.media_type.starts_with("application/json"),
    }
}

/// Returns the credential to send; none where everyone is admitted.
const fn sender(access: Access) -> Sender {
    if access.anonymous {
        Sender::Anyone
    } else if access.key {
        Sender::Key
    } else {
        Sender::Session
    }
}

/// Encodes a value for a path or a query.
fn encoded(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    byte_serialize(text.as_bytes()).collect()
}

/// Quotes a text for a shell.
fn quoted(text: &str) -> String {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || ":/._-{}".contains(c));
    if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

fn curl(request: &Request) -> String {
    let mut lines =
        vec![format!("curl {}{}", if request.is_stream { "-N " } else { "" }, quoted(&request.url))];
    match request.method {
        Method::Post if request.body.is_some() => {}
        Method::Get => {}
        other => lines.push(format!("-X {}", other.as_str())),
    }
    match request.sender {
        Sender::Anyone => {}
        Sender::Key => lines.push("-H \"Authorization: Bearer $EP_API_KEY\"".to_owned()),
        Sender::Session => lines.push(format!("-H \"Cookie: {SESSION_COOKIE}=$EP_SESSION\"")),
    }
    if let Some(body) = &request.body {
        lines.push("-H \"Content-Type: application/json\"".to_owned());
        lines.push(format!("-d '{}'", literal(body, Language::Json, 2).replace('\'', "'\\''")));
    }
    lines.join(" \\\n  ")
}

fn python(request: &Request) -> String {
    let text = |text: &str| Value::from(text).to_string();
    let mut headers = Vec::new();
    match request.sender {
        Sender::Anyone => {}
        Sender::Key => {
            headers.push("\"Authorization\": f\"Bearer {os.environ['EP_API_KEY']}\"".to_owned());
        }
        Sender::Session => {
            headers.push(format!("\"Cookie\": f\"{SESSION_COOKIE}={{os.environ['EP_SESSION']}}\""));
        }
    }
    if request.body.is_some() {
        headers.push("\"Content-Type\": \"application/json\"".to_owned());
    }
    let mut arguments = vec![text(&request.url)];
    if let Some(body) = &request.body {
        arguments.push(format!("data=json.dumps({}).encode()", literal(body, Language::Python, 4)));
    }
    if !headers.is_empty() {
        arguments.push(format!("headers={{{}}}", headers.join(", ")));
    }
    let is_default = matches!((request.method, &request.body), (Method::Get, None) | (Method::Post, Some(_)));
    if !is_default {
        arguments.push(format!("method={}", text(request.method.as_str())));
    }
    let mut imports = vec!["urllib.request"];
    if !matches!(request.sender, Sender::Anyone) {
        imports.insert(0, "os");
    }
    let (shown, reads_json) = match (request.is_stream, request.is_json) {
        (true, _) => ("for line in response:\n        print(line.decode(), end=\"\")", false),
        (false, true) => ("print(json.load(response))", true),
        (false, false) => ("print(response.read().decode())", false),
    };
    if reads_json || request.body.is_some() {
        imports.insert(0, "json");
    }
    let call = format!("urllib.request.Request(\n    {},\n)", arguments.join(",\n    "));
    format!(
        "import {}\n\nrequest = {call}\nwith urllib.request.urlopen(request) as response:\n    {shown}",
        imports.join(", ")
    )
}

fn typescript(request: &Request) -> String {
    let mut options = Vec::new();
    if request.method != Method::Get {
        options.push(format!("method: \"{}\"", request.method.as_str()));
    }
    let mut headers = Vec::new();
    match request.sender {
        Sender::Anyone => {}
        Sender::Key => headers.push("Authorization: `Bearer ${process.env.EP_API_KEY}`".to_owned()),
        Sender::Session => headers.push(format!("Cookie: `{SESSION_COOKIE}=${{process.env.EP_SESSION}}`")),
    }
    if request.body.is_some() {
        headers.push("\"Content-Type\": \"application/json\"".to_owned());
    }
    if !headers.is_empty() {
        options.push(format!("headers: {{ {} }}", headers.join(", ")));
    }
    if let Some(body) = &request.body {
        options.push(format!("body: JSON.stringify({})", literal(body, Language::TypeScript, 2)));
    }
    let url = Value::from(request.url.as_str());
    let call = match options.as_slice() {
        [] => format!("fetch({url})"),
        all => format!("fetch({url}, {{\n  {},\n}})", all.join(",\n  ")),
    };
    let shown = match (request.is_stream, request.is_json) {
        (true, _) => {
            "const decoder = new TextDecoder();\nfor await (const bytes of response.body!) {\n  \
             console.log(decoder.decode(bytes, { stream: true }));\n}"
        }
        (false, true) => "console.log(await response.json());",
        (false, false) => "console.log(await response.text());",
    };
    format!("const response = await {call};\n{shown}")
}

/// Returns the call of the tool (MCP); `None` if the service has no such endpoint.
fn tool_call(site: &Site, entry: &Entry, example: &Value) -> Option<Sample> {
    let url = site.url_of("mcp")?;
    let toolset = match entry.spec.agents {
        Agents::Set(set) => format!("?toolsets={}", set.name()),
        Agents::Core | Agents::None => String::new(),
    };
    let call = json!({ "name": entry.spec.name, "arguments": example });
    let code = envelope("tools/call", call);
    let note =
        format!("A client calls the tool by itself. A program posts this to {url}{toolset} with an API key.");
    Some(Sample { id: "mcp", label: "MCP", code, note })
}

/// Returns the message to the agent (A2A); `None` if the service has no such endpoint.
fn message(site: &Site, entry: &Entry, example: &Value) -> Option<Sample> {
    let url = site.url_of("a2a")?;
    let message = json!({
        "messageId": "a-new-id",
        "role": "ROLE_USER",
        "parts": [{ "data": example }],
        "metadata": { "skillId": entry.spec.name },
    });
    let code = envelope("SendMessage", json!({ "message": message }));
    Some(Sample { id: "a2a", label: "A2A", code, note: format!("Post this to {url} with an API key.") })
}

/// Returns a request of JSON-RPC 2.0.
fn envelope(method: &str, params: Value) -> String {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    literal(&request, Language::Json, 0)
}
