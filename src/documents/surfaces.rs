//! The ways in which agents and people meet the service: `well-known/surfaces.json`, as far as it is served.

use axum::body::Bytes;
use ep_kernel::schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DOCUMENTS, Document, Form, Site, openapi};
use crate::site::{Route, RouteKind};

/// What the descriptors say. Artifacts are named; `{name}` in a rule is the URL of what has this name, `{stream:name}` that
/// of an operation's event stream.
const DESCRIPTORS: &str = include_str!("../../well-known/surfaces.json");

pub(super) const DOCUMENT: Document = Document::new(
    "surfaces",
    "Lists the ways to reach this service, and how to tell from outside that each is supported.",
    |_| vec!["/api/surfaces".into()],
    &[Form::new("application/json", render).described(schema::output::<Surfaces>)],
);

/// A way to reach the service, as it is kept.
#[derive(Deserialize)]
struct Kept {
    pattern_id: String,
    category: Category,
    user_types: Vec<UserType>,
    description: String,
    user_story: String,
    artifacts: Vec<Artifact>,
    detection_rule: String,
    #[serde(default)]
    standard_refs: Vec<String>,
    /// The setting that it needs.
    #[serde(default)]
    needs: Option<Need>,
}

/// How established a way is.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Category {
    Standard,
    Emerging,
    Speculative,
}

/// Whom a way is for.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum UserType {
    Human,
    CodingAgent,
    BrowserAgent,
}

/// A setting without which something is not served.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Need {
    Issuer,
    Login,
    Usdc,
}

/// Something that is served.
#[derive(Deserialize)]
struct Artifact {
    /// The name of its route.
    name: String,
    /// What its placeholders are filled with.
    #[serde(default)]
    with: Vec<(String, String)>,
    /// Its query.
    #[serde(default)]
    query: String,
}

/// Every way to reach the service.
#[derive(Serialize, JsonSchema)]
struct Surfaces(Vec<Descriptor>);

/// A way to reach the service, as it is served.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SurfaceDescriptor")]
struct Descriptor {
    /// Its name.
    pattern_id: String,
    /// How established it is.
    category: Category,
    /// Whom it is for.
    user_types: Vec<UserType>,
    /// What it is.
    description: String,
    /// What somebody does with it.
    user_story: String,
    /// Addresses that belong to it.
    artifacts: Vec<String>,
    /// How to tell from outside that it is supported.
    detection_rule: String,
    /// The specifications that it follows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    standard_refs: Vec<String>,
}

fn render(site: &Site) -> Option<Bytes> {
    let kept: Vec<Kept> = serde_json::from_str(DESCRIPTORS).ok()?;
    let descriptors = Surfaces(kept.into_iter().filter_map(|kept| descriptor(site, kept)).collect());
    super::json_text(&serde_json::to_value(descriptors).ok()?)
}

/// A descriptor with addresses; `None` if nothing that it names is served.
fn descriptor(site: &Site, kept: Kept) -> Option<Descriptor> {
    let settings = &site.settings;
    let set = match kept.needs {
        None => true,
        Some(Need::Issuer) => settings.offer.issuer.is_some(),
        Some(Need::Login) => settings.offer.sign_in,
        Some(Need::Usdc) => settings.offer.usdc.is_some(),
    };
    let served = kept.artifacts.iter().filter(|artifact| set && is_served(site, &artifact.name));
    let artifacts: Vec<String> = served.map(|artifact| artifact.url(site)).collect();
    let rule = with_urls(site, &kept.detection_rule)?;
    (!artifacts.is_empty()).then_some(Descriptor {
        pattern_id: kept.pattern_id,
        category: kept.category,
        user_types: kept.user_types,
        description: kept.description,
        user_story: kept.user_story,
        artifacts,
        detection_rule: rule,
        standard_refs: kept.standard_refs,
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

/// Whether this service has what is named so. Only documents that some configurations lack are rendered to find out:
/// others may quote this document.
fn is_served(site: &Site, name: &str) -> bool {
    let lacking = DOCUMENTS.iter().find(|document| document.name == name && !document.absent.is_empty());
    site.links.has(name) && lacking.is_none_or(|document| site.document(document.name).is_some())
}

/// A text with the URL of each `{name}`; `None` if one of them is not served.
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

/// Where the events of an operation are streamed.
fn stream_url(site: &Site, name: &str) -> Option<String> {
    let streams = |route: &&Route| route.name == name && matches!(route.kind, RouteKind::Stream(..));
    site.routes.iter().find(streams).map(|route| format!("{}{}", site.settings.base_url, route.path))
}
