//! Options that a sentence names: "tea or coffee", "A, B or C", "X vs Y".

use super::forms::{asian, between, several_questions, slash, turkish};
use super::or_words::{ENGLISH, OR_ENGLISH, or_word};
use super::phrases::{AUX, Kind, first_option, last_option};
use super::sentences::{own, pattern};
use super::word_lists::{DETERMINERS, PREPOSITIONS, STATES, VERBS, clean, is_in, words};

/// Result of reading a sentence with an "or".
#[derive(Debug)]
pub(super) enum Found {
    /// Options.
    Options(Vec<String>),
    /// The question can be answered by yes and no, though it has an "or".
    YesNo,
    /// Options whose ends cannot be found.
    Unclear,
    /// Nothing.
    None,
}

impl Found {
    /// Returns the options, if there are some.
    pub(super) const fn options(&self) -> Option<&Vec<String>> {
        match self {
            Self::Options(options) => Some(options),
            _ => None,
        }
    }
}

pattern!(
    YES_NO_ADJECTIVE,
    r"(?i)^\W*(?:is|are|was|were|would|will|isn't)\s+(?:it|this|that|there|he|she|they|these)\s+(?:really |still |actually |ever )?(?:ok|okay|safe|fine|legal|allowed|possible|true|worth|normal|rude|bad|wrong|weird|necessary|healthy|dangerous|harmful|acceptable|ethical|likely|enough|a good idea|a bad idea)\b|\b(?:ever|any|anyone|anybody|even)\b"
);
pattern!(CAN, r"(?i)^\W*(?:do|does|did|can|could|has|have|had|may|might|must)\b");
pattern!(
    COMPARES,
    r"(?i)\b(?:better|best|prefer\w*|rather|more|less|closer|\w{3,}er|worse|instead|choose|which|first)\b"
);
pattern!(
    LEADS,
    r"(?i)\b(?:which|what|whats|what's|who|whose|where|when|how|welche\w*|was|wer|wohin|quel\w*|qui|où|qué|que|cuál|dónde|qual\w*|quale|chi|dove|wat|welke?|waar|co|gdzie|который|что|где|куда|hangisi|jaki\w*|kt[oó]r\w*|better|best|right)\b"
);
pattern!(
    SUBORDINATE,
    r"(?i)^\W*(?:if|when|given|since|because|as|after|before|with|for|in|at|while|now that|assuming|wenn|si|quand|cuando|se|quando|als)\b[^,]*,\s+"
);

pattern!(HAS_OR, r"(?i)\b(?:or|oder|ou|o|of|czy|vs|veya|yoksa|или)\b");
pattern!(OPINION, r"(?i)\b(?:think|say|thoughts|opinions?|vote|pick|choose|help|meint|denkt|agree|ok)\b");
pattern!(
    EITHER,
    r"(?i)\b(?:either|whether|torn between)\b|^\W*(?:please )?(?:grade|label|classify|choose|pick|decide|vote|mark|rate|judge|select)\b"
);
pattern!(WHICH, r"(?i)^\W*(?:so )?which\b.{0,60}$");

pattern!(
    /// A question by the order of its words.
    INVERTED,
    r"(?i)^\W*(?:(?:so|ok|hey|hi|quick question|honest question|poll|question),? )?(?:is|are|was|were|do|does|did|should|shall|would|will|can|could|wat|welke?|welche\w*|quel\w*|cu[aá]l\w*|qual\w*|hangi\w*|jaki\w*|kt[oó]r\w*|как(?:ой|ая|ое))\b"
);

