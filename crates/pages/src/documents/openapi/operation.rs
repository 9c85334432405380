//! One operation of the description: a method on a path.

use std::collections::BTreeMap;

use ep_kernel::schema::REPLACES;
use ep_kernel::{Access, Entry, Kind, Rest};
use ep_site::layout::capitalized;
use ep_site::protocol::JSON;
use ep_site::{Route, RouteKind};
use serde_json::{Map, Value, json};

use super::body_limit::with_body_limit;
use super::headers::LOCATION;
use super::parameters;
use super::parameters::{IDEMPOTENCY_KEY, IF_NONE_MATCH, LAST_EVENT};
use super::part;
use super::part::{Body, Described, Part, Success};
use super::paths::{Endpoint, placeholders};
use super::pieces::Pieces;
use super::schemas::{Side, any_of};
use super::success;
use super::{errors, routes, security, tags};

/// Describes an endpoint.
pub(super) fn describe<'a>(pieces: &mut Pieces<'_>, endpoint: Endpoint<'a>) -> Described<'a> {
    let parts: Vec<Part> = endpoint.routes.iter().map(|route| part(pieces, route, &endpoint)).collect();
    let kinds: Vec<Kind> = {
        let all: Vec<Kind> = endpoint.routes.iter().flat_map(|route| errors::kinds(route)).collect();
        let offer = &pieces.site.settings.offer;
        Kind::all().filter(|kind| all.contains(kind) && offer.has_error(*kind)).collect()
    };
    let mut operation = json!({
        "operationId": endpoint.id,
        "summary": parts[0].title,
        "description": text(&parts, &endpoint),
        "tags": [tags::of(&endpoint).0],
    });
    let mut parameters: Vec<Value> = Vec::new();
    for parameter in parts.iter().flat_map(|part| &part.parameters) {
        if !parameters.contains(parameter) {
            parameters.push(parameter.clone());
        }
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = body(&parts, &endpoint) {
        operation["requestBody"] = body;
    }
    let security = endpoint.routes.iter().flat_map(|route| credentials(pieces, route));
    operation["security"] = security.fold(Vec::new(), without_repetition).into();
    let answer = any_of(parts.iter().flat_map(|part| &part.successes).flat_map(|success| {
        success
            .content
            .iter()
            .filter(|(kind, _)| kind == "application/json")
            .map(|(_, schema)| schema.clone())
    }));
    operation["responses"] = responses(pieces, &endpoint, parts, &kinds);
    let codes: Vec<&str> = kinds.iter().map(|kind| kind.row().code).collect();
    operation["x-error-codes"] = codes.into();
    Described { endpoint, operation, answer }
}

fn without_repetition(mut all: Vec<Value>, next: Value) -> Vec<Value> {
    if !all.contains(&next) {
        all.push(next);
    }
    all
}

fn part(pieces: &mut Pieces<'_>, route: &Route, endpoint: &Endpoint<'_>) -> Part {
    let part = described_part(pieces, route, endpoint);
    let part = Part { description: with_body_limit(part.description, route), ..part };
    match pieces.site.settings.offer.lacks_route(route) {
        Some(lack) => Part { description: lack.sentence(), ..part },
        None => part,
    }
}

fn described_part(pieces: &mut Pieces<'_>, route: &Route, endpoint: &Endpoint<'_>) -> Part {
    if let Some((entry, rest)) = route.as_operation() {
        return of_entry(pieces, route, entry, rest, route.is_stream());
    }
    let part = routes::part(pieces, route);
    let parameters = parameters::of_path(&route.path, |name| routes::placeholder(route, name))
        .into_iter()
        .chain(part.parameters)
        .collect();
    debug_assert_eq!(endpoint.routes.len(), 1);
    Part { parameters, ..part }
}

fn of_entry(pieces: &mut Pieces<'_>, route: &Route, entry: &Entry, rest: Rest, streamed: bool) -> Part {
    let spec = &entry.spec;
    let has_body = rest.method == ep_kernel::method::Method::Post;
    let mut parameters = parameters::of(entry, rest.path, has_body);
    if parameters::takes_key(spec.effect, rest.method) {
        parameters.push(parameters::header(IDEMPOTENCY_KEY));
    }
    let mut successes = success::all(pieces, entry, &rest, streamed);
    if success::is_cacheable(spec.access.and(rest.only), spec.effect, rest.method) && !streamed {
        parameters.push(parameters::header(IF_NONE_MATCH));
        successes.push(part::not_modified());
    }
    if !streamed && route.page.is_some() {
        successes.push(Success {
            status: 303,
            description: "Redirects a browser to the page for people.".to_owned(),
            headers: vec![LOCATION],
            content: Vec::new(),
        });
    }
    let takes_after = entry.input().as_value()["properties"].get("after").is_some();
    if streamed && takes_after {
        parameters.push(parameters::header(LAST_EVENT));
    }
    let title = if streamed { format!("{}: events", spec.title) } else { spec.title.to_owned() };
    Part {
        title,
        description: format!("{}\n\n{}", spec.summary, spec.manual.trim()),
        parameters,
        body: has_body.then(|| request(pieces, entry, rest.path)).flatten(),
        successes,
        own_errors: BTreeMap::new(),
    }
}

/// Returns an operation's request body: its input without the path parameters. `None` if no field is left.
fn request(pieces: &mut Pieces<'_>, entry: &Entry, path: &str) -> Option<Body> {
    let mut schema = entry.request().as_value().clone();
    let mut example: Value = serde_json::from_str(entry.spec.example).unwrap_or_default();
    for (member, _) in placeholders(path) {
        if let Some(example) = example.as_object_mut() {
            example.remove(member);
        }
        if let Some(members) = schema["properties"].as_object_mut() {
            members.remove(member);
        }
        if let Some(names) = schema["required"].as_array_mut() {
            names.retain(|name| name != member);
        }
    }
    let is_empty = |value: &Value| value.as_object().is_none_or(Map::is_empty);
    let has_members = !is_empty(&schema["properties"]);
    let required =
        schema["required"].as_array().is_some_and(|names| !names.is_empty()) || schema.get("if").is_some();
    has_members.then(|| Body {
        media_type: JSON,
        schema: body_schema(pieces, &schema, forms(&schema)),
        example: Some(example),
        required,
    })
}

/// Returns a reference to the schema of a body. Several forms are a schema of their own, so that generators name it.
fn body_schema(pieces: &mut Pieces<'_>, whole: &Value, forms: Vec<Value>) -> Value {
    let schemas: Vec<Value> = forms.iter().map(|form| pieces.schemas.add(form, Side::Request)).collect();
    if let [only] = schemas.as_slice() {
        return only.clone();
    }
    let title = format!("Any{}", whole["title"].as_str().unwrap_or_default());
    let any = json!({ "title": title, "description": whole["description"], "anyOf": schemas });
    pieces.schemas.add(&any, Side::Request)
}

/// Returns a schema for each way to send an input: with a required field, and with each field that replaces it.
fn forms(schema: &Value) -> Vec<Value> {
    let replacing =
        |(name, field): (&String, &Value)| Some((name.clone(), field[REPLACES].as_str()?.to_owned()));
    let fields = schema["properties"].as_object().into_iter().flatten();
    let mut replacements: Vec<(String, String)> = fields.filter_map(replacing).collect();
    let mut first = schema.clone();
    for (name, _) in &replacements {
        first["properties"][name].as_object_mut().map(|field| field.shift_remove(REPLACES));
    }
    let is_required =
        |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    replacements.retain(|(_, replaced)| is_required(replaced));
    let mut forms = Vec::new();
    for (name, replaced) in replacements {
        let mut form = schema.clone();
        form["title"] =
            format!("{}With{}", form["title"].as_str().unwrap_or_default(), capitalized(&name)).into();
        if let Some(members) = form["properties"].as_object_mut() {
            members.shift_remove(&replaced);
            members.get_mut(&name).and_then(Value::as_object_mut).map(|field| field.shift_remove(REPLACES));
        }
        if let Some(names) = form["required"].as_array_mut() {
            names.retain(|required| *required != replaced);
            names.push(name.clone().into());
        }
        if let Some(members) = first["properties"].as_object_mut() {
            members.shift_remove(&name);
        }
        forms.push(form);
    }
    forms.insert(0, first);
    forms
}

/// Returns the description of each part. With several parts, each one names its callers.
fn text(parts: &[Part], endpoint: &Endpoint<'_>) -> String {
    if let [only] = parts {
        return only.description.clone();
    }
    let of = |(route, part): (&&Route, &Part)| {
        format!("**{}: {}.** {}", caller_label(route.access), part.title, part.description)
    };
    endpoint.routes.iter().zip(parts).map(of).collect::<Vec<_>>().join("\n\n")
}

const fn caller_label(access: Access) -> &'static str {
    if access.anonymous { "Without a credential" } else { "With a credential" }
}

