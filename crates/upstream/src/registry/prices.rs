//! The listed prices of a model.

use ep_kernel::VariantPricing;
use ep_polling::{PicoUsd, Price, UsdFigure};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::raw_entry::Raw;
use crate::chat::response::text;

pub(super) enum Pricing {
    Listed(VariantPricing, Price),
    Varies,
    /// No model costs this much a token, so the unit is unknown.
    Implausible,
}

impl Pricing {
    pub(super) fn shown(self) -> Option<VariantPricing> {
        match self {
            Self::Listed(shown, _) => Some(shown),
            Self::Varies | Self::Implausible => None,
        }
    }
}

/// The number of tokens that a listed price is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Token,
    Million,
}

/// The price of a token from which on a figure cannot be one: $0.001, or $1,000 for a million tokens. The dearest models cost $600.
const IMPLAUSIBLE: PicoUsd = PicoUsd::new(1_000_000_000);

#[derive(Deserialize)]
struct RawPricing<'a> {
    #[serde(borrow)]
    prompt: Raw<'a>,
    completion: Raw<'a>,
    request: Raw<'a>,
    internal_reasoning: Raw<'a>,
    unit: Raw<'a>,
}

/// The figures of one entry, as text, because a float would lose digits.
struct Figures {
    prompt: String,
    completion: String,
    request: String,
    reasoning: Option<String>,
    declared: Option<Unit>,
}

impl Figures {
    fn read(raw: &RawValue) -> Option<Self> {
        let raw: RawPricing<'_> = serde_json::from_str(raw.get()).ok()?;
        let decimal = |raw: Raw<'_>| raw.map(|raw| raw.get().trim_matches('"').trim().to_owned());
        Some(Self {
            prompt: decimal(raw.prompt)?,
            completion: decimal(raw.completion)?,
            request: decimal(raw.request).unwrap_or_else(|| "0".to_owned()),
            reasoning: decimal(raw.internal_reasoning),
            declared: text(raw.unit).and_then(|unit| declared(&unit)),
        })
    }

    fn varies(&self) -> bool {
        [&self.prompt, &self.completion].iter().any(|price| price.starts_with('-'))
    }

    /// The larger price, as that of a token.
    fn largest(&self) -> Option<PicoUsd> {
        [&self.prompt, &self.completion].into_iter().filter_map(|text| PicoUsd::parse(text)).max()
    }
}

/// The unit that a list declares, such as `per_1m_tokens` or `token`.
fn declared(unit: &str) -> Option<Unit> {
    let unit = unit.to_lowercase();
    if ["1m", "million", "mtok", "1000000", "1_000_000"].iter().any(|name| unit.contains(name)) {
        return Some(Unit::Million);
    }
    matches!(&*unit, "token" | "per_token" | "per token" | "usd_per_token").then_some(Unit::Token)
}

/// Decides the unit of the prices of a whole list: a million tokens, if at least half of the prices without a unit cannot be for a
/// token.
pub(super) fn unit_of_list<'a>(pricings: impl Iterator<Item = &'a RawValue>) -> Unit {
    let figures = pricings.filter_map(Figures::read).filter(|figures| figures.declared.is_none());
    let prices = figures.filter_map(|figures| figures.largest()).filter(|price| *price > PicoUsd::default());
    let (mut large, mut small) = (0_usize, 0_usize);
    for price in prices {
        if price >= IMPLAUSIBLE { large += 1 } else { small += 1 }
    }
    if large > 0 && large >= small { Unit::Million } else { Unit::Token }
}

/// Parses the prices of a model in a list with this unit. An entry that is plausible as the price of a token is one. Special prices
/// for long prompts or times of day are ignored, because votes are short and the upstream reports the charged amount.
pub(super) fn pricing(raw: &RawValue, of_list: Unit) -> Option<Pricing> {
    let figures = Figures::read(raw)?;
    if figures.varies() {
        return Some(Pricing::Varies);
    }
    let guessed = if figures.largest()? >= IMPLAUSIBLE { of_list } else { Unit::Token };
    let unit = figures.declared.unwrap_or(guessed);
    let scaled = |text: &str| match unit {
        Unit::Token => Some(text.to_owned()),
        Unit::Million => text.parse::<UsdFigure>().ok().map(|figure| figure.millionth().to_string()),
    };
    let (prompt, completion) = (scaled(&figures.prompt)?, scaled(&figures.completion)?);
    let reasoning = figures.reasoning.and_then(|price| PicoUsd::parse(&scaled(&price)?)).unwrap_or_default();
    let price = Price {
        prompt: PicoUsd::parse(&prompt)?,
        completion: PicoUsd::parse(&completion)?.max(reasoning),
        request: PicoUsd::parse(&figures.request)?,
    };
    if price.prompt.max(price.completion) >= IMPLAUSIBLE {
        return Some(Pricing::Implausible);
    }
    Some(Pricing::Listed(VariantPricing { prompt, completion, request: figures.request }, price))
}
