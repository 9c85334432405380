//! The ends of options in a sentence: where the first one begins, and where the last one ends.

use super::or_words::ENGLISH;
use super::sentences::pattern;
use super::word_lists::{
    BASE_VERBS, CLAUSE_TAILS, DETERMINERS, HEADS, OBJECTS, PLACES, PREPOSITIONS, TAILS, VERBS, bare, is_in,
    words,
};

pattern!(
    AUX,
    r"(?i)\b(?:should|shall|do|does|did|would|could|can|will|must|soll|sollen|sollte|sollten)\s+(?:i|we|you|they|he|she|it|someone|one|ich|wir|(?:the|my|our|your|a|an|his|her|their)\s+[\w'-]+(?:\s+[\w'-]+)?)\s+(?:rather |just |either |better |now |even )?"
);
pattern!(INFINITIVE, r"(?i)^\w{2,}(?:en|er|ir|re|ar|are|ere|ire|ć|ть|ti)$");
pattern!(TO_VERB, r"(?i)\bto\s+(?:just |either |rather )?(\w+)");
pattern!(
    COPULA,
    r"(?i)^\W*(?:is|are|was|were)\s+(?:(?:this|that|these|those)\s+(?:headline|message|review|comment|email|statement|claim|sentence|text|tweet|post|answer|response|ticket|photo|picture|image|transaction|request|product|article|title|word|film|movie|song|paragraph|reply|quote|joke|poem|code|bug|issue)|it|this|that|he|she|they|(?:this|that|these|those|the|our|my|your|a|an|his|her)\s+(?:(?:following|above|attached)\s+)?[\w'-]+(?:\s+(?:budget|price|fee|size|date|deal|idea))?)\s+(?:more |rather |closer to |being )?"
);

/// The form of an option, by which its beginning is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    To,
    Verb,
    Preposition,
    Determiner,
    Noun,
}

fn kind_of(words: &[&str], head: &str, is_english: bool) -> Kind {
    let words =
        if words.len() > 1 && is_in("never always just simply not", words[0]) { &words[1..] } else { words };
    let first = words.first().copied().unwrap_or_default();
    // "Go" is a name, "go" a verb.
    let is_name = first.chars().next().is_some_and(char::is_uppercase);
    let is_determiner = is_in(DETERMINERS, first);
    let is_preposition = is_in(PREPOSITIONS, first) && !(words.len() > 1 && is_determiner);
    // "pressure-wash it": an unknown word before an object, after "should we".
    let has_object = words.len() > 1 && words.len() < 10 && is_in(OBJECTS, words[1]);
    let is_verb = !is_determiner && !is_preposition && has_object && AUX.is_match(head);
    let is_infinitive = words.len() > 1 && !is_english && INFINITIVE.is_match(bare(first));
    if bare(first).eq_ignore_ascii_case("to") {
        Kind::To
    } else if (is_in(VERBS, first) && !is_name) || is_verb || is_infinitive {
        Kind::Verb
    } else if is_preposition {
        Kind::Preposition
    } else if is_determiner {
        Kind::Determiner
    } else {
        Kind::Noun
    }
}

pattern!(QUESTION_AUX, r"(?i)^\W*(?:so )?(?:do|does|did|would|will|can|could)\b");

/// Returns the last option without the rest of the sentence, and its form.
pub(super) fn last_option(right: &str, others: &[&str], first: &str, is_english: bool) -> (String, Kind) {
    let all = words(right);
    let is_verb = |item: &&&str| {
        let first = words(item).first().copied().unwrap_or_default();
        is_in(VERBS, first) && first.starts_with(char::is_lowercase) && words(item).len() > 1
    };
    let kind = match kind_of(&all, first, is_english) {
        Kind::Noun if others.iter().any(|item| is_verb(&item)) => Kind::Verb,
        kind => kind,
    };
    let longest = others.iter().map(|part| words(part).len()).max().unwrap_or(1).max(1);
    let tails = if matches!(kind, Kind::Verb | Kind::To | Kind::Preposition) { CLAUSE_TAILS } else { TAILS };
    let from = match kind {
        Kind::Noun | Kind::Preposition => 1,
        _ => 2,
    };
    // "Does a heat pump or a boiler cost less?"
    let has_verb = kind != Kind::Verb && QUESTION_AUX.is_match(first);
    let ends = |at: usize| {
        let is_target = || {
            others.len() > 1
                && all[at] == "to"
                && all.get(at + 1).is_some_and(|next| is_in(DETERMINERS, next))
        };
        // "an email that should have been a meeting"
        let is_relative = at > 0 && is_in("that which who", all[at - 1]);
        (is_in(tails, all[at]) && !is_relative) || (has_verb && is_in(BASE_VERBS, all[at])) || is_target()
    };
    let place = if others.is_empty() { cut_place(&all, first, kind) } else { None };
    let cut = place
        .into_iter()
        .chain(
            (from.max(longest.min(all.len()))..all.len())
                .find(|at| ends(*at) && !ends_with_word(first, all[*at])),
        )
        .min();
    let to = cut.unwrap_or(all.len());
    // "a month for a newsletter", "to a better …" belong to the rest.
    let mut option = all[..to].to_vec();
    if kind == Kind::Noun
        && others.len() > 1
        && longest == 1
        && option.len() > 1
        && option[0].starts_with(['$', '€', '£'])
    {
        option.truncate(1);
    }
    (option.join(" "), kind)
}

