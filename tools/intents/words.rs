//! Normalization of words for comparison: lower case, without inflection, synonyms merged.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The stem for a choice between options named in the text ("A or B?").
pub const CHOICE: &str = "<choice>";
/// The stem for a poll's id.
const POLL_ID: &str = "<poll id>";
/// The stem for a wallet's address.
const ADDRESS: &str = "wallet";

/// Synonyms. The first word of each line stands for all words of the line.
const SYNONYMS: &[&str] = &[
    "poll survey questionnaire",
    "vote ballot elect",
    "model llm ai ais lm gpt claude gemini llama mistral chatbot",
    "several multiple many different bunch panel dozens hundred various crowd crowdsource committee group across jury other",
    "agree consensus majority agreement unanimous disagree",
    "opinion perspective",
    "result breakdown outcome tally conclusion verdict",
    "win winner won winning decide",
    "cost price pricing expensive fee costly charge spend spent",
    "estimate ballpark expected approximate approximately rough roughly quote forecast predict usually typical typically expect",
    "long duration latency slow quick quickly fast",
    "balance credit remaining remain left budget funds",
    "money dollar cent usd euro buck cash",
    "key token credential apikey",
    "revoke delete remove disable invalidate deactivate erase revocation",
    "leak compromise stolen stole steal expose publish hack",
    "cancel cancelled stop abort terminate end halt quit kill",
    "create generate make new issue mint produce fresh",
    "usdc stablecoin stablecoins x402",
    "openapi swagger",
    "node nodes",
    "topup recharge refill deposit load reload add buy purchase",
    "transfer move put shift",
    "card visa mastercard stripe checkout pay payment creditcard",
    "wallet metamask ethereum eth siwe crypto web3",
    "sign signature signed signing",
    "signin login logon authenticate",
    "signup register onboard",
    "status progress far along",
    "done finish finished complete completed completion ready",
    "background async asynchronous asynchronously immediately later",
    "wait waiting",
    "block blocking",
    "start begin launch kick initiate",
    "live stream streaming tail follow subscribe watch event update realtime",
    "free gratis unpaid openweight",
    "notify notification callback alert inform tell",
    "webhook hook",
    "recent recently last latest",
    "queue handle",
    "endpoint backend url server",
    "history past previous previously before earlier older old",
    "list enumerate overview",
    "show display see view print open",
    "get fetch read retrieve return",
    "valid validate validation check verify test",
    "dryrun simulate rehearse execute",
    "error fault failure insufficient",
    "health ping alive online down healthy reachable healthcheck database db",
    "rotate replace regenerate renew refresh reset",
    "preset profile conservative balanced",
    "provider vendor supplier registry",
    "available exist support offer",
    "confirm confirmation approve approval permission threshold limit cap",
    "example sample snippet tutorial",
    "diagram mermaid chart draw graph visualize visualise plot flowchart picture",
    "trust reliable hallucination hallucinate",
    "better best prefer",
    "option choice alternative",
    "user identity whoami",
    "feedback review comment judgement judgment judge",
    "correct right accurate accuracy",
    "wrong incorrect mistaken mistake",
    "submit send record report mark leave",
    "reputation metric statistic stat performance leaderboard ranking",
    "rate ratio percentage",
    "fail failing failed flaky",
    "python typescript javascript curl",
    "service api",
];

/// Subjects of the service: a text with one of these words is very probably about it.
const SUBJECTS: &str = "poll result preset opinion vote model key wallet webhook balance consensus siwe \
    feedback reputation";

/// Verbs of operations that change something. A text with one of these verbs asks for no other action.
const ACTIONS: [&str; 7] = ["create", "revoke", "cancel", "topup", "transfer", "rotate", "start"];

/// A further verb of such an operation, which is also a noun.
const SET: &str = "set";

/// Other objects of operations.
const THINGS: [&str; 6] = ["account", "money", "session", "service", "agent", "endpoint"];

/// Things that somebody can own, so a word before them may say that they belong to another service.
const OWNED: [&str; 8] = ["poll", "result", "key", "wallet", "webhook", "balance", "account", "card"];
/// Words before such a thing that say nothing about its owner.
const NEUTRAL: &str = "recent old every each all running other agent base second another additional";
/// Words before a place or an owner.
const PREPOSITIONS: [&str; 8] = ["in", "on", "at", "from", "of", "between", "that", "which"];

/// Words with little meaning.
const FILLERS: &str = " a page time times two three four five ten about actually am an and any are as at be been but by can could did do does doing dont for from give \
    had has have her here hey hi him his how i if im in into is it its just kindly let like me my myself need now of off on over above one or \
    our out please pls plz s should so some t than thank thanks that the their them then there these they thing this those to too \
    up us want was we were what whats when where which who whom why will with without yes you your id ok use using used \
    try know think find really go ahead against tomorrow howmany howmuch sofar would ";

