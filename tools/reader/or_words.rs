//! The word "or" in the languages of questions.

use super::sentences::pattern;

pattern!(OR_ENGLISH, r"(?i),?\s+(?:or|vs\.?|versus)\s+(?:just |rather |maybe |else )?");
pattern!(
    OR_OTHERS,
    r"(?i),?\s+(?:or|oder|ou|o|u|oppure|lub|albo|czy|veya|yoksa|или|vs\.?|gegen)\s+(?:lieber |eher |doch |plutôt |mejor |melhor |meglio )?|\s+o\s*(?:l')"
);
pattern!(OR_DUTCH, r"(?i),?\s+of\s+");
pattern!(
    DUTCH,
    r"(?i)\b(?:het|een|voor|welke?|wat|beter|liever|ik|wij|moet|mijn|zijn|niet|vanavond|morgen|bij)\b"
);
pattern!(ENGLISH, r"(?i)\b(?:the|my|this|that|we|you|with|your|our|are|should|which|what|for|and)\b");

pattern!(OR_PORTUGUESE, r"(?i),?\s+ou\s+");
pattern!(PORTUGUESE, r"(?i)\b(?:é|não|você|uma|são|para o|melhor|deve|vários|várias|opinião|ou o|ou a)\b");

/// Returns the pattern of the word "or" in the language of a sentence.
pub(super) fn or_word(sentence: &str) -> &'static regex::Regex {
    // "São Paulo" is in English sentences, too.
    if PORTUGUESE.is_match(sentence) && !(ENGLISH.is_match(sentence) && OR_ENGLISH.is_match(sentence)) {
        return &OR_PORTUGUESE;
    }
    if DUTCH.is_match(sentence) && !OR_ENGLISH.is_match(sentence) {
        return &OR_DUTCH;
    }
    if ENGLISH.is_match(sentence) || OR_ENGLISH.is_match(sentence) { &OR_ENGLISH } else { &OR_OTHERS }
}
