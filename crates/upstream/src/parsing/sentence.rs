//! The vote of a sentence. A sentence is a vote only if it chooses one option and has no other option and no word of doubt or
//! denial.

use super::choice_set::ChoiceSet;
use super::emphasis::{Span, marked};
use super::matcher::ChoiceMatcher;
use super::normal::{FULL_STOPS, is_refusing, normal, peeled};
use super::vocabulary::{
    before_option_word, before_reason, chooses, doubts, is_of_others, is_plain, label, names_voter,
    other_words, split_closer,
};
use super::words::{is_unspaced, is_word, occurrences, words};

/// The longest sentence that is read, in bytes. A longer one discusses the options.
const MAX_SENTENCE: usize = 600;

/// Reads a line that is one sentence: its last words before the reason are an option that it chooses, as in `The answer is Mars.` and
/// `I choose Mars because it is red.`, or an option is its only quoted or emphasised text, as in `I'd go with **Mars**.` All other
/// words are plain or of the question; the reason has no other option and no doubt.
pub(super) fn sentence(line: &str, matcher: &ChoiceMatcher<'_>) -> ChoiceSet {
    if line.len() > MAX_SENTENCE || line.contains("~~") || line.contains(is_refusing) {
        return ChoiceSet::NONE;
    }
    let normal = normal(line);
    let mut text = normal.as_str();
    while let Some(inner) = peeled(text, true) {
        text = inner;
    }
    if text.contains(['?', '？', '؟', '|']) {
        return ChoiceSet::NONE;
    }
    let ended = text.trim_end_matches([')', ']', '"', '\'', '*', '_', '`', '」', '』', '》', '】']);
    let text = ended.strip_suffix(FULL_STOPS).or_else(|| ended.strip_suffix('!')).unwrap_or(ended);
    let found = chosen(text, matcher, line).or_else(|| marked(&normal, matcher));
    let Some(Span { index, start, end, whole }) = found else { return ChoiceSet::NONE };
    let (before, after) = (&whole[..start], &whole[end..]);
    let beside = before_reason(after).unwrap_or(after);
    let asked = |word: &str| matcher.is_asked(word);
    let is_clear = names_subject(before, index, matcher)
        && is_plain(beside, asked)
        && !doubts(beside)
        && !is_several(beside)
        && is_undoubted(&after[beside.len()..], index, matcher);
    if is_clear { ChoiceSet::one(index) } else { ChoiceSet::NONE }
}

/// True if the words before an option say who or what chooses it: they are plain or of the question. A clause without doubt may
/// stand before them if they name the voter or a vote, as in `After weighing everything, my answer is`. Beside a word of the
/// question, one may be any other, as in `The planet called red is`.
fn names_subject(before: &str, index: usize, matcher: &ChoiceMatcher<'_>) -> bool {
    let (clause, subject) = match before.rfind([',', '，']) {
        Some(at) => before.split_at(at),
        None => ("", before),
    };
    let asked = |word: &str| matcher.is_asked(word);
    let is_anchored =
        || words(subject).any(|word| word.chars().count() >= 4 && asked(word) && label(word).is_none());
    let others = other_words(subject, asked);
    let is_own = is_plain(clause, asked) || names_voter(subject) || label(subject).is_some();
    let is_named = others == 0 || (others == 1 && label(subject).is_none() && is_anchored());
    is_named
        && is_own
        && ![clause, subject].into_iter().any(is_of_others)
        && is_undoubted(before, index, matcher)
}

/// True if a text beside this option has no other option and no word of doubt, and ends no sentence.
pub(super) fn is_undoubted(text: &str, index: usize, matcher: &ChoiceMatcher<'_>) -> bool {
    let others = matcher.normal_texts().iter().enumerate().filter(|(other, _)| *other != index);
    let names_other = others.into_iter().any(|(_, other)| occurrences(other, text).next().is_some());
    !names_other && !doubts(text) && !is_several(text)
}

