//! `create_panel`: stores a panel of the caller's account, or its next version.

use std::cmp::Reverse;
use std::collections::HashSet;

use ep_kernel::PanelOrder;
use ep_kernel::schema;
use ep_polling::roster::MIN_NAMED;
use ep_polling::{
    Member, ModelChoice, ModelNames, OrderBasis, PanelDefinition, PanelName, Threshold, TieRule,
};
use ep_store::{MAX_PANEL_VERSIONS, MAX_PANELS, SavedPanel};
use serde_json::Value;

use super::found::unknown_models;
use super::view::Panel;
use crate::polls::field;
use crate::prelude::*;

/// Stores a panel.
pub struct CreatePanel;

/// The panel to store.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [{ "required": ["models"] }, { "required": ["preset"] }]))]
pub struct PanelToCreate {
    /// Its name. A name that the account already has gets its next version.
    pub name: PanelName,
    /// 2 to 150 models by id or name (claude), the strongest first, without *.
    pub models: Option<ModelNames>,
    /// A preset whose present models become the panel, instead of models.
    pub preset: Option<String>,
    /// The rule for a tie, unless a poll has its own (default report).
    #[serde(default, deserialize_with = "schema::word")]
    pub on_tie: Option<TieRule>,
    /// Confidence at which its polls stop early, unless a poll has its own (default 0.95).
    pub confidence_threshold: Option<Threshold>,
}

/// The panel as stored.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedPanel {
    /// The panel.
    #[serde(flatten)]
    pub panel: Panel,
    /// True if this request stored the version; false if the newest version is the same.
    pub created: bool,
    /// Notices about the models and their order.
    pub notices: Vec<String>,
}

impl ToolOutput for CreatedPanel {}

impl Tool for CreatePanel {
    const SPEC: Spec = Spec {
        name: "create_panel",
        title: "Create a panel",
        summary: "Stores a named list of models, the strongest first, for your polls, or its next version. Asks no model. Free.",
        manual: include_str!("create_panel.md"),
        example: include_str!("create_panel.example.json"),
        access: Access::ACCOUNT,
        effect: Effect::Write { idempotent: true },
        rest: Some(Rest::post("/api/panels")),
        agents: Agents::Set(ToolSet::Labels),
        intents: &[
            "create a panel of judges",
            "save a panel of judges",
            "save a panel of strong judges",
            "store a panel under a name",
            "define a panel of my own, strongest first",
            "make a new version of a panel",
        ],
        faults: &[Kind::InvalidPreset, Kind::Conflict, Kind::NotConfigured, Kind::Unavailable],
        ..Spec::PLAIN
    };
    type Input = PanelToCreate;
    type Output = CreatedPanel;

    async fn other_mistakes(cx: &Ctx, input: &Value) -> Option<Fault> {
        let name: Option<PanelName> = field(input, "name");
        let wrong_name = name.and_then(|name| check_name(cx, &name).err());
        let (models, preset) = (field(input, "models"), field(input, "preset"));
        let wrong_members = match (&models, &preset) {
            (None, None) => None,
            _ => members(cx, models, preset).await.err().filter(|fault| !fault.kind().is_ours()),
        };
        [wrong_name, wrong_members].into_iter().flatten().reduce(Fault::and)
    }

    async fn call(cx: &Ctx, input: PanelToCreate) -> Result<CreatedPanel, Fault> {
        let user = cx.account()?;
        let PanelToCreate { name, models, preset, on_tie, confidence_threshold } = input;
        let (members, order, notices) = match (check_name(cx, &name), members(cx, models, preset).await) {
            (Ok(()), members) => members?,
            (Err(wrong), Ok(_)) => return Err(wrong),
            (Err(wrong), Err(fault)) if fault.kind().is_ours() => return Err(wrong),
            (Err(wrong), Err(fault)) => return Err(wrong.and(fault)),
        };
        let models = members.into_iter().map(|member| member.model).collect();
        let definition = PanelDefinition { models, order, on_tie, confidence_threshold };
        let saved = cx.store().save_panel(user, &name, &definition, cx.clock().now()).await?;
        let (panel, created) = match saved {
            SavedPanel::Stored(panel) => (panel, true),
            SavedPanel::Unchanged(panel) => (panel, false),
            SavedPanel::TooManyPanels => {
                let text = format!("this account has {MAX_PANELS} panels; delete one with delete_panel");
                return Err(Fault::new(Kind::Conflict, text));
            }
            SavedPanel::TooManyVersions => {
                let text = format!(
                    "{name} has {MAX_PANEL_VERSIONS} versions; choose another name, or delete the panel"
                );
                return Err(Fault::new(Kind::Conflict, text));
            }
        };
        Ok(CreatedPanel { panel: panel.into(), created, notices })
    }
}

/// The models of a panel, with the basis of their order and notices about them.
type Members = (Vec<Member>, OrderBasis, Vec<String>);

