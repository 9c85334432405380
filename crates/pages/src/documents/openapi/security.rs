//! Authentication as security schemes.

use ep_kernel::Access;
use ep_site::Site;
use ep_site::names::SESSION_COOKIE;
use ep_store::KeyScope;
use serde_json::{Value, json};

const KEY: &str = "apiKey";
const SESSION: &str = "session";
const TOKEN: &str = "openId";

/// Returns the security schemes of this service.
pub(in crate::documents) fn schemes(site: &Site) -> Value {
    let mut schemes = json!({
        KEY: {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "ep_k_…",
            "description": "An API key of this service, in the header Authorization.",
        },
        SESSION: {
            "type": "apiKey",
            "in": "cookie",
            "name": SESSION_COOKIE,
            "description": "The session of a browser that has signed in.",
        },
    });
    if let Some(url) = site.settings.openid_url() {
        schemes[TOKEN] = json!({
            "type": "openIdConnect",
            "openIdConnectUrl": url,
            "description": format!("An access token of this issuer whose audience is this service. {}", scopes()),
        });
    }
    schemes
}

/// Returns the alternative credentials of a route; empty if the route ignores credentials.
pub(in crate::documents) fn alternatives(site: &Site, access: Access) -> Vec<Value> {
    let mut alternatives = Vec::new();
    if access.key {
        alternatives.push(json!({ KEY: [] }));
        if site.settings.offer.issuer.is_some() {
            // Linters do not know the issuer's scopes and reject them, so only the scheme lists them.
            alternatives.push(json!({ TOKEN: [] }));
        }
    }
    if access.cookie {
        alternatives.push(json!({ SESSION: [] }));
    }
    if access.anonymous {
        alternatives.push(json!({}));
    }
    alternatives
}

/// Returns a description of the token scopes and their permissions.
fn scopes() -> String {
    let of = |what: &str, scope: KeyScope| format!("{what}: {}", scope.token_scopes().join(" "));
    let scopes = [
        of("Its scopes, to read", KeyScope::Read),
        of("to ask and end polls", KeyScope::Polls),
        of("for everything", KeyScope::All),
    ];
    format!("{}.", scopes.join("; "))
}
