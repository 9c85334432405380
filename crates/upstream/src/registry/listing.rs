//! Parsing of model lists, in OpenRouter's detailed format and in OpenAI's minimal one.

use std::collections::{HashMap, HashSet};

use ep_kernel::ports::Variant;
use ep_polling::ballot::ChoiceForm;
use ep_polling::money::Price;
use ep_polling::roster::{Member, ModelId};
use ep_polling::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::family::{family, is_reasoning_model, maker};
use super::modalities::is_text_chat;
use super::prices::{Pricing, pricing};
use super::raw_entry::{Raw, RawModel, strings};
use crate::chat::response::{number, text};
use crate::fallback_level::FallbackLevel;
use crate::voting::Capabilities;

/// Completion tokens allowed for a vote, and for the vote of a reasoning model.
const OUTPUT_TOKENS: u32 = 256;
const REASONING_OUTPUT_TOKENS: u32 = 1024;
// A repeated option needs at most one token per byte; the rest is for the JSON around it.
const _: () = assert!(OUTPUT_TOKENS as usize >= ChoiceForm::MAX_TEXT_BYTES + 50);

/// A chat model of a list.
#[derive(Debug, Clone)]
pub(crate) struct ListedModel {
    /// The model as shown to clients.
    pub(crate) variant: Variant,
    pub(crate) price: Option<Price>,
    /// Creation time in seconds since 1970; zero if unknown.
    pub(crate) created: i64,
    pub(crate) capabilities: Capabilities,
    pub(crate) output_tokens: u32,
}

impl ListedModel {
    /// Returns the model as a roster member.
    pub(crate) fn member(&self) -> Member {
        Member {
            model: ModelId::new(&*self.variant.id),
            family: self.variant.family.clone(),
            price: self.price,
            output_tokens: self.output_tokens,
        }
    }
}

/// The content of a model list.
#[derive(Debug)]
pub(crate) struct Listing {
    /// The chat models.
    pub(crate) models: Vec<ListedModel>,
    /// Number of entries, including those that are skipped.
    pub(crate) entries: usize,
}

/// The error of a document that is not a model list.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the upstream's response is not a model list")]
pub(crate) struct NotAList;

/// Parses a document. Skips invalid, duplicate and expired entries, aliases, and models that are not for
/// chat.
pub(crate) fn read(document: &str, now: Timestamp, unpriced_is_free: bool) -> Result<Listing, NotAList> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        data: Option<Vec<&'a RawValue>>,
    }
    let document = document.trim_start();
    let entries: Vec<&RawValue> = if document.starts_with('[') {
        serde_json::from_str(document).map_err(|_| NotAList)?
    } else {
        // A server without models may send `"data": null`, but a document without `data` is not a list.
        let members: HashMap<&str, &RawValue> = serde_json::from_str(document).map_err(|_| NotAList)?;
        members.get("data").ok_or(NotAList)?;
        let envelope: Envelope<'_> = serde_json::from_str(document).map_err(|_| NotAList)?;
        envelope.data.unwrap_or_default()
    };
    let mut seen = HashSet::new();
    let count = entries.len();
    let models =
        entries.into_iter().filter_map(|entry| serde_json::from_str::<RawModel<'_>>(entry.get()).ok());
    let listed = models.filter_map(|model| list(&model, now, unpriced_is_free));
    let models = listed.filter(|listed| seen.insert(listed.variant.id.clone())).collect();
    Ok(Listing { models, entries: count })
}

