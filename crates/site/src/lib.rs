//! Base data for documents, protocols and pages: the site with its settings, routes, protocols and documents. [`http`] has
//! what handlers of requests share, and [`layout`] what pages share.
//!
//! No request is handled here. `src/app/routes.rs` of the program lists the modules that pair routes with handlers.

pub mod config;
pub mod deposit;
pub mod document;
pub mod http;
pub mod layout;
pub mod names;
pub mod negotiation;
pub mod offer;
pub mod owner;
pub mod protocol;
pub mod rail;
pub mod resource;
pub mod route;
pub mod settings;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use axum::body::Bytes;
use axum::http::HeaderValue;
use axum::http::request::Parts;
use ep_kernel::fault::ADD_FUNDS;
use ep_kernel::{Clock, Entry, Links};
use ep_polling::Timestamp;
use ep_tools::polls::Estimates;
use sha2::{Digest, Sha256};

pub use crate::config::ModelAlias;
pub use document::{AliasPaths, Changes, Document, Form, HTML, MARKDOWN};
pub use negotiation::{reads_html, wants_markdown};
pub use offer::{Models, NO_ISSUER, Offer, Unavailable};
pub use owner::owner;
pub use protocol::{ErrorFormat, Protocol, ProtocolRoute};
pub use rail::Rail;
pub use resource::{Challenge, ProtectedResource};
pub use route::{Needs, QueryParameter, Route, RouteKind};
pub use settings::SiteSettings;

/// The input of document renderers: settings, operations, routes and other documents.
pub struct Site {
    /// The settings.
    pub settings: SiteSettings,
    /// Every operation.
    pub tools: &'static [Entry],
    /// Every route.
    pub routes: Vec<Route>,
    /// Every document.
    pub documents: &'static [Document],
    /// The served alias paths of documents. They are not in `routes`.
    pub aliases: Vec<Route>,
    /// The alias patterns of documents, for descriptions.
    pub alias_patterns: Vec<Route>,
    /// Absolute links to the routes.
    pub links: Links,
    /// The clock, for documents that depend on the time.
    clock: Option<Arc<dyn Clock>>,
    /// The price of a poll, if known.
    price: RwLock<Option<Estimates>>,
    /// True if free polls find models, where it is known.
    free_models: RwLock<Option<bool>>,
    /// The paths of documents that pages of every website may read.
    open: HashSet<String>,
    /// The paths that accept submitted forms.
    forms: HashSet<String>,
    /// The value of the `Content-Usage` header.
    pub content_usage: Option<HeaderValue>,
    /// Each form of each document, rendered on first use.
    rendered: HashMap<&'static str, Vec<OnceLock<Option<Bytes>>>>,
}

impl Site {
    /// Creates the site of a service with these settings, operations and documents, without routes.
    pub fn new(settings: SiteSettings, tools: &'static [Entry], documents: &'static [Document]) -> Self {
        let unrendered = |document: &Document| document.forms.iter().map(|_| OnceLock::new()).collect();
        let rendered = documents.iter().map(|document| (document.name, unrendered(document)));
        Self {
            content_usage: HeaderValue::try_from(settings.content_usage()).ok(),
            settings,
            tools,
            routes: Vec::new(),
            documents,
            aliases: alias_routes(documents, AliasPaths::paths),
            alias_patterns: alias_routes(documents, |aliases| vec![aliases.path.to_owned()]),
            links: Links::default(),
            clock: None,
            price: RwLock::default(),
            free_models: RwLock::default(),
            open: HashSet::new(),
            forms: HashSet::new(),
            rendered: rendered.collect(),
        }
    }

    /// Sets the clock.
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// Sets the routes.
    pub fn with_routes(mut self, routes: Vec<Route>) -> Self {
        let named = routes.iter().map(|route| (route.name.to_owned(), route.method, route.path.to_string()));
        let links = Links::new(&self.settings.base_url, named);
        let ways = self.settings.funding(&links);
        let page = self.settings.add_funds_page(&links).filter(|_| self.settings.offer.charges);
        let offer = &self.settings.offer;
        let operations = self.tools.iter().filter(|entry| !offer.has(entry)).map(|entry| entry.spec.name);
        let unnamed = routes.iter().filter(|route| !offer.has_route(route)).map(|route| route.name);
        let unavailable: Vec<String> = operations.chain(unnamed).map(str::to_owned).collect();
        let links = links.with_ways(ADD_FUNDS, ways).without(unavailable);
        self.links = match page {
            Some(page) => links.with_page(ADD_FUNDS, page),
            None => links,
        };
        let open = |route: &&Route| route.as_document().is_some_and(|document| document.open);
        self.open = routes.iter().filter(open).map(|route| route.path.to_string()).collect();
        let form = |route: &&Route| route.is_form();
        self.forms = routes.iter().filter(form).map(|route| route.path.to_string()).collect();
        self.routes = routes;
        self
    }

    /// Returns the routes of every served document, except alias paths.
    pub fn document_routes(&self) -> impl Iterator<Item = Route> {
        self.documents.iter().flat_map(|document| {
            (document.paths)(self).into_iter().map(move |path| Route::document(document, path))
        })
    }

    /// Returns the URL of the operation, document or endpoint with this name; `None` if this service does not
    /// have it.
    pub fn url_of(&self, name: &str) -> Option<String> {
        self.links.has(name).then(|| self.links.url(name, &[]))
    }

