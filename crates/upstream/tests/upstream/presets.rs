//! Presets, over a registry that looks like a real one.

use std::collections::HashMap;

use ep_kernel::ports::Models as _;
use ep_kernel::{Fault, Kind};
use ep_polling::stopping::MAX_ROSTER;
use ep_polling::{ModelChoice, ModelNames, ModelSource, Roster};
use ep_store::{CachedModelList, UpstreamCache as _};
use ep_upstream::testing::{Script, bare, priced};
use ep_upstream::{FreeLimit, SetupError, Upstream};
use serde_json::{Value, json};

use super::{Fixture, NOW};

/// Twenty makers with eight models each, at 0.02 to 20 USD per million tokens, and one free model each.
fn models() -> Vec<Value> {
    let mut models = Vec::new();
    for maker in 0..20 {
        let tiers = [
            ("nano", 0.02),
            ("mini", 0.1),
            ("core", 0.4),
            ("plus", 0.7),
            ("pro", 2.0),
            ("ultra", 9.0),
            ("coder", 0.3),
            ("chat", 0.3),
        ];
        for (tier, (name, micro)) in tiers.into_iter().enumerate() {
            let usd = micro * (1.0 + f64::from(maker) / 20.0) / 1e6;
            let id = format!("maker{maker}/line{maker}-{name}");
            let mut model = priced(&id, &format!("{usd:.12}"), &format!("{:.12}", usd * 3.0));
            model["created"] = json!(1_700_000_000 + maker * 1000 + tier as u32);
            if maker % 4 == 0 {
                model["supported_parameters"] = json!(["max_tokens"]);
            }
            models.push(model);
            if name == "core" {
                models.push(priced(&format!("{id}:free"), "0", "0"));
            }
        }
    }
    models
}

fn fixture() -> Fixture {
    Fixture::new(Script { models: models(), ..Script::default() })
}

async fn roster(upstream: &Upstream, preset: &str) -> Roster {
    upstream.roster(&ModelChoice::preset(preset)).await.unwrap()
}

#[tokio::test]
async fn every_preset_selects_models_that_fit_its_name() {
    let fixture = fixture();
    let upstream = fixture.upstream();
    for (preset, size) in [
        ("fast_and_cheap", 50),
        ("generalist", 100),
        ("efficient_generalist", 50),
        ("frontier_generalist", 25),
        // The registry has no more models at this price.
        ("budget", 27),
        ("code", 20),
        ("free", 15),
        ("trio", 3),
        ("quintet", 5),
    ] {
        let roster = roster(&upstream, preset).await;
        assert_eq!(roster.members().len(), size, "{preset}");
        assert!(!roster.simulated);
        let ids = |word: &str| roster.members().iter().filter(|m| m.model.as_str().contains(word)).count();
        assert_eq!(ids(":free"), if preset == "free" { 15 } else { 0 }, "{preset}");
        match preset {
            "frontier_generalist" => assert_eq!(ids("-nano") + ids("-mini"), 0),
            "code" => assert_eq!(ids("-coder"), 20),
            "generalist" => assert_eq!(ids("-coder"), 0),
            _ => {}
        }
        let mut base_ids: Vec<_> =
            roster.members().iter().map(|m| m.model.as_str().trim_end_matches(":free")).collect();
        base_ids.sort_unstable();
        base_ids.dedup();
        assert_eq!(base_ids.len(), size, "no model votes twice");
    }
    assert_eq!(fixture.server.registry_calls(), 1);
}

#[tokio::test]
async fn panels_are_ordered_by_strength() {
    let fixture = fixture();
    let upstream = fixture.upstream();
    let quintet = roster(&upstream, "quintet").await;
    let cost = |roster: &Roster| -> Vec<i128> {
        let prices = roster.members().iter().map(|member| member.price.unwrap());
        prices
            .map(|price| i128::from(price.prompt.pico()) * 3 + i128::from(price.completion.pico()))
            .collect()
    };
    let costs = cost(&quintet);
    assert!(costs.is_sorted_by(|one, two| one >= two), "{costs:?}");
    let notice = "the models of quintet are ordered by price; they were not judged on labelled rows";
    assert_eq!(quintet.notices, [notice]);
    let families: std::collections::HashSet<&str> =
        quintet.members().iter().map(|member| &*member.family).collect();
    assert_eq!(families.len(), 5);
    let panels = upstream.registry().await.unwrap().panels;
    let ids = |roster: &Roster| -> Vec<String> {
        roster.members().iter().map(|member| member.model.as_str().to_owned()).collect()
    };
    assert_eq!(panels[1].models, ids(&quintet));
    assert_eq!(panels.iter().map(|panel| panel.name.as_str()).collect::<Vec<_>>(), ["trio", "quintet"]);

    // The operator's evidence comes first, in its order.
    let (second, first) = (&panels[1].models[3], &panels[1].models[4]);
    let text = format!(
        "[[preset]]\nname = \"judged\"\nsize = 3\nsort = \"price_descending\"\norder = \"evidence\"\n\
         pinned = [\"{first}\", \"{second}\"]\n"
    );
    let file = presets_file(&text);
    let judged = fixture.upstream_with(|config| config.presets_path = Some(file.path().to_owned()));
    let judged = roster(&judged, "judged").await;
    assert_eq!(ids(&judged)[..2], [first.clone(), second.clone()]);
    assert!(judged.members().len() == 3 && judged.notices.is_empty(), "{:?}", judged.notices);
}

