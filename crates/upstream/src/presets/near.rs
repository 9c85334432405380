//! Models by the names that people use: "claude", "gpt-4o", "llama 3".
//!
//! Such a name stands for one model: the one that is called so, or else the newest whose id has all of its words. One of
//! the words must begin the product line or be the maker, because others ("mini", "70b") belong to many lines.

use std::cmp::Reverse;

use ep_kernel::resemblance;

use crate::registry::family::{base_id, maker};
use crate::registry::listing::ListedModel;

/// Words that say nothing about a model.
const FILLERS: [&str; 11] =
    ["a", "ai", "by", "from", "latest", "model", "models", "newest", "s", "the", "version"];
/// Number of ids that a refusal names.
const NEAREST: usize = 3;
/// Maximum length of a name that is compared with all ids, in bytes.
const MAX_COMPARED: usize = 60;

/// A model for which a name stands.
pub(super) struct Near {
    /// Its index in the list.
    pub(super) index: usize,
    /// The number of models that have the words of the name; one if it is called so.
    pub(super) alike: usize,
    /// True if the list says that it is newer than the others.
    pub(super) is_newest: bool,
}

/// The models of a list, by the words of their ids.
pub(super) struct Words<'m>(Vec<WordsOf<'m>>);

/// The words of a model.
struct WordsOf<'m> {
    /// Those of the maker and the provider.
    maker: Vec<&'m str>,
    /// Those of the model's own name.
    own: Vec<&'m str>,
    /// False for a model that is served in a special way, such as `:free`.
    is_plain: bool,
    created: i64,
}

impl<'m> Words<'m> {
    /// Splits the ids of a list.
    pub(super) fn of(models: &'m [ListedModel]) -> Self {
        let words = models.iter().map(|model| {
            let (id, provider) = (model.variant.id.as_str(), model.variant.provider.as_str());
            let base = base_id(id);
            let own = base.rsplit('/').next().unwrap_or(base);
            let maker = maker(base).into_iter().chain([provider]).flat_map(split).collect();
            WordsOf { maker, own: split(own), is_plain: base == id, created: model.created }
        });
        Self(words.collect())
    }

    /// Returns the model that a name stands for; `None` if no model has its words.
    pub(super) fn find(&self, name: &str) -> Option<Near> {
        let mut words = split(name);
        words.retain(|word| !FILLERS.iter().any(|filler| filler.eq_ignore_ascii_case(word)));
        for word in &mut words {
            if word.eq_ignore_ascii_case("chatgpt") {
                *word = "gpt";
            }
        }
        if words.is_empty() {
            return None;
        }
        let ranked = (0..).zip(&self.0);
        let ranked = ranked.filter_map(|(index, model)| Some((model.rank(&words)?, Reverse(index))));
        let ranked: Vec<(Rank, Reverse<usize>)> = ranked.collect();
        let (best, Reverse(index)) = ranked.iter().max()?;
        let alike = || ranked.iter().filter(|(rank, _)| rank.begins == best.begins);
        let is_newest =
            alike().filter(|(rank, _)| rank.is_plain && rank.created >= best.created).count() == 1;
        Some(Near { index: *index, alike: if best.is_called_so { 1 } else { alike().count() }, is_newest })
    }
}

/// The rank of a model for a name. The greatest is the best.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// The name is the model's own name.
    is_called_so: bool,
    /// A word of the name begins the product line.
    begins: bool,
    is_plain: bool,
    created: i64,
    /// Servers that list no times have the newest version of a line.
    version: (u32, u32),
    /// A plain model comes before its variants.
    length: Reverse<usize>,
}

impl WordsOf<'_> {
    /// Returns the rank of the model for a name of these words; `None` if it lacks one of them.
    fn rank(&self, words: &[&str]) -> Option<Rank> {
        let has = |of: &[&str], word: &str| of.iter().any(|own| own.eq_ignore_ascii_case(word));
        if !words.iter().all(|word| has(&self.own, word) || has(&self.maker, word)) {
            return None;
        }
        let begins = self.own.first().is_some_and(|first| has(words, first));
        if !begins && !words.iter().any(|word| has(&self.maker, word)) {
            return None;
        }
        let without_maker = words.iter().filter(|word| has(&self.own, word) || !has(&self.maker, word));
        let is_called_so = without_maker.clone().count() == self.own.len()
            && without_maker.zip(&self.own).all(|(word, own)| own.eq_ignore_ascii_case(word));
        Some(Rank {
            is_called_so,
            begins,
            is_plain: self.is_plain,
            created: self.created,
            version: version(&self.own),
            length: Reverse(self.own.len()),
        })
    }
}

/// Returns the first number of up to two digits in a model's name, and the one after it.
fn version(words: &[&str]) -> (u32, u32) {
    let number = |word: &&str| {
        let end = word.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(word.len());
        word[..end].parse::<u32>().ok().filter(|_| end <= 2)
    };
    let Some(first) = words.iter().position(|word| number(word).is_some()) else { return (0, 0) };
    let of = |index: usize| words.get(index).and_then(number).unwrap_or_default();
    (of(first), of(first + 1))
}