fn list(model: &RawModel<'_>, now: Timestamp, unpriced_is_free: bool) -> Option<ListedModel> {
    let id = text(model.id)?.trim().to_owned();
    let alias = id.starts_with('~');
    if id.is_empty()
        || alias
        || is_expired(model.expiration_date, now)
        || !is_text_chat(&id, model.architecture)
    {
        return None;
    }
    let pricing = model.pricing.and_then(pricing);
    let price = match &pricing {
        // A negative price marks a router, which would let other models vote in its name.
        Some(Pricing::Varies) => return None,
        Some(Pricing::Listed(_, price)) => Some(*price),
        None => unpriced_is_free.then_some(Price::FREE),
    };
    let parameters = model.supported_parameters.map(|raw| strings(Some(raw)));
    let supports =
        |name: &str| parameters.as_ref().map(|list| list.iter().any(|parameter| parameter == name));
    let reasoning = model.reasoning.filter(|raw| raw.get().starts_with('{'));
    let reasons = reasoning.is_some() || supports("reasoning").unwrap_or_else(|| is_reasoning_model(&id));
    let first_level = match (supports("tools"), supports("tool_choice"), supports("structured_outputs")) {
        (None, ..) | (Some(true), Some(true), _) => FallbackLevel::Required,
        (Some(true), ..) => FallbackLevel::Auto,
        (Some(false), _, Some(true)) => FallbackLevel::Schema,
        (Some(false), ..) => FallbackLevel::Prose,
    };
    // The server supports the parameter only if its registry mentions reasoning.
    let lowest_effort = match reasoning {
        Some(raw) => Some(lowest_supported_effort(raw)),
        None => supports("reasoning").unwrap_or(false).then_some("low"),
    };
    let family = family(&id);
    let provider = maker(&id).map(str::to_owned).or_else(|| text(model.owned_by).map(Into::into));
    let provider = provider.filter(|provider| !provider.is_empty()).unwrap_or_else(|| family.clone());
    let context = number(model.context_length)
        .or_else(|| number(model.max_model_len))
        .or_else(|| meta_context(model.meta));
    let name = text(model.name).filter(|name| !name.is_empty()).map_or_else(|| id.clone(), Into::into);
    Some(ListedModel {
        price,
        created: number(model.created).map_or(0, |seconds| seconds as i64),
        capabilities: Capabilities { first_level, lowest_effort },
        output_tokens: if reasons { REASONING_OUTPUT_TOKENS } else { OUTPUT_TOKENS },
        variant: Variant {
            name,
            provider,
            family,
            context_length: context.map(|tokens| tokens as u64),
            pricing: pricing.and_then(Pricing::shown),
            free: price.is_some_and(|price| price.is_free()),
            supports_tools: supports("tools"),
            supported_parameters: parameters.unwrap_or_default(),
            presets: Vec::new(),
            id,
        },
    })
}

fn is_expired(date: Raw<'_>, now: Timestamp) -> bool {
    let Some(date) = date else { return false };
    if let Some(seconds) = text(Some(date)).is_none().then(|| number(Some(date))).flatten() {
        return (seconds * 1000.0) < now.millis() as f64;
    }
    let Some(date) = text(Some(date)) else { return false };
    if let Ok(at) = date.parse::<jiff::Timestamp>() {
        return at < now.calendar();
    }
    let day = date.parse::<jiff::civil::Date>().ok();
    day.and_then(|day| day.to_zoned(jiff::tz::TimeZone::UTC).ok())
        .is_some_and(|day| day.timestamp() < now.calendar())
}

/// Returns the lowest effort in the entry; `low` if it lists none.
fn lowest_supported_effort(raw: &RawValue) -> &'static str {
    #[derive(Deserialize)]
    struct Reasoning<'a> {
        #[serde(borrow, default)]
        supported_efforts: Raw<'a>,
        #[serde(borrow, default)]
        mandatory: Raw<'a>,
    }
    let Ok(reasoning) = serde_json::from_str::<Reasoning<'_>>(raw.get()) else { return "low" };
    let mandatory = reasoning.mandatory.is_some_and(|value| value.get() == "true");
    let supported = strings(reasoning.supported_efforts);
    let efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
    let lowest = efforts.into_iter().find(|effort| supported.iter().any(|given| given == effort));
    lowest.filter(|effort| !mandatory || *effort != "none").unwrap_or("low")
}