#[tokio::test]
async fn a_roster_has_many_families_and_is_always_the_same() {
    let fixture = fixture();
    let upstream = fixture.upstream();
    let first = roster(&upstream, "fast_and_cheap").await;
    let mut families: HashMap<&str, usize> = HashMap::new();
    for member in first.members() {
        *families.entry(&member.family).or_default() += 1;
    }
    assert!(families.len() >= 15 && families.values().all(|&members| members <= 5), "{families:?}");
    assert_eq!(first, roster(&fixture.upstream(), "fast_and_cheap").await);
}

#[tokio::test]
async fn a_small_registry_gives_a_smaller_roster_and_a_notice() {
    let models = (0..12).map(|n| bare(&format!("qwen2.5:{n}b"))).chain([bare("nomic-embed-text")]).collect();
    let fixture = Fixture::new(Script { models, ..Script::default() });
    let upstream = fixture.upstream();
    let local = roster(&upstream, "fast_and_cheap").await;
    assert_eq!(local.members().len(), 12, "one family may fill the roster if there is no other");
    assert_eq!(local.notices, ["preset fast_and_cheap asks for 50 models; the registry has 12 that fit"]);
    assert!(local.members().iter().all(|member| member.price.is_none()), "an unknown price is not zero");
    let fault = upstream.roster(&ModelChoice::preset("free")).await.unwrap_err();
    assert_eq!(fault.kind(), Kind::NotConfigured);
    assert!(fault.message().contains("no free models here"), "{fault}");
    let (_, advice) = fault.message().split_once("; ").unwrap();
    let (named, remedy) = advice.split_once(" have no listed price").unwrap();
    assert!(named.contains("fast_and_cheap") && !named.contains("free"), "{named}");
    assert!(remedy.contains("EP_UPSTREAM_UNPRICED_FREE") && remedy.contains("EP_BILLING=off"), "{remedy}");
    // Where polls are not charged, the advice does not name a setting that is already set.
    let uncharged = fixture.upstream_with(|config| config.charges = false);
    let fault = uncharged.roster(&ModelChoice::preset("free")).await.unwrap_err();
    let (_, remedy) = fault.message().split_once(" have no listed price").unwrap();
    assert!(remedy.contains("EP_UPSTREAM_UNPRICED_FREE") && !remedy.contains("EP_BILLING"), "{remedy}");
    // Where some models have a price, only presets of such models are named.
    let models = vec![bare("qwen2.5:7b"), priced("maker/coder", "0.0000003", "0.0000003")];
    let mixed = Fixture::new(Script { models, ..Script::default() });
    let mixed = mixed.upstream();
    let fault = mixed.roster(&ModelChoice::preset("free")).await.unwrap_err();
    let (_, named) = fault.message().rsplit_once(": ").unwrap();
    assert!(named.contains("fast_and_cheap"), "{fault}");
    for name in named.split(", ") {
        let members = roster(&mixed, name).await;
        assert!(members.members().iter().any(|member| member.price.is_some()), "{name}");
    }
    let own = fixture.upstream_with(|config| config.treat_unpriced_as_free = true);
    assert_eq!(roster(&own, "free").await.members().len(), 12);
}

