//! Properties of a model derived from its id.

/// Suffixes after the last colon of an id that name a way of serving a model, not another model.
const SERVING_SUFFIXES: &[&str] =
    &["free", "extended", "nitro", "floor", "exacto", "online", "thinking", "beta"];

/// Removes the serving suffix of an id: `x/y:free` and `x/y` are the same model. Other suffixes
/// (`qwen2.5:7b`) belong to the model.
pub(crate) fn base_id(id: &str) -> &str {
    match id.rsplit_once(':') {
        Some((base, suffix)) if SERVING_SUFFIXES.contains(&suffix) => base,
        _ => id,
    }
}

/// Returns the family of a model: its maker and product line. Models of one family probably share training.
/// For example, `meta-llama/llama-3.3-70b-instruct:free` is of `meta-llama/llama`, and `qwen2.5:7b` of
/// `qwen`.
pub(crate) fn family(id: &str) -> String {
    let id = base_id(id).trim_start_matches('~').to_lowercase();
    let mut path = id.rsplit('/').filter(|part| !matches!(*part, "" | "models" | "accounts"));
    let name = path.next().unwrap_or(&id);
    let line = line(name);
    match path.next() {
        Some(maker) => format!("{maker}/{line}"),
        None => line.to_owned(),
    }
}

/// Returns the maker of a model, if the id names one.
pub(crate) fn maker(id: &str) -> Option<&str> {
    let mut path = id.rsplit('/').filter(|part| !matches!(*part, "" | "models" | "accounts"));
    path.next()?;
    path.next().map(|maker| maker.trim_start_matches('~'))
}

/// Returns the product line in a model's name: `llama` in `meta-llama-3-8b`.
fn line(name: &str) -> &str {
    let words = name.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    let mut words = words.filter(|word| !matches!(*word, "meta" | "the" | "chat"));
    match words.next() {
        // OpenAI's `o3` and `gpt-5` are one family.
        Some("o" | "chatgpt") => "gpt",
        Some(word) => word,
        None => name,
    }
}

/// Returns true if the id names a text model for a purpose other than chat.
pub(crate) fn is_not_a_chat_model(id: &str) -> bool {
    const PARTS: &[&str] = &["embed", "rerank", "moderation", "safeguard"];
    has_part_or_word(id, PARTS, |word| {
        matches!(
            word,
            "bge" | "gte" | "e5" | "guard" | "davinci" | "babbage" | "colbert" | "reranker" | "minilm"
        )
    })
}

/// Returns true if the id names a model for media other than text.
pub(crate) fn names_another_medium(id: &str) -> bool {
    const PARTS: &[&str] = &[
        "whisper",
        "transcribe",
        "stable-diffusion",
        "dall-e",
        "text-to-",
        "-to-speech",
        "speech-to",
        "realtime",
        "imagen",
    ];
    has_part_or_word(id, PARTS, |word| {
        matches!(
            word,
            "tts"
                | "image"
                | "images"
                | "video"
                | "audio"
                | "speech"
                | "ocr"
                | "clip"
                | "flux"
                | "sdxl"
                | "sora"
                | "veo"
                | "asr"
                | "kokoro"
                | "parakeet"
                | "lyria"
        )
    })
}

/// Returns true if an id contains one of these parts, or a whole word of a kind. Short words must match whole, because they
/// occur inside other names.
fn has_part_or_word(id: &str, parts: &[&str], is_word: impl Fn(&str) -> bool) -> bool {
    let id = id.to_lowercase();
    parts.iter().any(|part| id.contains(part)) || id.split(|c: char| !c.is_alphanumeric()).any(is_word)
}

/// Returns true if the id names a reasoning model.
pub(crate) fn is_reasoning_model(id: &str) -> bool {
    const PARTS: &[&str] =
        &["deepseek-r", "qwq", "think", "reason", "gpt-oss", "magistral", "qwen3", "gpt-5"];
    let id = id.to_lowercase();
    let name = id.rsplit('/').next().unwrap_or(&id);
    PARTS.iter().any(|part| id.contains(part)) || ["o1", "o3", "o4"].iter().any(|o| name.starts_with(o))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_a_maker_and_a_product_line() {
        for (id, expected) in [
            ("meta-llama/llama-3.3-70b-instruct:free", "meta-llama/llama"),
            ("qwen2.5:7b", "qwen"),
            ("qwen2.5-coder:1.5b", "qwen"),
            ("mistralai/mistral-small-3.2-24b", "mistralai/mistral"),
            ("openai/o3-mini", "openai/gpt"),
            ("openai/gpt-4o", "openai/gpt"),
            ("google/gemma-3-27b-it", "google/gemma"),
            ("accounts/fireworks/models/llama-v3p1-8b", "fireworks/llama"),
            ("lmstudio-community/Meta-Llama-3-8B-GGUF", "lmstudio-community/llama"),
            ("01-ai/yi-large", "01-ai/yi"),
            ("42", "42"),
        ] {
            assert_eq!(family(id), expected, "{id}");
        }
    }

    #[test]
    fn ids_distinguish_chat_models_from_others() {
        for id in
            ["text-embedding-3-small", "openai/whisper-1", "tts-1-hd", "bge-m3", "meta-llama/llama-guard-4"]
        {
            assert!(is_not_a_chat_model(id) || names_another_medium(id), "{id}");
        }
        for id in ["google/gemini-2.5-flash", "qwen2.5:7b", "stepfun/step-3", "x-ai/grok-4", "guardian/chat"]
        {
            assert!(!is_not_a_chat_model(id) && !names_another_medium(id), "{id}");
        }
        assert_eq!(base_id("a/b:free"), "a/b");
        assert_eq!(base_id("qwen2.5:7b"), "qwen2.5:7b");
        assert!(
            is_reasoning_model("deepseek/deepseek-r1")
                && is_reasoning_model("qwen3:8b")
                && !is_reasoning_model("mistral-small")
        );
    }
}
