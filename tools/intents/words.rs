//! The words of a text in a form that compares: lower case, singular, synonyms merged, negations marked.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The word that stands for a choice between options named in the text ("A or B?").
pub const CHOICE: &str = "<choice>";
/// The prefix of a negated word: "do not wait" has the word `!wait`.
pub const NEGATED: char = '!';

/// Groups of synonyms. The first word of each group stands for all of them.
const SYNONYMS: &str = "poll, survey, questionnaire; vote, ballot, elect; model, llm, ai, ais, lm, gpt, claude, gemini, llama, \
    mistral, chatbot, language model; several, multiple, many, different, bunch, panel, dozens, hundred, \
    various, crowd, crowdsource, committee, group, across, jury, other; agree, consensus, majority, agreement, \
    unanimous, disagree; opinion, perspective; result, breakdown, outcome, tally, conclusion, verdict; win, \
    winner, won, winning, decide; cost, price, pricing, expensive, fee, costly, charge, spend, spent; estimate, \
    ballpark, expected, approximate, approximately, rough, roughly, quote, forecast, predict, usually, typical, \
    typically, expect; balance, credit, remaining, remain, left, budget, funds; money, dollar, cent, usd, euro, \
    buck, cash; key, token, credential, apikey, api key, api token, access token; revoke, delete, remove, \
    disable, invalidate, deactivate, erase, revocation, turn off, switch off; leaked, stolen, exposed, \
    compromised, hacked; cancel, stop, abort, terminate, halt, quit, kill, call off; create, generate, make, \
    new, issue, mint, produce, fresh; usdc, stablecoin, stablecoins, x402; topup, top up, recharge, refill, \
    load, reload, add, buy, purchase; transfer, move, put, shift; card, visa, mastercard, stripe, checkout, pay, \
    payment, creditcard, credit card; wallet, metamask, ethereum, eth, siwe, crypto, web3; sign, signature, \
    signed, signing; signin, login, logon, authenticate, log in, logged in, sign in, signed in, signing in; \
    done, finish, finished, complete, completed, completion, ready; background, async, asynchronous, \
    asynchronously, immediately, later; wait, waiting; block, blocking; start, begin, launch, kick, initiate; \
    live, stream, streaming, tail, follow, subscribe, watch, event, update, realtime; notify, notification, \
    callback, alert, inform, tell; recent, recently, last, latest; list, enumerate, overview; show, display, \
    see, view, print, open; get, fetch, read, retrieve, return; valid, validate, validation, check, verify, \
    test; error, fault, failure, insufficient; health, ping, alive, online, down, healthy, reachable, \
    healthcheck, database, db; rotate, replace, regenerate, renew, refresh, reset; preset, profile, \
    conservative, balanced; available, support, offer; confirm, confirmation, approve, approval, \
    permission, threshold, limit, cap; example, sample, snippet, tutorial; diagram, mermaid, chart, draw, graph, \
    visualize, visualise, plot, flowchart, picture; better, best, prefer; option, choice, alternative; feedback, \
    review, comment, judgement, judgment, judge; correct, right, accurate, accuracy; wrong, incorrect, mistaken, \
    mistake; submit, send, record, report, mark, leave; reputation, metric, statistic, stat, performance, \
    leaderboard, ranking; fail, failing, failed, flaky; service, api; signup, sign up, signing up, register; \
    howmuch, how much; howmany, how many; logout, log out, logged out, sign out, signed out; dryrun, dry run; \
    prefunded, pre funded; nomore, no more, no longer; now, right now, right away, tell me, let me";

/// Words with little meaning.
const FILLERS: &str = "a about above actually ahead am an and any are as at be but by can could did do does doing five for four from \
    give go going got had has have here hey hi how howmany howmuch i id im in into is it its just kindly know \
    let like me moment most much my myself need now of off ok on one or our out over page please pls plz ran really \
    run should so sofar some still t teh ten than thank thanks that the them then there these thing think this those \
    three time times to tomorrow too try two up us use used using want was we were what whats when where which \
    who whom why will with would you your";

/// Words that negate the next word with a meaning.
const NEGATIONS: &str = "not no never dont doesnt didnt wont wouldnt cannot cant shouldnt mustnt isnt without nobody nothing none \
    neither nor avoid refrain";

static MEANINGS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let groups = SYNONYMS.split("; ").map(|group| group.split(", ").map(stems));
    groups
        .flat_map(|group| {
            let group: Vec<String> = group.collect();
            group.clone().into_iter().map(move |word| (word, group[0].clone()))
        })
        .collect()
});
static FILLER_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| FILLERS.split_whitespace().collect());
static NEGATION_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| NEGATIONS.split_whitespace().collect());

/// Returns true for a word with little meaning.
pub fn is_filler(word: &str) -> bool {
    FILLER_WORDS.contains(word)
}

/// Returns the known words with their representatives.
pub fn meanings() -> impl Iterator<Item = (&'static String, &'static String)> {
    MEANINGS.iter()
}