/// Returns the ids nearest to an unknown name, the nearest first; none for a long name.
pub(super) fn nearest<'m>(name: &str, models: &'m [ListedModel]) -> Vec<&'m str> {
    if name.len() > MAX_COMPARED {
        return Vec::new();
    }
    let ids = models.iter().map(|model| model.variant.id.as_str()).filter(|id| id.len() <= MAX_COMPARED);
    let mut alike: Vec<(f64, &str)> = ids.map(|id| (resemblance(name, id), id)).collect();
    alike.sort_by(|one, other| other.0.total_cmp(&one.0));
    alike.into_iter().take(NEAREST).map(|(_, id)| id).collect()
}

/// Splits a name into words. A number begins a word: `llama3.1` has the words `llama`, `3` and `1`, and `4o` is one.
fn split(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for part in name.split(|letter: char| !letter.is_alphanumeric()) {
        let mut start = 0;
        let mut after_letter = false;
        for (at, letter) in part.char_indices() {
            if letter.is_ascii_digit() && after_letter {
                words.push(&part[start..at]);
                start = at;
            }
            after_letter = letter.is_alphabetic();
        }
        words.push(&part[start..]);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use ep_polling::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::registry::listing::{Rules, read};

    fn listed(models: &[(&str, i64)]) -> Vec<ListedModel> {
        let list: Vec<_> =
            models.iter().map(|(id, created)| json!({ "id": id, "created": created })).collect();
        read(&json!(list).to_string(), Timestamp::from_millis(0), &Rules::NONE).unwrap().models
    }

    fn found<'m>(models: &'m [ListedModel], name: &str) -> Option<&'m str> {
        Words::of(models).find(name).map(|near| models[near.index].variant.id.as_str())
    }

    #[test]
    fn names_stand_for_the_model_called_so_or_for_the_newest_of_the_line() {
        let models = listed(&[
            ("anthropic/claude-3-opus", 10),
            ("anthropic/claude-3.7-sonnet", 20),
            ("anthropic/claude-3.7-sonnet:thinking", 21),
            ("anthropic/claude-haiku-4.5", 30),
            ("deepseek/deepseek-r1-distill-llama-70b", 50),
            ("google/gemini-2.5-flash", 40),
            ("meta-llama/llama-3.1-8b-instruct", 11),
            ("meta-llama/llama-3.3-70b-instruct", 12),
            ("meta-llama/llama-3.3-70b-instruct:free", 13),
            ("mistralai/mistral-large", 14),
            ("openai/gpt-4o", 15),
            ("openai/gpt-4o-mini", 16),
            ("openai/gpt-5", 17),
            ("openai/o3", 18),
            ("x-ai/grok-4", 19),
        ]);
        for (name, expected) in [
            ("claude", Some("anthropic/claude-haiku-4.5")),
            ("Claude Sonnet", Some("anthropic/claude-3.7-sonnet")),
            ("claude-opus", Some("anthropic/claude-3-opus")),
            ("Anthropic's Claude", Some("anthropic/claude-haiku-4.5")),
            ("gpt-4o", Some("openai/gpt-4o")),
            ("GPT4o", Some("openai/gpt-4o")),
            ("gpt-4o mini", Some("openai/gpt-4o-mini")),
            ("gpt", Some("openai/gpt-5")),
            ("ChatGPT", Some("openai/gpt-5")),
            ("openai", Some("openai/o3")),
            ("o3", Some("openai/o3")),
            ("llama", Some("meta-llama/llama-3.3-70b-instruct")),
            ("llama3.1", Some("meta-llama/llama-3.1-8b-instruct")),
            ("the latest Llama model", Some("meta-llama/llama-3.3-70b-instruct")),
            ("Mistral", Some("mistralai/mistral-large")),
            ("grok", Some("x-ai/grok-4")),
            ("gemini flash", Some("google/gemini-2.5-flash")),
            ("mini", None),
            ("70b", None),
            ("gpt-3", None),
            ("gemni", None),
            ("model", None),
            ("", None),
        ] {
            assert_eq!(found(&models, name), expected, "{name}");
        }
        assert_eq!(nearest("gemni-2.5-flash", &models)[0], "google/gemini-2.5-flash");
        assert!(nearest(&"gemni".repeat(20), &models).is_empty());
    }

    #[test]
    fn without_times_the_highest_version_counts() {
        let models = listed(&[
            ("claude-3-5-sonnet-20241022", 0),
            ("claude-4-sonnet-20250514", 0),
            ("claude-3-haiku", 0),
            ("llama3.2:3b", 0),
            ("llama3.1:8b", 0),
            ("qwen2.5-coder:7b", 0),
            ("qwen2.5:7b", 0),
        ]);
        for (name, expected) in
            [("claude", "claude-4-sonnet-20250514"), ("llama3", "llama3.2:3b"), ("qwen", "qwen2.5:7b")]
        {
            assert_eq!(found(&models, name), Some(expected), "{name}");
        }
    }

    #[test]
    fn any_text_is_split() {
        for (name, words) in [
            ("llama3.1:8b", &["llama", "3", "1", "8b"][..]),
            ("gpt-4o", &["gpt", "4o"]),
            ("é３x1", &["é３x", "1"]),
            ("--", &[]),
        ] {
            assert_eq!(split(name), words);
        }
    }
}
