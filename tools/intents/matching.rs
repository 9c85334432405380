//! Which of several signatures a text fits best: by the words that they share, rare words counting more.

use std::collections::{BTreeMap, BTreeSet};

use super::words::{CHOICE, is_filler, is_subject, words};

/// A signature that fits a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// The place of the signature.
    pub signature: usize,
    /// The place of its phrase that fits best.
    pub phrase: usize,
    /// How well it fits, from 0 to 1.
    pub score: f64,
}

/// Signatures, each the phrases by which an operation is asked for, prepared for comparisons.
pub struct Index {
    /// The weight of each known word.
    weights: BTreeMap<String, f64>,
    /// The weight of a word that only one signature has.
    greatest: f64,
    signatures: Vec<Signature>,
}

struct Signature {
    phrases: Vec<BTreeSet<String>>,
    /// The words of all phrases.
    words: BTreeSet<String>,
}

/// The words of a text, weighed.
struct Text {
    weights: BTreeMap<String, f64>,
    total: f64,
    /// Those of its words that name what the service is about.
    subjects: Vec<String>,
    /// Below this score nothing fits it.
    threshold: f64,
}

// Chosen by trying others on the phrases of `tests/it/intents*.json`.
/// Below this score nothing fits a text that names what the service is about, or asks to choose.
const THRESHOLD: f64 = 0.33;
/// The same for other texts, which easily share a verb with an operation.
const THRESHOLD_OF_OTHERS: f64 = 0.56;
/// The weight of a word that says little, as a part of what it would weigh.
const FILLER: f64 = 0.2;
/// The weight of an unknown word in a text that asks to choose, as a part of the greatest: it names what to choose from.
const NAMED: f64 = 0.3;
/// What is left of the weight of a known word there.
const BESIDE_CHOICE: f64 = 0.5;
/// The weight of an unknown word in a text that names what the service is about.
const BESIDE: f64 = 0.2;
/// How much the phrase that fits best counts; the rest is for how much of the text the signature's words explain.
const PHRASE: f64 = 0.6;
/// What is left of a score where text or phrase names something that the other does not.
const OTHER_SUBJECT: f64 = 0.9;
/// What is left of the weight of a misspelt word.
const MISSPELT: f64 = 0.9;
/// How many words of a text are compared.
const MAX_WORDS: usize = 128;