#[tokio::test]
async fn the_same_weights_on_several_hosts_are_selected_once() {
    let hosts = ["meta-llama", "groq", "together/meta-llama", "deepinfra"];
    let same = hosts.map(|host| priced(&format!("{host}/Llama-3.3-70B-Instruct"), "0.0000003", "0.0000003"));
    let cheaper = priced("fp8-host/llama-3.3-70b-instruct-fp8", "0.0000001", "0.0000001");
    let other = priced("groq/llama-3.1-8b-instruct", "0.0000001", "0.0000001");
    let models = same.into_iter().chain([cheaper, other]).collect();
    let fixture = Fixture::new(Script { models, ..Script::default() });
    let roster = roster(&fixture.upstream(), "fast_and_cheap").await;
    let ids: Vec<&str> = roster.members().iter().map(|member| member.model.as_str()).collect();
    assert_eq!(
        ids,
        ["fp8-host/llama-3.3-70b-instruct-fp8", "groq/llama-3.1-8b-instruct"],
        "the cheapest host"
    );
    assert!(roster.notices[0].contains("has 2 that fit"), "{:?}", roster.notices);
}

#[tokio::test]
async fn impossible_rosters_are_rejected() {
    let fixture = Fixture::new(Script { models: vec![], ..Script::default() });
    let upstream = fixture.upstream();
    let fault = upstream.roster(&ModelChoice::preset("fast_and_cheap")).await.unwrap_err();
    assert_eq!(fault.kind(), Kind::Unavailable);
    let fault = upstream.roster(&ModelChoice::preset("Fast")).await.unwrap_err();
    assert_eq!(fault.kind(), Kind::InvalidPreset);
    for name in upstream.presets() {
        assert!(fault.message().contains(&name), "{fault}");
    }
}

#[tokio::test]
async fn a_limit_on_free_models_gives_a_notice() {
    let fixture = fixture();
    let limited = fixture.upstream_with(|config| {
        config.free_requests_per_minute = FreeLimit::PerMinute(20.try_into().unwrap());
    });
    let notices = roster(&limited, "free").await.notices;
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains("20 requests a minute"), "{notices:?}");
    assert!(roster(&limited, "fast_and_cheap").await.notices.is_empty());
}

#[tokio::test]
async fn openrouters_limit_is_known() {
    let fixture = fixture();
    let body = json!({ "data": models() }).to_string();
    let base_url = "https://openrouter.ai/api/v1";
    fixture.cache.save_model_list(base_url, &CachedModelList { fetched_at: NOW, body }).await.unwrap();
    let upstream = fixture.upstream_with(|config| config.base_url = base_url.to_owned());
    let notices = roster(&upstream, "free").await.notices;
    assert!(notices[0].contains("20 requests a minute"), "{notices:?}");
}

/// Creates a presets file with this text; it is deleted when dropped.
fn presets_file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

#[tokio::test]
async fn a_preset_above_the_maximum_size_is_rejected_at_load() {
    let fixture = fixture();
    let load = |size: usize| {
        let file =
            presets_file(&format!("[[preset]]\nname = \"largest\"\nsize = {size}\nsort = \"newest\"\n"));
        fixture.try_upstream_with(|config| config.presets_path = Some(file.path().to_owned()))
    };
    let largest = load(MAX_ROSTER).unwrap();
    assert_eq!(roster(&largest, "largest").await.members().len(), MAX_ROSTER);
    let error = load(MAX_ROSTER + 1).err().unwrap();
    assert!(matches!(error, SetupError::Presets(_)));
    let message = error.to_string();
    assert!(
        message.contains("preset largest") && message.contains("150") && message.contains("151"),
        "{message}"
    );
}

#[tokio::test]
async fn a_file_replaces_the_presets() {
    let fixture = fixture();
    let text = "[[preset]]\nname = \"mine\"\nsize = 3\nsort = \"price_descending\"\ntools = \"required\"\n\
                pinned = [\"maker0/line0-nano\"]\nmax_per_family = 1\n";
    let file = presets_file(text);
    let upstream = fixture.upstream_with(|config| config.presets_path = Some(file.path().to_owned()));
    assert_eq!(upstream.presets(), ["mine"]);
    let members = roster(&upstream, "mine").await.members().to_vec();
    let ids: Vec<_> = members.iter().map(|member| member.model.as_str()).collect();
    assert_eq!(ids, ["maker0/line0-nano", "maker18/line18-ultra", "maker19/line19-ultra"]);
}

/// Returns the model names of a request.
fn names(names: &[&str]) -> ModelNames {
    ModelNames::new(names).unwrap()
}

/// Returns the ids of the roster of these names, without the excluded ones.
async fn named(upstream: &Upstream, models: &[&str], exclude: &[&str]) -> Result<Vec<String>, Fault> {
    let exclude = (!exclude.is_empty()).then(|| names(exclude));
    let choice = ModelChoice { source: ModelSource::Named(names(models)), exclude };
    let roster = upstream.roster(&choice).await?;
    Ok(roster.members().iter().map(|member| member.model.to_string()).collect())
}

