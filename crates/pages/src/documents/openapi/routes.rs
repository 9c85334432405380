//! Routes that are not operations: protocols, documents, pages, and the callbacks of browsers and other services.

use std::collections::BTreeMap;

use ep_site::protocol::JSON;
use ep_site::rail::{Arrival, Proof, Webhook};
use ep_site::route::Target;
use ep_site::{Document, ProtocolRoute, QueryParameter, Route};
use serde_json::{Value, json};

use super::headers::{CACHING, LOCATION, REPLAYED, SET_COOKIE};
use super::parameters;
use super::parameters::{IDEMPOTENCY_KEY, IF_NONE_MATCH};
use super::part::{Body, Part, Success, not_modified, ok};
use super::pieces::Pieces;
use super::schemas::{Side, any_of};

/// Describes a route that is not an operation.
pub(super) fn part(pieces: &mut Pieces<'_>, route: &Route) -> Part {
    match route.target {
        Target::Document(of_route) => document(pieces, route, of_route),
        Target::Protocol(endpoint) => protocol(pieces, route, endpoint),
        Target::Rail(rail) => match &rail.arrival {
            Arrival::Webhook(reports) => webhook(route, reports),
            Arrival::Proof(proof) => payment(pieces, route, proof, rail.example),
        },
        Target::Operation(..) | Target::Nothing => {
            let page = pieces.site.documents.iter().find(|document| document.name == route.name);
            page.map_or_else(|| handler(route), |page| document(pieces, route, page))
        }
    }
}

/// Returns the schema of a path parameter of a route.
pub(super) fn placeholder(route: &Route, name: &str) -> Value {
    if let Some(endpoint) = route.as_protocol() {
        return (endpoint.describe)(route.method, &route.path).placeholder;
    }
    let Some(document) = route.as_document() else { return json!({ "type": "string", "minLength": 1 }) };
    let aliases = document.aliases.iter().filter(|aliases| aliases.path == route.path);
    let mut values = aliases.flat_map(|aliases| aliases.values).filter(|(known, _)| *known == name);
    // Clients percent-encode values, so values that are already encoded are left out.
    let values = values.next().into_iter().flat_map(|(_, values)| values.split(' '));
    let values: Vec<&str> = values.filter(|value| !value.contains('%')).collect();
    json!({ "type": "string", "enum": values })
}

/// Returns the title and description of a route.
fn plain(route: &Route) -> Part {
    Part {
        title: first_clause(&route.summary).to_owned(),
        description: route.summary.to_string(),
        parameters: Vec::new(),
        body: None,
        successes: Vec::new(),
        own_errors: BTreeMap::new(),
    }
}

/// Returns the text up to the first punctuation mark outside parentheses that a space follows.
fn first_clause(text: &str) -> &str {
    let mut depth = 0_usize;
    let end = text.char_indices().find(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && ".:,".contains(*c) && !text[at + 1..].starts_with(|next: char| !next.is_whitespace())
    });
    end.map_or(text, |(at, _)| &text[..at])
}

const fn object(schema: Value) -> Body {
    Body { media_type: JSON, schema, example: None, required: true }
}

fn in_query(parameter: &QueryParameter) -> Value {
    let QueryParameter { name, description, required, schema } = parameter;
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let mut described = json!({ "name": name, "in": "query", "description": description, "schema": schema });
    if *required {
        described["required"] = true.into();
    }
    described
}

