//! Tells a text that asks for an action from one that mentions an action.
//!
//! A comparison of words does not see which action a negation or a report refers to. Therefore, an operation
//! that changes something is proposed only if the text contains neither.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::words::{HARMLESS_NEGATIONS, words};

/// Words of a negation. "Without" is missing, because it negates the next words only.
const NEGATIONS: &str = " not no nope nah never none nothing nobody noone nowhere neither nor cannot avoid avoiding refrain refuse refuses \
    refusing refused forbid forbids forbidden prohibit prohibited banned disallowed abstain skip forget alone hardly barely \
    unless dont doesnt didnt wont wouldnt cant couldnt shouldnt mustnt neednt isnt arent wasnt werent havent hasnt hadnt aint ";

/// Words of a report, a supposition, a rehearsal or a failed attempt, and possessives of other people.
const REPORTS: &str = " said says saying told tells wrote writes asked asks claimed claims wants wanted thinks thought heard quote \
    quoted story tale imagine imagining suppose supposing assume assuming hypothetically hypothetical wonder wondering considering \
    if pretend pretending simulate simulating simulation rehearse dry failed failing unable impossible returns gives throws declined denied rejected error button their theirs his her hers ";

/// Words of a question about an operation.
const DOCUMENTATION: &str = " explain explains explaining explanation describe describes describing description doc docs documentation \
    manual guide tutorial reference schema schemas parameter parameters argument arguments example examples sample samples snippet \
    snippets code mean means meaning definition difference usage source input inputs steps ";

/// Phrases of a negation or a report, separated by `|`.
const PHRASES: &str = " decided against | hold off | hold back | hold your | stay away | hands off \
    | as they are | as it is | id rather | let it be | let them be | used to | once upon ";

/// Phrases of a question about an operation.
const DOCUMENTATION_PHRASES: [&str; 4] =
    [" tell me about ", " tell us about ", " info about ", " information about "];

/// Words between a negation and the request that replaces it: "don't do that, just do this".
const REPLACEMENTS: [&str; 4] = ["just", "only", "simply", "but"];

/// Words that may be negated in a request: "don't wait", "I don't want to block", "no more votes".
const DISPENSABLE: [&str; 6] = ["wait", "waiting", "block", "blocking", "more", "longer"];
/// Maximum distance between such a word and its negation.
const NEAR: usize = 3;
/// Words beside the negation in a clause that denies the one before: "absolutely not".
const DENIAL: [&str; 10] =
    ["absolutely", "certainly", "definitely", "ever", "way", "thanks", "thank", "you", "please", "need"];

static OPENER_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| OPENERS.split_whitespace().collect());
static NEGATION_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| NEGATIONS.split_whitespace().collect());
static REPORT_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| REPORTS.split_whitespace().collect());
static DOCUMENTATION_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| DOCUMENTATION.split_whitespace().collect());

/// Returns the part of a text that asks for an action: the text, the request after "just" that replaces a
/// negated one, or `None` if the text might only mention an action.
pub fn request(text: &str) -> Option<String> {
    let text = normalized(text);
    let words: Vec<&str> = text.split(' ').map(bare).collect();
    let spaced = format!(" {} ", words.join(" "));
    let reports = words.iter().any(|word| REPORT_WORDS.contains(word));
    if reports || PHRASES.split('|').any(|phrase| spaced.contains(phrase)) || asks_for_documentation(&text) {
        return None;
    }
    let negations = (0..words.len()).filter(|at| negates(&words, *at));
    let Some(last) = negations.max() else { return Some(text) };
    let replacement = words[last..].iter().rposition(|word| REPLACEMENTS.contains(word))?;
    let request: Vec<&str> = text.split(' ').skip(last + replacement + 1).collect();
    Some(request.join(" "))
}

/// Words before the verb of a request: "could you please …", "I'd like to …", "I need a new …".
const OPENERS: &str = " please pls plz kindly ok okay hey hi hello so yes also well now just go ahead can could would should you i we \
    id like want need wish have to lets let us me how do help give gimme get a an some ";
/// Words between two clauses.
const CONJUNCTIONS: [&str; 4] = ["and", "then", "but", "so"];
/// Words before "I" or "you" in a request.
const MODALS: [&str; 5] = ["can", "could", "would", "should", "do"];

