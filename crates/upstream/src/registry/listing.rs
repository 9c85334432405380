//! Parsing of model lists, in OpenRouter's detailed format and in OpenAI's minimal one.

use std::collections::{HashMap, HashSet};

use ep_kernel::Variant;
use ep_polling::{ChoiceForm, Member, ModelId, Price, Timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::family::{family, is_reasoning_model, maker};
use super::modalities::{Role, role};
use super::prices::{Pricing, Unit, pricing, unit_of_list};
use super::raw_entry::{Raw, RawModel, strings};
use crate::chat::response::{number, text};
use crate::decision_rules::{DecisionModels, Dialect};
use crate::fallback_level::FallbackLevel;
use crate::request_profile::REASONING_OUTPUT_TOKENS;
use crate::voting::Capabilities;

/// Maximum length of an id, in bytes. Callers cannot name a model with a longer one.
const MAX_ID: usize = 200;
/// Maximum number of entries that are read.
pub(super) const MAX_ENTRIES: usize = 5000;
/// Completion tokens allowed for a vote without reasoning.
const OUTPUT_TOKENS: u32 = 256;
// A repeated option needs at most one token per byte; the rest is for the JSON around it.
const _: () = assert!(OUTPUT_TOKENS as usize >= ChoiceForm::MAX_TEXT_BYTES + 50);

/// The way in which a model is asked for its vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interface {
    /// By chat, with these capabilities.
    Chat(Capabilities),
    /// By a decision API.
    Decisions(Dialect),
}

/// The rules for reading a list.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// True if models without a price are free.
    pub(crate) unpriced_is_free: bool,
    pub(crate) decisions: DecisionModels,
}

impl Rules {
    /// No rules of an operator.
    pub(crate) const NONE: Self = Self { unpriced_is_free: false, decisions: DecisionModels::LISTED };
}

/// A model of a list that can vote.
#[derive(Debug, Clone)]
pub(crate) struct ListedModel {
    /// The model as shown to clients.
    pub(crate) variant: Variant,
    pub(crate) price: Option<Price>,
    /// Creation time in seconds since 1970; zero if unknown.
    pub(crate) created: i64,
    pub(crate) interface: Interface,
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
    /// The models that can vote.
    pub(crate) models: Vec<ListedModel>,
    /// Number of entries, including those that are skipped.
    pub(crate) entries: usize,
    /// True if prices without a unit are read as those of a million tokens.
    pub(crate) is_per_million: bool,
}

/// The error of a document that is not a model list.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the upstream's response is not a model list")]
pub(crate) struct NotAList;

