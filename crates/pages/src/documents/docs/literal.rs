//! JSON values as literals of a programming language.

use serde_json::Value;

/// Width from which a list or an object is written on several lines.
const WIDTH: usize = 64;

/// A language with literals for JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// JSON.
    Json,
    /// Python.
    Python,
    /// TypeScript.
    TypeScript,
}

/// Writes a value. Lines after the first one are indented by `indent` spaces.
pub(super) fn literal(value: &Value, language: Language, indent: usize) -> String {
    let on_one_line = one_line(value, language);
    if on_one_line.chars().count() + indent <= WIDTH {
        return on_one_line;
    }
    let step = if language == Language::Python { 4 } else { 2 };
    let inner = indent + step;
    let (begin, items, end) = match value {
        Value::Object(fields) if !fields.is_empty() => {
            let item = |(name, value): (&String, &Value)| {
                format!("{}{}", key(name, language), literal(value, language, inner))
            };
            ('{', fields.iter().map(item).collect::<Vec<_>>(), '}')
        }
        Value::Array(items) if !items.is_empty() => {
            ('[', items.iter().map(|item| literal(item, language, inner)).collect(), ']')
        }
        _ => return on_one_line,
    };
    let (pad, close) = (" ".repeat(inner), " ".repeat(indent));
    let last = if language == Language::Json { "" } else { "," };
    format!("{begin}\n{pad}{}{last}\n{close}{end}", items.join(&format!(",\n{pad}")))
}

fn one_line(value: &Value, language: Language) -> String {
    match (value, language) {
        (Value::Object(fields), _) if fields.is_empty() => "{}".to_owned(),
        (Value::Object(fields), _) => {
            let item = |(name, value): (&String, &Value)| {
                format!("{}{}", key(name, language), one_line(value, language))
            };
            let items = fields.iter().map(item).collect::<Vec<_>>().join(", ");
            // JSON and TypeScript have spaces inside of braces.
            if language == Language::Python { format!("{{{items}}}") } else { format!("{{ {items} }}") }
        }
        (Value::Array(items), _) => {
            let items: Vec<String> = items.iter().map(|item| one_line(item, language)).collect();
            format!("[{}]", items.join(", "))
        }
        (Value::Null, Language::Python) => "None".to_owned(),
        (Value::Bool(true), Language::Python) => "True".to_owned(),
        (Value::Bool(false), Language::Python) => "False".to_owned(),
        // JSON's escapes are those of the other languages, too.
        (other, _) => other.to_string(),
    }
}

/// Returns the name of a field with its separator.
fn key(name: &str, language: Language) -> String {
    let is_identifier = name.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    if language == Language::TypeScript && is_identifier {
        format!("{name}: ")
    } else {
        format!("{}: ", Value::from(name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_in_each_language() {
        let value = json!({ "a": true, "b-c": [null, "\"x\"\n"] });
        assert_eq!(literal(&value, Language::Json, 0), r#"{ "a": true, "b-c": [null, "\"x\"\n"] }"#);
        assert_eq!(literal(&value, Language::Python, 0), r#"{"a": True, "b-c": [None, "\"x\"\n"]}"#);
        assert_eq!(literal(&value, Language::TypeScript, 0), r#"{ a: true, "b-c": [null, "\"x\"\n"] }"#);
        let long = json!({ "question": "x".repeat(60), "n": 1 });
        let text = literal(&long, Language::TypeScript, 2);
        assert_eq!(text, format!("{{\n    question: \"{}\",\n    n: 1,\n  }}", "x".repeat(60)));
    }
}
