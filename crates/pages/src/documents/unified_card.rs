//! The unified agent card: capabilities, authentication and interfaces of the service.

use axum::body::Bytes;
use ep_kernel::{Agents, Effect, Entry, Tool};
use ep_site::names::{AGENT_CARD, ASYNCAPI, LOGIN, OPENAPI, SESSION_COOKIE};
use ep_site::rail::PaymentCredential;
use ep_site::{Document, Form, ProtectedResource, Site, owner};
use ep_store::KeyScope;
use ep_tools::keys::CreateKey;
use ep_tools::wallets::{ChallengeWallet, VerifyWallet};
use serde_json::{Map, Value, json};

use super::agent_card::CARD_VERSION;
use super::json::json_text;
use super::mcp_card;
use super::routing_descriptions::credentials;

pub(super) const NAME: &str = "unified_agent_card";

pub(super) const DOCUMENT: Document = Document::new(
    NAME,
    "Describes the whole service: capabilities, authentication, interfaces.",
    |_| vec!["/api/agent-card".into()],
    &[Form::new("application/json", card)],
)
.with_models();

fn card(site: &Site) -> Option<Bytes> {
    let owner = owner();
    let operator = &site.settings.operator;
    let mut card = json!({
        "name": owner["name"],
        "version": CARD_VERSION,
        "description": site.description(),
        "url": format!("{}/", site.settings.base_url),
        "tags": owner["tags"],
        "provider": without_absent(&[
            ("organization", Some(operator.name.clone())),
            ("url", Some(operator.url.clone())),
            ("contact", Some(operator.contact.clone())),
            ("documentation", Some(operator.documentation_url.clone())),
        ]),
        "capabilities": capabilities(site),
        "authentication": { "methods": authentication(site) },
        "interfaces": interfaces(site),
    });
    let surfaces = site.url_of("surfaces");
    if let Some(url) = surfaces {
        card["surfaces"] = json!({ "catalog": url });
    }
    json_text(&card)
}

/// Returns an object of the present texts.
fn without_absent(members: &[(&str, Option<String>)]) -> Value {
    let there = members.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
    let there = there.filter(|(_, value)| !value.is_empty());
    Value::Object(there.map(|(name, value)| (name.to_owned(), value.into())).collect::<Map<_, _>>())
}

fn capabilities(site: &Site) -> Value {
    let operations = site.offered().filter(|entry| entry.spec.agents == Agents::Core).map(operation);
    let free = |entry: &&Entry| entry.spec.effect == Effect::Consult && entry.spec.access.anonymous;
    json!({
        "streaming": site.tools.iter().any(|entry| entry.spec.stream.is_some()),
        "push_notifications": true,
        "idempotency_keys": true,
        "problem_details": true,
        "simulated_models": site.settings.offer.simulated(),
        "polls_without_account": site.may_have_free_models() && site.tools.iter().any(|entry| free(&entry)),
        "operations": operations.collect::<Vec<_>>(),
    })
}

fn operation(entry: &Entry) -> Value {
    let spec = &entry.spec;
    json!({
        "name": spec.name,
        "title": spec.title,
        "description": spec.summary,
        "authentication": credentials(spec.access),
    })
}

fn authentication(site: &Site) -> Vec<Value> {
    let key = json!({
        "type": "api_key",
        "header": "Authorization",
        "scheme": "Bearer",
        "prefix": ep_kernel::api_key::KEY_PREFIX,
        "create_url": site.url_of(CreateKey::SPEC.name),
    });
    let mut session = json!({ "type": "session_cookie", "cookie": SESSION_COOKIE });
    if site.settings.offer.sign_in {
        session["login_url"] = site.url_of(LOGIN).into();
    }
    let wallet = json!({
        "type": "siwe",
        "description": "Sign-In with Ethereum: sign the message, post both; a new wallet gets a key.",
        "challenge_url": site.url_of(ChallengeWallet::SPEC.name),
        "verify_url": site.url_of(VerifyWallet::SPEC.name),
    });
    let mut methods = vec![
        json!({ "type": "none", "description": "Free polls, results and documents." }),
        key,
        session,
        wallet,
    ];
    methods.extend(site.settings.offer.rails().filter_map(|rail| {
        let PaymentCredential { kind, description } = rail.credential.as_ref()?;
        let url = site.url_of(rail.receiver.name);
        Some(json!({ "type": kind, "description": description, "deposit_url": url }))
    }));
    if let Some(issuer) = &site.settings.offer.issuer {
        methods.push(json!({
            "type": "oauth2",
            "issuer": issuer,
            "scopes": KeyScope::All.token_scopes(),
            "metadata_url": site.url_of(ProtectedResource::API.document),
        }));
    }
    methods
}

fn interfaces(site: &Site) -> Value {
    let versions = |protocol| site.protocol(protocol).map(|protocol| (protocol.introduction)().versions);
    json!({
        "rest": without_absent(&[
            ("url", Some(site.settings.base_url.clone())),
            ("openapi", site.url_of(OPENAPI)),
            ("asyncapi", site.url_of(ASYNCAPI)),
            ("routing_descriptions", site.url_of("routing_descriptions")),
        ]),
        "mcp": {
            "url": site.url_of("mcp"),
            "transport": "streamable-http",
            "protocol_versions": versions("mcp"),
            "server_card": site.url_of(mcp_card::CARD_NAME),
        },
        "a2a": {
            "url": site.url_of("a2a"),
            "protocol_bindings": ["JSONRPC", "HTTP+JSON"],
            "protocol_versions": versions("a2a"),
            "agent_card": site.url_of(AGENT_CARD),
        },
    })
}