/// Returns the options of the last sentence that names some.
pub(super) fn read(text: &str) -> Found {
    if let Some(options) = asian(text).or_else(|| turkish(text)) {
        return Found::Options(options);
    }
    let is_english = ENGLISH.find_iter(text).count() >= 2;
    let sentences = own(text);
    let is_question = |sentence: &&&str| sentence.ends_with(['?', '？']) || sentence.ends_with("?\"");
    let questions = sentences.iter().rev().filter(is_question);
    let others = sentences.iter().rev().filter(|sentence| !is_question(sentence));
    // "We either hire a second nurse or close on Fridays. Which one?"
    let asks_openly = sentences.iter().any(|other| {
        other.ends_with('?') && !WHICH.is_match(other) && !HAS_OR.is_match(other) && !OPINION.is_match(other)
    });
    let before_which: Vec<&str> = sentences
        .windows(2)
        .filter(|pair| WHICH.is_match(pair[1]) && !OR_ENGLISH.is_match(pair[1]))
        .map(|pair| pair[0])
        .collect();
    let mut yes_no = false;
    // Chats lack marks: "is espresso or drip coffee stronger".
    let inverted = |sentence: &str| {
        let main = sentence.rsplit(": ").next().unwrap_or(sentence);
        (INVERTED.is_match(sentence) || INVERTED.is_match(main)) && !sentence.ends_with(['.', '!', ':'])
    };
    let others = others.map(|sentence| (sentence, inverted(sentence)));
    for (sentence, asks) in questions.map(|sentence| (sentence, true)).chain(others) {
        let plain = SETTLE.replace(sentence.trim_end_matches(['?', '.', '!', ' ', '？', '"', ':']), "");
        let plain = plain.trim_end_matches(['?', '.', '!', ' ', '？', '"', ':', ',']);
        let or = if is_english { &*OR_ENGLISH } else { or_word(plain) };
        let has_list = plain.rsplit_once(": ").is_some_and(|(_, list)| {
            or.is_match(list) && (asks || (words(list).len() <= 12 && !FINITE.is_match(list)))
        });
        let is_asked = asks || before_which.contains(sentence);
        // "… that is not uniforms or phones. What should we debate?"
        let is_context =
            !is_asked && !has_list && !is_elliptic(plain) && asks_openly && !EITHER.is_match(plain);
        // A quotation is read on its own.
        if or.is_match(&super::sentences::QUOTED.replace_all(sentence, "\"\""))
            && or.is_match(plain)
            && !is_context
            && (is_asked || has_list || is_elliptic(plain) || super::sentences::chooses(plain))
        {
            if YES_NO_ADJECTIVE.is_match(plain) {
                yes_no |= asks;
                continue;
            }
            if OR_NOT.is_match(plain) || LENGTH.is_match(plain) {
                continue;
            }
            let found = listed(plain, asks);
            match found {
                Found::Options(_) => return found,
                Found::YesNo => yes_no |= asks,
                Found::Unclear if asks => return found,
                _ => {}
            }
            continue;
        }
        if let Some(options) = slash(plain).filter(|_| !BE_OR_DO.is_match(plain) || COMPARES.is_match(plain))
        {
            return Found::Options(options);
        }
        if let Some((_, list)) = plain.rsplit_once([':', '—', '–'])
            && asks
            && list.matches(", ").count() >= 2
            && words(list).len() <= 8
        {
            return Found::Options(list.split(", ").map(|part| part.trim().to_owned()).collect());
        }
    }
    if let Some(options) = several_questions(text).or_else(|| between(&sentences)) {
        return Found::Options(options);
    }
    if yes_no { Found::YesNo } else { Found::None }
}

pattern!(NAME_COMMA, r"\p{Lu}[\w'.]*(?: \d+| \p{Lu}[\w'.]*)*, (?:\p{Lu}|\d)");
pattern!(
    SETTLE,
    r"(?i)(?:\s+[–-]|[,;])\s*(?:and )?(?:settle (?:it|this)|go|go!|pick one|your call|help|which one|what do you (?:think|say)|discuss|thoughts|you decide|please decide|fight)\W*$"
);
pattern!(
    CLAUSE_START,
    r"(?i)^\W*(?:is|are|was|were|do|does|did|should|shall|would|could|can|will|must|what|which|who|where|when|how|ist|soll\w*|vaut-il|faut-il)\b"
);
pattern!(
    BEGINS_CLAUSE,
    r"(?i)^\W*(?:is|are|was|were|do|does|did|should|shall|would|could|can|will|must|vaut-il|faut-il|doit-on|est-il|soll\w*|ist)\b"
);
pattern!(WH_START, r"(?i)^\W*(?:what|how|why|who|where|when|which)\b");
pattern!(
    COMPARES_TWO,
    r"(?i)\b(?:better|prefer\w*|rather|best|more|less|worse|cheaper|faster|safer)\b|^\W*which\s+(?:is|one|of)\b|,"
);
pattern!(IN_QUOTES, r#""[^"]*"|“[^”]*”|\([^()]*\)"#);
const COMMA_MASK: &str = "\u{1}";
const OR_MASK: &str = "\u{2}";

/// Returns a sentence whose quotations have no separators.
fn masked(sentence: &str) -> String {
    IN_QUOTES
        .replace_all(sentence, |found: &regex::Captures<'_>| {
            found[0].replace(',', COMMA_MASK).replace(" or ", OR_MASK)
        })
        .into_owned()
}

pattern!(BE_OR_DO, r"(?i)^\W*(?:is|are|was|were|do|does|did|can|could|has|have)\b");
pattern!(
    FINITE,
    r"(?i)\b(?:isn't|aren't|need|wants?|is|are|was|were|won|will|did|does|do|has|have|had|thinks?|said|says|write|translate|explain|i|we|they|he|she|it)\b"
);

/// True for a few words without a verb: "tabs or spaces", "iPhone vs Android for my dad".
fn is_elliptic(sentence: &str) -> bool {
    words(sentence).len() <= 18 && !FINITE.is_match(sentence)
}

