//! Messages and their parts in each dialect.

use serde_json::{Map, Value, json};

use super::dialect::{Dialect, Role};
use super::fields::field_of;

/// Returns a message for the history, converted to this dialect.
pub(super) fn echo(message: &Value, task: &str, context: &str, dialect: Dialect) -> Value {
    let content = if dialect == Dialect::V03Rest { "content" } else { "parts" };
    let mut echo = json!({});
    let fields = [
        ("messageId", "message_id", "messageId"),
        ("role", "role", "role"),
        ("parts", "content", content),
        ("metadata", "metadata", "metadata"),
        ("extensions", "extensions", "extensions"),
        ("referenceTaskIds", "reference_task_ids", "referenceTaskIds"),
    ];
    for (name, other, shown) in fields {
        if let Some(value) = field_of(message, name, other) {
            echo[shown] = value.clone();
        }
    }
    if dialect == Dialect::V03Rest
        && let Some(fields) = echo.as_object_mut()
    {
        fields.shift_remove("referenceTaskIds");
    }
    let agent =
        echo["role"].as_str().is_some_and(|role| role.eq_ignore_ascii_case("agent") || role == "ROLE_AGENT");
    echo["role"] = dialect.role(if agent { Role::Agent } else { Role::User }).into();
    for part in echo[content].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        in_dialect(part, dialect);
    }
    if dialect != Dialect::Legacy {
        echo["taskId"] = task.into();
        echo["contextId"] = context.into();
    }
    if dialect == Dialect::V03 {
        echo["kind"] = "message".into();
    }
    echo
}

/// Returns a message for storage: as sent, but without the wrappers of 0.3's protocol buffers.
pub(super) fn stored(message: &Value, context: Option<&str>, dialect: Dialect) -> Value {
    let mut message = message.clone();
    if let (Some(fields), Some(context)) = (message.as_object_mut(), context) {
        fields.insert("contextId".into(), context.into());
    }
    if dialect == Dialect::V03Rest {
        for name in ["content", "parts"] {
            for part in message.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten() {
                unwrapped(part);
            }
        }
    }
    message
}

fn unwrapped(part: &mut Value) {
    if let Some(data) = part.get_mut("data").and_then(|data| data.get_mut("data")) {
        let data = data.take();
        part["data"] = data;
    }
    if let Some(file) = part.get("file").cloned() {
        for (old, name) in [
            ("fileWithUri", "url"),
            ("file_with_uri", "url"),
            ("fileWithBytes", "raw"),
            ("file_with_bytes", "raw"),
            ("mimeType", "mediaType"),
            ("mime_type", "mediaType"),
            ("name", "filename"),
        ] {
            if let Some(value) = file.get(old) {
                part[name] = value.clone();
            }
        }
        if let Some(fields) = part.as_object_mut() {
            fields.shift_remove("file");
        }
    }
}

/// Fields of a file: 0.3 has them in a nested object, 1.0 in the part itself.
const FILE: [(&str, &str); 4] =
    [("bytes", "raw"), ("uri", "url"), ("name", "filename"), ("mimeType", "mediaType")];

/// Converts a part of a message to this dialect.
pub(super) fn in_dialect(part: &mut Map<String, Value>, dialect: Dialect) {
    part.retain(|name, _| name != "kind" && name != "type");
    match dialect {
        Dialect::V03 => {
            if part.contains_key("raw") || part.contains_key("url") {
                let fields =
                    FILE.iter().filter_map(|(old, new)| Some(((*old).to_owned(), part.shift_remove(*new)?)));
                let file: Map<String, Value> = fields.collect();
                part.insert("file".into(), file.into());
            }
            part.shift_remove("mediaType");
            // In 0.3, data is always an object.
            if let Some(data) = part.get_mut("data").filter(|data| !data.is_object()) {
                *data = json!({ "value": data.take() });
            }
            if let Some(kind) = ["text", "data", "file"].into_iter().find(|kind| part.contains_key(*kind)) {
                part.insert("kind".into(), kind.into());
            }
        }
        Dialect::V03Rest => {
            if let Some(data) = part.get_mut("data") {
                let data = data.take();
                let data = if data.is_object() { data } else { json!({ "value": data }) };
                part.insert("data".into(), json!({ "data": data }));
            }
            let bytes = part.shift_remove("raw").map(|bytes| json!({ "fileWithBytes": bytes }));
            let uri = part.shift_remove("url").map(|uri| json!({ "fileWithUri": uri }));
            if let Some(mut file) = bytes.or(uri) {
                file["mimeType"] = part.get("mediaType").cloned().unwrap_or_default();
                file["name"] = part.get("filename").cloned().unwrap_or_default();
                part.insert("file".into(), file);
            }
            part.retain(|name, _| matches!(name.as_str(), "text" | "data" | "file" | "metadata"));
        }
        Dialect::V1 | Dialect::Legacy => {
            if let Some(Value::Object(mut file)) = part.shift_remove("file") {
                for (old, new) in FILE {
                    if let Some(value) = file.shift_remove(old) {
                        part.insert(new.into(), value);
                    }
                }
            }
        }
    }
}

pub(super) fn says(
    dialect: Dialect,
    id: &str,
    (task, context): (Option<&str>, Option<&str>),
    parts: Value,
) -> Value {
    let content = if dialect == Dialect::V03Rest { "content" } else { "parts" };
    let mut message = json!({ "role": dialect.role(Role::Agent), content: parts });
    if dialect != Dialect::Legacy {
        message["messageId"] = id.into();
        for (name, value) in [("taskId", task), ("contextId", context)] {
            if let Some(value) = value {
                message[name] = value.into();
            }
        }
    }
    if dialect == Dialect::V03 {
        message["kind"] = "message".into();
    }
    message
}
