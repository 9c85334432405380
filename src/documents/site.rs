//! What documents are rendered from.

use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use axum::http::HeaderValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ep_kernel::fault::ADD_FUNDS;
use ep_kernel::links::Links;
use ep_kernel::signing::SigningKeys;
use ep_kernel::tool::Entry;
use ep_polling::time::Timestamp;
use sha2::{Digest, Sha256};
use url::Url;

use super::{DOCUMENTS, Form};
use crate::config::{BillingMode, Config, Operator};
use crate::surface::http::EntityTag;
use crate::surface::route::Route;

/// The settings that documents depend on.
#[derive(Debug, Clone)]
pub struct SiteSettings {
    /// The public base URL, without a trailing slash.
    pub base_url: String,
    /// Who runs the service.
    pub operator: Operator,
    /// Whether programs with a key may read their account.
    pub keys_read_account: bool,
    /// The issuer whose access tokens are accepted, where one is configured.
    pub issuer: Option<String>,
    /// Since when documents are what they are, where that is known: they follow from the settings and the program.
    pub since: Option<Timestamp>,
    /// Whether accounts are funded in USDC, and polls are charged to them.
    pub takes_usdc: bool,
    /// What signs the agent card; nothing in the copies that the repository keeps.
    pub signing: Option<Arc<SigningKeys>>,
}

impl SiteSettings {
    /// What these settings say.
    pub fn new(config: &Config) -> Self {
        Self {
            base_url: config.base_url(),
            operator: config.operator.clone(),
            keys_read_account: config.accounts.keys_read_account,
            issuer: config.issuer().map(str::to_owned),
            since: None,
            takes_usdc: config.billing.mode == BillingMode::Prepaid
                && !config.x402.facilitator_url.is_empty(),
            signing: None,
        }
    }

    /// Where an account is funded.
    fn add_funds_url(&self, links: &Links) -> String {
        let Operator { add_funds_url, contact, .. } = &self.operator;
        if !add_funds_url.is_empty() {
            return add_funds_url.clone();
        }
        match Url::parse(contact) {
            Ok(_) => contact.clone(),
            Err(_) if contact.contains('@') => format!("mailto:{contact}"),
            Err(_) => links.url(super::AGENT_CARD, &[]),
        }
    }
}

/// Everything that documents are rendered from: settings, operations, routes, and each other.
pub struct Site {
    /// The settings.
    pub settings: SiteSettings,
    /// Every operation.
    pub tools: &'static [Entry],
    /// Everything that is served.
    pub routes: Vec<Route>,
    /// Absolute links to the routes.
    pub links: Links,
    /// Each form of each document, rendered at its first use.
    rendered: Vec<Vec<OnceLock<Option<Rendered>>>>,
}

/// A rendered form of a document.
pub struct Rendered {
    /// Its bytes, exactly as served.
    pub bytes: Bytes,
    /// Their tag.
    pub tag: Option<EntityTag>,
    /// What the page may load: nothing but its own style sheet.
    pub policy: Option<HeaderValue>,
}

impl Site {
    /// The site of a service with these settings and operations, before its routes are known.
    pub fn new(settings: SiteSettings, tools: &'static [Entry]) -> Self {
        let rendered =
            DOCUMENTS.iter().map(|document| document.forms.iter().map(|_| OnceLock::new()).collect());
        let (routes, links) = (Vec::new(), Links::default());
        Self { settings, tools, routes, links, rendered: rendered.collect() }
    }

    /// The site with everything that is served.
    pub fn with_routes(mut self, routes: Vec<Route>) -> Self {
        let named = routes.iter().map(|route| (route.name.to_owned(), route.method, route.path.to_string()));
        let links = Links::new(&self.settings.base_url, named);
        let add_funds = self.settings.add_funds_url(&links);
        self.links = links.with_page(ADD_FUNDS, add_funds);
        self.routes = routes;
        self
    }

    /// The bytes of another document in its default form, for documents that quote or digest it. A
    /// document must not ask for itself, directly or through others.
    pub fn document(&self, name: &str) -> Option<Bytes> {
        let index = DOCUMENTS.iter().position(|document| document.name == name)?;
        self.rendered(index, 0).map(|rendered| rendered.bytes.clone())
    }

    /// A form of a document, rendered once.
    pub(super) fn rendered(&self, document: usize, form: usize) -> Option<&Rendered> {
        let cell = self.rendered.get(document)?.get(form)?;
        let render = || {
            let form = &DOCUMENTS[document].forms[form];
            let bytes = (form.render)(self)?;
            Some(Rendered { tag: EntityTag::of(&bytes), policy: form.style.and_then(policy), bytes })
        };
        cell.get_or_init(render).as_ref()
    }

    /// The forms of every document, with the places of document and form.
    pub(super) fn forms() -> impl Iterator<Item = (&'static Form, usize, usize)> {
        DOCUMENTS.iter().enumerate().flat_map(|(place, document)| {
            document.forms.iter().enumerate().map(move |(index, form)| (form, place, index))
        })
    }
}

/// The policy of a page with this style sheet inside (CSP level 3).
fn policy(style: &str) -> Option<HeaderValue> {
    let digest = BASE64.encode(Sha256::digest(style));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).ok()
}
