//! Options that a sentence names: "tea or coffee", "A, B or C", "X vs Y".

use ep_polling::text::capitalized;

use super::sentences::{own, pattern};

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

pattern!(OR_ENGLISH, r"(?i),?\s+(?:or|vs\.?|versus)\s+(?:just |rather |maybe |else )?");
pattern!(OR_OTHERS, r"(?i),?\s+(?:or|oder|ou|o|u|lub|albo|czy|veya|yoksa|или|vs\.?|gegen)\s+|\s+o\s*(?:l')");
pattern!(OR_DUTCH, r"(?i),?\s+of\s+");
pattern!(
    DUTCH,
    r"(?i)\b(?:het|een|voor|welke?|wat|beter|liever|ik|wij|moet|mijn|zijn|niet|vanavond|morgen|bij)\b"
);
pattern!(ENGLISH, r"(?i)\b(?:the|my|this|that|we|you|with|your|our|are|should|which|what|for|and)\b");

pattern!(OR_PORTUGUESE, r"(?i),?\s+ou\s+");
pattern!(PORTUGUESE, r"(?i)\b(?:é|não|você|uma|são|para o|melhor)\b");

/// Returns the pattern of the word "or" in the language of a sentence.
fn or_word(sentence: &str) -> &'static regex::Regex {
    if PORTUGUESE.is_match(sentence) {
        return &OR_PORTUGUESE;
    }
    if DUTCH.is_match(sentence) && !OR_ENGLISH.is_match(sentence) {
        return &OR_DUTCH;
    }
    if ENGLISH.is_match(sentence) || OR_ENGLISH.is_match(sentence) { &OR_ENGLISH } else { &OR_OTHERS }
}

/// Words that lead to an option and are no part of it, in several languages.
const HEADS: &str = "is are was were do does did should shall would could can will must may might i we you they he she it use using choose pick prefer go as between either to learn closer with than from for of by mejor plutôt lieber besser eher es é è beter lepiej better best rather into my our your one on called say recommend suggest ship launch charge meglio plutôt aprender comprar usar";
/// Words that begin an option about a place or a time.
const PREPOSITIONS: &str = "on in at under over above below behind beside next against after before by with without via through from to into during near per inside outside indoors outdoors now later today tomorrow tonight soon first upstairs downstairs online offline in-person por para en na no em am im an auf unter über vor nach bei chez dans sur sous avant après avec sans par sul nel in op bij voor na w przed";
/// Words that begin a noun phrase.
const DETERMINERS: &str = "the a an my our your his her their this one two three four five no every some another der die das den dem ein eine einen le la les un une des el los las una unos o os as um uma il lo gli i de het een";
/// States and provinces whose names follow those of towns after a comma.
const STATES: &str = "alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida, georgia, hawaii, idaho, illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan, minnesota, mississippi, missouri, montana, nebraska, nevada, new hampshire, new jersey, new mexico, new york, north carolina, north dakota, ohio, oklahoma, oregon, pennsylvania, rhode island, south carolina, south dakota, tennessee, texas, utah, vermont, virginia, washington, west virginia, wisconsin, wyoming, d.c., ontario, quebec, british columbia, alberta, manitoba, nova scotia";
/// Words after which a noun phrase has ended.
const TAILS: &str = "for if when as because given since while during until once tonight today tomorrow this next is are sounds sound fits fit which who better best more most für wenn bei pour quand si para cuando per quando voor als dla gdy для если";
/// Words after which an action has ended.
const CLAUSE_TAILS: &str = "s'il s'ils if when because given since once while wenn weil si quand parce cuando porque se quando als omdat gdy jeśli если";
/// Words that follow a verb.
const OBJECTS: &str = "it them him her me us you the a an my our your this that";
/// Verbs of decisions.
const VERBS: &str = "keep cancel rent buy sell repair replace fix move wait merge put hire close eat go stay quit take get use leave call text ask tell say send ship launch start stop retry kill page skip rewrite refactor translate review write read learn study work build make pay save spend invest drink drive fly walk run cook order bake make do be have let try give reply answer apologise apologize confront ignore accept decline reject approve deny offer propose adopt switch migrate upgrade stick postpone delay cut raise lower lease book pick choose show search report escalate block allow add remove drop open return refund exchange tip bring wear meet invite marry break date foster plant paint lay install deploy roll scale split join focus hide share post publish tweet email visit travel camp host throw skip refinance lend borrow donate declare claim file sue settle negotiate turn hold continue proceed pause abort restart reboot revert rebase squash test mock cache log encrypt hash store delete archive hand pass outsource automate train sit stand sleep grow play watch listen swim cycle jog bike ride swerve pull push request change leave";

