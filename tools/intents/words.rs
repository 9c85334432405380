//! The words of a text, as texts are compared: in lower case, inflections removed, words of one meaning as one.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The stem that stands for a choice between things that the text names ("A or B?").
pub const CHOICE: &str = "<choice>";
/// The stem that stands for the id of a poll.
const POLL_ID: &str = "<poll id>";
/// The stem that stands for the address of a wallet.
const ADDRESS: &str = "wallet";

/// Words of one meaning; the first of each line is what they are compared by.
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
    "cancel stop abort terminate end halt quit kill",
    "create generate make new issue mint produce",
    "topup recharge refill deposit load reload add buy purchase",
    "transfer move put shift",
    "card visa mastercard stripe checkout pay payment creditcard",
    "wallet metamask ethereum eth siwe crypto web3",
    "sign signature signed signing",
    "signin login logon authenticate",
    "signup register onboard",
    "status progress far along",
    "done finish finished complete completed ready",
    "background async asynchronous asynchronously immediately later block blocking wait waiting",
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
    "confirm confirmation approve approval permission threshold limit",
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

/// What the service is about: a text with one of these words is hardly about anything else.
const SUBJECTS: [&str; 14] = [
    "poll",
    "result",
    "preset",
    "opinion",
    "vote",
    "model",
    "key",
    "wallet",
    "webhook",
    "balance",
    "consensus",
    "siwe",
    "feedback",
    "reputation",
];

/// Words that say little.
const FILLERS: &str = " a about actually am an and any are as at be been but by can could did do does doing dont for from give \
    had has have her here hey hi him his how i if im in into is it its just kindly let like me my myself need no not now of off on over above one or \
    our out please pls plz s should so some t than thank thanks that the their them then there these they thing this those to too \
    up us want was we were what whats when where which who whom why will with without yes you your id ok use using used \
    try know think find really howmany howmuch sofar would ";

/// Two words that mean one.
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
];

/// The words of a text, in order, without numbers. Linear in its length.
pub fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace(['\'', '’'], "");
    let mut raw: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let choice = is_choice(&lower, &raw);
    raw.retain(|word| word.chars().any(char::is_alphabetic) || word.len() == 8);
    let mut words = Vec::new();
    let mut place = 0;
    while let Some(&word) = raw.get(place) {
        let next = raw.get(place + 1).copied().unwrap_or_default();
        let pair = PAIRS.iter().find(|(first, second, _)| (*first, *second) == (word, next));
        let (stem, taken) = if word == "ep" && next.len() == 8 {
            (POLL_ID.to_owned(), 3)
        } else if word.starts_with("0x") {
            (ADDRESS.to_owned(), 1)
        } else if let Some((_, _, meaning)) = pair {
            (meaning_of(meaning), 2)
        } else if word.starts_with(|c: char| c.is_ascii_digit()) {
            (String::new(), 1)
        } else {
            (meaning_of(word), 1)
        };
        place += taken;
        if !stem.is_empty() {
            words.push(stem);
        }
    }
    if choice {
        words.push(CHOICE.to_owned());
    }
    words
}

/// Whether a text asks to choose between things that it names.
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

/// The word by which each word of [`SYNONYMS`] is compared, by its stem.
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

/// The words that say little.
static FILLER_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| FILLERS.split_whitespace().collect());

/// The word by which a word is compared.
fn meaning_of(word: &str) -> String {
    if FILLER_WORDS.contains(word) {
        return word.to_owned();
    }
    let stem = stem(word);
    MEANINGS.get(&stem).cloned().unwrap_or(stem)
}

/// Endings of inflected words, and what stands in their place.
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

/// A word without its inflection: of English, and only roughly, the same for every text.
fn stem(word: &str) -> String {
    // What runs is something else than to run something, and what is balanced than a balance.
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

/// Whether a stem is that of a word that says little.
pub fn is_filler(stem: &str) -> bool {
    // Any operation on a poll may be asked for with its id.
    stem == POLL_ID || FILLER_WORDS.contains(stem)
}

/// Whether a stem names what the service is about.
pub fn is_subject(stem: &str) -> bool {
    static STEMS: LazyLock<HashSet<String>> =
        LazyLock::new(|| SUBJECTS.into_iter().map(meaning_of).collect());
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
