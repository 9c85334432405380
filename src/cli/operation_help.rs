//! The help of one operation: `ep call NAME --help`.

use std::fmt::Write;

use ep_kernel::Entry;
use ep_kernel::schema;
use serde_json::Value;

/// Returns the help of an operation: summary, usage, arguments, an example command and the manual.
pub(super) fn operation_help(entry: &Entry) -> String {
    let spec = &entry.spec;
    let mut text = format!("{}\n{}\n\nUsage: ep call {} [OPTIONS]", spec.title, spec.summary, spec.name);
    let input = entry.input();
    let names: Vec<&str> =
        schema::names(input).into_iter().filter(|name| !schema::is_deprecated(input, name)).collect();
    if names.is_empty() {
        text.push_str("\n\nArguments: none\n");
    } else {
        text.push_str(" '{…}'\n\nArguments, as the fields of a JSON object:\n");
        arguments(&mut text, input.as_value(), &names);
    }
    let _ = write!(text, "\nExample:\n  {}\n", example_command(entry));
    let manual = spec.manual.trim();
    if !manual.is_empty() {
        let _ = write!(text, "\n{manual}\n");
    }
    text.push_str(
        "\nOptions:\n      --server <URL>  Server to call, with the key in EP_API_KEY [default: runs in this process]\n",
    );
    text
}

/// Writes name, type and description of each argument.
fn arguments(text: &mut String, input: &Value, names: &[&str]) {
    let required: Vec<&str> =
        input["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let width = names.iter().map(|name| name.len()).max().unwrap_or_default();
    for name in names {
        let field = &input["properties"][*name];
        let mut facts = vec![type_of(field)];
        if required.contains(name) {
            facts.push("required".to_owned());
        } else if let Some(default) = field.get("default") {
            facts.push(format!("default {}", plain(default)));
        }
        let _ = writeln!(text, "  {name:width$}  {}", facts.join(", "));
        if let Some(description) = field["description"].as_str() {
            let _ = writeln!(text, "  {:width$}    {description}", "");
        }
    }
}

/// Describes the type of a field with its limits, for example `array of string, 2 to 10 items`.
fn type_of(field: &Value) -> String {
    if let Some(values) = field["enum"].as_array() {
        let values: Vec<String> = values.iter().map(plain).collect();
        return values.join(" | ");
    }
    let mut kind = match &field["type"] {
        Value::Array(kinds) => kinds.iter().map(plain).collect::<Vec<_>>().join(" or "),
        kind => plain(kind),
    };
    if kind == "array" {
        let _ = write!(kind, " of {}", plain(&field["items"]["type"]));
    }
    if let Some(format) = field["format"].as_str() {
        let _ = write!(kind, " ({format})");
    }
    let limits = [
        range(field.get("minLength"), field.get("maxLength"), " characters"),
        range(field.get("minItems"), field.get("maxItems"), " items"),
        range(field.get("minimum"), field.get("maximum"), ""),
        field.get("exclusiveMinimum").map(|low| format!("more than {low}")),
    ];
    limits.into_iter().flatten().fold(kind, |kind, limit| format!("{kind}, {limit}"))
}

/// Describes a range of numbers, or `None` without limits.
fn range(low: Option<&Value>, high: Option<&Value>, unit: &str) -> Option<String> {
    match (low, high) {
        (Some(low), Some(high)) => Some(format!("{low} to {high}{unit}")),
        (Some(low), None) => Some(format!("at least {low}{unit}")),
        (None, Some(high)) => Some(format!("at most {high}{unit}")),
        (None, None) => None,
    }
}

/// Returns a JSON value as text, and a string without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a command for a POSIX shell that calls the operation with its example input.
fn example_command(entry: &Entry) -> String {
    let name = entry.spec.name;
    match serde_json::from_str::<Value>(entry.spec.example) {
        Ok(Value::Object(fields)) if fields.is_empty() => format!("ep call {name}"),
        Ok(example) => format!("ep call {name} '{}'", example.to_string().replace('\'', "'\\''")),
        Err(_) => format!("ep call {name} '{}'", entry.spec.example.trim().replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_of_every_operation_is_complete() {
        for entry in ep_tools::TOOLS.iter() {
            let (help, name) = (operation_help(entry), entry.spec.name);
            let input = entry.input();
            for argument in schema::names(input) {
                let line = help.lines().find(|line| line.starts_with(&format!("  {argument} ")));
                assert_eq!(line.is_none(), schema::is_deprecated(input, argument), "{argument} in {help}");
                let kind =
                    line.unwrap_or_default().trim_start().strip_prefix(argument).unwrap_or_default().trim();
                assert!(
                    !kind.starts_with("null") && !kind.contains("of null"),
                    "{argument} of {name} has no type"
                );
            }
            assert!(help.contains(entry.spec.summary) && help.contains(entry.spec.manual.trim()), "{help}");
            assert!(help.contains(&format!("\n  ep call {name}")), "no example in {help}");
        }
    }

    #[test]
    fn types_are_described_with_their_limits() {
        for (field, words) in [
            (serde_json::json!({ "type": "string", "minLength": 10 }), "string, at least 10 characters"),
            (
                serde_json::json!({ "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 10 }),
                "array of string, 2 to 10 items",
            ),
            (serde_json::json!({ "type": "string", "enum": ["fast", "thrifty"] }), "fast | thrifty"),
            (serde_json::json!({ "type": "number", "exclusiveMinimum": 0 }), "number, more than 0"),
            (serde_json::json!({ "type": ["string", "null"], "format": "uri" }), "string or null (uri)"),
        ] {
            assert_eq!(type_of(&field), words);
        }
    }
}