fn body(parts: &[Part], endpoint: &Endpoint<'_>) -> Option<Value> {
    let bodies: Vec<(&Body, &str)> = parts
        .iter()
        .zip(&endpoint.routes)
        .filter_map(|(part, route)| Some((part.body.as_ref()?, route.name)))
        .collect();
    let (first, _) = bodies.first()?;
    let mut content = json!({ "schema": any_of(bodies.iter().map(|(body, _)| body.schema.clone())) });
    let examples = bodies
        .iter()
        .filter_map(|(body, name)| Some(((*name).to_owned(), json!({ "value": body.example.clone()? }))));
    match bodies.as_slice() {
        [_] => {
            if let Some(example) = &first.example {
                content["example"] = example.clone();
            }
        }
        _ => content["examples"] = examples.collect(),
    }
    let required = bodies.iter().any(|(body, _)| body.required);
    Some(json!({ "required": required, "content": { first.media_type: content } }))
}

/// Returns the accepted credentials. Routes that ignore credentials have none.
fn credentials(pieces: &Pieces<'_>, route: &Route) -> Vec<Value> {
    let ignored = route.ignores_credentials && route.kind != RouteKind::Page;
    if ignored || route.rate == ep_kernel::tool::Rate::SignIn {
        return Vec::new();
    }
    security::alternatives(pieces.site, route.access)
}