/// Pairs of words with one meaning.
const PAIRS: &[(&str, &str, &str)] = &[
    ("api", "key", "key"),
    ("api", "token", "key"),
    ("access", "token", "key"),
    ("health", "check", "health"),
    ("so", "far", "sofar"),
    ("how", "many", "howmany"),
    ("how", "much", "howmuch"),
    ("log", "in", "login"),
    ("logged", "in", "login"),
    ("sign", "in", "login"),
    ("signed", "in", "login"),
    ("signing", "in", "login"),
    ("sign", "up", "signup"),
    ("signing", "up", "signup"),
    ("top", "up", "topup"),
    ("tops", "up", "topup"),
    ("dry", "run", "dryrun"),
    ("open", "weight", "openweight"),
    ("credit", "card", "card"),
    ("pre", "funded", "prefunded"),
    ("web", "hook", "webhook"),
    ("real", "time", "realtime"),
    ("tell", "me", "me"),
    ("let", "me", "me"),
    ("open", "id", "openid"),
    ("open", "api", "openapi"),
    ("log", "out", "logout"),
    ("logged", "out", "logout"),
    ("sign", "out", "logout"),
    ("signed", "out", "logout"),
    ("call", "off", "cancel"),
    ("turn", "off", "disable"),
    ("switch", "off", "disable"),
    ("no", "more", "nomore"),
    ("no", "longer", "nomore"),
];

/// The prefix of a negated word's stem: "do not wait" has the word `!wait`.
pub const NEGATED: char = '!';
/// The prefix of a past action's stem: "the poll I started" has the word `~start`.
pub const PAST: char = '~';
/// Words before a past tense that describes an earlier action.
const TELLERS: [&str; 5] = ["i", "ive", "we", "weve", "you"];
/// Words before the participle of an action that somebody has taken: "my poll was cancelled".
const AUXILIARIES: [&str; 10] =
    ["was", "were", "been", "being", "got", "gotten", "has", "have", "had", "failed"];
/// Words that negate the rest of their clause.
const NEGATORS: &str = "refrain cannot not dont doesnt didnt wont never without no avoid neither nor nobody \
    refuse forbidden forget skip abstain shouldnt mustnt couldnt wouldnt nicht keine pas nunca";
/// Words that end a negation.
const ENDS: [&str; 8] = ["but", "just", "only", "instead", "rather", "then", "simply", "however"];
/// Pairs that negate nothing, or in which only the second word negates.
pub const HARMLESS_NEGATIONS: [(&str, &str); 6] =
    [("not", "sure"), ("never", "mind"), ("no", "idea"), ("no", "matter"), ("why", "not"), ("no", "problem")];
/// Words that negate a following participle: "stop notifying me".
const ENDINGS: [&str; 3] = ["stop", "quit", "cease"];
/// Pairs that negate the words after them.
const NEGATING_PAIRS: [(&str, &str); 6] = [
    ("instead", "of"),
    ("rather", "than"),
    ("under", "no"),
    ("stop", "from"),
    ("hold", "off"),
    ("hold", "back"),
];
/// Affirmative synonyms of negated words.
const OPPOSITES: [(&str, &str); 2] = [("wait", "background"), ("block", "background")];

/// Returns the words of a text in order, without numbers. Linear in its length.
pub fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace(['\'', '’'], "").replace('\n', ". ");
    let pieces = lower.split_whitespace().map(|piece| if piece.contains("://") { "url" } else { piece });
    let lower = pieces.collect::<Vec<_>>().join(" ");
    let mut words = Vec::new();
    let mut affirmed: Vec<&str> = Vec::new();
    for clause in lower.split([',', '.', ';', ':', '!', '?']) {
        words_of_clause(clause, &mut words, &mut affirmed);
    }
    if is_choice(&lower, &affirmed) {
        words.push(CHOICE.to_owned());
    }
    words
}