/// Returns the words of each clause of a text. Linear in its length.
pub fn clauses(text: &str) -> Vec<Vec<String>> {
    let lower = text.to_lowercase().replace(['\'', '’'], "").replace('\n', ". ");
    let pieces = lower.split_whitespace().map(|piece| if piece.contains("://") { "url" } else { piece });
    let lower = pieces.collect::<Vec<_>>().join(" ");
    let raw: Vec<Vec<&str>> = lower.split([',', '.', ';', ':', '!', '?']).map(alphanumeric).collect();
    let mut clauses: Vec<Vec<String>> = raw.iter().map(|clause| words(clause)).collect();
    if is_choice(&raw.concat(), lower.contains('?')) {
        clauses.push(vec![CHOICE.to_owned()]);
    }
    clauses
}

fn alphanumeric(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// Returns the words of a clause, without numbers, single letters and ids.
fn words(raw: &[&str]) -> Vec<String> {
    let (mut words, mut negated, mut at) = (Vec::new(), false, 0);
    while let Some(&word) = raw.get(at) {
        let pair = raw.get(at + 1).and_then(|next| MEANINGS.get(&format!("{} {}", stem(word), stem(next))));
        let (meaning, width) = match pair {
            Some(meaning) => (meaning.clone(), 2),
            // A poll's id has three parts.
            None if word == "ep" && raw.get(at + 1).is_some_and(|next| next.len() == 8) => {
                ("poll".to_owned(), 3)
            }
            None if word.starts_with("0x") => ("wallet".to_owned(), 1),
            None if is_filler(word) => (word.to_owned(), 1),
            None => (MEANINGS.get(&stem(word)).cloned().unwrap_or_else(|| stem(word)), 1),
        };
        at += width;
        let is_id = word.chars().count() < 2 || meaning.chars().filter(char::is_ascii_digit).count() > 1;
        if width == 1 && NEGATION_WORDS.contains(word) {
            negated = true;
        } else if is_filler(&meaning) {
            words.push(meaning);
        } else if !is_id {
            words.push(if negated { format!("{NEGATED}{meaning}") } else { meaning });
            negated = false;
        }
    }
    if negated {
        words.push(NEGATED.to_string());
    }
    words
}

/// Returns true if a text asks to choose between options that it names.
fn is_choice(raw: &[&str], asks: bool) -> bool {
    const OPENERS: &[&str] =
        &["which", "should", "is", "are", "do", "does", "would", "what", "whats", "pick", "choose"];
    let has = |words: &[&str]| raw.iter().skip(1).any(|word| words.contains(word));
    let first = raw.first().copied().unwrap_or_default();
    let names = has(&["or", "vs", "versus"]) && (asks || has(&["whether"]) || OPENERS.contains(&first));
    let compares = (first == "which" || has(&["than"])) && has(&["better", "best"]);
    let decides =
        raw.windows(2).any(|pair| ["decide", "choose", "pick"].contains(&pair[0]) && pair[1] == "between");
    names || compares || decides || (first == "should" && asks)
}

/// Returns true if a text asks for information rather than for an action. "How do I pay" asks for an action.
pub fn is_question(text: &str) -> bool {
    const ASKS: &[&str] = &[
        "why", "which", "what", "whats", "who", "when", "where", "is", "are", "am", "did", "does", "has",
        "was", "were", "should",
    ];
    let lower = text.to_lowercase().replace(['\'', '’'], "");
    let raw = alphanumeric(&lower);
    let has = |at: usize, words: &[&str]| raw.get(at).is_some_and(|word| words.contains(word));
    has(0, ASKS)
        || has(1, &["which", "what"])
        || (has(0, &["have", "do", "will"]) && has(1, &["i", "we", "you", "my", "our", "the", "any", "all"]))
        || (has(0, &["how"]) && !raw.iter().any(|word| ["i", "we", "to"].contains(word)))
}

fn stems(words: &str) -> String {
    words.split(' ').map(stem).collect::<Vec<_>>().join(" ")
}

/// Returns a word without the ending of a plural. Tenses stay apart: "a cancelled poll" is not "cancel a poll".
fn stem(word: &str) -> String {
    const ENDINGS: [(&str, &str); 5] =
        [("ations", "at"), ("ation", "at"), ("ies", "y"), ("es", ""), ("s", "")];
    let stem = ENDINGS.iter().find_map(|(ending, instead)| {
        let start = word.strip_suffix(ending)?;
        let is_plural = start.chars().count() > 2 && !(*ending == "s" && start.ends_with(['s', 'u', 'i']));
        is_plural.then(|| format!("{start}{instead}"))
    });
    stem.as_deref().unwrap_or(word).trim_end_matches('e').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_one_meaning() {
        let mut seen: HashMap<String, &str> = HashMap::new();
        for group in SYNONYMS.split("; ") {
            for word in group.split(", ") {
                assert!(
                    seen.insert(stems(word), group).is_none_or(|before| before == group),
                    "{word} of {group}"
                );
            }
        }
    }

    #[test]
    fn words_are_normalized_and_negations_are_marked() {
        let words = |text: &str| clauses(text).concat().join(" ");
        assert_eq!(
            words("Don't cancel the polls, show EP-20260131-7KQ2M4X9TB"),
            "!cancel the poll show poll"
        );
        assert_eq!(words("never mind… no"), "!mind !");
        assert_eq!(words("Tea or milk?"), "tea or milk <choice>");
        assert_eq!(words("new API keys for 0x5290"), "creat key for wallet");
    }
}
