//! The OpenAI plugin manifest, version 1: retired, but still read.

use axum::body::Bytes;
use ep_site::names::{LOGO, OPENAPI};
use ep_site::{Document, Form, Site, owner};
use serde_json::json;
use url::Url;

use super::json::json_text;
use super::operator_pages::TERMS_PAGE;

pub(super) const DOCUMENT: Document = Document::new(
    "ai_plugin",
    "Describes the service as a plugin of assistants (manifest version 1).",
    |_| vec!["/.well-known/ai-plugin.json".into()],
    &[Form::new("application/json", manifest)],
)
.absent("this service has no OpenAPI description, which the manifest would name");

fn manifest(site: &Site) -> Option<Bytes> {
    let owner = owner();
    let name = owner["name"].as_str().unwrap_or_default();
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let model: String = name.chars().map(word).take(50).collect();
    let human: String = name.chars().take(20).collect();
    json_text(&json!({
        "schema_version": "v1",
        "name_for_human": human,
        "name_for_model": model,
        "description_for_human": site.tagline(),
        "description_for_model": site.description(),
        "auth": { "type": "user_http", "authorization_type": "bearer" },
        "api": { "type": "openapi", "url": site.url_of(OPENAPI)? },
        "logo_url": site.url_of(LOGO)?,
        "contact_email": contact(site),
        "legal_info_url": site.url_of(TERMS_PAGE.name)?,
    }))
}

/// Returns the contact's e-mail address. Falls back to the postmaster, which every domain with mail has (RFC 5321
/// §4.5.1).
fn contact(site: &Site) -> String {
    let contact = &site.settings.operator.contact;
    let address = contact.strip_prefix("mailto:").unwrap_or(contact);
    if address.contains('@') && !address.contains('/') {
        return address.to_owned();
    }
    let host = Url::parse(&site.settings.base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
    format!("postmaster@{}", host.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use ep_site::config::Config;
    use ep_site::{Route, SiteSettings};
    use serde_json::Value;

    use super::*;
    use crate::documents::DOCUMENTS;

    /// Returns the manifest for this base URL and this contact.
    fn manifest_for(base_url: &str, contact: &str) -> Value {
        let mut config = Config::defaults().unwrap();
        config.server.base_url = base_url.to_owned();
        config.operator.contact = contact.to_owned();
        let settings = SiteSettings::new(&config, &[]);
        let logo = DOCUMENTS.iter().find(|document| document.name == LOGO).unwrap();
        let route = |name, path: &str| Route { name, ..Route::document(logo, path.to_owned()) };
        let routes = vec![
            route(OPENAPI, "/description.json"),
            route(LOGO, "/logo.svg"),
            route(TERMS_PAGE.name, "/terms"),
        ];
        let site = Site::new(settings, &ep_tools::TOOLS, DOCUMENTS).with_routes(routes);
        serde_json::from_slice(&manifest(&site).unwrap()).unwrap()
    }

    #[test]
    fn manifest_respects_format_limits() {
        let manifest = manifest_for("https://polls.example.com", "help@example.com");
        assert_eq!(manifest["api"]["url"], "https://polls.example.com/description.json");
        assert_eq!(
            (&manifest["schema_version"], &manifest["name_for_model"]),
            (&json!("v1"), &json!("ensemble_poll"))
        );
        for (member, most) in
            [("name_for_human", 20), ("description_for_human", 100), ("description_for_model", 8000)]
        {
            assert!((1..=most).contains(&manifest[member].as_str().unwrap().len()), "{member}");
        }
        assert_eq!(manifest["contact_email"], "help@example.com");
        assert_eq!(manifest["legal_info_url"], "https://polls.example.com/terms");
    }

    #[test]
    fn postmaster_is_the_default_contact() {
        for contact in ["", "https://example.com/help", "https://example.com/@help"] {
            assert_eq!(
                manifest_for("https://polls.example.com", contact)["contact_email"],
                "postmaster@polls.example.com"
            );
        }
    }
}