    /// True if this configuration has a document. A renderer of an optional document must not call it.
    pub fn has(&self, document: &Document) -> bool {
        document.absent.is_empty() || self.document(document.name).is_some()
    }

    /// Returns the operations that documents list: those with a use in this configuration.
    pub fn offered(&self) -> impl Iterator<Item = &'static Entry> {
        self.tools.iter().filter(|entry| self.settings.offer.has(entry))
    }

    /// Returns the description of the service, with the caution about its models.
    pub fn description(&self) -> String {
        let owner = owner();
        let text = owner["description"].as_str().unwrap_or_default();
        match self.settings.offer.caution() {
            Some(caution) => format!("{text} {caution}"),
            None => text.to_owned(),
        }
    }

    /// Returns the tagline of at most 100 characters. It mentions simulated models.
    pub fn tagline(&self) -> String {
        let owner = owner();
        let text = owner["tagline"].as_str().unwrap_or_default();
        if self.settings.offer.simulated() {
            format!("{} (simulated models).", text.trim_end_matches('.'))
        } else {
            text.to_owned()
        }
    }

    /// Returns the documents that lists of documents include, with their URLs.
    pub fn listed(&self) -> impl Iterator<Item = (&'static Document, String)> {
        let documents = self.documents.iter().filter(|document| document.listed && self.has(document));
        documents.filter_map(|document| Some((document, self.url_of(document.name)?)))
    }

    /// True if pages of every website may read this path.
    pub fn is_open(&self, path: &str) -> bool {
        self.open.contains(path)
    }

    /// Returns the format of errors at a path below the prefix of a protocol.
    pub fn errors_below(&self, path: &str) -> Option<ErrorFormat> {
        self.routes.iter().find_map(|route| {
            let endpoint = route.as_protocol()?;
            let is_below =
                |path: &str, prefix: &str| path.starts_with(prefix) || path == prefix.trim_end_matches('/');
            let belongs = |prefix: &&str| is_below(path, prefix) && is_below(&route.path, prefix);
            endpoint.protocol.prefixes.iter().any(belongs).then_some(endpoint.errors)
        })
    }

    /// True if the request submits a form.
    pub fn is_form(&self, request: &Parts) -> bool {
        request.method == axum::http::Method::POST && self.forms.contains(request.uri.path())
    }

    /// Returns the current time; the start time if there is no clock.
    pub fn now(&self) -> Option<Timestamp> {
        self.clock.as_ref().map(|clock| clock.now()).or(self.settings.since)
    }

    /// Sets the price that documents quote; `None` if it is unknown.
    pub fn set_price(&self, price: Option<Estimates>) {
        *self.price.write().unwrap_or_else(PoisonError::into_inner) = price;
    }

    /// Sets if free polls find models; `None` if it is unknown.
    pub fn set_free_models(&self, free: Option<bool>) {
        *self.free_models.write().unwrap_or_else(PoisonError::into_inner) = free;
    }

    /// True unless free polls are known to find no models.
    pub fn may_have_free_models(&self) -> bool {
        *self.free_models.read().unwrap_or_else(PoisonError::into_inner) != Some(false)
    }

    /// The price of a poll, where polls are charged and it is known.
    pub fn price(&self) -> Option<Estimates> {
        let price = self.price.read().unwrap_or_else(PoisonError::into_inner);
        price.clone().filter(|_| self.settings.offer.charges)
    }

    /// Returns another document in its default form, for documents that quote it or compute its digest. A
    /// document must not request itself, directly or indirectly.
    pub fn document(&self, name: &str) -> Option<Bytes> {
        self.rendered(self.documents.iter().find(|document| document.name == name)?, 0)
    }

    /// Returns a form of a document, rendered once unless it changes.
    pub fn rendered(&self, document: &Document, form: usize) -> Option<Bytes> {
        let cell = self.rendered.get(document.name)?.get(form)?;
        let render = || (document.forms[form].render)(self);
        match document.changes {
            Changes::Never => cell.get_or_init(render).clone(),
            Changes::WithTime | Changes::WithModels => render(),
        }
    }

    /// Returns the URL of an asset for its current bytes; `None` if the name is unknown.
    pub fn asset_url(&self, name: &str) -> Option<String> {
        let digest = Sha256::digest(self.document(name)?);
        Some(format!("{}?v={}", self.url_of(name)?, hex::encode(&digest[..6])))
    }

    /// Returns the protocol with this surface name, if it is served.
    pub fn protocol(&self, surface: &str) -> Option<&'static Protocol> {
        self.protocols().find(|protocol| protocol.surface == surface)
    }

    /// Returns the protocol of each protocol endpoint.
    fn protocols(&self) -> impl Iterator<Item = &'static Protocol> {
        self.routes.iter().filter_map(Route::as_protocol).map(|endpoint| endpoint.protocol)
    }

    /// Returns the parts of the service that clients request access tokens for, the whole service first.
    pub fn protected_resources(&self) -> Vec<ProtectedResource> {
        let mut resources = vec![ProtectedResource::API];
        for protocol in self.protocols() {
            if !resources.contains(&protocol.resource) {
                resources.push(protocol.resource);
            }
        }
        resources
    }
}

/// Returns the routes of the alias paths of every document.
fn alias_routes(documents: &'static [Document], paths: fn(&AliasPaths) -> Vec<String>) -> Vec<Route> {
    let of = |document: &'static Document| {
        document.aliases.iter().flat_map(paths).map(move |path| Route::document(document, path))
    };
    documents.iter().flat_map(of).collect()
}
