//! The plugin manifest of OpenAI, version 1: retired, and still read.

use axum::body::Bytes;
use serde_json::json;
use url::Url;

use super::{Document, Form, LOGO, OPENAPI, Site, json_text};

pub(super) const DOCUMENT: Document = Document::new(
    "ai_plugin",
    "Describes the service as a plugin of assistants (manifest version 1).",
    |_| vec!["/.well-known/ai-plugin.json".into()],
    &[Form::new("application/json", manifest)],
)
.absent("this service has no OpenAPI description, which the manifest would name");

fn manifest(site: &Site) -> Option<Bytes> {
    let owner = super::owner();
    let name = owner["name"].as_str().unwrap_or_default();
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let model: String = name.chars().map(word).take(50).collect();
    let human: String = name.chars().take(20).collect();
    json_text(&json!({
        "schema_version": "v1",
        "name_for_human": human,
        "name_for_model": model,
        "description_for_human": owner["tagline"],
        "description_for_model": owner["description"],
        "auth": { "type": "user_http", "authorization_type": "bearer" },
        "api": { "type": "openapi", "url": site.url_of(OPENAPI)? },
        "logo_url": site.url_of(LOGO)?,
        "contact_email": contact(site),
        "legal_info_url": super::home::operator_url(site),
    }))
}

/// The contact's address; where there is none, the postmaster's, whom every domain with mail has (RFC 5321 §4.5.1).
fn contact(site: &Site) -> String {
    let contact = &site.settings.operator.contact;
    let address = contact.strip_prefix("mailto:").unwrap_or(contact);
    if address.contains('@') && !address.contains('/') {
        return address.to_owned();
    }
    let host = Url::parse(&site.settings.base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
    format!("postmaster@{}", host.unwrap_or_default())
}
