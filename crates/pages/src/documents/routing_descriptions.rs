//! The purpose, accepted credentials, cost and latency of each route.

use std::collections::HashSet;

use axum::body::Bytes;
use ep_kernel::guard::INSTANT;
use ep_kernel::{Access, Cost, Entry, Latency, Tool};
use ep_polling::Budget;
use ep_site::{Document, Form, Needs, Route, RouteKind, Site, owner};
use ep_tools::polls::EstimatePoll;
use serde_json::{Value, json};

use super::json::json_text;
use super::openapi;

pub(super) const DOCUMENT: Document = Document::new(
    "routing_descriptions",
    "Purpose, access, cost and duration of every route.",
    |_| vec!["/api/routing-descriptions.json".into()],
    &[Form::new("application/json", descriptions)],
)
.with_models();

fn descriptions(site: &Site) -> Option<Bytes> {
    let mut documents = HashSet::new();
    // A document may be served at many paths; only the first is described.
    let mut first = |route: &&Route| route.as_document().is_none() || documents.insert(route.name);
    let routes = site.routes.iter().filter(|route| {
        let is_called = !matches!(route.kind, RouteKind::Webhook | RouteKind::Form);
        is_called
            && route.as_document().is_none_or(|document| site.has(document))
            && (route.needs != Needs::Issuer || site.settings.offer.issuer.is_some())
    });
    let routes: Vec<Value> =
        routes.filter(|route| first(route)).map(|route| description(site, route)).collect();
    json_text(&json!({
        "service": owner()["name"],
        "base_url": site.settings.base_url,
        "about": "Hints for choosing a route. Costs depend on the models that are asked, and are estimated from their \
                  current prices at each cost's estimate_url.",
        "routes": routes,
    }))
}

fn description(site: &Site, route: &Route) -> Value {
    let mut described = json!({
        "name": route.name,
        "kind": route.kind,
        "method": route.method.as_str(),
        "path": openapi::shown(&route.path),
        "description": route.summary,
        "authentication": credentials(route.access),
    });
    if let Some(lack) = site.settings.offer.lacks_route(route) {
        described["description"] = lack.sentence().into();
        described["unavailable"] = lack.sentence().into();
    }
    if let Some((Entry { spec, .. }, _)) = route.as_operation() {
        described["use_when"] = json!(spec.intents);
        described["read_only"] = spec.effect.read_only().into();
        described["accepts_idempotency_key"] = (!spec.effect.read_only()).into();
    } else if matches!(route.kind, RouteKind::Document | RouteKind::Page | RouteKind::Probe) {
        described["read_only"] = true.into();
    }
    described["cost"] = cost(site, route.cost);
    described["latency"] = latency(site, route.latency);
    described
}

/// Returns the accepted credentials; `none` is a request without a credential.
pub(super) fn credentials(access: Access) -> Vec<&'static str> {
    let kinds = [(access.anonymous, "none"), (access.cookie, "session_cookie"), (access.key, "api_key")];
    kinds.iter().filter(|(accepted, _)| *accepted).map(|(_, name)| *name).collect()
}

fn free() -> Value {
    json!({ "class": "free", "usd": 0 })
}

fn cost(site: &Site, cost: Cost) -> Value {
    match cost {
        Cost::Free => free(),
        Cost::Metered => metered(site),
    }
}

/// Returns the cost of a poll by an account.
fn metered(site: &Site) -> Value {
    if !site.settings.offer.charges {
        return free();
    }
    let mut cost = json!({
        "class": "metered",
        "currency": "USD",
        "at_most_parameter": "max_cost_usd",
        "at_most_default_usd": Budget::DEFAULT.amount().as_usd(),
    });
    if let Some(url) = site.url_of(EstimatePoll::SPEC.name) {
        cost["estimate_url"] = url.into();
    }
    if let Some(price) = site.price() {
        cost["estimate"] = json!({
            "preset": price.preset,
            "models": price.models,
            "usd_at_least": price.cost_usd_at_least,
            "usd_typical_full_roster": price.cost_usd_typical_full_roster,
        });
    }
    cost
}

fn latency(site: &Site, latency: Latency) -> Value {
    let (class, at_most) = match latency {
        Latency::Instant => ("instant", INSTANT),
        Latency::Models => ("seconds_to_minutes", site.settings.poll_deadline),
    };
    json!({ "class": class, "at_most_ms": at_most.as_millis() as u64 })
}