fn is_in(list: &str, word: &str) -> bool {
    let word = bare(word).to_lowercase();
    list.split(' ').any(|known| known == word)
}

fn bare(word: &str) -> &str {
    word.trim_matches(|letter: char| {
        letter.is_ascii_punctuation() || matches!(letter, '¿' | '“' | '”' | '«' | '»' | '„')
    })
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
    r"(?i)\b(?:which|what|who|whose|where|when|how|welche\w*|was|wer|wohin|quel\w*|qui|où|qué|que|cuál|dónde|qual\w*|quale|chi|dove|wat|welke?|waar|co|gdzie|который|что|где|куда|hangisi|jaki\w*|kt[oó]r\w*|better|best|right)\b"
);
pattern!(
    SUBORDINATE,
    r"(?i)^\W*(?:if|when|given|since|because|as|after|before|with|for|in|at|while|now that|assuming|wenn|si|quand|cuando|se|quando|als)\b[^,]*,\s+"
);
pattern!(
    AUX,
    r"(?i)\b(?:should|shall|do|does|did|would|could|can|will|must|soll|sollen|sollte|sollten)\s+(?:i|we|you|they|he|she|it|someone|one|ich|wir|(?:the|my|our|your|a|an|his|her|their)\s+[\w'-]+(?:\s+[\w'-]+)?)\s+(?:rather |just |either |better |now |even )?"
);
pattern!(TO_VERB, r"(?i)\bto\s+(?:just |either |rather )?(\w+)");
pattern!(INFINITIVE, r"(?i)^\w{2,}(?:en|er|ir|re|ar|are|ere|ire|ć|ть|ti)$");

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

