//! The media that a model reads and writes.

use serde::Deserialize;

use super::family::{is_not_a_chat_model, names_another_medium};
use super::raw_entry::{Raw, strings};
use crate::chat::response::text;

/// Returns true if the model reads text and writes only text. Its entry takes precedence over its id.
pub(super) fn is_text_chat(id: &str, architecture: Raw<'_>) -> bool {
    #[derive(Deserialize)]
    struct Architecture<'a> {
        #[serde(borrow, default)]
        input_modalities: Raw<'a>,
        #[serde(borrow, default)]
        output_modalities: Raw<'a>,
        #[serde(borrow, default)]
        modality: Raw<'a>,
    }
    if is_not_a_chat_model(id) {
        return false;
    }
    let Some(architecture) =
        architecture.and_then(|raw| serde_json::from_str::<Architecture<'_>>(raw.get()).ok())
    else {
        return !names_another_medium(id);
    };
    let (mut reads, mut writes) =
        (strings(architecture.input_modalities), strings(architecture.output_modalities));
    if let Some((input, output)) =
        text(architecture.modality).as_deref().and_then(|text| text.split_once("->"))
    {
        let split = |text: &str| text.split('+').map(str::to_owned).collect();
        reads = if reads.is_empty() { split(input) } else { reads };
        writes = if writes.is_empty() { split(output) } else { writes };
    }
    if writes.is_empty() {
        return !names_another_medium(id);
    }
    (reads.is_empty() || reads.iter().any(|modality| modality == "text"))
        && writes.iter().all(|modality| modality == "text")
}
