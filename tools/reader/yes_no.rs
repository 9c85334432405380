//! Questions with a yes or a no, in twelve languages.

use ep_polling::text::capitalized;

use super::sentences::{compiled, own, pattern};

pattern!(
    ENGLISH_QUESTION,
    r"(?i)^\W*(?:(?:[\w’' -]{0,60}, |so |and |but |ok |then |now ){0,2})(?:is|are|was|were|am|do|does|did|can|could|will|would|should|has|have|had|may|might|must|shall|isn't|aren't|don't|doesn't|didn't|can't|won't|wouldn't|shouldn't)\b"
);
/// The options of a question in English.
pub(super) const ENGLISH: [&str; 2] = ["Yes", "No"];

pattern!(WISH, r"(?i)^\W*would (?:love|like|appreciate|be (?:great|nice|good))\b");
pattern!(WHETHER, r"(?i)^\W*(?:whether|if)\b");
pattern!(TRUE_FALSE, r"(?i)\btrue (?:or|/) false\b|\btrue\?");
pattern!(YES_NO_WORDS, r"(?i)\byes\s*(?:or|/|,)\s*no\b|\by/n\b|\byes-?no\b");
/// The words of each language, and its questions.
static LANGUAGES: std::sync::LazyLock<Vec<(regex::Regex, regex::Regex, [&str; 2])>> =
    std::sync::LazyLock::new(|| {
        let language =
            |explicit: &str, question: &str, words| (compiled(explicit), compiled(question), words);
        vec![
            language(
                r"(?i)\bja\s*(?:oder|/)\s*nein\b",
                r"(?i)^\W*(?:ist|sind|war|soll\w*|kann|können|könnte\w*|darf|dürfen|muss|müssen|hat|haben|wird|werden|würde\w*|wäre\w*|gibt|lohnt|gehört|findet|braucht|macht|hilft|sollte\w*)\b",
                ["Ja", "Nein"],
            ),
            language(
                r"(?i)\boui\s*(?:ou|/)\s*non\b",
                r"(?i)^\W*(?:est-ce|est-il|faut-il|dois-je|doit-on|peut-on|puis-je|devrais-je|devrait-on|vaut-il|y a-t-il|sont-ils|avez-vous|as-tu|fait-il)\b|\b(?:est-elle|est-il|sont-elles|sont-ils|faut-il|doit-on|peut-on|devrait-(?:il|elle|on))\b",
                ["Oui", "Non"],
            ),
            language(
                r"(?i)\bs[ií]\s*(?:o|/)\s*no\b.*[¿]|[¿].*\bs[ií]\s*(?:o|/)\s*no\b",
                r"(?i)^\W*(?:[¿](?:es|son|está|debo|debería\w*|puedo|puede|hay|vale|conviene|tiene|se puede|merece|crees|existe|fue|será|deberíamos|podemos)|(?:debo|debería|deberíamos|puedo|vale la pena|conviene)\b)",
                ["Sí", "No"],
            ),
            language(
                r"(?i)\bs[iì]\s*(?:o|/)\s*no\b",
                r"(?i)^\W*(?:è|devo|dovrei|dovremmo|posso|si può|conviene|vale la pena|ha senso|sono)\b",
                ["Sì", "No"],
            ),
            language(
                r"(?i)\bsim\s*(?:ou|/)\s*não\b",
                r"(?i)^\W*(?:é|dá|tem como|compensa|preciso|consigo|existe|devo|deveria|devemos|vale a pena|posso|será|pode|há|está|são|faz sentido)\b|\bvocês? acham? que\b|\bvale a pena\b",
                ["Sim", "Não"],
            ),
            language(
                r"(?i)\bja\s*(?:of|/)\s*nee\b",
                r"(?i)^\W*(?:moet|moeten|kan|kunnen|mag|zal|zou|heeft|hebben|gaat|wordt|zijn|is)\b.*\b(?:een|het|voor|zonder|te|mijn|ik|wij|niet|de|van|dit|deze|je|veel)\b",
                ["Ja", "Nee"],
            ),
            language(r"(?i)\btak\s*(?:czy|lub|/)\s*nie\b", r"(?i)^\W*czy\b|,\s*czy\b", ["Tak", "Nie"]),
            language(
                r"(?i)\bevet\s*(?:mi|veya|/)\s*hayır\b",
                r"(?i)\b\w+\s+m[iıuü](?:y[iıuü]m|d[iıuü]r)?\s*(?:\?|$)",
                ["Evet", "Hayır"],
            ),
            language(
                r"(?i)\bда\s*(?:или|/)\s*нет\b",
                r"(?i)\bли\b|^\W*(?:можно|нужно|стоит|правда|разве)\b",
                ["Да", "Нет"],
            ),
            language(
                r"はい\s*(?:か|/)\s*いいえ",
                r"(?:です|ます|べき|でしょう|ない|る|い)か[？?。]?\s*$",
                ["はい", "いいえ"],
            ),
            language(
                r"是\s*(?:或|/|还是)\s*否",
                r"吗|是否|要不要|该不该|能不能|可不可以|是不是",
                ["是", "否"],
            ),
            language(
                r"예\s*(?:또는|/)\s*아니[오요]",
                r"(?:까요?|나요|가요|니|을까|ㄹ까|인가|는가)\s*\?",
                ["예", "아니요"],
            ),
        ]
    });
