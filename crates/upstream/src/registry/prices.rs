//! The listed prices of a model.

use ep_kernel::ports::VariantPricing;
use ep_polling::money::{Price, UsdFigure};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::raw_entry::Raw;

pub(super) enum Pricing {
    Listed(VariantPricing, Price),
    Varies,
}

impl Pricing {
    pub(super) fn shown(self) -> Option<VariantPricing> {
        match self {
            Self::Listed(shown, _) => Some(shown),
            Self::Varies => None,
        }
    }
}

/// Parses the prices of a model. Special prices for long prompts or times of day are ignored, because votes
/// are short and the upstream reports the charged amount.
pub(super) fn pricing(raw: &RawValue) -> Option<Pricing> {
    #[derive(Deserialize)]
    struct RawPricing<'a> {
        #[serde(borrow, default)]
        prompt: Raw<'a>,
        #[serde(borrow, default)]
        completion: Raw<'a>,
        #[serde(borrow, default)]
        request: Raw<'a>,
        #[serde(borrow, default)]
        internal_reasoning: Raw<'a>,
    }
    let raw: RawPricing<'_> = serde_json::from_str(raw.get()).ok()?;
    // Numbers stay text, because a float would lose digits.
    let decimal = |raw: Raw<'_>| raw.map(|raw| raw.get().trim_matches('"').trim().to_owned());
    let prompt = decimal(raw.prompt)?;
    let completion = decimal(raw.completion)?;
    let request = decimal(raw.request).unwrap_or_else(|| "0".to_owned());
    if [&prompt, &completion].iter().any(|price| price.starts_with('-')) {
        return Some(Pricing::Varies);
    }
    let usd = |text: &str| text.parse::<UsdFigure>().ok().and_then(UsdFigure::ceil_pico);
    let reasoning = decimal(raw.internal_reasoning).and_then(|price| usd(&price)).unwrap_or_default();
    let price = Price {
        prompt: usd(&prompt)?,
        completion: usd(&completion)?.max(reasoning),
        request: usd(&request)?,
    };
    Some(Pricing::Listed(VariantPricing { prompt, completion, request }, price))
}