pattern!(
    LENGTH,
    r"(?i)\b(?:a|one|two|three) or (?:two|three|four) (?:words?|sentences?|lines?|paragraphs?)\b"
);
pattern!(
    OR_NOT,
    r"(?i)\b(?:or not|oder nicht|oder nein|o no|ou pas|ou non|ou não|of niet|czy nie|или нет|o non)\W*$"
);

/// Reads a sentence with an "or".
fn listed(sentence: &str, asks: bool) -> Found {
    // Spanish marks where a question begins.
    let sentence = sentence.rsplit_once('¿').map_or(sentence, |(_, question)| question);
    let sentence = SUBORDINATE
        .find(sentence)
        .filter(|found| {
            CLAUSE_START.is_match(&sentence[found.end()..])
                && or_word(sentence).is_match(&sentence[found.end()..])
        })
        .map_or(sentence, |found| &sentence[found.end()..]);
    // The list is on one side of a colon or a dash.
    let sentence = &masked(sentence);
    let or = or_word(sentence);
    let mut part: &str = sentence;
    let mut is_whole = false;
    for mark in [": ", "：", " — ", " – ", " - ", "; "] {
        if let Some((head, list)) = part.rsplit_once(mark) {
            if or.is_match(list) {
                (part, is_whole) = (list, true);
            } else if or.is_match(head) {
                part = head;
            }
        }
    }
    if let Some((head, list)) = part.split_once(", ")
        && LEADS.is_match(head)
        && !or.is_match(head)
        && or.is_match(list)
        && !AUX.is_match(list)
    {
        (part, is_whole) = (list, true);
    }
    // "Break the tie: for a tree of unknown depth, should we use …"
    if let Some(found) = SUBORDINATE.find(part)
        && CLAUSE_START.is_match(&part[found.end()..])
        && or.is_match(&part[found.end()..])
    {
        (part, is_whole) = (&part[found.end()..], false);
    }
    let is_whole = is_whole && !BEGINS_CLAUSE.is_match(part);
    if !is_whole && WH_START.is_match(part) && !COMPARES_TWO.is_match(part) {
        return Found::None;
    }
    match split(part.trim(), is_whole) {
        Some((options, Kind::Noun | Kind::Determiner))
            if options.len() == 2 && !is_whole && CAN.is_match(part) && !COMPARES.is_match(part) =>
        {
            Found::YesNo
        }
        Some((options, _)) => Found::Options(
            options.iter().map(|option| option.replace(COMMA_MASK, ",").replace(OR_MASK, " or ")).collect(),
        ),
        None if asks => Found::Unclear,
        None => Found::None,
    }
}

pattern!(
    /// The beginning of a remark after the last option.
    ADDITION,
    r"(?i)^(?:and|with|but|since|because|given|please|pls|thx|thanks|considering|no|one word|quick)\b"
);