pattern!(
    ENGLISH_WORDS,
    r"(?i)\b(?:the|an|my|this|that|it|we|you|i|with|your|our|is|are|should|does|do|of)\b"
);

pattern!(
    NAMED_PAIR,
    r"(?i)(?:^|[?.!,:]\s+|\n|\b(?:just |only |plain |with |par |mit |con |com |answer:? |a ))(yes or no|yes/no|oui ou non|ja oder nein|s[ií] o no|sì o no|sim ou não|ja of nee|tak lub nie|tak czy nie|evet veya hayır|да или нет)\b(?:\s*/\s*\w+|,?\s+(?:or|ou|oder|o)\s+\w+)?"
);

/// Returns the yes and the no of an instruction: "answer with yes or no".
pub(super) fn instructed(text: &str) -> Option<Vec<String>> {
    let found = NAMED_PAIR.captures(text)?;
    if found.get(0)?.as_str().len() > found.get(1)?.end() - found.get(0)?.start() {
        // "yes/no/unsure"
        return None;
    }
    let words: Vec<&str> = found[1].split([' ', '/']).collect();
    Some(vec![capitalized(words.first()?), capitalized(words.last()?)])
}

pattern!(ASKED_WHETHER, r"(?i)\bwhether\b|\b(?:ais?|models?|llms)\s+if\b");
pattern!(ASKED_SI, r"(?i)\b(?:ia|ias|modèles)\s+si\b");

/// Returns the yes and the no of an indirect question: "ask the models whether …".
pub(super) fn indirect(text: &str) -> Option<Vec<String>> {
    let words = if ASKED_WHETHER.is_match(text) {
        ENGLISH
    } else if ASKED_SI.is_match(text) {
        LANGUAGES[1].2
    } else {
        return None;
    };
    Some(words.map(str::to_owned).to_vec())
}

/// Returns the two options that a text names: "true or false".
pub(super) fn named(text: &str) -> Option<Vec<String>> {
    TRUE_FALSE.is_match(text).then(|| vec!["True".to_owned(), "False".to_owned()])
}

/// Returns the two options of a question with a yes or a no.
pub(super) fn read(text: &str) -> Option<Vec<String>> {
    let two = |words: [&str; 2]| Some(words.map(str::to_owned).to_vec());
    for (explicit, _, words) in LANGUAGES.iter() {
        if explicit.is_match(text) {
            return two(*words);
        }
    }
    if YES_NO_WORDS.is_match(text) {
        return two(ENGLISH);
    }
    let sentences = own(text);
    let last = sentences.iter().rposition(|sentence| sentence.ends_with(['?', '？']));
    let candidates: Vec<&str> = match last {
        Some(at) => vec![sentences[at]].into_iter().chain(sentences.last().copied()).collect(),
        None => sentences.last().copied().into_iter().chain(sentences.first().copied()).collect(),
    };
    for sentence in candidates.iter().copied() {
        // "Is" begins a question in both languages.
        let rest = sentence.split_once(' ').map_or("", |(_, rest)| rest);
        let is_dutch = LANGUAGES[5].1.is_match(sentence) && !ENGLISH_WORDS.is_match(rest);
        if is_dutch {
            return two(["Ja", "Nee"]);
        }
        let main = sentence.rsplit(": ").next().unwrap_or(sentence);
        for part in [sentence, main] {
            if ENGLISH_QUESTION.is_match(part) && !WISH.is_match(part) && !super::sentences::WH.is_match(part)
            {
                return two(ENGLISH);
            }
        }
        if WHETHER.is_match(sentence) {
            return two(ENGLISH);
        }
        if super::sentences::WH_ASIAN.is_match(sentence) {
            return None;
        }
        for (_, question, words) in LANGUAGES.iter() {
            // "Devo" begins a question in Italian and in Portuguese.
            let is_portuguese = words[0] == "Sì" && text.contains(['ã', 'õ', 'ç']);
            if !is_portuguese && (question.is_match(sentence) || question.is_match(main)) {
                return two(*words);
            }
        }
    }
    // Other Spanish questions without a question word.
    if super::service::is_chat(text) {
        return None;
    }
    let sentence = candidates
        .first()
        .filter(|sentence| sentence.ends_with(['?', '？']) && sentence.split_whitespace().count() >= 4)?;
    if super::sentences::WH.is_match(sentence) || super::sentences::WH_ANYWHERE.is_match(sentence) {
        return None;
    }
    if sentence.contains('¿') { two(LANGUAGES[2].2) } else { None }
}