/// Adds the normalized words of a clause to `words`, and its affirmed words as written to `affirmed`.
fn words_of_clause<'a>(clause: &'a str, words: &mut Vec<String>, affirmed: &mut Vec<&'a str>) {
    let raw: Vec<&str> =
        clause.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_word = |word: &&str| word.chars().any(char::is_alphabetic) || word.len() == 8;
    // Numbers count for choices only.
    let mut negated = false;
    let mut position = 0;
    while let Some(&word) = raw.get(position) {
        let next = raw.get(position + 1).copied().unwrap_or_default();
        let is = |pairs: &[(&str, &str)]| pairs.contains(&(word, next));
        if is(&HARMLESS_NEGATIONS) {
            position += 2;
            continue;
        }
        if is(&NEGATING_PAIRS) {
            negated = true;
            position += 2;
            continue;
        }
        if let Some((_, _, meaning)) =
            PAIRS.iter().find(|(first, second, _)| (*first, *second) == (word, next))
        {
            push(&meaning_of(meaning), negated, words);
            if !negated {
                affirmed.extend([word, next]);
            }
            position += 2;
            continue;
        }
        position += 1;
        if NEGATORS.split_whitespace().any(|negator| negator == word)
            || (ENDINGS.contains(&word) && next.ends_with("ing"))
        {
            negated = true;
            continue;
        }
        if word == "non" {
            push(&meaning_of(next), true, words);
            position += 1;
            continue;
        }
        if ENDS.contains(&word) {
            negated = false;
            continue;
        }
        if !negated {
            affirmed.push(word);
        }
        if !is_word(&word) {
            continue;
        }
        if word == "ep" && next.len() == 8 {
            position += 2;
            push(POLL_ID, negated, words);
        } else if word.starts_with("0x") {
            push(ADDRESS, negated, words);
        } else if word == "x402" || word.chars().filter(char::is_ascii_digit).count() < 2 {
            let stem = meaning_of(word);
            let before = &raw[position.saturating_sub(3)..position - 1];
            let follows = |words: &[&str]| before.iter().any(|word| words.contains(word));
            let is_past =
                word.ends_with("ed") && (follows(&TELLERS) || (is_action(&stem) && follows(&AUXILIARIES)));
            if is_past && !is_filler(&stem) {
                push(&format!("{PAST}{stem}"), negated, words);
            } else {
                push(&stem, negated, words);
            }
        }
    }
}

/// Adds a word, with a prefix if it is negated. Fillers are never negated.
fn push(stem: &str, negated: bool, words: &mut Vec<String>) {
    let opposite = OPPOSITES.iter().find(|(word, _)| negated && *word == stem);
    match opposite {
        _ if stem.is_empty() => {}
        Some((_, meaning)) => words.push(meaning_of(meaning)),
        None if negated && is_filler(stem) => {}
        None if negated => words.push(format!("{NEGATED}{stem}")),
        None => words.push(stem.to_owned()),
    }
}

/// Function words of unsupported languages.
const FOREIGN: &str = " bitte ich mein meine meinen mir wie viel der das und ist nicht kein frag mehrere ob le les des est mon ma mes \
    tout une quel quelle el los las mi mis por favor qué cuál che il mio ";

/// Words with a meaning specific to this service.
const SPECIFIC: &str =
    " api apikey poll polls webhook webhooks stripe usdc x402 siwe ethereum metamask credits ep ";

/// Returns true if a text names a term that is specific to this service: an API key, not any key.
pub fn is_specific(text: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| SPECIFIC.split_whitespace().collect());
    text.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(word))
}

/// Returns true if a text is in another language than English.
pub fn is_foreign(text: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| FOREIGN.split_whitespace().collect());
    let lower = text.to_lowercase();
    let words = || lower.split(|c: char| !c.is_alphanumeric());
    words().any(|word| WORDS.contains(word)) && !words().any(|word| FILLER_WORDS.contains(word))
}

/// Returns true if a text asks for information rather than for an action.
pub fn is_question(text: &str) -> bool {
    const ASKS: [&str; 16] = [
        "why", "which", "what", "whats", "what's", "who", "when", "where", "is", "are", "am", "did", "does",
        "has", "was", "were",
    ];
    let lower = text.to_lowercase();
    let mut words = lower.split_whitespace();
    let first = words.next().unwrap_or_default();
    let second = lower.split_whitespace().nth(1).unwrap_or_default();
    // "How do I pay" asks how to perform an action.
    ASKS.contains(&first)
        || ["which", "what"].contains(&second) // "above which amount"
        || (first == "have" && ["i", "we", "you", "my", "our", "the", "any", "all"].contains(&second))
        || (first == "how" && !words.any(|word| ["i", "we", "to"].contains(&word)))
}

/// Words of texts that try to change the rules or speak for others.
const SUSPICIOUS: &str = " ignore ignoring disregard override bypass jailbreak pretend instructions instruction root sudo admin \
    administrator developer system everyone everyones everybody everybodys elses customers customer \
    users user victim victims repeat roleplay order none nothing translate poem ";

/// Returns true if a text tries to change the rules, speaks for others, or contains markup.
pub fn is_suspicious(text: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| SUSPICIOUS.split_whitespace().collect());
    let lower = text.to_lowercase().replace(['\'', '’'], "");
    text.contains(['<', '>', '{', '}', '`', '\\'])
        || lower.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(word))
}

