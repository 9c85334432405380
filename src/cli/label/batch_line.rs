//! Rows that are requests: lines of a batch, in the form of OpenAI's API. Each has its question, its options and its id.

use anyhow::{Context, bail};
use ep_kernel::Tool;
use ep_labels::files::table::Row;
use ep_labels::settings::SourceQuestion;
use ep_polling::options::MAX_OPTIONS;
use ep_protocols::batch_rows::{asked_questions, decision_endpoints};
use ep_tools::polls::PollQuestion;
use serde_json::Value;

/// The name of a line.
const ID: &str = "custom_id";
/// The path of its request.
const URL: &str = "url";
/// The request.
const BODY: &str = "body";

/// Reads the question of a line. Fails unless the request decides exactly one field.
pub(super) fn asked(row: &Row) -> anyhow::Result<SourceQuestion> {
    let field = |name: &str| row.fields.get(name).filter(|field| !field.is_null());
    let no_line = "is no request of a batch: add custom_id, url and body, or name the question of all rows with --question";
    let (Some(id), Some(url), Some(body)) = (field(ID), field(URL).and_then(Value::as_str), field(BODY))
    else {
        bail!(no_line);
    };
    if id.as_str().is_none_or(str::is_empty) {
        bail!("custom_id must be a text that names the request");
    }
    if field("method").is_some_and(|method| method != "POST") {
        bail!("method must be POST");
    }
    // In CSV, it is a text.
    let body = match body {
        Value::String(text) => serde_json::from_str(text).context("body is not JSON")?,
        body => body.clone(),
    };
    let (question, options) = decision(url, &body)?;
    if options.len() > MAX_OPTIONS {
        bail!(
            "the request decides among {} values, and a label is one of at most {MAX_OPTIONS}: use a scale with fewer levels",
            options.len()
        );
    }
    Ok(SourceQuestion { id: Some(id.clone()), question, options })
}

/// Reads the one decision of a request.
fn decision(url: &str, body: &Value) -> anyhow::Result<(String, Vec<String>)> {
    let polls = PollQuestion::SPEC.rest.map_or("", |rest| rest.path);
    if url == polls {
        return poll(body);
    }
    let Some(asked) = asked_questions(url, body) else {
        let known: Vec<&str> = decision_endpoints().chain([polls]).collect();
        bail!("the url {url} has no decisions; it must be one of {}", known.join(", "));
    };
    let mut asked = asked.context("the request")?;
    match (asked.pop(), asked.len()) {
        (Some(only), 0) => Ok((only.text, only.options)),
        (_, others) => {
            bail!("the request decides {} fields, and a label is one of them: split it", others + 1)
        }
    }
}

/// Reads the request of a poll.
fn poll(body: &Value) -> anyhow::Result<(String, Vec<String>)> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let question = text("question").or_else(|| text("prompt")).context("the request has no question")?;
    if body.get("scale").is_some_and(|scale| !scale.is_null()) {
        bail!("the request has a scale, and labels are options; name its levels as options instead");
    }
    let options = body.get("options").cloned().unwrap_or_default();
    let options =
        serde_json::from_value(options).context("the options of the request must be a list of texts")?;
    Ok((question.to_owned(), options))
}
