//! `list_models`: the model registry.

use std::time::Duration;

use ep_kernel::output::Brief;
use ep_kernel::{Registry, Variant, VariantPricing};
use serde_json::{Map, Value, json};

use crate::prelude::*;

/// Lists the models.
pub struct ListModels;

/// Maximum length of a page.
const MAX_LIMIT: u32 = 1000;
/// Number of models that agents get at once: with their prices, less than 2,000 tokens.
const BRIEF: usize = 60;

/// The models to list; all of them by default.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct ModelQuery {
    /// Words that the id, the name or the maker must contain: `claude sonnet`.
    pub query: Option<String>,
    /// A family of the list (`anthropic/claude`), or its maker or product line alone.
    pub family: Option<String>,
    /// The highest price of a million tokens, in USD: three parts input, one part output.
    #[schemars(range(min = 0))]
    pub max_price_usd: Option<f64>,
    /// Maximum number of models (default all).
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    pub limit: Option<u32>,
    /// Number of models to leave out at the beginning: `next_offset` of the page before.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    pub offset: u32,
}

/// The model registry and its freshness.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelList {
    /// The models.
    #[serde(flatten)]
    pub registry: Registry,
    /// Number of models left out at the beginning; absent on the first page.
    #[serde(skip_serializing_if = "is_first")]
    #[schemars(with = "u32")]
    offset: u32,
    /// Offset of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub next_offset: Option<u32>,
    #[serde(skip)]
    fresh_for: Duration,
}

impl ToolOutput for ModelList {
    const BRIEF: Brief = Brief {
        without: &["fetched_at", "cache_expires_at", "model_count", "panels"],
        only_with: "variants",
        shorten,
        ..Brief::WHOLE
    };

    fn presentation(&self) -> Presentation {
        Presentation::shared(self.fresh_for)
    }
}

/// Shortens the list to the ids and prices of its first models.
fn shorten(list: &mut Map<String, Value>) {
    let Some(variants) = list.get_mut("variants").and_then(Value::as_array_mut) else { return };
    let has_more = variants.len() > BRIEF;
    variants.truncate(BRIEF);
    for variant in variants {
        let pricing = serde_json::from_value::<VariantPricing>(variant["pricing"].take()).ok();
        let price = pricing.as_ref().and_then(usd_per_million).map(|usd| (usd * 1e4).round() / 1e4);
        *variant = json!({ "id": variant["id"].take(), "usd_per_million": price });
    }
    if has_more {
        let offset = list.remove("offset").and_then(|offset| offset.as_u64()).unwrap_or_default();
        list.insert("next_offset".to_owned(), (offset + BRIEF as u64).into());
    }
}

/// True on the first page.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_first(offset: &u32) -> bool {
    *offset == 0
}

/// Returns the price of a million tokens, in USD.
fn usd_per_million(pricing: &VariantPricing) -> Option<f64> {
    pricing.price().map(|price| price.blended_usd_per_million())
}

impl ModelQuery {
    /// Selects the models of a list. Returns the offset of the next page, if any.
    fn select(self, registry: &mut Registry) -> Result<Option<u32>, Fault> {
        let Self { query, family, max_price_usd, limit, offset } = self;
        if max_price_usd.is_some_and(|most| most.is_nan() || most < 0.0) {
            return Err(Fault::invalid("max_price_usd", "must be a number of USD, at least 0"));
        }
        if limit.is_some_and(|limit| !(1..=MAX_LIMIT).contains(&limit)) {
            return Err(Fault::invalid("limit", format!("must be a number from 1 to {MAX_LIMIT}")));
        }
        let words: Vec<String> =
            query.iter().flat_map(|query| query.split_whitespace()).map(str::to_lowercase).collect();
        let family = family.map(|family| family.trim().to_lowercase());
        let is_listed = |variant: &Variant| {
            let text = format!("{} {} {}", variant.id, variant.name, variant.provider).to_lowercase();
            let price = variant.pricing.as_ref().and_then(usd_per_million);
            words.iter().all(|word| text.contains(word))
                && family.as_ref().is_none_or(|family| {
                    variant.family == *family || variant.family.split('/').any(|part| part == family)
                })
                && max_price_usd.is_none_or(|most| price.is_some_and(|price| price <= most))
        };
        registry.variants.retain(is_listed);
        registry.count = registry.variants.len();
        registry.model_count = registry.model_count.map(|_| registry.count);
        let begin = (offset as usize).min(registry.count);
        registry.variants.drain(..begin);
        let limit = limit.unwrap_or(u32::MAX);
        let has_more = registry.variants.len() > limit as usize;
        registry.variants.truncate(limit as usize);
        Ok(has_more.then(|| offset.saturating_add(limit)))
    }
}

