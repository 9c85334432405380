//! The purpose, accepted credentials, cost and latency of each route.

use std::collections::HashSet;

use axum::body::Bytes;
use ep_kernel::guard::INSTANT;
use ep_kernel::tool::{Access, Cost, Latency, Spec, Tool};
use ep_polling::budget::Budget;
use ep_site::{Document, Form, Site, owner};
use ep_site::{Route, RouteKind};
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
    let mut first = |route: &&Route| !is_document(route) || documents.insert(route.name);
    let routes = site.routes.iter().filter(|route| match route.kind {
        RouteKind::Webhook(_) | RouteKind::Form => false,
        RouteKind::Document(document) => site.has(document),
        RouteKind::ProxiedDocument => site.settings.offer.issuer.is_some(),
        _ => true,
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

const fn is_document(route: &Route) -> bool {
    matches!(route.kind, RouteKind::Document(_))
}

fn description(site: &Site, route: &Route) -> Value {
    let spec = match route.kind {
        RouteKind::Operation(entry, _) | RouteKind::Stream(entry, _) => Some(&entry.spec),
        _ => None,
    };
    let mut described = json!({
        "name": route.name,
        "kind": kind(route),
        "method": route.method.as_str(),
        "path": openapi::shown(&route.path),
        "description": route.summary,
        "authentication": credentials(route.access),
    });
    if let Some(lack) = site.settings.offer.lacks_route(route) {
        described["description"] = lack.sentence().into();
        described["unavailable"] = lack.sentence().into();
    }
    if let Some(spec) = spec {
        described["use_when"] = json!(spec.intents);
        described["read_only"] = spec.effect.read_only().into();
        described["accepts_idempotency_key"] = (!spec.effect.read_only()).into();
        described["cost"] = cost(site, spec);
        described["latency"] = latency(site, spec.latency);
        return described;
    }
    if matches!(
        route.kind,
        RouteKind::Document(_) | RouteKind::ProxiedDocument | RouteKind::Page | RouteKind::Probe
    ) {
        described["read_only"] = true.into();
    }
    let (price, class) = match route.kind {
        // The payment is credited to the account.
        RouteKind::Payment(_) => (free(), Latency::Models),
        RouteKind::Protocol(endpoint) if endpoint.opens_polls => (metered(site), Latency::Models),
        _ => (free(), Latency::Instant),
    };
    described["cost"] = price;
    described["latency"] = latency(site, class);
    described
}

const fn kind(route: &Route) -> &'static str {
    match route.kind {
        RouteKind::Operation(..) => "operation",
        RouteKind::Stream(..) => "event_stream",
        RouteKind::Protocol(_) => "protocol",
        RouteKind::Document(_) | RouteKind::ProxiedDocument => "document",
        RouteKind::Redirect => "redirect",
        RouteKind::Webhook(_) => "webhook",
        RouteKind::Payment(_) => "payment",
        RouteKind::Page => "page",
        RouteKind::Form => "form",
        RouteKind::Probe => "probe",
    }
}

/// Returns the accepted credentials; `none` is a request without a credential.
pub(super) fn credentials(access: Access) -> Vec<&'static str> {
    let kinds = [(access.anonymous, "none"), (access.cookie, "session_cookie"), (access.key, "api_key")];
    kinds.iter().filter(|(accepted, _)| *accepted).map(|(_, name)| *name).collect()
}

fn free() -> Value {
    json!({ "class": "free", "usd": 0 })
}

fn cost(site: &Site, spec: &Spec) -> Value {
    match spec.cost {
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