/// True if a word is near the end of the first option, too: "free flights for life or free food for life".
fn ends_with_word(first: &str, word: &str) -> bool {
    first.split_whitespace().rev().take(4).any(|other| other.eq_ignore_ascii_case(word))
}

/// Returns the end of a noun phrase before a place or a time that its counterpart lacks: "the aisle seat on a long flight".
fn cut_place(all: &[&str], first: &str, kind: Kind) -> Option<usize> {
    if !matches!(kind, Kind::Determiner | Kind::Noun) {
        return None;
    }
    let from = if kind == Kind::Determiner { 2 } else { 1 };
    (from..all.len()).find(|at| {
        let word = all[*at];
        is_in(PLACES, word) && !ends_with_word(first, word)
    })
}

/// Returns the first option, which stands at the end of a head.
pub(super) fn first_option(head: &str, last: &str, kind: Kind, is_whole: bool) -> Option<String> {
    let all = words(head);
    if all.is_empty() {
        return None;
    }
    let target = words(last);
    let from = match kind {
        Kind::To => all.iter().rposition(|word| bare(word).eq_ignore_ascii_case("to")).or(Some(0)),
        Kind::Verb => {
            let after_subject = AUX.find(head).map(|found| words(&head[..found.end()]).len());
            let after_to = TO_VERB
                .captures(head)
                .filter(|found| is_in(VERBS, &found[1]))
                .and_then(|found| found.get(1))
                .map(|verb| words(&head[..verb.start()]).len());
            let either = all.iter().position(|word| word.eq_ignore_ascii_case("either")).map(|at| at + 1);
            let infinitive = || {
                all.iter()
                    .position(|word| INFINITIVE.is_match(bare(word)) && word.len() > 3)
                    .filter(|_| !ENGLISH.is_match(head))
            };
            let verb = || all.iter().position(|word| is_in(VERBS, word));
            either
                .or(after_to)
                .or(after_subject)
                .or_else(infinitive)
                .or_else(verb)
                .filter(|at| *at < all.len())
        }
        Kind::Preposition => {
            all.iter().rposition(|word| is_in(PREPOSITIONS, word)).or(Some(all.len().saturating_sub(1)))
        }
        Kind::Determiner => {
            let same = target.first().copied().unwrap_or_default();
            let exact = all.iter().rposition(|word| bare(word).eq_ignore_ascii_case(bare(same)));
            exact
                .or_else(|| all.iter().rposition(|word| is_in(DETERMINERS, word)))
                .or_else(|| Some(noun_start(&all, &target)))
        }
        Kind::Noun => match COPULA.find(head) {
            // "Is the comma in a contract mandatory, optional or forbidden?"
            Some(found) if target.len() == 1 && words(&head[found.end()..]).len() > 3 => {
                Some(all.len().saturating_sub(1))
            }
            Some(found) if found.end() < head.len() => Some(words(&head[..found.end()]).len()),
            _ => Some(noun_start(&all, &target)),
        },
    }?;
    let is_phrase = kind == Kind::Preposition
        && all.len() > 3
        && target.first().is_some_and(|word| is_in(PREPOSITIONS, word));
    let from = if is_whole && kind != Kind::To && !is_phrase { 0 } else { from };
    let option = all[from..].join(" ");
    (!option.is_empty()).then_some(option)
}

/// Returns the beginning of a noun phrase parallel to another.
fn noun_start(all: &[&str], target: &[&str]) -> usize {
    let count = all.len();
    if let Some(same) = all.iter().rposition(|word| {
        target.first().is_some_and(|first| first.len() > 2 && word.eq_ignore_ascii_case(first))
    }) {
        return same;
    }
    let is_name = |word: &str| bare(word).chars().next().is_some_and(char::is_uppercase);
    if count >= 2 && target.len() >= 2 && target[0].ends_with(',') && all[count - 2].ends_with(',') {
        // "San Jose, California or Portland, Oregon".
        let mut from = count - 2;
        while from > 0 && is_name(all[from - 1]) && !is_in(HEADS, all[from - 1]) {
            from -= 1;
        }
        return from;
    }
    if all.iter().all(|word| is_name(word) || matches!(*word, "&" | "and" | "the" | "of"))
        && target.iter().any(|word| word.ends_with(','))
    {
        return 0;
    }
    let capital = |word: &str| {
        bare(word).chars().next().is_some_and(|letter| letter.is_uppercase() || letter.is_ascii_digit())
            || word.starts_with(['$', '€', '£', '#'])
    };
    if target.first().is_some_and(|word| capital(word)) && capital(all[count - 1]) {
        // A name: capitals and figures before it belong to it, unless they start the sentence.
        let mut from = count - 1;
        while from > 0
            && capital(all[from - 1])
            && !is_in(HEADS, all[from - 1])
            && count - from < target.len().max(2)
        {
            from -= 1;
        }
        return from;
    }
    let wanted = target.len().clamp(1, 8);
    let mut from = count - 1;
    while from > 0 && count - from < wanted && !is_in(HEADS, all[from - 1]) {
        from -= 1;
    }
    if from > 0 && count <= 3 && !all.iter().any(|word| is_in(HEADS, word) || is_in(DETERMINERS, word)) {
        from = 0;
    }
    from
}
