//! Lines of batches, in the form of OpenAI's API.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fault::Result;
use crate::reading;
use ep_store::{BatchError, BatchId};

/// Maximum length of a custom id, in bytes.
pub const MAX_CUSTOM_ID: usize = 512;

/// A row: a request.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchLine {
    /// The row's name, unique in its file.
    pub custom_id: String,
    /// The body of the request.
    pub body: Map<String, Value>,
}

/// Reads a line. The fault has no number yet.
pub fn read(line: &str, endpoint: &str) -> Result<BatchLine, BatchError> {
    let fault = |code: &str, param: Option<&str>, message: String| BatchError {
        code: code.to_owned(),
        line: None,
        message,
        param: param.map(str::to_owned),
    };
    // Some editors begin a file with a byte order mark.
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    let mut row: Map<String, Value> = serde_json::from_str(line).map_err(|error| {
        fault("invalid_json_line", None, format!("This line is not parseable as valid JSON: {error}"))
    })?;
    let missing = |name: &str, rule: &str| fault("invalid_request", Some(name), format!("{name} {rule}"));
    let custom_id = match row.remove("custom_id") {
        Some(Value::String(id)) if (1..=MAX_CUSTOM_ID).contains(&id.len()) => id,
        _ => {
            let rule = format!("must be a text of 1 to {MAX_CUSTOM_ID} bytes that names the row");
            return Err(missing("custom_id", &rule));
        }
    };
    if row.get("method").is_some_and(|method| method != "POST") {
        return Err(fault("invalid_method", Some("method"), "method must be POST".to_owned()));
    }
    match row.get("url") {
        Some(Value::String(url)) if url == endpoint => {}
        _ => {
            let message = format!("url must be the endpoint of the batch, {endpoint}");
            return Err(fault("url_mismatch", Some("url"), message));
        }
    }
    match row.remove("body") {
        Some(Value::Object(body)) => Ok(BatchLine { custom_id, body }),
        _ => Err(missing("body", "must be an object: the body of the request")),
    }
}

/// Reads a line. A long one is read beside the async workers.
pub(super) async fn read_beside(line: String, endpoint: &str) -> Result<Result<BatchLine, BatchError>> {
    let endpoint = endpoint.to_owned();
    reading::read(line.len(), move || read(&line, &endpoint)).await
}

/// Returns the custom id of a line that was valid; empty without one.
pub(super) async fn custom_id(line: String) -> Result<String> {
    let id = |line: &str| {
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        let row: Map<String, Value> = serde_json::from_str(line).ok()?;
        row.get("custom_id")?.as_str().map(str::to_owned)
    };
    reading::read(line.len(), move || id(&line).unwrap_or_default()).await
}

/// Returns the custom id of a line of the results.
pub fn custom_id_of_result(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        custom_id: String,
    }
    serde_json::from_str(line).ok().map(|Named { custom_id }| custom_id)
}

/// A line of the results.
#[derive(Serialize)]
struct ResultLine<'a> {
    id: String,
    custom_id: &'a str,
    response: Option<RowResponse<'a>>,
    error: Option<RowError<'a>>,
}

#[derive(Serialize)]
struct RowResponse<'a> {
    status_code: u16,
    request_id: String,
    body: &'a Value,
}

#[derive(Serialize)]
struct RowError<'a> {
    code: &'a str,
    message: &'a str,
}

/// Returns the line of a row with a response.
pub(super) fn responded(
    (batch, number): (BatchId, u32),
    custom_id: &str,
    (status_code, request_id): (u16, String),
    body: &Value,
) -> Result<String, serde_json::Error> {
    let response = Some(RowResponse { status_code, request_id, body });
    serde_json::to_string(&ResultLine { id: batch.row(number), custom_id, response, error: None })
}

/// Returns the line of a row that was not asked.
pub(super) fn not_asked(
    (batch, number): (BatchId, u32),
    custom_id: &str,
    (code, message): (&str, &str),
) -> Result<String, serde_json::Error> {
    let error = Some(RowError { code, message });
    serde_json::to_string(&ResultLine { id: batch.row(number), custom_id, response: None, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_wrong_ones_are_named() {
        let read = |line: &str| read(line, "/v1/chat/completions");
        let line =
            r#"{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"poll"}}"#;
        let row = read(line).unwrap();
        assert_eq!((row.custom_id.as_str(), &row.body["model"]), ("a", &Value::from("poll")));
        assert_eq!(read(&format!("\u{feff}{line}")), Ok(row));
        for (line, code, param) in [
            ("{", "invalid_json_line", None),
            ("[]", "invalid_json_line", None),
            (r#"{"url":"/v1/chat/completions","body":{}}"#, "invalid_request", Some("custom_id")),
            (
                r#"{"custom_id":"","url":"/v1/chat/completions","body":{}}"#,
                "invalid_request",
                Some("custom_id"),
            ),
            (
                r#"{"custom_id":"a","method":"GET","url":"/v1/chat/completions","body":{}}"#,
                "invalid_method",
                Some("method"),
            ),
            (r#"{"custom_id":"a","url":"/v1/responses","body":{}}"#, "url_mismatch", Some("url")),
            (r#"{"custom_id":"a","url":"/v1/chat/completions"}"#, "invalid_request", Some("body")),
        ] {
            let error = read(line).unwrap_err();
            assert_eq!((error.code.as_str(), error.param.as_deref()), (code, param), "{line}");
        }
    }
}
