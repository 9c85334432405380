//! Chooses models from the registry.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use ep_polling::money::Price;
use ep_polling::stopping::MAX_ROSTER;
use serde::Deserialize;

use crate::registry::family::weights;
use crate::registry::listing::Listed;

/// What a preset asks for. Each field is described at the head of `presets.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    pub(super) name: String,
    #[serde(default, rename = "about")]
    _about: String,
    pub(super) size: usize,
    sort: Sort,
    max_blended_usd_per_million: Option<f64>,
    min_blended_usd_per_million: Option<f64>,
    max_completion_usd_per_million: Option<f64>,
    min_completion_usd_per_million: Option<f64>,
    #[serde(default)]
    pub(super) free_only: bool,
    min_context: Option<u64>,
    tools: Option<Tools>,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
    max_per_family: Option<usize>,
    #[serde(default)]
    pinned: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sort {
    Price,
    PriceDescending,
    Newest,
    Context,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tools {
    Required,
    Preferred,
}

impl Query {
    /// Refuses sizes that no poll can have; the error names the rule that is broken.
    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=MAX_ROSTER).contains(&self.size) {
            return Err(format!(
                "must have a size from 1 to {MAX_ROSTER}, the most members of a poll; it is {}",
                self.size
            ));
        }
        if self.max_per_family == Some(0) {
            return Err("must have a max_per_family of at least 1".to_owned());
        }
        Ok(())
    }

    /// The models, in registry order. The same list always gives the same ones.
    pub(super) fn select<'m>(&self, models: &'m [Listed]) -> Vec<&'m Listed> {
        let mut ranked: Vec<(usize, &Listed)> =
            models.iter().enumerate().filter(|(_, m)| self.fits(m)).collect();
        ranked.sort_by_cached_key(|(at, model)| {
            (
                self.tools == Some(Tools::Preferred) && model.variant.supports_tools == Some(false),
                self.rank(model),
                *at,
            )
        });
        let mut taken = vec![false; models.len()];
        let mut count = 0;
        let mut served = HashSet::new();
        for id in self.pinned.iter().take(self.size) {
            if let Some(at) = models.iter().position(|model| model.variant.id == *id)
                && served.insert(weights(id))
            {
                taken[at] = true;
                count += 1;
            }
        }
        ranked.retain(|(at, model)| !taken[*at] && served.insert(weights(&model.variant.id)));
        let mut of_family: HashMap<&str, usize> = HashMap::new();
        let mut limit = self.max_per_family.unwrap_or(usize::MAX);
        while count < self.size.min(models.len()) {
            ranked.retain(|(at, model)| {
                let members = of_family.entry(&model.variant.family).or_default();
                if count == self.size || *members >= limit {
                    return true;
                }
                *members += 1;
                taken[*at] = true;
                count += 1;
                false
            });
            if ranked.is_empty() {
                break;
            }
            limit = limit.saturating_mul(2);
        }
        models.iter().zip(taken).filter(|(_, taken)| *taken).map(|(model, _)| model).collect()
    }

    fn fits(&self, model: &Listed) -> bool {
        let variant = &model.variant;
        let matches = |patterns: &[String]| {
            patterns.iter().any(|pattern| is_like(pattern, &variant.id) || is_like(pattern, &variant.family))
        };
        let within = |value: Option<f64>, min: Option<f64>, max: Option<f64>| {
            value.is_none_or(|value| min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max))
        };
        let blended = model.price.map(blended);
        let completion = model.price.map(|price| price.completion.usd_per_million());
        (!self.free_only || variant.free)
            && within(blended, self.min_blended_usd_per_million, self.max_blended_usd_per_million)
            && within(completion, self.min_completion_usd_per_million, self.max_completion_usd_per_million)
            && variant.context_length.is_none_or(|tokens| self.min_context.is_none_or(|min| tokens >= min))
            && !(self.tools == Some(Tools::Required) && variant.supports_tools == Some(false))
            && (self.include.is_empty() || matches(&self.include))
            && !matches(&self.exclude)
    }

    /// Smaller comes first; what is unknown comes last.
    fn rank(&self, model: &Listed) -> (bool, Reverse<i128>) {
        let pico = |price: Price| i128::from(price.prompt.pico()) * 3 + i128::from(price.completion.pico());
        let known = match self.sort {
            Sort::Price => model.price.map(|price| -pico(price)),
            Sort::PriceDescending => model.price.map(pico),
            Sort::Newest => (model.created > 0).then(|| i128::from(model.created)),
            Sort::Context => model.variant.context_length.map(i128::from),
        };
        (known.is_none(), Reverse(known.unwrap_or_default()))
    }
}

/// USD per million tokens, three parts prompt to one part completion.
fn blended(price: Price) -> f64 {
    (price.prompt.usd_per_million() * 3.0 + price.completion.usd_per_million()) / 4.0
}

/// Whether a text matches a pattern in which `*` stands for anything; case does not matter.
fn is_like(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text) in [
            ("*:free", "a/b:free"),
            ("a/*", "A/b"),
            ("a/*b*c", "a/xbxbc"),
            ("*", ""),
            ("a/b", "a/b"),
            ("*coder*", "x-coder"),
        ] {
            assert!(is_like(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("*:free", "a/b"), ("a/*", "b/a/"), ("a*b*b", "ab"), ("a/b", "a/bc"), ("", "a")]
        {
            assert!(!is_like(pattern, text), "{pattern} {text}");
        }
    }
}
