//! The fields of a JSON Schema, as lists for people.

use ep_site::layout::below as prose;
use serde_json::Value;

use super::markup::Markup;

/// Levels of fields that are shown. Schemas can refer to themselves.
const MAX_DEPTH: usize = 4;

/// Writes the fields of a schema. References lead to the definitions of `root`.
pub(super) fn fields(page: &mut Markup, root: &Value, schema: &Value) {
    nested(page, root, schema, 0);
}

fn nested(page: &mut Markup, root: &Value, schema: &Value, depth: usize) {
    let schema = resolved(root, schema);
    let forms = alternatives(schema).filter(|form| has_fields(root, form));
    let forms: Vec<&Value> = forms.collect();
    if !forms.is_empty() && depth < MAX_DEPTH {
        for form in forms {
            let form = resolved(root, form);
            let title = form["title"].as_str().map_or_else(|| "One of".to_owned(), spaced);
            page.raw("<details open>\n<summary>").text(&title).raw("</summary>\n");
            nested(page, root, form, depth + 1);
            page.raw("</details>\n");
        }
        return;
    }
    let Some(members) = schema["properties"].as_object().filter(|members| !members.is_empty()) else {
        return;
    };
    page.raw("<dl class=\"fields\">\n");
    for (name, field) in members {
        let required = schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        page.raw("<div><dt><code>").text(name).raw("</code> <span>").text(&kind(root, field, 0));
        page.raw(if required { ", required" } else { "" });
        page.raw(if field["deprecated"] == true { ", deprecated" } else { "" }).raw("</span></dt>\n<dd>");
        page.raw(&prose(description(root, field)));
        let inner = contained(root, field);
        if depth < MAX_DEPTH && has_fields(root, inner) {
            page.raw("<details>\n<summary>Fields</summary>\n");
            nested(page, root, inner, depth + 1);
            page.raw("</details>\n");
        }
        page.raw("</dd></div>\n");
    }
    page.raw("</dl>\n");
}

/// True if the schema or one of its alternatives is an object with fields.
pub(super) fn has_fields(root: &Value, schema: &Value) -> bool {
    let schema = resolved(root, schema);
    let is_object = |schema: &Value| schema["properties"].as_object().is_some_and(|all| !all.is_empty());
    is_object(schema) || alternatives(schema).any(|form| is_object(resolved(root, form)))
}

/// Follows a reference within the schema.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(schema)
}

fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    [&schema["anyOf"], &schema["oneOf"]].into_iter().filter_map(Value::as_array).flatten()
}

/// Returns the schema of the items of a list, or of the values of a map; otherwise the schema itself. An optional
/// value stands for its only alternative.
fn contained<'a>(root: &'a Value, field: &'a Value) -> &'a Value {
    let field = resolved(root, field);
    let only = alternatives(field).find(|form| has_fields(root, form));
    let field = resolved(root, only.unwrap_or(field));
    let inner = [&field["items"], &field["additionalProperties"]].into_iter().find(|inner| inner.is_object());
    inner.map_or(field, |inner| contained(root, inner))
}

/// Returns the description of a field, or of the type that it refers to.
fn description<'a>(root: &'a Value, field: &'a Value) -> &'a str {
    let own = field["description"].as_str();
    own.or_else(|| resolved(root, field)["description"].as_str()).unwrap_or_default()
}

/// Splits the name of a type into words.
fn spaced(name: &str) -> String {
    let mut words = String::new();
    for (place, letter) in name.chars().enumerate() {
        if letter.is_ascii_uppercase() && place > 0 {
            words.push(' ');
            words.push(letter.to_ascii_lowercase());
        } else {
            words.push(letter);
        }
    }
    words
}

