//! The media that a model reads and writes.

use serde::Deserialize;

use super::family::{is_not_a_chat_model, names_another_medium};
use super::raw_entry::{Raw, RawModel, strings};
use crate::chat::response::text;

/// The kind of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It reads text and writes only text.
    Chat,
    /// It reads text and gives decisions.
    Decisions,
    /// It can neither chat nor decide.
    Other,
}

/// Returns the kind of a model. Its entry takes precedence over its id.
pub(super) fn role(id: &str, model: &RawModel<'_>) -> Role {
    if says_no_chat(model) { Role::Other } else { role_of(id, model.architecture) }
}

/// True if an entry says that the model does not chat.
fn says_no_chat(model: &RawModel<'_>) -> bool {
    const OTHERS: [&str; 12] = [
        "embed",
        "image",
        "audio",
        "video",
        "speech",
        "transcri",
        "rerank",
        "moderation",
        "similarity",
        "classif",
        "translation",
        "ocr",
    ];
    #[derive(Deserialize)]
    struct Flags {
        chat_completion: Option<bool>,
        completion_chat: Option<bool>,
        chat: Option<bool>,
    }
    // Hugging Face names a model that reads pictures and chats `image-text-to-text`.
    let names_other = |kind: &str| {
        let kind = kind.to_ascii_lowercase();
        !kind.contains("text-to-text") && OTHERS.iter().any(|other| kind.contains(other))
    };
    let kinds = [model.kind, model.mode, model.task];
    if kinds.into_iter().any(|kind| text(kind).is_some_and(|kind| names_other(&kind))) {
        return true;
    }
    let Some(capabilities) = model.capabilities else { return false };
    if let Ok(flags) = serde_json::from_str::<Flags>(capabilities.get()) {
        return [flags.chat_completion, flags.completion_chat, flags.chat].contains(&Some(false));
    }
    let names = strings(Some(capabilities));
    !names.is_empty() && names.iter().all(|name| names_other(name))
}

fn role_of(id: &str, architecture: Raw<'_>) -> Role {
    #[derive(Deserialize)]
    struct Architecture<'a> {
        #[serde(borrow)]
        input_modalities: Raw<'a>,
        output_modalities: Raw<'a>,
        modality: Raw<'a>,
    }
    let by_id = |is_other: bool| if is_other { Role::Other } else { Role::Chat };
    let Some(architecture) =
        architecture.and_then(|raw| serde_json::from_str::<Architecture<'_>>(raw.get()).ok())
    else {
        return by_id(is_not_a_chat_model(id) || names_another_medium(id));
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
    let reads_text = reads.is_empty() || reads.iter().any(|modality| modality == "text");
    if reads_text && writes.iter().any(|modality| modality == "decisions") {
        return Role::Decisions;
    }
    if is_not_a_chat_model(id) {
        return Role::Other;
    }
    if writes.is_empty() {
        return by_id(names_another_medium(id));
    }
    by_id(!reads_text || writes.iter().any(|modality| modality != "text"))
}
