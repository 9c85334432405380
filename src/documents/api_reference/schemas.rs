//! The schemas section of the reference.

use serde_json::Value;

use super::markup::Markup;
use crate::layout::below as prose;

/// Writes every schema with its fields.
pub(super) fn section(page: &mut Markup, description: &Value) {
    page.raw("<section aria-labelledby=\"schemas\" data-group>\n<h2 id=\"schemas\">Schemas</h2>\n");
    for (name, schema) in description["components"]["schemas"].as_object().into_iter().flatten() {
        page.raw("<article data-item aria-labelledby=\"schema-")
            .text(name)
            .raw("\">\n<h3 id=\"schema-")
            .text(name)
            .raw("\"><code>");
        page.text(name).raw("</code></h3>\n").raw(&prose(schema["description"].as_str().unwrap_or_default()));
        if let Some(members) = schema["properties"].as_object() {
            page.raw("<table>\n<caption>Members</caption>\n<thead><tr><th scope=\"col\">Name</th><th scope=\"col\">Type</th><th scope=\"col\">What it is</th></tr></thead>\n<tbody>\n");
            for (member, schema_of) in members {
                let required = schema["required"]
                    .as_array()
                    .is_some_and(|names| names.iter().any(|name| name == member));
                page.raw("<tr><th scope=\"row\"><code>").text(member).raw("</code>");
                page.raw(if required { " <em>required</em>" } else { "" }).raw("</th><td>");
                shape(page, schema_of);
                page.raw("</td><td>")
                    .text(schema_of["description"].as_str().unwrap_or_default())
                    .raw("</td></tr>\n");
            }
            page.raw("</tbody>\n</table>\n");
        } else {
            page.raw("<p>");
            shape(page, schema);
            page.raw("</p>\n");
        }
        page.raw("</article>\n");
    }
    page.raw("</section>\n");
}

/// Writes a short form of a schema; named types become links.
pub(super) fn shape(page: &mut Markup, schema: &Value) {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        page.anchor(&format!("#schema-{name}"), name);
        return;
    }
    if let Some(forms) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        for (index, form) in forms.iter().enumerate() {
            page.raw(if index > 0 { " or " } else { "" });
            shape(page, form);
        }
        return;
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        page.text(&words.join(" | "));
        return;
    }
    if let Some(word) = schema.get("const") {
        page.text(&word.to_string());
        return;
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => vec!["any"],
    };
    page.text(&kinds.join(" or "));
    if let Some(format) =
        schema["format"].as_str().filter(|format| !format.starts_with("uint") && *format != "double")
    {
        page.raw(" (").text(format).raw(")");
    }
    let limits = [
        ("minLength", "at least", "characters"),
        ("maxLength", "at most", "characters"),
        ("minItems", "at least", "items"),
        ("maxItems", "at most", "items"),
        ("minimum", "from", ""),
        ("maximum", "to", ""),
        ("exclusiveMinimum", "above", ""),
    ];
    for (limit, before, after) in limits {
        if let Some(number) =
            schema.get(limit).filter(|number| number.as_f64() != Some(0.0) || limit == "exclusiveMinimum")
        {
            page.text(format!(", {before} {number} {after}").trim_end());
        }
    }
    if let Some(value) = schema.get("default").filter(|value| !value.is_null()) {
        page.text(&format!(", default {value}"));
    }
    if schema["items"].is_object() {
        page.raw(" of ");
        shape(page, &schema["items"]);
    } else if schema["additionalProperties"].is_object() {
        page.raw(" of ");
        shape(page, &schema["additionalProperties"]);
    }
}
