//! Queries that select models from a registry.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use ep_kernel::PanelOrder;
use ep_polling::stopping::MAX_ROSTER;
use serde::Deserialize;

use crate::pattern::Pattern;
use crate::registry::listing::ListedModel;
use crate::registry::weights::weights;

/// A preset's query. The fields are described at the top of `presets.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    pub(super) name: String,
    #[serde(default, rename = "about")]
    _about: String,
    pub(super) size: usize,
    sort: SortOrder,
    max_blended_usd_per_million: Option<f64>,
    min_blended_usd_per_million: Option<f64>,
    max_completion_usd_per_million: Option<f64>,
    min_completion_usd_per_million: Option<f64>,
    #[serde(default)]
    pub(super) free_only: bool,
    min_context: Option<u64>,
    tools: Option<ToolSupport>,
    #[serde(default)]
    include: Vec<Pattern>,
    #[serde(default)]
    exclude: Vec<Pattern>,
    max_per_family: Option<usize>,
    /// True if decision models fit, too.
    #[serde(default)]
    decision_models: bool,
    #[serde(default)]
    pinned: Vec<String>,
    /// True of the first preset of a file, which asks whatever models there are.
    #[serde(skip)]
    pub(super) is_default: bool,
    /// The basis of the models' order, if the preset is a panel.
    pub(super) order: Option<PanelOrder>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SortOrder {
    Price,
    PriceDescending,
    Newest,
    Context,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ToolSupport {
    Required,
    Preferred,
}

impl Query {
    /// Rejects invalid sizes. The error names the violated rule.
    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=MAX_ROSTER).contains(&self.size) {
            return Err(format!(
                "must have a size from 1 to {MAX_ROSTER}, the maximum size of a roster; it is {}",
                self.size
            ));
        }
        if self.max_per_family == Some(0) {
            return Err("must have a max_per_family of at least 1".to_owned());
        }
        Ok(())
    }

    /// Returns the same without limits of price: the cheapest models first.
    pub(super) fn without_prices(&self) -> Self {
        Self {
            sort: SortOrder::Price,
            max_blended_usd_per_million: None,
            min_blended_usd_per_million: None,
            max_completion_usd_per_million: None,
            min_completion_usd_per_million: None,
            ..self.clone()
        }
    }

    /// Returns the selected models, at most `size`: of a panel by strength, else in registry order. The result depends only
    /// on the list.
    pub(super) fn select<'m>(&self, models: &[&'m ListedModel]) -> Vec<&'m ListedModel> {
        let mut ranked: Vec<(usize, &ListedModel)> =
            models.iter().copied().enumerate().filter(|(_, model)| self.fits(model)).collect();
        ranked.sort_by_cached_key(|(index, model)| {
            (
                self.tools == Some(ToolSupport::Preferred) && model.variant.supports_tools == Some(false),
                self.rank(model),
                *index,
            )
        });
        let mut selected: Vec<usize> = Vec::new();
        // The same weights on another host would cast the same vote again.
        let mut voters = HashSet::new();
        for id in self.pinned.iter().take(self.size) {
            if let Some(index) = models.iter().position(|model| model.variant.id == *id)
                && voters.insert(weights(id))
            {
                selected.push(index);
            }
        }
        ranked
            .retain(|(index, model)| !selected.contains(index) && voters.insert(weights(&model.variant.id)));
        let mut per_family: HashMap<&str, usize> = HashMap::new();
        let mut limit = self.max_per_family.unwrap_or(usize::MAX);
        while selected.len() < self.size.min(models.len()) {
            ranked.retain(|(index, model)| {
                let members = per_family.entry(&model.variant.family).or_default();
                if selected.len() == self.size || *members >= limit {
                    return true;
                }
                *members += 1;
                selected.push(*index);
                false
            });
            if ranked.is_empty() {
                break;
            }
            limit = limit.saturating_mul(2);
        }
        if self.order.is_none() {
            selected.sort_unstable();
        }
        selected.into_iter().filter_map(|index| models.get(index).copied()).collect()
    }

    fn fits(&self, model: &ListedModel) -> bool {
        let variant = &model.variant;
        let matches = |patterns: &[Pattern]| {
            patterns.iter().any(|pattern| pattern.matches(&variant.id) || pattern.matches(&variant.family))
        };
        let within = |value: Option<f64>, min: Option<f64>, max: Option<f64>| {
            value.is_none_or(|value| min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max))
        };
        let blended = model.price.map(|price| price.blended_usd_per_million());
        let completion = model.price.map(|price| price.completion.usd_per_million());
        (self.decision_models || !variant.decision_model)
            && (!self.free_only || variant.free)
            && within(blended, self.min_blended_usd_per_million, self.max_blended_usd_per_million)
            && within(completion, self.min_completion_usd_per_million, self.max_completion_usd_per_million)
            && variant.context_length.is_none_or(|tokens| self.min_context.is_none_or(|min| tokens >= min))
            && !(self.tools == Some(ToolSupport::Required) && variant.supports_tools == Some(false))
            && (self.include.is_empty() || matches(&self.include))
            && !matches(&self.exclude)
    }

    /// Returns the sort key: smaller values first, unknown values last.
    fn rank(&self, model: &ListedModel) -> (bool, Reverse<i128>) {
        let known = match self.sort {
            SortOrder::Price => model.price.map(|price| -price.blended()),
            SortOrder::PriceDescending => model.price.map(|price| price.blended()),
            SortOrder::Newest => (model.created > 0).then(|| i128::from(model.created)),
            SortOrder::Context => model.variant.context_length.map(i128::from),
        };
        (known.is_none(), Reverse(known.unwrap_or_default()))
    }
}