impl Index {
    /// Prepares these signatures.
    pub fn new<'a>(signatures: impl IntoIterator<Item = Vec<&'a str>>) -> Self {
        let prepared = signatures.into_iter().map(|phrases| {
            let phrases: Vec<BTreeSet<String>> =
                phrases.into_iter().map(|phrase| words(phrase).into_iter().collect()).collect();
            Signature { words: phrases.iter().flatten().cloned().collect(), phrases }
        });
        let signatures: Vec<Signature> = prepared.collect();
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        for word in signatures.iter().flat_map(|signature| &signature.words) {
            *counts.entry(word.clone()).or_default() += 1.0;
        }
        let rarity = |count: f64| (1.0 + signatures.len() as f64 / count).ln();
        let greatest = rarity(1.0);
        let weigh = |(word, count): (String, f64)| {
            let weight = if is_filler(&word) { FILLER * rarity(count) } else { rarity(count) };
            (word, weight)
        };
        Self { weights: counts.into_iter().map(weigh).collect(), greatest, signatures }
    }

    /// The signatures that fit a text, best first. Linear in the length of the text.
    pub fn fits(&self, text: &str) -> Vec<Fit> {
        let text = self.weighed(text);
        let fit = |(place, signature): (usize, &Signature)| {
            let phrases = signature.phrases.iter().map(|phrase| self.similarity(&text, phrase));
            let (phrase, similarity) = phrases.enumerate().max_by(|one, other| one.1.total_cmp(&other.1))?;
            let known = text.weights.iter().filter(|(word, _)| signature.words.contains(*word));
            let explained = known.map(|(_, weight)| weight).sum::<f64>() / text.total;
            let mut score = PHRASE * similarity + (1.0 - PHRASE) * explained;
            if !text.subjects.iter().all(|word| signature.words.contains(word)) {
                score *= OTHER_SUBJECT;
            }
            (score >= text.threshold).then_some(Fit { signature: place, phrase, score: score.min(1.0) })
        };
        let mut fits: Vec<Fit> = self.signatures.iter().enumerate().filter_map(fit).collect();
        fits.sort_by(|one, other| other.score.total_cmp(&one.score));
        fits
    }

    /// How much of a text and of a phrase is the same: 1 if all of it is.
    fn similarity(&self, text: &Text, phrase: &BTreeSet<String>) -> f64 {
        let weigh = |word: &String| self.weights.get(word).copied().unwrap_or_default();
        let all: f64 = phrase.iter().map(weigh).sum();
        let shared: f64 = phrase.iter().filter(|word| text.weights.contains_key(*word)).map(weigh).sum();
        if shared <= 0.0 {
            return 0.0;
        }
        let lacks = phrase.iter().any(|word| is_subject(word) && !text.weights.contains_key(word));
        shared / (text.total * all).sqrt() * if lacks { OTHER_SUBJECT } else { 1.0 }
    }

    /// The words of a text with their weights, misspelt ones as those that they resemble.
    fn weighed(&self, text: &str) -> Text {
        let mut words = words(text);
        // The last one may stand for a choice.
        words.drain(..words.len().saturating_sub(MAX_WORDS));
        let chooses = words.iter().any(|word| word == CHOICE);
        let subjects: Vec<String> = words.iter().filter(|word| is_subject(word)).cloned().collect();
        let unknown = match (chooses, subjects.is_empty()) {
            (true, _) => NAMED,
            (false, false) => BESIDE,
            (false, true) => 1.0,
        };
        let weigh = |word: String| match self.weights.get(&word) {
            Some(weight) if chooses && !is_subject(&word) => (word, *weight * BESIDE_CHOICE),
            Some(weight) => (word, *weight),
            None if is_filler(&word) => (word, self.greatest * FILLER / 2.0),
            None => match self.nearest(&word) {
                Some((near, weight)) => (near.clone(), weight * MISSPELT),
                None => (word, self.greatest * unknown),
            },
        };
        let weights: BTreeMap<String, f64> = words.into_iter().map(weigh).collect();
        let threshold = if chooses || !subjects.is_empty() { THRESHOLD } else { THRESHOLD_OF_OTHERS };
        Text { total: weights.values().sum(), weights, subjects, threshold }
    }

    /// The known word that an unknown one resembles.
    fn nearest(&self, word: &str) -> Option<(&String, f64)> {
        let length = word.chars().count();
        let allowed = match length {
            3..8 => 1,
            8..=20 => 2,
            _ => return None,
        };
        let first = word.chars().next()?;
        let near = self.weights.iter().filter_map(|(known, weight)| {
            let may = !is_filler(known)
                && known.len() > 3
                && known.starts_with(first)
                && known.len().abs_diff(word.len()) <= allowed;
            let distance = may.then(|| strsim::osa_distance(word, known))?;
            (distance <= allowed).then_some((distance, known, *weight))
        });
        near.min_by_key(|(distance, known, _)| (*distance, *known)).map(|(_, known, weight)| (known, weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> Index {
        Index::new([
            vec!["revoke a key", "my key has leaked"],
            vec!["cancel my poll", "stop the poll"],
            vec!["which is better, this or that?"],
        ])
    }

    fn best(text: &str) -> Option<usize> {
        index().fits(text).first().map(|fit| fit.signature)
    }

    #[test]
    fn texts_fit_by_meaning_and_despite_slips() {
        assert_eq!(best("please delete this key"), Some(0));
        assert_eq!(best("cancle my pol"), Some(1));
        assert_eq!(best("Is Rust or Go the better choice here?"), Some(2));
        let fit = index().fits("my key has leaked")[0];
        assert_eq!((fit.phrase, fit.score > 0.99), (1, true));
    }

    #[test]
    fn what_shares_a_verb_alone_does_not_fit() {
        for text in ["delete the repository", "cancel my magazine subscription", "", "?!", "qwertz"] {
            assert_eq!(best(text), None, "{text}");
        }
    }
}