/// Returns the first word of each clause, without its openers and normalized. A request has its verb there: "the
/// agent created a key" and "the steps for creating a key" have other words.
pub fn leading_words(text: &str) -> Vec<String> {
    let text = normalized(text);
    let is_end = |c: char| ",.;:!?".contains(c);
    let mut leading = Vec::new();
    for clause in text.split(is_end) {
        let tokens = clause.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let tokens: Vec<&str> = tokens.collect();
        for clause in tokens.split(|word| CONJUNCTIONS.contains(word)) {
            let Some(first) = clause.iter().position(|word| !OPENER_WORDS.contains(word)) else { continue };
            let before = |back: usize| first.checked_sub(back).map_or("", |at| clause[at]);
            // "I cancel my polls" and "to cancel a poll is easy" are no requests.
            let is_statement = clause[0] == "to"
                || (["i", "we", "you"].contains(&before(1)) && !MODALS.contains(&before(2)));
            if !is_statement && !clause[first].ends_with("ing") && !clause[first].ends_with("ed") {
                leading
                    .extend(words(&clause[first..clause.len().min(first + 2)].join(" ")).into_iter().next());
            }
        }
    }
    leading
}

/// Returns true if a text asks what an operation does, rather than for the operation.
pub fn asks_for_documentation(text: &str) -> bool {
    let text = normalized(text);
    let words: Vec<&str> = text.split(' ').map(bare).collect();
    let spaced = format!(" {} ", words.join(" "));
    words.iter().any(|word| DOCUMENTATION_WORDS.contains(word))
        || DOCUMENTATION_PHRASES.iter().any(|phrase| spaced.contains(phrase))
}

/// Returns true if a text asks what somebody can do: "what can I ask".
pub fn asks_for_ability(text: &str) -> bool {
    let text = normalized(text);
    [" can i ", " can we ", " can one "].iter().any(|phrase| text.contains(phrase))
}

/// Returns true if the last clause denies the rest of the text: "start a poll? never".
pub fn is_denied(text: &str) -> bool {
    let text = normalized(text);
    let clauses: Vec<&str> = text.split([',', '.', ';', ':', '!', '?']).collect();
    let clauses: Vec<&str> = clauses.into_iter().map(str::trim).filter(|clause| !clause.is_empty()).collect();
    let [.., _, last] = clauses[..] else { return false };
    let is_denial = |word: &str| NEGATION_WORDS.contains(word) || DENIAL.contains(&word);
    last.split(' ').all(is_denial) && last.split(' ').any(|word| NEGATION_WORDS.contains(word))
}

/// Returns true if a word negates more than a wait or further votes.
fn negates(words: &[&str], at: usize) -> bool {
    let word = words[at];
    let next = words.get(at + 1).copied().unwrap_or_default();
    let after = words.iter().skip(at + 1).take(NEAR);
    NEGATION_WORDS.contains(word)
        && !HARMLESS_NEGATIONS.contains(&(word, next))
        && !after.clone().any(|word| DISPENSABLE.contains(word))
}

/// Returns a text in lower case, with single spaces, and without apostrophes and quotations.
fn normalized(text: &str) -> String {
    let text = text.to_lowercase().replace(['“', '”', '„', '«', '»'], "\"");
    let unquoted: Vec<&str> = text.split('"').step_by(2).collect();
    let unquoted = unquoted.join(" ");
    let mut words = Vec::new();
    let mut is_quoted = false;
    for word in unquoted.split_whitespace() {
        is_quoted |= word.starts_with(['\'', '‘']);
        if !is_quoted {
            words.push(word.replace(['\'', '’'], ""));
        }
        is_quoted &= !word.trim_end_matches(|c: char| ",.;:!?".contains(c)).ends_with(['\'', '’']);
    }
    words.join(" ")
}

/// Returns a word without punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_no_negation_and_no_report() {
        for text in [
            "nobody should cancel this poll",
            "cancel my poll? never",
            "it is forbidden to revoke my key",
            "hold off on cancelling my poll",
            "he said that she would cancel the poll",
            "the sentence \"cancel my poll\" isn’t mine",
            "explain how to delete my account",
            "avoid setting a webhook; poll the status instead",
        ] {
            assert_eq!(request(text), None, "{text}");
        }
        for (text, asked) in [
            ("Cancel my poll", "cancel my poll"),
            ("never mind, cancel the poll", "never mind, cancel the poll"),
            ("Don't wait, cancel it", "dont wait, cancel it"),
            ("don't delete my account, just revoke this key", "revoke this key"),
            ("call https://example.com when it ends", "call https://example.com when it ends"),
            ("name the key \"not mine\"", "name the key"),
        ] {
            assert_eq!(request(text).as_deref().map(str::trim), Some(asked));
        }
    }

    #[test]
    fn a_denial_follows_the_denied_text() {
        assert!(is_denied("start a poll? never") && is_denied("Start a poll, absolutely not!"));
        assert!(
            !is_denied("never")
                && !is_denied("no key, start a free poll")
                && !is_denied("start it, don't wait")
        );
    }
}