/// Parses the context length in llama.cpp's `meta`.
fn meta_context(meta: Raw<'_>) -> Option<f64> {
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow, default)]
        n_ctx: Raw<'a>,
        #[serde(borrow, default)]
        n_ctx_train: Raw<'a>,
    }
    let meta: Meta<'_> = serde_json::from_str(meta?.get()).ok()?;
    number(meta.n_ctx).or_else(|| number(meta.n_ctx_train))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(document: &str) -> Vec<ListedModel> {
        read(document, Timestamp::from_millis(1_769_817_600_000), false).unwrap().models
    }

    #[test]
    fn the_detailed_format_is_read() {
        let models = listed(
            r#"{"data":[{"id":"maker/line-1","name":"Line 1","created":1700000000,"context_length":131072,
            "architecture":{"input_modalities":["text","image"],"output_modalities":["text"]},
            "pricing":{"prompt":"0.0000003","completion":"0.000001","request":"0","image":"0"},
            "supported_parameters":["tools","tool_choice","reasoning"],"expiration_date":null,
            "reasoning":{"supported_efforts":["high","low","minimal"],"mandatory":true}}]}"#,
        );
        let [model] = models.as_slice() else { panic!("{models:?}") };
        assert_eq!(model.variant.family, "maker/line");
        assert_eq!(model.variant.provider, "maker");
        assert_eq!(model.price.unwrap().prompt.pico(), 300_000);
        assert_eq!(
            model.capabilities,
            Capabilities { first_level: FallbackLevel::Required, lowest_effort: Some("minimal") }
        );
        assert_eq!(model.output_tokens, 1024);
        assert_eq!(model.variant.supports_tools, Some(true));
    }

    #[test]
    fn the_minimal_format_is_read_with_unknown_prices() {
        let document = r#"{"object":"list","data":[{"id":"qwen2.5:7b","object":"model","owned_by":"library"},
            {"id":"org/m","max_model_len":4096},{"id":"org/m"},{"id":"nomic-embed-text"},{"object":"model"},7]}"#;
        let models = listed(document);
        assert_eq!(models.len(), 2);
        assert_eq!((models[0].price, models[0].variant.free), (None, false));
        assert_eq!(models[0].variant.provider, "library");
        assert_eq!(models[0].variant.supports_tools, None);
        assert_eq!(models[0].capabilities, Capabilities::UNKNOWN);
        assert_eq!(models[1].variant.context_length, Some(4096));
        let free = read(document, Timestamp::from_millis(0), true).unwrap().models;
        assert!(free[0].variant.free && free[0].price == Some(Price::FREE));
    }

    #[test]
    fn models_that_cannot_vote_are_skipped() {
        let models = listed(
            r#"[{"id":"~maker/line-latest"},{"id":"a/old","expiration_date":"2026-01-30"},
            {"id":"a/soon","expiration_date":"2026-12-01"},
            {"id":"a/pic","architecture":{"output_modalities":["image","text"]}},
            {"id":"a/flux-1"},{"id":"a/flux-2","architecture":{"modality":null}},
            {"id":"a/flux-text","architecture":{"modality":"text->text"}},
            {"id":"a/guard-1","architecture":{"modality":"text->text"}},
            {"id":"a/ear","architecture":{"modality":"audio->text"}},
            {"id":"router/auto","pricing":{"prompt":"-1","completion":"-1"}},
            {"id":"a/notool","supported_parameters":["structured_outputs"]},
            {"id":"a/plain","supported_parameters":[]},
            {"id":"a/loose","supported_parameters":["tools"]}]"#,
        );
        let ids: Vec<(&str, FallbackLevel)> =
            models.iter().map(|m| (m.variant.id.as_str(), m.capabilities.first_level)).collect();
        assert_eq!(
            ids,
            [
                ("a/soon", FallbackLevel::Required),
                ("a/flux-text", FallbackLevel::Required),
                ("a/notool", FallbackLevel::Schema),
                ("a/plain", FallbackLevel::Prose),
                ("a/loose", FallbackLevel::Auto)
            ]
        );
        assert_eq!(read("{\"error\":1}", Timestamp::from_millis(0), false).unwrap_err(), NotAList);
        assert_eq!(read("{\"data\":null}", Timestamp::from_millis(0), false).unwrap().entries, 0);
        assert_eq!(read("<html>", Timestamp::from_millis(0), false).unwrap_err(), NotAList);
    }
}