impl Tool for ListModels {
    const SPEC: Spec = Spec {
        name: "list_models",
        title: "List the models",
        summary: "Lists the models that can vote, by words, family or price. Fetched from the upstream once an hour.",
        manual: include_str!("list_models.md"),
        access: Access::PUBLIC,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/models")),
        agents: Agents::Set(ToolSet::Polls),
        intents: &[
            "which models vote",
            "who are the voters",
            "which models are there",
            "is this model among the voters",
            "list the available LLMs with prices",
            "which providers and models are supported",
            "show the model registry",
            "model prices",
            "what models can I use",
            "which models can I ask",
            "which providers take part",
            "is a model supported",
        ],
        faults: &[Kind::NotConfigured, Kind::Unavailable],
        ..Spec::PLAIN
    };
    type Input = ModelQuery;
    type Output = ModelList;

    async fn call(cx: &Ctx, query: ModelQuery) -> Result<ModelList, Fault> {
        let mut registry = cx.models().registry().await?;
        let offset = query.offset;
        let next_offset = query.select(&mut registry)?;
        let fresh_for = registry.cache_expires_at.since(cx.clock().now()).min(Duration::from_hours(1));
        Ok(ModelList { registry, offset, next_offset, fresh_for })
    }
}

#[cfg(test)]
mod tests {
    use ep_kernel::tool::Cache;
    use serde_json::json;

    use super::*;
    use crate::testing::Service;

    #[tokio::test]
    async fn the_list_is_cached_for_at_most_an_hour() {
        let service = Service::start().await;
        let answer = service.call::<ListModels>(&Service::anonymous(), json!({})).await.unwrap();
        assert_eq!((&answer.value["count"], &answer.value["simulated"]), (&json!(60), &json!(true)));
        let Cache::Shared(time) = answer.presentation.cache else { panic!("the response is not cacheable") };
        assert!(time <= Duration::from_hours(1));
    }

    #[tokio::test]
    async fn models_are_found_by_words_family_and_price_in_pages() {
        let service = Service::start().await;
        let list = async |input: Value| {
            let answer = service.call::<ListModels>(&Service::anonymous(), input).await.unwrap();
            let ids = answer.value["variants"].as_array().unwrap().iter();
            let ids: Vec<String> = ids.map(|variant| variant["id"].as_str().unwrap().to_owned()).collect();
            (ids, answer.value["next_offset"].as_u64(), answer.value)
        };
        let (all, _, whole) = list(json!({})).await;
        let first = &whole["variants"][0];
        let family = first["family"].as_str().unwrap();
        let (of_family, ..) = list(json!({ "family": family })).await;
        assert!(of_family.contains(&all[0]) && of_family.len() < all.len());
        assert_eq!(list(json!({ "query": all[0].to_uppercase() })).await.0, [all[0].clone()]);
        let (cheap, _, value) = list(json!({ "max_price_usd": 1 })).await;
        assert!(!cheap.is_empty() && cheap.len() < all.len());
        assert_eq!(value["count"], cheap.len());
        let mut paged = Vec::new();
        let mut offset = Some(0);
        while let Some(begin) = offset {
            let (page, next, _) = list(json!({ "limit": 25, "offset": begin })).await;
            paged.extend(page);
            offset = next;
        }
        assert_eq!(paged, all);
        for (input, field) in
            [(json!({ "limit": 0 }), "limit"), (json!({ "max_price_usd": -1 }), "max_price_usd")]
        {
            let refused = service.call::<ListModels>(&Service::anonymous(), input).await.unwrap_err();
            assert_eq!(refused.fields()[0].field, field);
        }
    }

    #[test]
    fn the_short_form_leads_to_the_rest() {
        let pricing = json!({ "prompt": "0.000001", "completion": "0.000005", "request": "0" });
        let variant = |n: usize| json!({ "id": format!("maker/model-{n}"), "name": "M", "pricing": pricing });
        let mut list = json!({ "count": 340, "variants": (0..340).map(variant).collect::<Vec<_>>() });
        ModelList::BRIEF.apply(&mut list);
        assert_eq!(list["variants"].as_array().unwrap().len(), BRIEF);
        assert_eq!(list["variants"][0], json!({ "id": "maker/model-0", "usd_per_million": 2.0 }));
        assert_eq!(list["next_offset"], 60);
    }
}