#[tokio::test]
async fn callers_name_models_by_id_and_by_pattern() {
    let fixture = fixture();
    let upstream = fixture.upstream();
    let ids = named(&upstream, &["maker3/line3-pro", "Maker0/*-CORE*"], &[]).await.unwrap();
    assert_eq!(ids, ["maker3/line3-pro", "maker0/line0-core"], "one way to serve a model, the plain one");
    let ids = named(&upstream, &["maker0/line0-core:free", "maker0/*core*", "maker0/*nano"], &[]).await;
    assert_eq!(ids.unwrap(), ["maker0/line0-core:free", "maker0/line0-nano"], "a named variant stays");
    let ids = named(&upstream, &["maker0/line0-core:free", "maker0/line0-core"], &[]).await.unwrap();
    assert_eq!(ids.len(), 2, "both, where both are named");
    let ids = named(&upstream, &["maker1/*", "maker2/line2-pro"], &["*-core", "*chat"]).await.unwrap();
    assert_eq!(ids.len(), 7, "{ids:?}");
    assert!(ids.iter().all(|id| !id.contains("core") && !id.contains("chat")), "{ids:?}");
}

#[tokio::test]
async fn names_without_a_valid_roster_are_rejected_with_the_reason() {
    let fixture = fixture();
    let upstream = fixture.upstream();
    let many: Vec<String> = (0..20).map(|n| format!("no/{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (models, exclude, says) in [
        (&["maker0/*", "no/such", "maker1/gone*"][..], &[][..], "no no/such, maker1/gone*;"),
        (&["maker0/*"], &["maker0/line0-pro", "typo/*"], "exclude: the registry has no typo/*;"),
        (&["maker0/line0-pro"], &[], "one model, maker0/line0-pro; name 2 to 150"),
        (&["*"], &[], "match 160 models; name 2 to 150"),
        (&["maker0/*"], &["*"], "exclude leaves none"),
        (&many, &[], "no/9 and 10 more;"),
    ] {
        let fault = named(&upstream, models, exclude).await.unwrap_err();
        assert_eq!(fault.kind(), Kind::InvalidInput, "{fault}");
        assert!(fault.message().contains(says), "{fault}");
    }
    let fault = named(&upstream, &["maker0/*", "no/such"], &[]).await.unwrap_err();
    assert_eq!(fault.fields()[0].field, "models[1]");
}

#[tokio::test]
async fn a_preset_without_excluded_models_is_filled_from_the_rest() {
    let fixture = fixture();
    let upstream = fixture.upstream();
    let choice = |exclude: &[&str]| ModelChoice {
        exclude: Some(names(exclude)),
        ..ModelChoice::preset("fast_and_cheap")
    };
    let whole = roster(&upstream, "fast_and_cheap").await;
    let rest = upstream.roster(&choice(&["maker0/*", "*nano"])).await.unwrap();
    assert_eq!(rest.members().len(), whole.members().len());
    assert!(rest.members().iter().all(|member| !member.model.as_str().starts_with("maker0/")));
    assert_eq!(rest.notices, ["the request excludes maker0/*, *nano"]);
    assert_eq!(roster(&upstream, "fast_and_cheap").await, whole, "the preset itself is as it was");
    let fault = upstream.roster(&choice(&["*"])).await.unwrap_err();
    assert_eq!((fault.kind(), fault.fields()[0].field.as_str()), (Kind::InvalidInput, "exclude"));
}

#[tokio::test]
async fn the_default_preset_asks_whatever_models_there_are() {
    let dear = [("maker/dear", "0.00001"), ("maker/dearer", "0.00002"), ("other/dearest", "0.00003")];
    let registry = dear.map(|(id, price)| priced(id, price, price)).to_vec();
    let fixture = Fixture::new(Script { models: registry, ..Script::default() });
    let upstream = fixture.upstream();
    let default = upstream.roster(&ModelChoice::preset("fast_and_cheap")).await.unwrap();
    assert_eq!(
        default.members().iter().map(|member| member.model.as_str()).collect::<Vec<_>>(),
        dear.map(|(id, _)| id)
    );
    assert!(
        default.notices.iter().any(|notice| notice.contains("whatever they cost")),
        "{:?}",
        default.notices
    );
    assert!(upstream.roster(&ModelChoice::preset("budget")).await.is_err(), "other presets refuse");
}
