//! `GET /v1/models` and `GET /v1/models/{model}`: the presets as models.

use axum::body::Body;
use axum::http::Response;
use ep_kernel::app::App;
use ep_kernel::fault::Fault;
use serde_json::{Value, json};

use super::refusal::{Code, Refusal};
use crate::http::{AppState, Exchange, json as json_response};
use crate::site::{Site, owner};

/// The model that stands for the caller's default panel.
pub(super) const DEFAULT: &str = "poll";
/// The preset of callers without an account.
pub(super) const FREE: &str = "free";

/// Returns the preset that a model stands for; none for the default one.
pub(super) fn preset(app: &App, site: &Site, model: &str) -> Result<Option<String>, Fault> {
    let aliases = &site.settings.model_aliases;
    let panel = aliases.iter().find(|alias| alias.model == model).map_or(model, |alias| &alias.panel);
    if panel.is_empty() || panel == DEFAULT {
        return Ok(None);
    }
    let presets = app.ports.models.presets();
    if presets.iter().any(|preset| preset == panel) {
        return Ok(Some(panel.to_owned()));
    }
    let shown: String = model.chars().filter(|c| !c.is_control()).take(64).collect();
    let text = format!("\"{shown}\" is no panel of this service; use {DEFAULT}, {}", presets.join(", "));
    Err(Refusal::new(Code::ModelNotFound, "model", text).into())
}

/// Returns the name of a model in responses: that of the default one, if the request names none.
pub(super) const fn shown(model: &str) -> &str {
    if model.is_empty() { DEFAULT } else { model }
}

/// Lists the models. One body serves OpenAI's clients, which read `data`, and those of System One, which read `models`.
pub(super) fn list(exchange: &Exchange) -> Response<Body> {
    let state = &exchange.state;
    let names = names(state);
    let data: Vec<Value> = names.iter().map(|name| entry(state, name)).collect();
    let described: Vec<Value> = names
        .iter()
        .map(|name| json!({ "name": name, "description": about(name), "release_date": "" }))
        .collect();
    json_response(200, &json!({ "object": "list", "data": data, "models": described }))
}

/// Returns one model.
pub(super) fn read(exchange: &Exchange) -> Result<Response<Body>, Fault> {
    let params = exchange.params.as_ref().map_err(|_| Fault::invalid("model", "is not valid UTF-8"))?;
    let model = params.iter().next().map_or("", |(_, model)| model);
    preset(&exchange.state.app, &exchange.state.site, model)?;
    Ok(json_response(200, &entry(&exchange.state, model)))
}

fn names(state: &AppState) -> Vec<String> {
    let aliases = state.site.settings.model_aliases.iter().map(|alias| alias.model.clone());
    std::iter::once(DEFAULT.to_owned()).chain(state.app.ports.models.presets()).chain(aliases).collect()
}

fn entry(state: &AppState, name: &str) -> Value {
    let since = state.site.settings.since.map_or(0, |since| since.millis() / 1000);
    let owner = owner()["name"].as_str().unwrap_or_default().to_owned();
    json!({ "id": name, "object": "model", "created": since, "owned_by": owner })
}

fn about(name: &str) -> String {
    match name {
        DEFAULT => "A panel of AI models, one vote each.".to_owned(),
        FREE => "A panel of open-weight models that charge nothing; without an account.".to_owned(),
        name => format!("The panel {name}, one vote for each model."),
    }
}