/// Describes the values of a field in a few words.
fn kind(root: &Value, schema: &Value, depth: usize) -> String {
    let schema = resolved(root, schema);
    if let Some(words) = schema["enum"].as_array() {
        return one_of(words.iter().filter(|word| !word.is_null()).map(written));
    }
    if let Some(word) = schema.get("const") {
        return written(word);
    }
    let mut forms: Vec<String> = if depth < MAX_DEPTH {
        alternatives(schema).map(|form| kind(root, form, depth + 1)).collect()
    } else {
        Vec::new()
    };
    forms.dedup();
    if !forms.is_empty() {
        return one_of(forms);
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return "any value".to_owned(),
    };
    let mut text = one_of(names.into_iter().map(|name| plain(root, schema, name, depth)));
    for limit in limits(schema) {
        text.push_str(", ");
        text.push_str(&limit);
    }
    if let Some(default) = schema.get("default").filter(|value| !value.is_null()) {
        text = format!("{text}, default {}", written(default));
    }
    text
}

/// Names a type in plain words.
fn plain(root: &Value, schema: &Value, name: &str, depth: usize) -> String {
    let of = |inner: &Value| (inner.is_object() && depth < MAX_DEPTH).then(|| kind(root, inner, depth + 1));
    match (name, schema["format"].as_str()) {
        ("string", Some("date-time")) => "time (RFC 3339)".to_owned(),
        ("string", Some("uuid")) => "UUID".to_owned(),
        ("string", Some("uri" | "url")) => "URL".to_owned(),
        ("string", _) => "text".to_owned(),
        ("integer", _) => "whole number".to_owned(),
        ("boolean", _) => "true or false".to_owned(),
        ("array", _) => of(&schema["items"]).map_or_else(|| "list".to_owned(), |of| format!("list ({of})")),
        ("object", _) => of(&schema["additionalProperties"])
            .map_or_else(|| "object".to_owned(), |of| format!("map to {of}")),
        (other, _) => other.to_owned(),
    }
}

/// Returns the limits of a value, each in a few words.
fn limits(schema: &Value) -> Vec<String> {
    let range = |least: &str, most: &str, unit: &str| {
        let (least, most) = (schema.get(least).filter(|least| least.as_f64() != Some(0.0)), schema.get(most));
        let text = match (least, most) {
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("at least {least}"),
            (None, Some(most)) => format!("at most {most}"),
            (None, None) => return None,
        };
        Some(format!("{text}{unit}"))
    };
    let above = schema.get("exclusiveMinimum").map(|least| format!("above {least}"));
    let all = [
        range("minLength", "maxLength", " characters"),
        range("minItems", "maxItems", " items"),
        range("minimum", "maximum", ""),
        above,
    ];
    all.into_iter().flatten().collect()
}

/// Returns a value as it is written in JSON; a word without quotation marks.
fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn one_of(words: impl IntoIterator<Item = String>) -> String {
    let words: Vec<String> = words.into_iter().collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_described_in_words() {
        let kind = |schema: Value| kind(&json!({}), &schema, 0);
        let options = json!({ "type": "array", "minItems": 2, "maxItems": 10, "items": { "type": "string", "maxLength": 200 } });
        assert_eq!(kind(options), "list (text, at most 200 characters), 2 to 10 items");
        assert_eq!(kind(json!({ "enum": ["a", "b", null] })), "a or b");
        assert_eq!(
            kind(json!({ "type": ["number", "null"], "exclusiveMinimum": 0 })),
            "number or null, above 0"
        );
        assert_eq!(
            kind(json!({ "type": "object", "additionalProperties": { "type": "integer" } })),
            "map to whole number"
        );
    }

    #[test]
    fn schemas_that_refer_to_themselves_end() {
        let root =
            json!({ "$defs": { "A": { "type": "object", "properties": { "a": { "$ref": "#/$defs/A" } } } } });
        let mut page = Markup::default();
        fields(&mut page, &root, &json!({ "$ref": "#/$defs/A" }));
        let text = page.into_string();
        assert_eq!(text.matches("<code>a</code>").count(), MAX_DEPTH + 1);
        assert_eq!(text.matches("<dl").count(), text.matches("</dl>").count());
    }
}