/// Returns the models of a request.
async fn members(cx: &Ctx, models: Option<ModelNames>, preset: Option<String>) -> Result<Members, Fault> {
    match (models, preset) {
        (Some(models), None) => {
            let (members, notices) = named(cx, models).await?;
            Ok((members, OrderBasis::Given, notices))
        }
        (None, Some(preset)) => of_preset(cx, preset).await,
        (Some(_), Some(_)) => Err(Fault::invalid("models", "models replace preset: send one of the two")),
        (None, None) => Err(Fault::invalid(
            "models",
            "models are missing: list 2 to 150, the strongest first, or send preset",
        )),
    }
}

/// Rejects names that already have a meaning where a panel can be named.
fn check_name(cx: &Ctx, name: &PanelName) -> Result<(), Fault> {
    let is = |taken: &String| taken == name.as_str();
    if cx.models().presets().iter().any(is) {
        return Err(Fault::invalid("name", format!("{name} is a preset; choose another name")));
    }
    if cx.settings().reserved_names.iter().any(is) {
        return Err(Fault::invalid(
            "name",
            format!("{name} already stands for another model on /v1; choose another name"),
        ));
    }
    Ok(())
}

/// Returns the models of these names, in their order, and notices about names that are no ids.
async fn named(cx: &Ctx, names: ModelNames) -> Result<(Vec<Member>, Vec<String>), Fault> {
    let mut seen = HashSet::new();
    for (index, name) in names.as_slice().iter().enumerate() {
        let wrong = |rule: String| Err(Fault::invalid(format!("models[{index}]"), rule));
        if name.contains('*') {
            return wrong(format!(
                "{name} has a *: a panel is a fixed list, so name each model by its id (list_models)"
            ));
        }
        if !seen.insert(name.to_lowercase()) {
            return wrong(format!("{name} is listed twice; list each model once"));
        }
    }
    let choice = ModelChoice::named(names.clone());
    let roster = cx.models().roster(&choice).await.map_err(|fault| not_in_registry(fault, &names))?;
    let members = roster.members().to_vec();
    if members.len() != names.as_slice().len() {
        let text =
            "two names stand for one model, or one name for several; spell each id as list_models does";
        return Err(Fault::invalid("models", text));
    }
    Ok((members, roster.notices))
}

/// Replaces the message about unknown models, which advises `*`, and keeps the fields.
fn not_in_registry(fault: Fault, names: &ModelNames) -> Fault {
    let unknown = unknown_models(&fault, names).join(", ");
    if unknown.is_empty() {
        return fault;
    }
    let text = format!("models: the registry has no {unknown}; list_models lists the ids");
    let fields = fault.fields().iter();
    fields.fold(Fault::new(Kind::InvalidInput, text), |fault, wrong| {
        fault.with_field(&*wrong.field, &*wrong.detail)
    })
}