pattern!(WHICH, r"(?i)^\W*(?:so )?(?:which|what)\b.{0,60}\?$");

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
    let before_which: Vec<&str> = sentences
        .windows(2)
        .filter(|pair| WHICH.is_match(pair[1]) && !OR_ENGLISH.is_match(pair[1]))
        .map(|pair| pair[0])
        .collect();
    let mut yes_no = false;
    for (sentence, asks) in
        questions.map(|sentence| (sentence, true)).chain(others.map(|sentence| (sentence, false)))
    {
        let plain = SETTLE.replace(sentence.trim_end_matches(['?', '.', '!', ' ', '？', '"', ':']), "");
        let plain = plain.trim_end_matches(['?', '.', '!', ' ', '？', '"', ':', ',']);
        let or = if is_english { &*OR_ENGLISH } else { or_word(plain) };
        let has_list = plain.rsplit_once(": ").is_some_and(|(_, list)| or.is_match(list));
        let is_asked = asks || before_which.contains(sentence);
        if or.is_match(plain)
            && (is_asked || has_list || is_elliptic(plain) || super::sentences::chooses(plain))
        {
            if YES_NO_ADJECTIVE.is_match(plain) {
                yes_no |= asks;
                continue;
            }
            if OR_NOT.is_match(plain) {
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
pattern!(
    COPULA,
    r"(?i)^\W*(?:is|are|was|were)\s+(?:(?:this|that|these|those)\s+(?:headline|message|review|comment|email|statement|claim|sentence|text|tweet|post|answer|response|ticket|photo|picture|image|transaction|request|product|article|title|word|film|movie|song|paragraph|reply|quote|joke|poem|code|bug|issue)|it|this|that|he|she|they|(?:this|that|these|those|the|our|my|your|a|an|his|her)\s+[\w'-]+(?:\s+(?:budget|price|fee|size|date|deal|idea))?)\s+(?:more |rather |closer to |being )?"
);
pattern!(IN_QUOTES, r#""[^"]*"|“[^”]*”"#);
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
    r"(?i)\b(?:is|are|was|were|won|will|did|does|do|has|have|had|thinks?|said|says|write|translate|explain|i|we|they|he|she|it)\b"
);

/// True for a few words without a verb: "tabs or spaces", "iPhone vs Android for my dad".
fn is_elliptic(sentence: &str) -> bool {
    words(sentence).len() <= 14 && !FINITE.is_match(sentence)
}

pattern!(SLASH, r"(?:^|\s)([\w'’-]+(?:/[\w'’-]+)+)(?:\s|$)");
fn slash(sentence: &str) -> Option<Vec<String>> {
    let found = SLASH.captures(sentence)?;
    let parts: Vec<String> = found[1].split('/').map(str::to_owned).collect();
    let fits = parts
        .iter()
        .all(|part| part.chars().count() > 1 && !part.chars().all(|letter| letter.is_ascii_digit()))
        && !found[1].eq_ignore_ascii_case("and/or");
    fits.then_some(parts)
}

pattern!(OR_NOT, r"(?i)\bor not\W*$");

/// Reads a sentence with an "or".
fn listed(sentence: &str, asks: bool) -> Found {
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
    let is_whole = is_whole && !BEGINS_CLAUSE.is_match(part);
    if !is_whole && WH_START.is_match(part) && !COMPARES_TWO.is_match(part) {
        return Found::None;
    }
    match split(part.trim(), is_whole) {
        Some((_, Kind::Noun | Kind::Determiner))
            if !is_whole && CAN.is_match(part) && !COMPARES.is_match(part) =>
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
    let (last, kind) = last_option(right, &items[1..], items[0], OR_ENGLISH.is_match(part));
    let first_at = if items.len() > 1 && items[1..].iter().all(|item| words(item).len() <= 12) {
        0
    } else {
        items.len() - 1
    };
    let first = if is_whole && items.len() > 1 {
        items[0].trim().to_owned()
    } else {
        first_option(items[first_at], &last, kind, is_whole && first_at == 0)?
    };
    let mut options = vec![first];
    options.extend(items[first_at + 1..].iter().map(|item| item.trim().to_owned()));
    options.push(last);
    let options: Vec<String> = options.iter().map(|option| clean(option)).collect();
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
    let (_, one) = left.rsplit_once('"')?;
    let (other, _) = right.trim_start().strip_prefix('"')?.split_once('"')?;
    Some(vec![one.to_owned(), other.to_owned()])
}

/// The form of an option, by which its beginning is found.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    To,
    Verb,
    Preposition,
    Determiner,
    Noun,
}

fn kind_of(words: &[&str], head: &str, is_english: bool) -> Kind {
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

/// Returns the last option without the rest of the sentence, and its form.
fn last_option(right: &str, others: &[&str], first: &str, is_english: bool) -> (String, Kind) {
    let all = words(right);
    let kind = kind_of(&all, first, is_english);
    let longest = others.iter().map(|part| words(part).len()).max().unwrap_or(1).max(1);
    let tails = if matches!(kind, Kind::Verb | Kind::To | Kind::Preposition) { CLAUSE_TAILS } else { TAILS };
    let from = match kind {
        Kind::Noun | Kind::Preposition => 1,
        _ => 2,
    };
    let place = if others.is_empty() { cut_place(&all, first, kind) } else { None };
    let cut = place
        .into_iter()
        .chain(
            (from.max(longest.min(all.len()))..all.len())
                .find(|at| is_in(tails, all[*at]) && !ends_with_word(first, all[*at])),
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
        ["on", "in", "at", "during", "per", "before"].contains(&word.to_lowercase().as_str())
            && !ends_with_word(first, word)
    })
}

/// Returns the first option, which stands at the end of a head.
fn first_option(head: &str, last: &str, kind: Kind, is_whole: bool) -> Option<String> {
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
            Some(found) if found.end() < head.len() => Some(words(&head[..found.end()]).len()),
            _ => Some(noun_start(&all, &target)),
        },
    }?;
    let from = if is_whole && kind != Kind::To { 0 } else { from };
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

fn clean(option: &str) -> String {
    let option =
        option.trim().trim_start_matches(['¿', '"', '“', '(']).trim_end_matches([',', '"', '”', ';', ':']);
    let option = if option.contains('(') { option } else { option.trim_end_matches(')') };
    capital(option.trim())
}

fn capital(option: &str) -> String {
    let first = option.split_whitespace().next().unwrap_or_default();
    if first.chars().any(char::is_uppercase) {
        return option.to_owned();
    }
    capitalized(option)
}

pattern!(
    JAPANESE,
    r"([^。、？?：:\s]{1,20}?[^はがでは])?(?:[はがで、：:])?([^。、？?はが\s]{1,20}?)と([^。、？?\s]{1,20}?)(?:の|、|で|は|って)?\s*(?:どっち|どちら|どれ)"
);
pattern!(CHINESE, r"([^，,。？?！：:\s]{1,30})还是([^，,。？?！：:\s]{1,20})");
pattern!(
    KOREAN,
    r"((?:[^\s,.?]{1,20},\s*)*[^\s,.?]{1,20}?)(?:이랑|랑|와|과|하고|,)?\s+(?:아니면\s+)?([^\s,.?]{1,20}?)(?:\s*중(?:에서?)?|,)?\s*(?:뭐가|어느|어떤|무엇이|어디가)"
);
pattern!(
    /// "사실인가요, 의견인가요?"
    KOREAN_PAIR,
    r"([^\s,.?]{1,20}?)(?:인가요|일까요|입니까|인지)\s*[,?]?\s+(?:아니면\s+)?([^\s,.?]{1,20}?)(?:인가요|일까요|입니까|인지)"
);
pattern!(CHINESE_TAIL, r"(?:更?(?:合适|好|适合|划算|健康|重要|安全|靠谱)|比较好|好呢|好).*$");

/// Reads the forms of Japanese, Chinese and Korean.
fn asian(text: &str) -> Option<Vec<String>> {
    if let Some(found) = JAPANESE.captures(text) {
        return Some(vec![found[2].to_owned(), found[3].to_owned()]);
    }
    if let Some(found) = CHINESE.captures_iter(text).last() {
        let before = found[1].trim_start_matches(['用', '选', '买', '是', '去', '喝', '吃']);
        let mut parts: Vec<String> = before.split('、').map(str::to_owned).collect();
        let right = found[2].trim_start_matches('是');
        parts.push(CHINESE_TAIL.replace(right, "").into_owned());
        return Some(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>())
            .filter(|parts| parts.len() > 1);
    }
    if let Some(found) = KOREAN_PAIR.captures(text) {
        return Some(vec![found[1].to_owned(), found[2].to_owned()]);
    }
    let found = KOREAN.captures(text)?;
    let mut parts: Vec<String> = found[1].split(',').map(|part| part.trim().to_owned()).collect();
    parts.extend(Some(found[2].to_owned()).filter(|last| !last.starts_with('중')));
    (parts.len() > 1).then_some(parts)
}

pattern!(TURKISH, r"(?i)(\S+(?:\s+\S+)?)\s+m[iıuü]\s*,?\s+(?:yoksa\s+)?(\S+(?:\s+\S+)?)\s+m[iıuü]\b");
fn turkish(text: &str) -> Option<Vec<String>> {
    let found = TURKISH.captures(text)?;
    let (one, other) = (words(found.get(1)?.as_str()), words(found.get(2)?.as_str()));
    // "Ev için kedi mi köpek mi": a postposition ends the head.
    let start =
        if other.len() == 1 || one.first().is_some_and(|word| ["için", "ile", "olarak"].contains(word)) {
            one.len() - 1
        } else {
            0
        };
    Some(vec![one[start..].join(" "), other.join(" ")])
}