/// Splits a part of a sentence at its commas and its "or".
fn split(part: &str, is_whole: bool) -> Option<(Vec<String>, Kind)> {
    let or = or_word(part);
    let (last_or, end) = or.find_iter(part).last().map(|found| (found.start(), found.end()))?;
    let (left, right) = (&part[..last_or], &part[end..]);
    if let Some(options) = quoted_pair(left, right) {
        return Some((options, Kind::Noun));
    }
    if left.trim().is_empty() || right.trim().is_empty() {
        return None;
    }
    // "San Jose, California or Portland, Oregon", "June 14, 2026 or September 5, 2026".
    let is_place = |at: usize| {
        let name =
            |text: &str| text.split(", ").nth(at).map(|part| part.trim_end_matches(',').to_lowercase());
        name(left).is_some_and(|part| STATES.split(", ").any(|state| state == part))
    };
    if left.matches(", ").count() == 1 && !right.contains(", ") && is_place(1) && !is_place(0) {
        // "Paris, Texas or Rome".
        let (last, kind) = last_option(right, &[], left, true);
        return Some((vec![clean(left), clean(&last)], kind));
    }
    let has_commas = left.trim_end_matches(',').contains(", ") && right.contains(", ");
    let names_with_commas = has_commas && NAME_COMMA.is_match(right);
    let mut items: Vec<&str> = Vec::new();
    let mut rest = left;
    if !names_with_commas {
        let mut start = 0;
        let mut cuts: Vec<(usize, usize)> =
            or.find_iter(left).map(|found| (found.start(), found.end())).collect();
        cuts.extend(left.match_indices(", ").map(|(at, mark)| (at, at + mark.len())));
        cuts.sort_unstable_by_key(|(at, to)| (*at, std::cmp::Reverse(*to)));
        for (at, to) in cuts {
            if at < start {
                continue;
            }
            items.push(&left[start..at]);
            start = to;
        }
        rest = &left[start..];
    }
    items.push(rest);
    // Clauses before the list: "My laptop has a cracked screen, is it smarter to …".
    let right = match right.split_once(", ") {
        Some((option, rest))
            if !names_with_commas
                && (ADDITION.is_match(rest) || (!left.contains(", ") && OR_ENGLISH.is_match(part))) =>
        {
            option
        }
        _ => right,
    };
    let (last, kind) = last_option(right, &items[1..], items[0], OR_ENGLISH.is_match(part));
    // "Help me, better to Rome in July or in January": the comma ends a clause.
    let is_clause = items.len() == 2 && {
        let (middle, end) = (words(items[1]), words(&last));
        let same =
            end.first().and_then(|first| middle.iter().position(|word| word.eq_ignore_ascii_case(first)));
        matches!(kind, Kind::Preposition | Kind::Determiner)
            && same.is_some_and(|at| at > 1)
            && middle.len() > end.len() + 2
    };
    // "Should my mother, 82, living alone, have a watch or a pendant?"
    let last_item = items[items.len() - 1];
    let begins_with_verb = |item: &str| words(item).first().is_some_and(|first| is_in(VERBS, first));
    let is_interrupted = items.len() >= 2
        && BEGINS_CLAUSE.is_match(items[0])
        && !words(items[0]).iter().any(|word| is_in(VERBS, word))
        && begins_with_verb(last_item);
    // "…two things left in the running, a green dress or a navy jumpsuit"
    let article = |item: &str| {
        words(item).first().filter(|first| is_in(DETERMINERS, first)).map(|first| first.to_lowercase())
    };
    let has_articles = items.len() == 2
        && words(items[0]).len() > 6
        && article(last_item).is_some()
        && article(last_item) == article(&last)
        && !words(items[0]).iter().any(|word| Some(word.to_lowercase()) == article(&last));
    // "la tortilla de patatas, con cebolla o sin cebolla"
    let begins_phrase = |item: &str| words(item).first().is_some_and(|first| is_in(PREPOSITIONS, first));
    let has_phrases = items.len() == 2
        && begins_phrase(last_item)
        && begins_phrase(&last)
        && !words(items[0]).iter().any(|word| is_in(PREPOSITIONS, word));
    // The last item before the "or" is the first option.
    let first_at = if is_clause || is_interrupted || has_articles || has_phrases {
        items.len() - 1
    } else if items.len() > 1 && items[1..].iter().all(|item| words(item).len() <= 12) {
        0
    } else {
        items.len() - 1
    };
    let longest = items[1..].iter().chain([&&*last]).map(|item| words(item).len()).max().unwrap_or(1);
    let is_whole = is_whole && (items.len() == 1 || words(items[0]).len() <= 2 * longest + 3);
    let first = if is_whole && items.len() > 1 {
        items[0].trim().to_owned()
    } else {
        first_option(items[first_at], &last, kind, is_whole && first_at == 0)?
    };
    let mut options = vec![first];
    options.extend(items[first_at + 1..].iter().map(|item| item.trim().to_owned()));
    options.push(last);
    let mut options: Vec<String> = options.iter().map(|option| clean(option)).collect();
    // "Grade A, B, C or D"
    if options.len() > 2
        && options[1..].iter().all(|option| option.chars().count() == 1)
        && let Some(letter) = options[0].rsplit_once(' ').map(|(_, letter)| letter.to_owned())
        && letter.chars().count() == 1
    {
        options[0] = letter;
    }
    // "Pineapple on pizza, yes or no?"
    let options = match options.as_slice() {
        [_, yes, no] if yes.eq_ignore_ascii_case("yes") && no.eq_ignore_ascii_case("no") => {
            options[1..].to_vec()
        }
        _ => options,
    };
    (options.iter().all(|option| !option.is_empty()) && options.len() <= 12).then_some((options, kind))
}

/// Returns the two quotations around an "or".
fn quoted_pair(left: &str, right: &str) -> Option<Vec<String>> {
    let left = left.trim_end().strip_suffix('"')?;
    let (before, one) = left.rsplit_once('"')?;
    if before.contains('"') {
        return None;
    }
    // The mark at the end of a sentence is gone.
    let other = right.trim_start().strip_prefix('"')?.split('"').next()?;
    Some(vec![one.to_owned(), other.to_owned()])
}

pattern!(COLON_LIST, r"(?i)\b(?:which|what|who|how)\b[^?:\n]*: [^?:\n]*\bor\b[^?:\n]*\?\s*$");

/// True if a text ends with a question that lists its options after a colon.
pub(super) fn ends_with_list(text: &str) -> bool {
    COLON_LIST.is_match(text)
}