/// Returns the responses. Successes with the same status are merged; errors are shared.
fn responses(pieces: &mut Pieces<'_>, endpoint: &Endpoint<'_>, parts: Vec<Part>, kinds: &[Kind]) -> Value {
    let mut merged: BTreeMap<u16, Success> = BTreeMap::new();
    let mut errors: BTreeMap<u16, Value> = BTreeMap::new();
    for status in errors::by_status(kinds).into_keys() {
        errors.insert(status, errors::reference(pieces, endpoint.routes[0], status));
    }
    for part in parts {
        errors.extend(part.own_errors);
        for success in part.successes {
            match merged.remove(&success.status) {
                None => drop(merged.insert(success.status, success)),
                Some(known) => drop(merged.insert(success.status, merged_success(known, success))),
            }
        }
    }
    let mut responses: BTreeMap<u16, Value> =
        merged.into_iter().map(|(status, success)| (status, success.into_value())).collect();
    responses.extend(errors);
    responses.into_iter().map(|(status, response)| (status.to_string(), response)).collect()
}

fn merged_success(one: Success, other: Success) -> Success {
    let mut content: Vec<(String, Value)> = one.content;
    for (kind, schema) in other.content {
        match content.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) => *known = any_of([flat(known), flat(&schema)].concat()),
            None => content.push((kind, schema)),
        }
    }
    let headers = other.headers.iter().filter(|name| !one.headers.contains(name)).copied();
    let headers = one.headers.iter().copied().chain(headers).collect();
    let description = if one.description == other.description {
        one.description
    } else {
        format!("{} {}", one.description, other.description)
    };
    Success { status: one.status, description, headers, content }
}

/// Returns the alternatives of a schema.
fn flat(schema: &Value) -> Vec<Value> {
    schema["anyOf"].as_array().cloned().unwrap_or_else(|| vec![schema.clone()])
}