/// Returns true if a text asks to choose between options that it names.
fn is_choice(text: &str, raw: &[&str]) -> bool {
    const ASKS: [&str; 14] = [
        "which", "should", "is", "are", "do", "does", "would", "better", "best", "prefer", "pick", "choose",
        "what", "whats",
    ];
    let names = raw.iter().skip(1).any(|word| ["or", "vs", "versus"].contains(word));
    let compares = raw.first().is_some_and(|word| *word == "which")
        && raw.iter().any(|word| ["better", "best"].contains(word));
    let advice = raw.first().is_some_and(|word| *word == "should") && text.contains('?');
    let than = raw.contains(&"than") && raw.contains(&"better");
    advice
        || than
        || names
            && (text.contains('?')
                || raw.contains(&"whether")
                || raw.first().is_some_and(|word| ASKS.contains(word)))
        || compares
}

/// The representative of each word of [`SYNONYMS`], by stem.
static MEANINGS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let mut meanings = HashMap::new();
    for group in SYNONYMS {
        let mut words = group.split(' ');
        let Some(first) = words.next().map(stem) else { continue };
        for word in std::iter::once(first.clone()).chain(words.map(stem)) {
            meanings.entry(word).or_insert_with(|| first.clone());
        }
    }
    meanings
});

/// The set of [`FILLERS`].
static FILLER_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| FILLERS.split_whitespace().collect());

/// Returns the representative of a word.
fn meaning_of(word: &str) -> String {
    if FILLER_WORDS.contains(word) {
        return word.to_owned();
    }
    let stem = stem(word);
    MEANINGS.get(&stem).cloned().unwrap_or(stem)
}

/// Endings of inflected words, and their replacements.
const SUFFIXES: [(&str, &str); 9] = [
    ("ations", "ate"),
    ("ation", "ate"),
    ("ies", "y"),
    ("ing", ""),
    ("edly", ""),
    ("ied", "y"),
    ("ed", ""),
    ("es", ""),
    ("s", ""),
];

/// Returns an English word without its inflection. The rules are rough, but the same for every text.
fn stem(word: &str) -> String {
    // "Running" and "balanced" differ in meaning from "run" and "balance".
    if ["running", "balanced"].contains(&word) {
        return word.to_owned();
    }
    for (suffix, instead) in SUFFIXES {
        let Some(start) = word.strip_suffix(suffix) else { continue };
        if start.chars().count() < 3 || (suffix == "s" && start.ends_with(['s', 'u', 'i'])) {
            continue;
        }
        let mut stem = format!("{start}{instead}");
        let mut last = stem.chars().rev();
        if let (Some(one), Some(two)) = (last.next(), last.next())
            && one == two
            && !matches!(one, 'l' | 's' | 'e')
        {
            stem.pop();
        }
        return stem.trim_end_matches('e').to_owned();
    }
    word.trim_end_matches('e').to_owned()
}

/// Returns true for the stem of a word with little meaning.
pub fn is_filler(stem: &str) -> bool {
    // A poll's id can occur in a request for any operation on the poll.
    stem == POLL_ID || FILLER_WORDS.contains(stem)
}

/// Returns true if a stem names an action.
pub fn is_action(stem: &str) -> bool {
    static STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| ACTIONS.into_iter().map(meaning_of).collect());
    STEMS.contains(stem)
}

/// Returns true if a stem is a verb that leads a request for an operation that changes something.
pub fn is_command(stem: &str) -> bool {
    stem == SET || is_action(stem)
}

/// Returns true if a stem names a thing, which alone asks for nothing.
pub fn is_thing(stem: &str) -> bool {
    static STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| THINGS.into_iter().map(meaning_of).collect());
    is_subject(stem) || STEMS.contains(stem)
}

/// Returns true if a stem names a thing that somebody can own.
pub fn is_owned(stem: &str) -> bool {
    static STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| OWNED.into_iter().map(meaning_of).collect());
    STEMS.contains(stem)
}

/// Returns true if a stem says nothing about the owner of the thing after it.
pub fn is_neutral(stem: &str) -> bool {
    static STEMS: LazyLock<HashSet<String>> =
        LazyLock::new(|| NEUTRAL.split_whitespace().map(meaning_of).collect());
    is_filler(stem) || STEMS.contains(stem)
}

/// Returns true for a word before a place or an owner.
pub fn is_preposition(word: &str) -> bool {
    PREPOSITIONS.contains(&word)
}

/// Returns true if a stem names a subject of the service.
pub fn is_subject(stem: &str) -> bool {
    static STEMS: LazyLock<HashSet<String>> =
        LazyLock::new(|| SUBJECTS.split_whitespace().map(meaning_of).collect());
    stem == CHOICE || STEMS.contains(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_one_meaning() {
        let mut seen: HashMap<String, &str> = HashMap::new();
        for group in SYNONYMS {
            for word in group.split(' ') {
                let before = seen.insert(stem(word), group);
                assert!(
                    before.is_none_or(|before| before == *group),
                    "{word} of {group} stands in {before:?}, too"
                );
                assert!(!FILLER_WORDS.contains(word), "{word} says little");
            }
        }
    }
}
