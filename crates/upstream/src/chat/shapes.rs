//! Bodies that are no completion in JSON, but have one: event streams that were not asked for, and JSON with small faults.

use serde_json::value::RawValue;

use super::bare_words::without_bare_words;
use super::event_stream::from_events;

/// Returns the completion in a body that is not valid JSON; `None` if there is none.
pub(crate) fn repaired(body: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}');
    // OpenRouter sends comments while it waits, and then JSON.
    let text = without_comments(text);
    if ["data:", "event:", "id:", "retry:"].iter().any(|field| text.starts_with(field)) {
        return from_events(text);
    }
    // Google puts errors in a list.
    if text.starts_with('[') {
        let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        return list
            .first()
            .filter(|first| first.get().starts_with('{'))
            .map(|first| first.get().as_bytes().to_vec());
    }
    // Some servers end a JSON document like a stream.
    let text = text.trim_end().strip_suffix("data: [DONE]").unwrap_or(text).trim_end();
    let finite = without_bare_words(text);
    (finite.len() != body.len() && serde_json::from_str::<&RawValue>(&finite).is_ok())
        .then(|| finite.into_owned().into_bytes())
}

/// A text without the comments of an event stream before it.
fn without_comments(text: &str) -> &str {
    let mut text = text;
    while let Some((_, rest)) = text.strip_prefix(':').and_then(|comment| comment.split_once('\n')) {
        text = rest.trim_start();
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(body: &str) -> Option<Value> {
        repaired(body.as_bytes()).map(|json| serde_json::from_slice(&json).unwrap())
    }

    #[test]
    fn small_faults_of_json_are_repaired() {
        assert_eq!(
            read(r#"{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN \" NaN"}"#),
            Some(json!({"a": null, "b": [null, null], "c": "NaN \" NaN"}))
        );
        assert_eq!(read("{\"a\":1}\n\ndata: [DONE]\n\n"), Some(json!({"a": 1})));
        assert_eq!(read(": PROCESSING\n\n: PROCESSING\n\n{\"a\":1}"), Some(json!({"a": 1})));
        assert_eq!(read("[{\"error\":{\"code\":429}}]"), Some(json!({"error": {"code": 429}})));
        for body in ["{\"a\":1}", "<html>NaN</html>", "", "{\"a\":NaN", "NaNcy"] {
            assert_eq!(read(body), None, "{body}");
        }
    }
}
