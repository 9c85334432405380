//! The API description: it covers every route, third-party linters and generators accept it, and the service
//! follows it. The third-party programs are in `tests/api-description`.

mod calls;
mod clients;
mod interface;
mod linters;
mod reference;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ep_site::names::OPENAPI;
use serde_json::Value;
use tokio::process::Command;

use crate::harness::{Service, Setup};

/// Returns the folder of the third-party programs.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api-description")
}

/// Returns the path of a program in this virtual environment.
fn python(environment: &str, program: &str) -> PathBuf {
    folder().join(environment).join("bin").join(program)
}

/// Runs a program in its folder and returns its output; the program must succeed.
async fn run(program: PathBuf, arguments: &[&str]) -> String {
    run_in(&folder(), Command::new(program), arguments).await
}

/// Runs a program in another folder.
async fn run_in(folder: &Path, mut command: Command, arguments: &[&str]) -> String {
    command.args(arguments).current_dir(folder).env("REDOCLY_TELEMETRY", "off").kill_on_drop(true);
    let done = tokio::time::timeout(Duration::from_mins(10), command.output()).await.unwrap().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{arguments:?}: {text}");
    text
}

/// Returns the description as served.
async fn description(service: &Service) -> Value {
    let path = service.app.ports.links.url(OPENAPI, &[]);
    let reply = service.anonymous().get(path.strip_prefix(&service.url).unwrap()).await;
    assert_eq!(reply.header("content-type"), "application/json");
    reply.expect(200)
}

/// Returns the description of a service with a token issuer, so that it describes every feature.
async fn described() -> Value {
    description(&Setup::demo().with("EP_AUTH_ISSUER_URL", "https://login.example.com").boot().await).await
}

/// Returns every operation as `METHOD /path`.
fn operations(description: &Value) -> BTreeMap<String, Value> {
    let paths = description["paths"].as_object().unwrap().iter();
    let of = |(path, item): (&String, &Value)| {
        let methods = item.as_object().unwrap().clone();
        methods
            .into_iter()
            .map(|(method, operation)| (format!("{} {path}", method.to_uppercase()), operation))
            .collect::<Vec<_>>()
    };
    paths.flat_map(of).collect()
}

#[tokio::test]
async fn description_covers_every_route() {
    let service = Setup::demo().boot().await;
    let description = description(&service).await;
    let operations = operations(&description);
    // Path parameters may have different names in the description.
    let plain = |path: &str| {
        let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        parts.iter().map(|part| if part.starts_with('{') { "{}" } else { part }).collect::<Vec<_>>().join("/")
    };
    // Forms are for pages alone.
    let served = service.site.routes.iter().filter(|route| !route.is_form());
    let served = served.map(|route| format!("{} {}", route.method.as_str(), plain(&route.path)));
    let described = operations.keys().map(|operation| operation.split_once(' ').unwrap());
    // Alias patterns are served as individual paths.
    let described =
        described.filter(|(_, path)| !["{tool_dir}", "{home}"].iter().any(|name| path.contains(name)));
    let described = described.map(|(method, path)| format!("{method} {}", plain(path)));
    assert_eq!(served.collect::<BTreeSet<_>>(), described.collect::<BTreeSet<_>>());
    let ids: BTreeSet<&str> =
        operations.values().map(|operation| operation["operationId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), operations.len(), "operation ids are unique");
    for entry in ep_tools::TOOLS.iter().filter(|entry| entry.bindings().next().is_some()) {
        let shared = entry.bindings().any(|rest| {
            ep_tools::TOOLS.iter().any(|other| {
                other.spec.name != entry.spec.name
                    && other.bindings().any(|known| (known.method, known.path) == (rest.method, rest.path))
            })
        });
        assert!(ids.contains(entry.spec.name) || shared, "{}", entry.spec.name);
    }
}

#[tokio::test]
async fn summaries_are_whole_clauses() {
    let count = |text: &str, c: char| text.matches(c).count();
    for (name, operation) in operations(&described().await) {
        let summary = operation["summary"].as_str().unwrap();
        assert_eq!(count(summary, '('), count(summary, ')'), "{name}: {summary}");
        let description = operation["description"].as_str().unwrap_or_default();
        // A file's name is not cut at its dot.
        let rest = description.split_once(summary).map(|(_, rest)| rest).unwrap_or_default();
        assert!(!rest.starts_with('.') || !rest[1..].starts_with(char::is_alphanumeric), "{name}: {summary}");
    }
}

#[tokio::test]
async fn every_shown_version_is_explained() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let interface = description(&service).await;
    let explained = interface["info"]["description"].as_str().unwrap();
    let about = client.get("/about.md").await.text;
    let health = client.get("/api/health").await.expect(200);
    for (document, version) in [
        ("the program", health["version"].clone()),
        ("the agent cards", client.get("/.well-known/agent-card.json").await.expect(200)["version"].clone()),
        ("the agent cards", client.get("/api/agent-card").await.expect(200)["version"].clone()),
        ("this interface", interface["info"]["version"].clone()),
    ] {
        let version = version.as_str().unwrap();
        assert!(explained.contains(version) && explained.contains(document), "{document} {version}");
        assert!(about.contains(version) || document == "this interface", "{document} {version}: {about}");
    }
}

#[tokio::test]
async fn every_operation_as_a_snapshot() {
    let mut text = String::new();
    for (name, operation) in operations(&described().await) {
        let statuses: Vec<&String> = operation["responses"].as_object().unwrap().keys().collect();
        let parameters = operation["parameters"].as_array().into_iter().flatten().map(|parameter| {
            let name = parameter["name"].as_str().or_else(|| parameter["$ref"].as_str()?.rsplit('/').next());
            name.unwrap().to_owned()
        });
        let credentials = operation["security"].as_array().unwrap().iter().map(|scheme| {
            scheme.as_object().unwrap().keys().next().map_or("none", String::as_str).to_owned()
        });
        let mut references = BTreeSet::new();
        collect(&operation["requestBody"], &mut references);
        let mut answers = BTreeSet::new();
        collect(&operation["responses"], &mut answers);
        let list = |items: Vec<String>| items.join(" ");
        let _ = writeln!(text, "{name}: {}", operation["operationId"].as_str().unwrap());
        let _ = writeln!(
            text,
            "  by {} takes {} [{}]",
            list(credentials.collect()),
            list(parameters.collect()),
            list(references.into_iter().collect())
        );
        let _ = writeln!(
            text,
            "  {} [{}]",
            list(statuses.into_iter().cloned().collect()),
            list(answers.into_iter().collect())
        );
    }
    insta::assert_snapshot!("openapi_operations", text);
}

/// Collects the schemas that a value refers to.
fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            let name = members
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|name| name.strip_prefix("#/components/schemas/"));
            found.extend(name.map(str::to_owned));
            members.values().for_each(|member| collect(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}
