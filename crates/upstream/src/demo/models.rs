//! The sixty simulated models: ten families of six.

use ep_kernel::{Variant, VariantPricing};
use ep_polling::{PicoUsd, Price};

use super::hashed_random::HashedRandom;
use crate::registry::listing::{Interface, ListedModel};
use crate::voting::Capabilities;

const FAMILIES: [&str; 10] =
    ["aurora", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbor", "iris", "juniper"];

/// A model size; every family has each size.
pub(super) struct Tier {
    name: &'static str,
    /// Prices per prompt token and per completion token, in nano-USD (1,000 nano-USD equal 1 USD per million
    /// tokens).
    price: (i64, i64),
    context: u64,
    /// The median latency, in milliseconds.
    pub(super) median_ms: f64,
    /// Number of failures per thousand votes.
    pub(super) failures: u64,
}

const TIERS: [Tier; 6] = [
    Tier { name: "nano", price: (30, 90), context: 32_768, median_ms: 90.0, failures: 25 },
    Tier { name: "small", price: (100, 300), context: 65_536, median_ms: 150.0, failures: 15 },
    Tier { name: "medium", price: (350, 1_200), context: 131_072, median_ms: 260.0, failures: 10 },
    Tier { name: "large", price: (2_500, 9_000), context: 262_144, median_ms: 480.0, failures: 10 },
    Tier { name: "coder", price: (250, 900), context: 131_072, median_ms: 220.0, failures: 20 },
    Tier { name: "open", price: (0, 0), context: 32_768, median_ms: 330.0, failures: 60 },
];

/// A simulated model.
pub(super) struct DemoModel {
    pub(super) listed: ListedModel,
    pub(super) tier: &'static Tier,
}

/// Returns all sixty models, in registry order.
pub(super) fn demo_models() -> Vec<DemoModel> {
    let family = |(index, family)| TIERS.iter().map(move |tier| demo_model(index, family, tier));
    FAMILIES.into_iter().enumerate().flat_map(family).collect()
}

fn demo_model(index: usize, family: &'static str, tier: &'static Tier) -> DemoModel {
    let id = format!("demo/{family}-{}", tier.name);
    // Prices differ between families by up to a quarter. The nano models of six families are free.
    let free = tier.price == (0, 0) || (tier.name == "nano" && index < 6);
    let percent = if free { 0 } else { 75 + (HashedRandom::from_texts(&[&id, "price"]).below(51)) as i64 };
    let nano = |nano: i64| nano * percent / 100;
    let (prompt, completion) = (nano(tier.price.0), nano(tier.price.1));
    let usd = |nano: i64| if nano == 0 { "0".to_owned() } else { format!("0.{nano:09}") };
    let price = Price {
        prompt: PicoUsd::new(prompt * 1000),
        completion: PicoUsd::new(completion * 1000),
        request: PicoUsd::ZERO,
    };
    let title = |name: &str| name[..1].to_ascii_uppercase() + &name[1..];
    let listed = ListedModel {
        variant: Variant {
            name: format!("{} {} (simulated)", title(family), title(tier.name)),
            provider: format!("{family} (simulated)"),
            family: format!("demo/{family}"),
            context_length: Some(tier.context),
            pricing: Some(VariantPricing {
                prompt: usd(prompt),
                completion: usd(completion),
                request: "0".to_owned(),
            }),
            free,
            supports_tools: Some(true),
            supported_parameters: vec!["tools".to_owned(), "tool_choice".to_owned(), "max_tokens".to_owned()],
            decision_model: false,
            presets: Vec::new(),
            id,
        },
        price: Some(price),
        created: 1_767_225_600 + index as i64 * 864_000,
        interface: Interface::Chat(Capabilities::UNKNOWN),
        output_tokens: 256,
    };
    DemoModel { listed, tier }
}

#[cfg(test)]
mod tests {
    use ep_polling::UsdFigure;

    use super::*;

    #[test]
    fn all_sixty_models_are_labelled_as_simulated() {
        let models = demo_models();
        assert_eq!(models.len(), 60);
        assert!(models.iter().filter(|model| model.listed.variant.free).count() >= 15);
        for DemoModel { listed, .. } in &models {
            assert!(listed.variant.id.starts_with("demo/") && listed.variant.name.ends_with("(simulated)"));
            let shown = listed.variant.pricing.as_ref().unwrap();
            let completion = shown.completion.parse::<UsdFigure>().ok().and_then(UsdFigure::ceil_pico);
            assert_eq!(completion, Some(listed.price.unwrap().completion));
        }
    }
}
