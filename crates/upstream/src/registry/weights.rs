//! Detection of ids for the same weights: one model served by several hosts, in several formats or
//! precisions.

use super::family::base_id;

/// Words that name a file format or a precision, not another model.
const FORMATS: &[&str] = &[
    "gguf", "ggml", "awq", "gptq", "exl2", "mlx", "onnx", "bnb", "nvfp4", "fp4", "fp8", "fp16", "bf16",
    "f16", "int4", "int8", "w4a16", "w8a8", "w8a16", "4bit", "8bit", "latest",
];

/// Words that hosts add to the name of an open model that they serve faster or cheaper. In other names they
/// belong to the model's own name: `gpt-4-turbo` is not `gpt-4`.
const HOST_WORDS: &[&str] = &["turbo", "lite", "fast", "tput", "reference"];
/// Last words of a maker's own name for an open model.
const TUNINGS: &[&str] = &["instruct", "chat", "it"];

/// Returns the common key of all ids for the same weights. `groq/llama-3.3-70b-instruct`,
/// `meta-llama/Llama-3.3-70B-Instruct-Turbo` and `hf.co/someone/Llama-3.3-70B-Instruct-GGUF:Q4_K_M` are one
/// model, which would cast the same vote three times.
/// would give one vote three times.
/// Names are compared across hosts only if they contain a version or a size. Without one (`maker/large`),
/// different models may share the name, so the whole id counts.
pub(crate) fn weights(id: &str) -> String {
    let id = base_id(id).to_lowercase();
    let name = id.rsplit('/').next().unwrap_or(&id);
    let name = without_vendors(name);
    let mut words: Vec<&str> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if let Some(at) = words.iter().position(|word| is_a_quantization(word)).filter(|at| *at > 0) {
        words.truncate(at);
    }
    let is_open = |words: &[&str]| {
        words.first() == Some(&"deepseek") || words.iter().any(|word| TUNINGS.contains(word))
    };
    while let [rest @ .., last] = words.as_slice()
        && !rest.is_empty()
        && (FORMATS.contains(last) || (HOST_WORDS.contains(last) && is_open(rest)))
    {
        words.pop();
    }
    if let ["meta", "llama", ..] = words.as_slice() {
        words.remove(0);
    }
    let versioned = words.iter().any(|word| word.contains(|c: char| c.is_ascii_digit()));
    if versioned { words.join("-") } else { id }
}

/// Removes the region and maker of Amazon's ids (`us.anthropic.claude-…`). They contain no digits, unlike
/// versions (`qwen2.5`).
fn without_vendors(mut name: &str) -> &str {
    while let Some((vendor, rest)) = name.split_once('.')
        && !rest.is_empty()
        && vendor.bytes().all(|b| b.is_ascii_alphabetic())
    {
        name = rest;
    }
    name
}

/// Returns true for llama.cpp's names of precisions: the `q4` of `q4_k_m`, the `iq3` of `iq3_xs`.
fn is_a_quantization(word: &str) -> bool {
    let digits = word.strip_prefix("iq").or_else(|| word.strip_prefix('q'));
    digits.is_some_and(|digits| matches!(digits, "1" | "2" | "3" | "4" | "5" | "6" | "8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_weights_have_one_key_on_all_hosts() {
        for same in [
            &[
                "meta-llama/llama-3.3-70b-instruct",
                "meta-llama/llama-3.3-70b-instruct:free",
                "groq/Llama-3.3-70B-Instruct",
                "together_ai/meta-llama/Llama-3.3-70B-Instruct",
                "meta-llama/Meta-Llama-3.3-70B-Instruct",
                "hf.co/someone/Llama-3.3-70B-Instruct-GGUF:Q4_K_M",
                "neuralmagic/Llama-3.3-70B-Instruct-FP8",
                "meta-llama/Llama-3.3-70B-Instruct-Turbo",
                "meta-llama/Llama-3.3-70B-Instruct-FP8-Turbo",
                "nebius/meta-llama/Llama-3.3-70B-Instruct-fast",
                "llama-3.3-70b-instruct-q8_0.gguf",
            ] as &[&str],
            &["deepseek-ai/DeepSeek-V3-0324", "deepinfra/deepseek-ai/DeepSeek-V3-0324-Turbo"],
            &["openai/gpt-4o", "azure/gpt-4o", "gpt-4o", "openrouter/openai/gpt-4o"],
            &["qwen2.5:7b", "ollama/qwen2.5:7b", "qwen2.5:7b-q4_0"],
            &["anthropic/claude-3.5-haiku", "bedrock/us.anthropic.claude-3.5-haiku", "claude-3-5-haiku"],
            &["mistralai/mistral-7b-instruct-v0.3", "deepinfra/mistral-7b-instruct-v0.3"],
        ] {
            for id in same {
                assert_eq!(weights(id), weights(same[0]), "{id}");
            }
        }
    }

    #[test]
    fn different_weights_have_different_keys() {
        let ids = [
            "openai/gpt-4o",
            "openai/gpt-4o-mini",
            "openai/gpt-4",
            "openai/gpt-4-turbo",
            "openai/gpt-3.5-turbo",
            "openai/gpt-3.5-turbo-instruct",
            "openai/gpt-4.1",
            "openai/gpt-4o-2024-05-13",
            "openai/gpt-4o-2024-11-20",
            "qwen2.5:7b",
            "qwen2.5:14b",
            "qwen2.5-coder:7b",
            "meta-llama/llama-3.1-8b-instruct",
            "meta-llama/llama-3.1-8b",
            "meta-llama/llama-3.1-70b-instruct",
            "nvidia/llama-3.1-nemotron-70b-instruct",
            "first/large",
            "second/large",
            "deepseek/deepseek-r1",
            "deepseek/deepseek-r1-distill-llama-70b",
            "qwen/q4",
            "a/latest",
            "",
            "/",
        ];
        let names: std::collections::HashSet<String> = ids.iter().map(|id| weights(id)).collect();
        assert_eq!(names.len(), ids.len(), "{names:?}");
    }
}