/// Returns the option that the last words choose. `sentence` has no sign at its end; `line` is the same as it was written.
fn chosen<'t>(sentence: &'t str, matcher: &ChoiceMatcher<'_>, line: &str) -> Option<Span<'t>> {
    let before_reason = before_reason(sentence).map(|text| (text, ""));
    let endings = [Some((sentence, "")), split_closer(sentence), before_reason];
    endings.into_iter().flatten().find_map(|(text, after)| {
        let text = text.trim_end_matches(MARKS);
        // `火星です`
        if !after.is_empty()
            && let Some(index) = matcher.normal_value(text).only()
        {
            return Some(Span { index, start: 0, end: sentence.len(), whole: sentence });
        }
        // The longest option is the one that is meant: `New York`, not `York`.
        let named = matcher.named_at_end(text);
        let (index, length) = named.or_else(|| letter_at_end(matcher, line, text))?;
        let start = text.len() - length;
        let is_alone = text[start..].starts_with(is_unspaced) || !text[..start].ends_with(is_word);
        let (before, mark) = without_label(&text[..start]);
        // The letter of another option.
        let agrees = matcher.letter_of(mark).is_none_or(|lettered| lettered == index);
        let before = before.trim_end_matches(MARKS).trim_end_matches([':', ' ']);
        // A letter alone could be anything: `The best vitamin is C.`
        let is_labelled =
            named.is_some() || label(before).is_some() || words(before).any(|word| VERBS.contains(&word));
        let is_chosen = chooses(before, after) || chooses(before_option_word(before), after);
        let end = if after.is_empty() { text.len() } else { sentence.len() };
        (is_alone && agrees && is_labelled && is_chosen).then_some(Span {
            index,
            start: before.len(),
            end,
            whole: sentence,
        })
    })
}

/// English verbs before a letter.
const VERBS: [&str; 4] = ["choose", "pick", "select", "vote"];

/// Signs of quotation and emphasis.
const QUOTES: [char; 5] = ['"', '\'', '*', '_', '`'];
/// The same, with brackets and spaces.
const MARKS: [char; 17] =
    [' ', '"', '\'', '*', '_', '`', '(', '[', ')', ']', '「', '」', '『', '』', '《', '》', '【'];

/// Returns the index and the length of the option whose letter, in upper case, ends a line.
fn letter_at_end(matcher: &ChoiceMatcher<'_>, line: &str, text: &str) -> Option<(usize, usize)> {
    let mut letters = line.chars().rev().filter(|c| is_word(*c));
    let last = letters.next()?;
    let written = line.trim_end_matches(|c: char| !is_word(c));
    let alone = !written[..written.len() - last.len_utf8()].ends_with(is_word);
    let length = text.chars().next_back()?.len_utf8();
    let index = matcher.letter_of(last.encode_utf8(&mut [0; 4]))?;
    (alone && last.is_uppercase() && text.ends_with(|c: char| last.to_lowercase().eq([c])))
        .then_some((index, length))
}

/// Returns the text before the number or letter at its end, and that, as in `the answer is option 2:`.
fn without_label(text: &str) -> (&str, &str) {
    let Some((before, label)) =
        text.trim_end_matches(QUOTES).strip_suffix(' ').and_then(|text| text.rsplit_once(' '))
    else {
        return (text, "");
    };
    let label = label.trim_matches(QUOTES);
    let bare = label.trim_matches(['(', '[', ')', ']', ':', '.']);
    let is_short = bare.chars().count() == 1 || (bare.len() == 2 && bare.bytes().all(|b| b.is_ascii_digit()));
    if is_short && label.ends_with([')', ']', ':', '.']) { (before, bare) } else { (text, "") }
}

/// True if a sentence ends within a text.
fn is_several(text: &str) -> bool {
    let mut after_mark = false;
    for c in text.chars() {
        if after_mark && c.is_whitespace() {
            return true;
        }
        if matches!(c, '。' | '！' | '।' | '۔' | '\n') {
            return text.trim_end_matches(|c: char| !is_word(c)).contains(c);
        }
        after_mark = matches!(c, '.' | '!' | ';');
    }
    false
}

#[cfg(test)]
mod tests {
    use ep_polling::ChoiceForm;

    use super::super::testing::view;
    use super::*;

