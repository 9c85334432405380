//! The part of an upstream's message that callers may see.

/// Shortens an upstream's message to one line and removes keys, tokens, account numbers and URLs, so that it
/// can be shown to callers. A provider's JSON is left out, with all behind it.
pub(crate) fn public_text(message: &str, secret: Option<&str>) -> String {
    const MAX_BYTES: usize = 120;
    let starts_with = |sign: &str| message.trim_start().starts_with(sign);
    let json = if starts_with("{") || starts_with("[{") { Some(0) } else { message.find("{\"") };
    let sentence = json.map_or(message, |at| message[..at].trim_end_matches([' ', ':', '-', '[']));
    let mut text = sentence.chars().take(2000).collect::<String>();
    if let Some(secret) = secret.filter(|secret| secret.len() >= 4) {
        text = text.replace(secret, "…");
    }
    let words = text.split_whitespace().map(|word| if is_sensitive(word) { "…" } else { word });
    let mut shown = String::new();
    for word in words {
        if shown.len() + word.len() > MAX_BYTES {
            shown.push('…');
            break;
        }
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(word);
    }
    shown
}

/// Returns true if a word may be a URL, a key or an identifier: a long mix of letters and digits.
fn is_sensitive(word: &str) -> bool {
    const PREFIXES: [&str; 9] = ["sk-", "sk_", "pk-", "org-", "org_", "user_", "user-", "key-", "bearer"];
    let lower = word.to_ascii_lowercase();
    let token = |part: &str| {
        part.len() >= 20
            && part.bytes().any(|b| b.is_ascii_digit())
            && part.bytes().any(|b| b.is_ascii_alphabetic())
    };
    lower.contains("://")
        || lower.contains('@')
        || lower
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
            .any(|part| token(part) || PREFIXES.iter().any(|prefix| part.starts_with(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_text_contains_no_secrets() {
        let shown = public_text(
            "Incorrect API key provided: sk-or-v1-abc***def. See https://u:p@host/x or mail me@x.org (org-7Hq, \
             req 0a1b2c3d4e5f6a7b8c9d0e1f), key secret99.",
            Some("secret99"),
        );
        assert_eq!(shown, "Incorrect API key provided: … See … or mail … … req … key ….");
        assert!(public_text(&"word ".repeat(100), None).len() < 130);
        assert_eq!(public_text("BedrockException - {\"message\":\"no\"}", None), "BedrockException");
        for json in ["{\"detail\":[]}", "{}", " [{\"error\":7}]"] {
            assert_eq!(public_text(json, None), "");
        }
        assert_eq!(public_text("[400] bad request", None), "[400] bad request");
    }
}