/// Describes a route with a handler of its own, from its record.
fn handler(route: &Route) -> Part {
    let schema = |media_type: &str| match route.schema {
        "" if media_type == JSON => json!({ "type": "object" }),
        "" => json!({ "type": "string" }),
        schema => serde_json::from_str(schema).unwrap_or_default(),
    };
    let caching: &[_] = if route.cacheable { &CACHING } else { &[] };
    let content = route.media_types.iter().map(|media_type| (*media_type, schema(media_type))).collect();
    let found = (!route.media_types.is_empty()).then(|| ok(content, caching));
    let elsewhere = route.redirect.map(|redirect| Success {
        status: redirect.status,
        description: redirect.description.to_owned(),
        headers: if redirect.sets_cookie { vec![LOCATION, SET_COOKIE] } else { Vec::new() },
        content: Vec::new(),
    });
    let query = route.query.iter().map(in_query);
    Part {
        parameters: query.chain(route.cacheable.then(|| parameters::header(IF_NONE_MATCH))).collect(),
        successes: found.into_iter().chain(elsewhere).chain(route.cacheable.then(not_modified)).collect(),
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

fn webhook(route: &Route, reports: &Webhook) -> Part {
    let Webhook { header, signature, event } = reports;
    let received = json!({ "type": "object", "required": ["received"], "properties": { "received": { "type": "boolean" } } });
    Part {
        parameters: vec![json!({
            "name": header,
            "in": "header",
            "required": true,
            "description": signature,
            "schema": { "type": "string" },
        })],
        body: Some(object(json!({ "type": "object", "description": event }))),
        successes: vec![ok(vec![(JSON, received)], &[])],
        ..plain(route)
    }
}

fn payment(pieces: &mut Pieces<'_>, route: &Route, proof: &Proof, example: &str) -> Part {
    let schema = pieces.schema(&(proof.request)(), Side::Request);
    let receipt = pieces.schema(&(proof.receipt)(), Side::Response);
    let required = pieces.schema(&(proof.required)(), Side::Response);
    let text = json!({ "type": "string" });
    let header = |(name, description): &(&str, &str)| parameters::described(name, description, text.clone());
    let key = parameters::idempotency_key(
        "Returned with the response. A repeated payment is recognised by the payment itself, so that it is credited \
         once under any key.",
    );
    let offer = Success {
        status: 402,
        description: "What has to be paid, or why a payment was refused.".to_owned(),
        headers: Vec::new(),
        content: vec![(JSON.to_owned(), required)],
    };
    Part {
        parameters: std::iter::once(key).chain(proof.headers.iter().map(header)).collect(),
        body: Some(Body {
            media_type: JSON,
            schema,
            example: serde_json::from_str(example).ok(),
            required: true,
        }),
        successes: vec![ok(vec![(JSON, receipt)], &[])],
        own_errors: BTreeMap::from([(402, offer.into_value())]),
        ..plain(route)
    }
}

fn protocol(pieces: &mut Pieces<'_>, route: &Route, endpoint: ProtocolRoute) -> Part {
    let described = (endpoint.describe)(route.method, &route.path);
    // The protocols refuse a malformed key in their own form of an error, with status 200.
    let key = parameters::described(
        IDEMPOTENCY_KEY,
        "The same call under the same key runs once: a repetition gets the response of the first one.",
        json!({ "type": "string" }),
    );
    let parameters = if endpoint.opens_polls { vec![key] } else { Vec::new() };
    let base = Part { parameters, ..plain(route) };
    let (title, description) = match described.about {
        "" => (base.title, base.description),
        about => (about.to_owned(), format!("{about} {}", route.summary)),
    };
    let bodies: Vec<Value> =
        described.bodies.iter().map(|schema| pieces.schemas.add(schema, Side::Request)).collect();
    let body = match <[Value; 1]>::try_from(bodies) {
        Ok([schema]) => Some(schema),
        Err(bodies) if bodies.is_empty() => None,
        Err(bodies) => Some(any_of(bodies)),
    };
    let body = body.map(|schema| Body {
        media_type: described.body_type,
        schema,
        example: None,
        required: described.body_required,
    });
    let successes = described.responses.into_iter().map(|response| {
        let content = response.content.into_iter();
        let content = content.map(|(kind, schema)| (kind, pieces.schemas.add(&schema, Side::Response)));
        Success {
            status: response.status,
            description: response.description.to_owned(),
            headers: if endpoint.marks_replays { vec![REPLAYED] } else { Vec::new() },
            content: content.map(|(kind, schema)| (kind.to_owned(), schema)).collect(),
        }
    });
    let successes = successes.collect();
    Part { title, description, body, successes, ..base }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_ends_with_a_clause() {
        for (summary, title) in [
            (
                "Funds an account in USDC (x402, versions 1 and 2).",
                "Funds an account in USDC (x402, versions 1 and 2)",
            ),
            ("Serves robots.txt, for crawlers.", "Serves robots.txt"),
            ("Three forms: JSON, HTML.", "Three forms"),
            ("No end", "No end"),
        ] {
            assert_eq!(first_clause(summary), title);
        }
    }
}