    fn vote(options: &[&str], text: &str) -> Option<usize> {
        sentence(text, &ChoiceMatcher::new(&view(options), ChoiceForm::Text)).only()
    }

    const PLANETS: [&str; 3] = ["Earth", "Mars", "Venus"];

    #[test]
    fn a_choice_is_a_vote() {
        for text in [
            "The red planet is Mars.",
            "I choose Mars",
            "My vote goes to “Mars”.",
            "So the answer is **Mars**.",
            "It's Mars!",
            "The answer is option 2: Mars",
            "I'd go with **Mars** because it has the canals.",
            "The correct answer is (B) Mars.",
            "Die Antwort lautet Mars.",
            "Elegiría Mars.",
            "I would pick Mars, because it fits best.",
            "Ich wähle Mars, weil er rot ist.",
            "Je choisis Mars.",
            "Я выбираю Mars.",
            "I vote for the Mars.",
            "All things considered, I'd say Mars.",
            "I choose Mars, since it is red.",
            "Minha escolha é o Mars.",
            "Daher wähle ich Mars.",
            "Ich würde für Mars stimmen.",
        ] {
            assert_eq!(vote(&PLANETS, text), Some(1), "{text}");
        }
        for text in [
            "答案是火星。",
            "红色的行星是**火星**。",
            "我选择「火星」。",
            "答えは火星です。",
            "คำตอบคือ火星",
            "火星を選びます。",
            "火星을 선택합니다.",
            "毫无疑问，我选火星。",
        ] {
            assert_eq!(vote(&["地球", "火星", "金星"], text), Some(1), "{text}");
        }
        assert_eq!(vote(&["New York", "York"], "It is New York"), Some(0));
        assert_eq!(vote(&["not spam", "spam"], "The answer is not spam."), Some(0));
        let view = view(&PLANETS);
        let lettered = ChoiceMatcher::new(&view, ChoiceForm::Letter);
        assert_eq!(sentence("The answer is B.", &lettered).only(), Some(1));
        for text in ["I like plan B", "This is a good question", "It is a"] {
            assert_eq!(sentence(text, &lettered).only(), None, "{text}");
        }
    }

    #[test]
    fn doubt_denial_and_other_options_are_no_vote() {
        for text in [
            "I cannot vote for Mars.",
            "I can't vote for Mars.",
            "I don't think it is Mars.",
            "I wouldn't choose Mars.",
            "It isn't Mars.",
            "Definitely not Mars.",
            "Any of them except Mars.",
            "I am unable to vote for Mars.",
            "Mars is ruled out.",
            "Mars is wrong.",
            "I considered “Mars”, but it is incorrect.",
            "Most people would choose Mars.",
            "Is the answer Mars?",
            "Rather than Earth, I choose Mars.",
            "The first option is Mars.",
            "It could be Mars.",
            "Mars is the red planet.",
            "Earth is blue. The answer is Mars.",
            "If pressed, I choose Mars.",
            "Nicht zu wählen ist Mars.",
            "My second choice is Mars.",
            "I choose Mars because Earth is blue.",
            "I choose Mars because it is wrong.",
            "I like Mars because it is red.",
            "No doubt many would choose Mars.",
            "You have chosen Mars.",
            "Ich habe mich gegen Mars entschieden.",
            "Ich würde zuletzt Mars wählen.",
            "Он выбрал Mars.",
        ] {
            assert_eq!(vote(&PLANETS, text), None, "{text}");
        }
        for text in [
            "答案不是火星。",
            "我不选「火星」。",
            "地球或火星",
            "火星是错的",
            "他投火星一票。",
            "火星を選びません。",
            "火星を選びますか",
        ] {
            assert_eq!(vote(&["地球", "火星", "金星"], text), None, "{text}");
        }
        assert_eq!(vote(&["-1", "0", "1"], "The answer is -1"), Some(0));
        assert_eq!(vote(&["-1", "0", "2"], "The answer is 1."), None);
        assert_eq!(vote(&["5", "7"], "The answer is 1.5"), None);
        assert_eq!(vote(&["C", "Rust"], "The answer is C++."), None);
    }
}
