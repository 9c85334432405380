//! Links: connections from an operation that returns an id to the operations that accept it.

use ep_site::RouteKind;
use serde_json::{Map, Value, json};

use super::part::Described;
use super::paths::placeholders;
use super::schemas::Schemas;

/// Returns the links of each operation, from operations that create or change a resource to those with its id in
/// the path.
pub(super) fn between(schemas: &Schemas, described: &[Described<'_>]) -> Vec<Map<String, Value>> {
    described.iter().map(|source| from(schemas, source, described)).collect()
}

fn from(schemas: &Schemas, source: &Described<'_>, targets: &[Described<'_>]) -> Map<String, Value> {
    let route = source.endpoint.routes[0];
    if route.kind != RouteKind::Operation || route.effect.read_only() {
        return Map::new();
    }
    let link = |target: &Described<'_>| {
        if target.endpoint.id == source.endpoint.id || target.endpoint.routes[0].as_operation().is_none() {
            return None;
        }
        let path = &target.endpoint.routes[0].path;
        let [(member, name)] = placeholders(path)[..] else { return None };
        let is_child = path.starts_with(&format!("{}/{{", source.endpoint.path));
        let given = [member, "id"]
            .into_iter()
            .find(|given| (*given == member || is_child) && has(schemas, &source.answer, given))?;
        let link = json!({
            "operationId": target.endpoint.id,
            "parameters": { format!("path.{name}"): format!("$response.body#/{given}") },
        });
        Some((target.endpoint.id.clone(), link))
    };
    targets.iter().filter_map(link).collect()
}

/// True if one of the response's schemas has this field.
fn has(schemas: &Schemas, answer: &Value, member: &str) -> bool {
    let schema = schemas.get(answer);
    let forms = schema["anyOf"].as_array().into_iter().flatten();
    schema["properties"].get(member).is_some() || forms.into_iter().any(|form| has(schemas, form, member))
}

/// Adds links to every success response of an operation.
pub(super) fn added(mut operation: Value, links: Map<String, Value>) -> Value {
    let Some(responses) = operation["responses"].as_object_mut() else { return operation };
    for (_, response) in
        responses.iter_mut().filter(|(status, _)| status.starts_with('2') && !links.is_empty())
    {
        response["links"] = links.clone().into();
    }
    operation
}
