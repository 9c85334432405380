//! What an id says about a model.

/// Marks after the last colon that name a way of serving the same weights, not other weights.
const SERVINGS: &[&str] = &["free", "extended", "nitro", "floor", "exacto", "online", "thinking", "beta"];

/// The id without the way it is served: `x/y:free` and `x/y` are the same model. Other marks after a
/// colon (`qwen2.5:7b`) belong to the model.
pub(crate) fn weights(id: &str) -> &str {
    match id.rsplit_once(':') {
        Some((weights, serving)) if SERVINGS.contains(&serving) => weights,
        _ => id,
    }
}

/// Maker and line, the closest that an id comes to saying who shares training: for example
/// `meta-llama/llama` for `meta-llama/llama-3.3-70b-instruct:free`, and `qwen` for `qwen2.5:7b`.
pub(crate) fn family(id: &str) -> String {
    let id = weights(id).trim_start_matches('~').to_lowercase();
    let mut path = id.rsplit('/').filter(|part| !matches!(*part, "" | "models" | "accounts"));
    let name = path.next().unwrap_or(&id);
    let line = line(name);
    match path.next() {
        Some(maker) => format!("{maker}/{line}"),
        None => line.to_owned(),
    }
}

/// Who makes or serves it, as far as the id says.
pub(crate) fn maker(id: &str) -> Option<&str> {
    let mut path = id.rsplit('/').filter(|part| !matches!(*part, "" | "models" | "accounts"));
    path.next()?;
    path.next().map(|maker| maker.trim_start_matches('~'))
}

/// The first word of a name that says more than its maker: `llama` in `meta-llama-3-8b`.
fn line(name: &str) -> &str {
    let words = name.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    let mut words = words.filter(|word| !matches!(*word, "meta" | "the" | "chat"));
    match words.next() {
        // OpenAI's `o3` and `gpt-5` share makers and training.
        Some("o" | "chatgpt") => "gpt",
        Some(word) => word,
        None => name,
    }
}

/// Whether a name alone says that the model does not chat. Words are compared whole where they are
/// short enough to stand inside other names.
pub(crate) fn does_not_chat(id: &str) -> bool {
    const PARTS: &[&str] = &[
        "embed",
        "whisper",
        "rerank",
        "moderation",
        "transcribe",
        "stable-diffusion",
        "dall-e",
        "text-to-",
        "-to-speech",
        "speech-to",
        "realtime",
        "safeguard",
        "imagen",
    ];
    const WORDS: &[&str] = &[
        "tts", "image", "images", "video", "audio", "speech", "ocr", "bge", "gte", "e5", "clip", "flux",
        "sdxl", "sora", "veo", "guard", "davinci", "babbage", "colbert", "reranker", "asr", "kokoro",
        "parakeet", "lyria", "minilm",
    ];
    let id = id.to_lowercase();
    PARTS.iter().any(|part| id.contains(part))
        || id.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// Whether a name alone says that the model reasons before it answers.
pub(crate) fn thinks(id: &str) -> bool {
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
    fn families_are_maker_and_line() {
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
    fn names_tell_what_does_not_chat() {
        for id in
            ["text-embedding-3-small", "openai/whisper-1", "tts-1-hd", "bge-m3", "meta-llama/llama-guard-4"]
        {
            assert!(does_not_chat(id), "{id}");
        }
        for id in ["google/gemini-2.5-flash", "qwen2.5:7b", "stepfun/step-3", "x-ai/grok-4", "guardian/chat"]
        {
            assert!(!does_not_chat(id), "{id}");
        }
        assert_eq!(weights("a/b:free"), "a/b");
        assert_eq!(weights("qwen2.5:7b"), "qwen2.5:7b");
        assert!(thinks("deepseek/deepseek-r1") && thinks("qwen3:8b") && !thinks("mistral-small"));
    }
}