/// Returns the present models of a preset, the strongest first.
async fn of_preset(cx: &Ctx, preset: String) -> Result<Members, Fault> {
    let roster = cx.models().roster(&ModelChoice::preset(&*preset)).await?;
    let mut members = roster.members().to_vec();
    if members.len() < MIN_NAMED {
        let text = format!(
            "{preset} has one model here; a panel needs at least {MIN_NAMED}: choose another preset, or name models"
        );
        return Err(Fault::invalid("preset", text));
    }
    let mut notices = roster.notices;
    let registry = if roster.is_ranked { Some(cx.models().registry().await?) } else { None };
    let ranked = registry.iter().flat_map(|registry| &registry.panels).find(|panel| panel.name == preset);
    let order = match ranked.map(|panel| panel.order) {
        Some(PanelOrder::Evidence) => OrderBasis::Evidence,
        Some(PanelOrder::Price) => OrderBasis::Price,
        None => {
            // As presets do: the highest price first, unknown prices last.
            members.sort_by_key(|member| Reverse(member.price.map(|price| price.blended())));
            notices.push(format!(
                "the models of {preset} are ordered by price, the highest first; they were not judged on labelled rows"
            ));
            OrderBasis::Price
        }
    };
    Ok((members, order, notices))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::polls::DryRunPoll;
    use crate::testing::Service;

    #[tokio::test]
    async fn a_refusal_names_the_name_the_models_and_the_threshold() {
        let service = Service::start().await;
        let user = service.user().await;
        let refused = async |input| service.call::<CreatePanel>(&user, input).await.unwrap_err();
        let fields =
            |fault: &Fault| fault.fields().iter().map(|wrong| wrong.field.clone()).collect::<Vec<_>>();
        let models = ["trio/none", "maker/none"];
        let both = refused(json!({ "name": "trio", "models": models })).await;
        assert_eq!(fields(&both), ["name", "models[0]", "models[1]"], "{both}");
        let all = refused(json!({ "name": "trio", "models": models, "confidence_threshold": 7 })).await;
        for field in ["name", "models[0]", "confidence_threshold"] {
            assert!(fields(&all).contains(&field.to_owned()), "{field}: {all}");
        }
        let preset = refused(json!({ "name": "trio", "preset": "none", "on_tie": "maybe" })).await;
        for field in ["name", "preset", "on_tie"] {
            assert!(fields(&preset).contains(&field.to_owned()), "{field}: {preset}");
        }
    }

    #[tokio::test]
    async fn a_preset_becomes_a_fixed_list_and_its_order_is_named() {
        let service = Service::start().await;
        let user = service.user().await;
        let create = async |name: &str, preset: &str| {
            let input = json!({ "name": name, "preset": preset });
            service.call::<CreatePanel>(&user, input).await.map(|done| done.value)
        };
        for preset in ["trio", "budget"] {
            let panel = create(&format!("my-{preset}"), preset).await.unwrap();
            assert_eq!(
                (&panel["version"], &panel["order"], &panel["created"]),
                (&json!(1), &json!("price"), &json!(true))
            );
            let notices = panel["notices"].to_string();
            assert_eq!(notices.matches("were not judged on labelled rows").count(), 1, "{notices}");
        }
        let trio = create("my-trio", "trio").await.unwrap();
        assert_eq!((&trio["version"], &trio["created"]), (&json!(1), &json!(false)));
        assert_eq!(trio["models"].as_array().unwrap().len(), 3);
        for (name, preset, field) in
            [("trio", "trio", "name"), ("a", "no-such", "preset"), ("A", "trio", "name")]
        {
            let refused = create(name, preset).await.unwrap_err();
            assert_eq!(refused.fields()[0].field, field, "{refused:?}");
        }
    }

    #[tokio::test]
    async fn models_are_known_single_and_listed_once() {
        let service = Service::start().await;
        let user = service.user().await;
        let trio =
            service.call::<CreatePanel>(&user, json!({ "name": "a", "preset": "trio" })).await.unwrap().value;
        let model = trio["models"][0].as_str().unwrap();
        for (models, problem) in [
            (json!([model, "no/such"]), "the registry has no no/such; list_models"),
            (json!([model, "demo/*"]), "has a *"),
            (json!([model, model.to_uppercase()]), "is listed twice"),
            (json!([model]), "name 2 to 150"),
            (json!([]), "models are missing"),
        ] {
            let refused = service
                .call::<CreatePanel>(&user, json!({ "name": "b", "models": models }))
                .await
                .unwrap_err();
            assert_eq!(refused.kind(), Kind::InvalidInput);
            assert!(refused.message().contains(problem), "{problem} in {}", refused.message());
        }
    }

    #[tokio::test]
    async fn a_poll_has_the_rules_of_its_panel_unless_it_has_its_own() {
        let service = Service::start().await;
        let (user, other) = (service.user().await, service.user().await);
        let panel =
            json!({ "name": "mine", "preset": "trio", "on_tie": "strongest", "confidence_threshold": 0.8 });
        service.call::<CreatePanel>(&user, panel).await.unwrap();
        let priced = async |caller: &ep_kernel::caller::Caller, members: serde_json::Value| {
            let mut input =
                json!({ "question": "Which of the two is better?", "options": ["Alpha", "Beta"] });
            input.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            service.call::<DryRunPoll>(caller, input).await.unwrap().value
        };
        let estimates = &priced(&user, json!({ "panel": "mine@1" })).await["estimates"];
        assert_eq!(estimates["panel"], json!({ "name": "mine", "version": 1 }));
        assert_eq!((&estimates["models"], &estimates["confidence_threshold"]), (&json!(3), &json!(0.8)));
        for (members, threshold) in [
            (json!({ "panel": "mine", "confidence_threshold": 0.9 }), 0.9),
            (json!({ "panel": "mine", "profile": "conservative" }), 0.99),
            (json!({ "panel": "trio" }), 0.95),
        ] {
            assert_eq!(priced(&user, members).await["estimates"]["confidence_threshold"], threshold);
        }
        for (caller, members, problem) in [
            (&user, json!({ "panel": "mine@2" }), "the versions of mine are 1 to 1"),
            (&user, json!({ "panel": "trio@1" }), "has no versions"),
            (&user, json!({ "panel": "mien" }), "this account has mine"),
            (&other, json!({ "panel": "mine" }), "this account has no panels"),
            (&user, json!({ "panel": "mine", "preset": "budget" }), "one of the two"),
            (&user, json!({ "panel": "mine", "models": ["demo/a", "demo/b"] }), "one of the two"),
            (&user, json!({ "panel": "a b" }), "support@3"),
        ] {
            let dry_run = priced(caller, members).await;
            assert!(dry_run["errors"].to_string().contains(problem), "{problem} in {dry_run}");
        }
    }
}
