//! Models that a request names: "ask Claude and GPT".

use std::sync::LazyLock;

use regex::Regex;

use super::sentences::{compiled, pattern};

/// Words that name a product line.
const LINE: &str = "claude|chatgpt|gpt|gemini|gemma|llama|mistral|mixtral|grok|qwen|deepseek|kimi|glm|sonnet|opus|haiku|cohere|nova|perplexity|sonar|nemotron|granite|minimax|olmo|o[1-5]";
/// Words after it that belong to the name.
const VARIANT: &str = r"v?\d[\w.]*|sonnet|opus|haiku|mini|nano|pro|flash|large|medium|small|turbo|instruct|coder|lite|maverick|scout";
/// Words before a request.
const POLITE: &str = r"(?:(?:please|pls|can you|could you|would you|hey|hi|hello|ok|bitte)[ ,!]+)*";

/// Verbs of a request to models.
const ASKS: &str = "ask|poll|query|consult|survey|frage?|let|have|get";

/// A sentence that begins with two or more names: the words before them, and their list.
static SEVERAL: LazyLock<Regex> = LazyLock::new(|| {
    let name = format!(r"(?:{LINE})[\w.-]*(?:[ -](?:{VARIANT})\b)*");
    let before = r"(?:i |i'd |what |which |would |only |just )*";
    compiled(&format!(
        r"(?i)^(\W*{POLITE}{before}(?:{ASKS}|want|like|do|would)(?: only| just)? (?:the )?)({name}(?:(?:{BETWEEN}){name})+)(?: models\b| only\b)*"
    ))
});
/// The words and marks between two names.
const BETWEEN: &str = r"\s*[,/&+]\s*(?:(?:and|und|plus)\s+)?|\s+(?:and|und|plus)\s+";
static SEPARATOR: LazyLock<Regex> = LazyLock::new(|| compiled(&format!("(?i){BETWEEN}")));

/// A request to one model or more.
static ASKS_SOME: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&format!(r"(?i)^\W*{POLITE}(?:{ASKS}|i want)\s+(?:the )?(?:(?:{LINE})\b|[a-z0-9-]+/[a-z0-9-]+)"))
});

pattern!(
    /// More names after a list, of which none is known.
    GOES_ON,
    r"(?i)^\s*(?:[&/+]|(?:and|or|und|oder|plus)\b|,\s*[\w./-]+\s*[:,])"
);
pattern!(
    /// Models beside the named ones: "and any others".
    AND_OTHERS,
    r"(?i)(?:,|\band|\bor|&)\s+(?:who|whatever|any|(?:the )?others?\b|the rest\b|all\b|every|more\b|friends\b|co\b|such\b)|\betc\b"
);
pattern!(
    /// Words after the names that continue the request; no noun, as in "Claude and GPT users".
    FOLLOWS,
    r"(?i)^\s*$|^\s*[:,;.?!–—-]|^\s+(?:to|whether|if|which|what|who|whose|where|when|why|how|about|on|for|should|shall|is|are|was|were|do|does|did|can|could|will|would|please|pls|this|the|a|an|my|our|vote|decide|answer|choose|pick|weigh|judge|rate|say|think|prefer|recommend|only|both)\b"
);
pattern!(
    /// A verb for the task of the models.
    VOTES,
    r"(?i)^\s+(?:to )?(?:vote|decide|answer|choose|pick|weigh in|judge|rate|say|think|prefer|recommend)\b"
);

/// Returns a sentence with "the models" in place of the models that it names, and their names.
pub(super) fn split(sentence: &str) -> Option<(String, Vec<String>)> {
    let found = SEVERAL.captures(sentence)?;
    let (before, rest) = (&found[1], &sentence[found[0].len()..]);
    if GOES_ON.is_match(rest) || !FOLLOWS.is_match(rest) {
        return None;
    }
    let verb =
        before.trim_end().trim_end_matches(" the").rsplit(' ').next().unwrap_or_default().to_lowercase();
    let needs_vote = ["let", "have", "get", "want", "like", "do", "would"].contains(&verb.as_str());
    if needs_vote && !VOTES.is_match(rest) {
        return None;
    }
    let named = |name: &str| {
        let name = name.trim().trim_end_matches(['.', '-']).to_lowercase();
        if name == "chatgpt" { "gpt".to_owned() } else { name }
    };
    let names = SEPARATOR.split(&found[2]).map(named).collect();
    let before = if needs_vote { before } else { "Ask " };
    Some((format!("{before}the models{rest}"), names))
}

/// True if a sentence asks certain models and no others.
pub(super) fn asks_some(sentence: &str) -> bool {
    ASKS_SOME.is_match(sentence) && !AND_OTHERS.is_match(sentence)
}
