//! Surfaces: the entries of `well-known/surfaces.json` that this service supports.

use axum::body::Bytes;
use ep_kernel::schema;
use ep_site::{Document, Form, Route, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::json::json_text;
use super::openapi;

/// The descriptors. Artifacts are route names. In a rule, `{name}` is the URL of a route and `{stream:name}` is
/// the URL of an operation's event stream.
const DESCRIPTORS: &str = include_str!("../../../../well-known/surfaces.json");

pub(super) const DOCUMENT: Document = Document::new(
    "surfaces",
    "Lists the interfaces of this service, with a public check for each.",
    |_| vec!["/api/surfaces".into()],
    &[Form::new("application/json", render).described(schema::output::<Surfaces>)],
);

/// A descriptor as stored in the file.
#[derive(Deserialize)]
struct StoredDescriptor {
    pattern_id: String,
    category: Category,
    user_types: Vec<UserType>,
    description: String,
    user_story: String,
    artifacts: Vec<Artifact>,
    detection_rule: String,
    #[serde(default)]
    standard_refs: Vec<String>,
    /// The condition that it requires, as `Offer::meets` knows it.
    #[serde(default)]
    needs: Option<String>,
}

/// The maturity of a surface.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Category {
    Standard,
    Emerging,
    Speculative,
}

/// The intended users of a surface.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum UserType {
    Human,
    CodingAgent,
    BrowserAgent,
}

/// A URL that belongs to a surface.
#[derive(Deserialize)]
struct Artifact {
    /// The route's name.
    name: String,
    /// The values of its placeholders.
    #[serde(default)]
    with: Vec<(String, String)>,
    /// The query string.
    #[serde(default)]
    query: String,
}

/// The surfaces of the service.
#[derive(Serialize, JsonSchema)]
struct Surfaces(Vec<Descriptor>);

/// A way to reach the service.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SurfaceDescriptor")]
struct Descriptor {
    /// Unique name.
    pattern_id: String,
    /// Maturity of the surface.
    category: Category,
    /// Intended users.
    user_types: Vec<UserType>,
    /// One-sentence description.
    description: String,
    /// User story.
    user_story: String,
    /// Related URLs.
    artifacts: Vec<String>,
    /// Rule for detecting support from outside.
    detection_rule: String,
    /// The specifications that it follows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    standard_refs: Vec<String>,
}

fn render(site: &Site) -> Option<Bytes> {
    let stored: Vec<StoredDescriptor> = serde_json::from_str(DESCRIPTORS).ok()?;
    let descriptors = Surfaces(stored.into_iter().filter_map(|stored| descriptor(site, stored)).collect());
    json_text(&serde_json::to_value(descriptors).ok()?)
}

/// Resolves a descriptor's URLs. Returns `None` if none of its artifacts is served, or if its rule names a
/// missing URL.
fn descriptor(site: &Site, stored: StoredDescriptor) -> Option<Descriptor> {
    let offer = &site.settings.offer;
    let set = stored.needs.as_deref().is_none_or(|needed| offer.meets(needed) == Some(true));
    let served = stored.artifacts.iter().filter(|artifact| set && is_served(site, &artifact.name));
    let artifacts: Vec<String> = served.map(|artifact| artifact.url(site)).collect();
    let rule = with_urls(site, &stored.detection_rule)?;
    (!artifacts.is_empty()).then_some(Descriptor {
        pattern_id: stored.pattern_id,
        category: stored.category,
        user_types: stored.user_types,
        description: stored.description,
        user_story: stored.user_story,
        artifacts,
        detection_rule: rule,
        standard_refs: stored.standard_refs,
    })
}

impl Artifact {
    fn url(&self, site: &Site) -> String {
        let values: Vec<(&str, &str)> =
            self.with.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let url = site.links.url(&self.name, &values);
        if self.query.is_empty() { url } else { format!("{url}?{}", self.query) }
    }
}

/// True if this service serves the named document or route. Only optional documents are rendered to find out,
/// because other documents may quote this one.
fn is_served(site: &Site, name: &str) -> bool {
    let lacking = site.documents.iter().find(|document| document.name == name && !document.absent.is_empty());
    site.links.has(name) && lacking.is_none_or(|document| site.document(document.name).is_some())
}

/// Replaces each `{name}` with its URL; `None` if a name is not served.
fn with_urls(site: &Site, text: &str) -> Option<String> {
    let mut parts = text.split('{');
    let mut all = parts.next()?.to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}')?;
        let url = match name.strip_prefix(STREAM) {
            Some(name) => stream_url(site, name)?,
            None => site.url_of(name)?,
        };
        all.push_str(&openapi::shown(&url));
        all.push_str(rest);
    }
    Some(all)
}

const STREAM: &str = "stream:";

/// Returns the URL of an operation's event stream.
fn stream_url(site: &Site, name: &str) -> Option<String> {
    let streams = |route: &&Route| route.is_stream() && route.name == name;
    site.routes.iter().find(streams).map(|route| format!("{}{}", site.settings.base_url, route.path))
}