/// Parses a document. Reads at most [`MAX_ENTRIES`]. Skips invalid, duplicate and expired entries, aliases, too long ids, and
/// models that neither chat nor decide.
pub(crate) fn read(document: &str, now: Timestamp, rules: &Rules) -> Result<Listing, NotAList> {
    let document = document.trim_start();
    let entries: Vec<&RawValue> = if document.starts_with('[') {
        serde_json::from_str(document).map_err(|_| NotAList)?
    } else {
        // A server without models may send `"data": null`, but a document without `data` is not a list.
        let members: HashMap<&str, &RawValue> = serde_json::from_str(document).map_err(|_| NotAList)?;
        // System One has `models` with names.
        let list = members.get("data").or_else(|| members.get("models")).ok_or(NotAList)?;
        serde_json::from_str::<Option<_>>(list.get()).map_err(|_| NotAList)?.unwrap_or_default()
    };
    let mut seen = HashSet::new();
    let count = entries.len();
    let entries = entries.into_iter().take(MAX_ENTRIES);
    let entries = entries.filter_map(|entry| serde_json::from_str::<RawModel<'_>>(entry.get()).ok());
    let entries: Vec<RawModel<'_>> = entries.collect();
    let unit = unit_of_list(entries.iter().filter_map(|model| model.pricing));
    let listed = entries.iter().filter_map(|model| list(model, now, rules, unit));
    let models = listed.filter(|listed| seen.insert(listed.variant.id.clone())).collect();
    Ok(Listing { models, entries: count, is_per_million: unit == Unit::Million })
}

fn list(model: &RawModel<'_>, now: Timestamp, rules: &Rules, unit: Unit) -> Option<ListedModel> {
    let id = text(model.id).or_else(|| text(model.name))?.trim().to_owned();
    let alias = id.starts_with('~');
    if id.is_empty() || id.len() > MAX_ID || alias || is_expired(model.expiration_date, now) {
        return None;
    }
    let dialect = match (rules.decisions.by_rule(&id), role(&id, model)) {
        (Some(dialect), _) => Some(dialect),
        (None, Role::Decisions) => Some(rules.decisions.listed()),
        (None, Role::Chat) => None,
        (None, Role::Other) => return None,
    };
    let pricing = model.pricing.and_then(|raw| pricing(raw, unit));
    let price = match &pricing {
        // A negative price marks a router, which would let other models vote in its name.
        Some(Pricing::Varies | Pricing::Implausible) => return None,
        Some(Pricing::Listed(_, price)) => Some(*price),
        None => rules.unpriced_is_free.then_some(Price::FREE),
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
        interface: dialect
            .map_or(Interface::Chat(Capabilities { first_level, lowest_effort }), Interface::Decisions),
        output_tokens: if reasons && dialect.is_none() { REASONING_OUTPUT_TOKENS } else { OUTPUT_TOKENS },
        variant: Variant {
            name,
            provider,
            family,
            context_length: context.map(|tokens| tokens as u64),
            pricing: pricing.and_then(Pricing::shown),
            free: price.is_some_and(|price| price.is_free()),
            supports_tools: supports("tools"),
            supported_parameters: parameters.unwrap_or_default(),
            decision_model: dialect.is_some(),
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
        #[serde(borrow)]
        supported_efforts: Raw<'a>,
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
        #[serde(borrow)]
        n_ctx: Raw<'a>,
        n_ctx_train: Raw<'a>,
    }
    let meta: Meta<'_> = serde_json::from_str(meta?.get()).ok()?;
    number(meta.n_ctx).or_else(|| number(meta.n_ctx_train))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(document: &str) -> Vec<ListedModel> {
        read(document, Timestamp::from_millis(1_769_817_600_000), &rules(&[])).unwrap().models
    }

    fn rules(decisions: &[&str]) -> Rules {
        let decisions = decisions.iter().map(|rule| rule.parse().unwrap()).collect();
        Rules { unpriced_is_free: false, decisions: DecisionModels::new(decisions, false) }
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
            model.interface,
            Interface::Chat(Capabilities {
                first_level: FallbackLevel::Required,
                lowest_effort: Some("minimal")
            })
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
        assert_eq!(models[0].interface, Interface::Chat(Capabilities::UNKNOWN));
        assert_eq!(models[1].variant.context_length, Some(4096));
        let free = Rules { unpriced_is_free: true, ..rules(&[]) };
        let free = read(document, Timestamp::from_millis(0), &free).unwrap().models;
        assert!(free[0].variant.free && free[0].price == Some(Price::FREE));
    }

    #[test]
    fn ids_that_nobody_can_name_are_skipped() {
        let models =
            listed(&serde_json::json!([{ "id": "m".repeat(201) }, { "id": "m".repeat(200) }]).to_string());
        assert_eq!(models.iter().map(|model| model.variant.id.len()).collect::<Vec<_>>(), [200]);
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
        let first_level = |model: &ListedModel| match model.interface {
            Interface::Chat(capabilities) => capabilities.first_level,
            Interface::Decisions(dialect) => panic!("{dialect:?}"),
        };
        let ids: Vec<(&str, FallbackLevel)> =
            models.iter().map(|m| (m.variant.id.as_str(), first_level(m))).collect();
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
        assert_eq!(read("{\"error\":1}", Timestamp::from_millis(0), &rules(&[])).unwrap_err(), NotAList);
        assert_eq!(read("{\"data\":null}", Timestamp::from_millis(0), &rules(&[])).unwrap().entries, 0);
        assert_eq!(read("<html>", Timestamp::from_millis(0), &rules(&[])).unwrap_err(), NotAList);
    }

    #[test]
    fn prices_for_a_million_tokens_are_recognised() {
        let price = |document: &str| -> Vec<(String, i64)> {
            let models = listed(document);
            models
                .iter()
                .map(|model| (model.variant.id.clone(), model.price.unwrap().prompt.pico()))
                .collect()
        };
        let named = |list: &[(&str, i64)]| {
            list.iter().map(|(id, price)| ((*id).to_owned(), *price)).collect::<Vec<_>>()
        };
        assert_eq!(
            price(
                r#"[{"id":"declared","pricing":{"prompt":"0.15","completion":"0.60","unit":"per_1m_tokens"}},
                {"id":"number","pricing":{"prompt":0.15,"completion":0.6}},
                {"id":"token","pricing":{"prompt":"0.00000015","completion":"0.0000006"}},
                {"id":"free","pricing":{"prompt":"0","completion":"0"}}]"#
            ),
            named(&[("declared", 150_000), ("number", 150_000), ("token", 150_000), ("free", 0)])
        );
        let shown = listed(r#"[{"id":"a","pricing":{"prompt":"2.50","completion":"10"}}]"#);
        let shown = shown[0].variant.pricing.as_ref().unwrap();
        assert_eq!((&*shown.prompt, &*shown.completion), ("0.0000025", "0.00001"));
        // One wrong figure does not change the others.
        assert_eq!(
            price(
                r#"[{"id":"a","pricing":{"prompt":"0.000001","completion":"0.000002"}},
                {"id":"b","pricing":{"prompt":"0.000001","completion":"0.000002"}},
                {"id":"odd","pricing":{"prompt":"2","completion":"4"}}]"#
            ),
            named(&[("a", 1_000_000), ("b", 1_000_000)])
        );
        assert!(listed(r#"[{"id":"a","pricing":{"prompt":"5000","completion":"9000"}}]"#).is_empty());
    }

    #[test]
    fn entries_that_say_that_they_do_not_chat_are_skipped() {
        let models = listed(
            r#"[{"id":"a","type":"chat"},{"id":"b","type":"embedding"},{"id":"c","type":"image"},{"id":"d","mode":"rerank"},
            {"id":"e","capabilities":{"chat_completion":false}},{"id":"f","capabilities":{"completion_chat":false}},
            {"id":"g","capabilities":{"completion_chat":true}},{"id":"h","capabilities":["chat"]},{"id":"i","task":"text-generation"},
            {"id":"j","task":"automatic-speech-recognition"},{"id":"k","capabilities":["embedding"]}]"#,
        );
        let ids: Vec<&str> = models.iter().map(|model| &*model.variant.id).collect();
        assert_eq!(ids, ["a", "g", "h", "i"]);
    }

    #[test]
    fn decision_models_are_marked_by_the_list_or_by_a_rule() {
        let document = r#"{"data":[{"id":"a/decider","architecture":{"output_modalities":["decisions"]},
            "supported_parameters":["reasoning"]},
            {"id":"a/both","architecture":{"modality":"text->text+decisions"}},
            {"id":"a/sees","architecture":{"input_modalities":["image"],"output_modalities":["decisions"]}},
            {"id":"jev-1"},{"id":"jev-guard"},{"id":"a/chat"}]}"#;
        let interfaces = |rules: &Rules| {
            let models = read(document, Timestamp::from_millis(0), rules).unwrap().models;
            let decides = models.iter().map(|model| match model.interface {
                Interface::Chat(_) => (model.variant.id.clone(), None),
                Interface::Decisions(dialect) => (model.variant.id.clone(), Some(dialect)),
            });
            assert!(
                models
                    .iter()
                    .zip(decides.clone())
                    .all(|(model, (_, dialect))| model.variant.decision_model == dialect.is_some())
            );
            assert_eq!(models[0].output_tokens, OUTPUT_TOKENS, "no tokens for reasoning");
            decides.collect::<Vec<_>>()
        };
        let found = |list: &[(&str, Option<Dialect>)]| {
            list.iter().map(|(id, dialect)| ((*id).to_owned(), *dialect)).collect::<Vec<_>>()
        };
        let openai = Some(Dialect::OpenAi);
        assert_eq!(
            interfaces(&rules(&[])),
            found(&[("a/decider", openai), ("a/both", openai), ("jev-1", None), ("a/chat", None)])
        );
        let (system_one, gemini) = (Some(Dialect::SystemOne), Some(Dialect::Gemini));
        assert_eq!(
            interfaces(&rules(&["jev-*=systemone", "a/both=gemini"])),
            found(&[
                ("a/decider", openai),
                ("a/both", gemini),
                ("jev-1", system_one),
                ("jev-guard", system_one),
                ("a/chat", None)
            ])
        );
    }

    #[test]
    fn the_list_of_system_one_is_read() {
        let document = r#"{"models":[{"name":"jev-1","description":"A decision model."},{"name":"jev-2"}]}"#;
        let models = read(document, Timestamp::from_millis(0), &rules(&["*=systemone"])).unwrap().models;
        let ids: Vec<&str> = models.iter().map(|model| model.variant.id.as_str()).collect();
        assert_eq!(ids, ["jev-1", "jev-2"]);
        assert!(models.iter().all(|model| model.interface == Interface::Decisions(Dialect::SystemOne)));
    }
}
