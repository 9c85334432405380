//! `GET /v1/models` and `GET /v1/models/{model}`: the presets, and the panels of the caller's account, as models.

use axum::body::Body;
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use ep_kernel::Fault;
use ep_kernel::app::App;
use ep_kernel::fault;
use ep_kernel::guard::Admission;
use ep_polling::{PanelName, PanelRef};
use ep_site::http::{AppState, Exchange, json as json_response};
use ep_site::{ModelAlias, Site, owner};
use ep_store::{StoredPanel, UserId};
use serde_json::{Map, Value, json};

use super::refusal::{Code, Refusal};

/// The model that stands for the caller's default panel.
pub(super) const DEFAULT: &str = "poll";
/// The preset of callers without an account.
pub(super) const FREE: &str = "free";
/// The owner of a model that is a panel of the caller's account.
const ACCOUNT: &str = "account";

/// The voters that the name of a model stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Voters {
    /// The default panel.
    Default,
    /// A preset, for a caller without an account.
    Preset(String),
    /// A panel of the caller's account, or a preset. It is not looked up yet.
    Panel(PanelRef),
}

impl Voters {
    /// Finds the voters that a model stands for.
    pub fn of(app: &App, site: &Site, has_account: bool, model: &str) -> Result<Self, Fault> {
        let aliases = &site.settings.model_aliases;
        let name = aliases.iter().find(|alias| alias.model == model).map_or(model, |alias| &alias.panel);
        if name.is_empty() || name == DEFAULT {
            return Ok(Self::Default);
        }
        if has_account && let Ok(panel) = name.parse() {
            return Ok(Self::Panel(panel));
        }
        if app.ports.models.presets().iter().any(|preset| preset == name) {
            return Ok(Self::Preset(name.to_owned()));
        }
        Err(unknown(app, model))
    }

    /// True if callers without an account can ask them.
    pub fn is_free(&self) -> bool {
        match self {
            Self::Default => true,
            Self::Preset(name) => name == FREE,
            Self::Panel(_) => false,
        }
    }

    /// Adds the voters to the input of the operation.
    pub fn write(self, members: &mut Map<String, Value>) {
        match self {
            Self::Default => None,
            Self::Preset(name) => members.insert("preset".to_owned(), name.into()),
            Self::Panel(panel) => members.insert("panel".to_owned(), panel.to_string().into()),
        };
    }
}

/// Returns the names that have a meaning at these endpoints, apart from presets.
pub fn model_names(aliases: &[ModelAlias]) -> Vec<String> {
    [DEFAULT, FREE]
        .map(str::to_owned)
        .into_iter()
        .chain(aliases.iter().map(|alias| alias.model.clone()))
        .collect()
}

/// Builds the refusal of a model that stands for nothing.
fn unknown(app: &App, model: &str) -> Fault {
    let shown = fault::shown(model, 64);
    let presets = app.ports.models.presets().join(", ");
    let text = format!("\"{shown}\" is no panel of this service; use {DEFAULT}, {presets}");
    Refusal::new(Code::ModelNotFound, "model", text).into()
}

/// Returns the name of a model in responses: that of the default one, if the request names none.
pub(super) const fn shown(model: &str) -> &str {
    if model.is_empty() { DEFAULT } else { model }
}

/// Lists the models. One body serves OpenAI's clients, which read `data`, and those of System One, which read `models`.
pub(super) async fn list(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let state = &exchange.state;
    let names = names(state).await;
    let own = match admission.caller.user() {
        Some(user) => state.app.ports.store.panels_of(user).await?,
        None => Vec::new(),
    };
    let mut data: Vec<Value> = names.iter().map(|name| entry(state, name)).collect();
    data.extend(own.iter().map(|panel| own_entry(panel.version.name.as_str(), panel)));
    let describe =
        |name: &str, about: String| json!({ "name": name, "description": about, "release_date": "" });
    let mut described: Vec<Value> = names.iter().map(|name| describe(name, about(name))).collect();
    described.extend(own.iter().map(|StoredPanel { version, definition, .. }| {
        let models = definition.models.len();
        describe(version.name.as_str(), format!("Your panel {version}: {models} models, one vote each."))
    }));
    Ok(not_stored(json_response(200, &json!({ "object": "list", "data": data, "models": described }))))
}

/// Returns one model.
pub(super) async fn read(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let params = exchange.params.as_ref().map_err(|_| Fault::invalid("model", "is not valid UTF-8"))?;
    let model = params.iter().next().map_or("", |(_, model)| model);
    let state = &exchange.state;
    let voters = Voters::of(&state.app, &state.site, admission.caller.user().is_some(), model)?;
    let is_preset = |name: &str| state.app.ports.models.presets().iter().any(|preset| preset == name);
    let entry = match (&voters, admission.caller.user()) {
        (Voters::Panel(wanted), Some(user)) => match own_panel(state, user, wanted).await? {
            Some(panel) => own_entry(model, &panel),
            None if wanted.version().is_none() && is_preset(wanted.name()) => entry(state, model),
            None => return Err(unknown(&state.app, model)),
        },
        _ => entry(state, model),
    };
    Ok(not_stored(json_response(200, &entry)))
}

async fn own_panel(state: &AppState, user: UserId, wanted: &PanelRef) -> Result<Option<StoredPanel>, Fault> {
    let Ok(name) = wanted.name().parse::<PanelName>() else { return Ok(None) };
    Ok(state.app.ports.store.panel(user, &name, wanted.version()).await?)
}

/// Keeps caches from storing a response, because it depends on the key.
fn not_stored(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns the default, the presets with a model, and the aliases. All presets while the models cannot be listed.
async fn names(state: &AppState) -> Vec<String> {
    let aliases = state.site.settings.model_aliases.iter().map(|alias| alias.model.clone());
    let mut presets = state.app.ports.models.presets();
    if let Ok(registry) = state.app.ports.models.registry().await {
        presets.retain(|preset| registry.has_preset(preset));
    }
    std::iter::once(DEFAULT.to_owned()).chain(presets).chain(aliases).collect()
}

fn entry(state: &AppState, name: &str) -> Value {
    let since = state.site.settings.since.map_or(0, |since| since.millis() / 1000);
    let owner = owner()["name"].as_str().unwrap_or_default().to_owned();
    model(name, since, &owner)
}

fn own_entry(name: &str, panel: &StoredPanel) -> Value {
    model(name, panel.created_at.millis() / 1000, ACCOUNT)
}

fn model(name: &str, created: i64, owner: &str) -> Value {
    json!({ "id": name, "object": "model", "created": created, "owned_by": owner })
}

fn about(name: &str) -> String {
    match name {
        DEFAULT => "A panel of AI models, one vote each.".to_owned(),
        FREE => "A panel of open-weight models that charge nothing; without an account.".to_owned(),
        name => format!("The panel {name}, one vote for each model."),
    }
}
