//! The tables of words in `vocabulary.toml`.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use serde::Deserialize;

use super::words::words;

/// The words of one language. The file describes the fields.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Language {
    pub(super) unspaced: bool,
    pub(super) labels: Vec<String>,
    pub(super) weak_labels: Vec<String>,
    pub(super) option_words: Vec<String>,
    pub(super) forms: Vec<String>,
    pub(super) before: Vec<String>,
    pub(super) after: Vec<String>,
    pub(super) verbs: Vec<String>,
    pub(super) certain: Vec<String>,
    pub(super) persons: Vec<String>,
    pub(super) conditions: Vec<String>,
    pub(super) articles: Vec<String>,
    pub(super) reasons: Vec<String>,
    pub(super) plain: Vec<String>,
    pub(super) retractions: Vec<String>,
    pub(super) doubts: Vec<String>,
    pub(super) doubt_stems: Vec<String>,
}

/// The words of all languages.
#[derive(Default)]
pub(super) struct Vocabulary {
    pub(super) labels: Words,
    pub(super) weak_labels: Words,
    pub(super) doubts: Words,
    pub(super) doubt_stems: Vec<String>,
    /// Phrases that are no doubt, although a word of them is.
    pub(super) certain: Vec<String>,
    pub(super) option_words: Vec<String>,
    pub(super) articles: Vec<String>,
    pub(super) reasons: Vec<String>,
    /// Words that may stand beside a choice: plain ones, and those of labels and forms.
    pub(super) plain: HashSet<String>,
    /// The same of unspaced languages, the longest first.
    pub(super) plain_parts: Vec<String>,
    pub(super) retractions: Words,
    /// Forms before the chosen option: words of their own, and ends of longer ones.
    pub(super) forms: Vec<String>,
    pub(super) unspaced_forms: Vec<String>,
    /// Words before and after the chosen option.
    pub(super) closed_forms: Vec<ClosedForms>,
    /// Words that name the voter.
    pub(super) persons: Words,
    /// First words of conditions, and of the choices of others.
    pub(super) conditions: Words,
}

/// Words before and after the chosen option, in one language.
pub(super) struct ClosedForms {
    pub(super) openers: Vec<String>,
    pub(super) closers: Vec<String>,
    /// The closers may be joined to the option.
    pub(super) joined: bool,
}

/// Words that stand alone, and parts of longer ones.
#[derive(Default)]
pub(super) struct Words {
    alone: HashSet<String>,
    within: Vec<String>,
}

impl Words {
    fn add(&mut self, words: Vec<String>, unspaced: bool) {
        if unspaced { self.within.extend(words) } else { self.alone.extend(words) }
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.alone.contains(word) || self.within.iter().any(|part| word.contains(part.as_str()))
    }
}

pub(super) const FILE: &str = include_str!("vocabulary.toml");

pub(super) static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the file is a part of the program, and a test reads it")]
    let languages: BTreeMap<String, Language> = toml::from_str(FILE).expect("the vocabulary is valid");
    let mut all = Vocabulary::default();
    for language in languages.into_values() {
        let unspaced = language.unspaced;
        for phrases in [
            &language.labels,
            &language.weak_labels,
            &language.option_words,
            &language.forms,
            &language.before,
            &language.plain,
        ] {
            all.plain.extend(phrases.iter().flat_map(|phrase| words(phrase)).map(str::to_owned));
            if unspaced {
                all.plain_parts.extend(phrases.iter().cloned());
            }
        }
        all.plain.extend(language.articles.iter().map(|article| article.trim_end_matches('\'').to_owned()));
        all.retractions.add(language.retractions, unspaced);
        all.labels.add(language.labels, unspaced);
        all.weak_labels.add(language.weak_labels, unspaced);
        all.doubts.add(language.doubts, unspaced);
        all.doubt_stems.extend(language.doubt_stems);
        all.option_words.extend(language.option_words);
        all.articles.extend(language.articles);
        all.reasons.extend(language.reasons);
        if unspaced { &mut all.unspaced_forms } else { &mut all.forms }.extend(language.forms);
        all.certain.extend(language.certain);
        all.persons.add(language.persons, unspaced);
        all.conditions.add(language.conditions, unspaced);
        for (openers, closers) in [(language.before, language.after), (vec![String::new()], language.verbs)] {
            all.closed_forms.push(ClosedForms { openers, closers, joined: unspaced });
        }
    }
    all.plain_parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    all
});
