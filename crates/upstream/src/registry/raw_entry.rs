//! The undecoded entry of a model list. Servers differ in the types of its fields.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::chat::response::text;

pub(super) type Raw<'a> = Option<&'a RawValue>;

#[derive(Deserialize)]
pub(super) struct RawModel<'a> {
    #[serde(borrow)]
    pub(super) id: Raw<'a>,
    pub(super) name: Raw<'a>,
    pub(super) created: Raw<'a>,
    pub(super) owned_by: Raw<'a>,
    pub(super) context_length: Raw<'a>,
    /// The context length, as vLLM names it.
    pub(super) max_model_len: Raw<'a>,
    pub(super) meta: Raw<'a>,
    pub(super) architecture: Raw<'a>,
    pub(super) pricing: Raw<'a>,
    pub(super) supported_parameters: Raw<'a>,
    pub(super) expiration_date: Raw<'a>,
    pub(super) reasoning: Raw<'a>,
    /// The kind of the model: Together's `type`, LiteLLM's `mode`, Hugging Face's `task`.
    #[serde(rename = "type")]
    pub(super) kind: Raw<'a>,
    pub(super) mode: Raw<'a>,
    pub(super) task: Raw<'a>,
    /// Azure's and Mistral's object of flags, or a list of names.
    pub(super) capabilities: Raw<'a>,
}

/// Maximum number of strings in a list that are read.
const MAX_STRINGS: usize = 64;

/// Parses a list of strings and skips other values.
pub(super) fn strings(raw: Raw<'_>) -> Vec<String> {
    let list: Vec<&RawValue> = raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    list.into_iter().take(MAX_STRINGS).filter_map(|item| text(Some(item)).map(Into::into)).collect()
}
