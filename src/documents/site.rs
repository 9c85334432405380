//! The site: the input of every document renderer.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::HeaderValue;
use axum::http::request::Parts;
use ep_kernel::fault::ADD_FUNDS;
use ep_kernel::links::{ActionRequest, Links};
use ep_kernel::method::Method;
use ep_kernel::ports::Clock;
use ep_kernel::signing::SigningKeys;
use ep_kernel::tool::Entry;
use ep_polling::time::Timestamp;
use serde_json::Value;
use url::Url;

use super::{Changes, DOCUMENTS, Document, Form, Offer, PollPrice, serve};
use crate::config::{Config, Content, Limits, Operator, Sessions};
use crate::http::Rendered;
use crate::site::names::{DASHBOARD, FUNDS};
use crate::site::{Rail, Route, RouteKind};

/// The settings that documents depend on.
#[derive(Debug, Clone)]
pub struct SiteSettings {
    /// The public base URL, without a trailing slash.
    pub base_url: String,
    /// The operator of the service.
    pub operator: Operator,
    /// True if programs with a key may read their account.
    pub keys_read_account: bool,
    /// The features of this configuration.
    pub offer: Offer,
    /// The time of the last change, if known. Documents depend on the settings and the program.
    pub since: Option<Timestamp>,
    /// The allowed uses of content for crawlers.
    pub content: Content,
    /// The maximum duration of a poll.
    pub poll_deadline: Duration,
    /// The rate limits of callers.
    pub limits: Limits,
    /// The upstream host that receives questions, if it has a public name.
    pub upstream_host: Option<String>,
    /// The lifetime of browser sessions.
    pub sessions: Sessions,
    /// The retention of polls without an owner, in days; 0 means forever.
    pub keep_anonymous_days: u32,
    /// True if starter credits are counted by client address.
    pub counts_addresses: bool,
    /// The keys that sign the agent card; `None` for the committed copies.
    pub signing: Option<Arc<SigningKeys>>,
}

impl SiteSettings {
    /// Reads the settings from the configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            base_url: config.base_url(),
            operator: config.operator.clone(),
            keys_read_account: config.accounts.keys_read_account,
            offer: Offer::new(config),
            since: None,
            content: config.content.clone(),
            poll_deadline: config.poll_deadline(),
            limits: config.limits.clone(),
            upstream_host: Url::parse(&config.upstream.url)
                .ok()
                .filter(|url| url.scheme() == "https")
                .and_then(|url| url.host_str().map(str::to_owned)),
            sessions: config.sessions.clone(),
            keep_anonymous_days: config.polls.keep_anonymous_days,
            counts_addresses: config.accounts.starter_credits_per_address > 0,
            signing: None,
        }
    }

    /// Returns the URL of the page for funding an account, if there is one.
    fn add_funds_page(&self, links: &Links) -> Option<String> {
        let Operator { add_funds_url, .. } = &self.operator;
        if !add_funds_url.is_empty() {
            return Some(add_funds_url.clone());
        }
        let pays_here = self.offer.takes_payments() && links.has(DASHBOARD);
        pays_here.then(|| format!("{}{FUNDS}", links.url(DASHBOARD, &[])))
    }

    /// Returns the operator's contact as a URL.
    fn contact_url(&self) -> Option<String> {
        let contact = &self.operator.contact;
        match Url::parse(contact) {
            Ok(_) => Some(contact.clone()),
            Err(_) => contact.contains('@').then(|| format!("mailto:{contact}")),
        }
    }

    /// Returns the available ways to fund an account. Empty if polls are free; the operator if no payment rail is
    /// configured.
    fn funding(&self, links: &Links) -> Vec<ActionRequest> {
        let way = |description: &str, request: (Method, String), example: Option<Value>| ActionRequest {
            action: "add_funds",
            description: description.to_owned(),
            request: Some(request),
            example,
        };
        let mut ways = Vec::new();
        if !self.offer.charges {
            return ways;
        }
        // Programs read these ways, so those that need no person come first.
        let (for_programs, for_people): (Vec<&Rail>, Vec<&Rail>) =
            self.offer.rails().partition(|rail| rail.is_for_programs());
        for rail in for_programs.into_iter().chain(for_people).filter(|rail| links.has(rail.begins)) {
            let example = serde_json::from_str(rail.example).ok();
            ways.push(way(rail.words.way, links.request(rail.begins), example));
        }
        if let Some(page) = self.add_funds_page(links) {
            let text = if self.operator.add_funds_url.is_empty() {
                let pay: Vec<&str> = self.offer.rails().map(|rail| rail.words.pay).collect();
                format!("Sign in on this page and pay {}.", pay.join(" or "))
            } else {
                "Fund the account on the operator's page.".to_owned()
            };
            ways.push(way(&text, (Method::Get, page), None));
        }
        if ways.is_empty() {
            ways.push(ActionRequest {
                action: "ask_operator",
                description: "Ask the operator to credit the account: no payment is configured here."
                    .to_owned(),
                request: self.contact_url().map(|url| (Method::Get, url)),
                example: None,
            });
        }
        ways
    }
}

/// The input of document renderers: settings, operations, routes and other documents.
pub struct Site {
    /// The settings.
    pub settings: SiteSettings,
    /// Every operation.
    pub tools: &'static [Entry],
    /// Every route.
    pub routes: Vec<Route>,
    /// The alias patterns of documents, for descriptions.
    pub(super) families: Vec<Route>,
    /// Absolute links to the routes.
    pub links: Links,
    /// The clock, for documents that depend on the time.
    clock: Option<Arc<dyn Clock>>,
    /// The price of a poll, if known.
    price: RwLock<Option<PollPrice>>,
    /// True if free polls find models, where it is known.
    free_models: RwLock<Option<bool>>,
    /// The paths of documents that pages of every website may read.
    open: HashSet<String>,
    /// The paths that accept submitted forms.
    forms: HashSet<String>,
    /// The value of the `Content-Usage` header.
    pub content_usage: Option<HeaderValue>,
    /// Each form of each document, rendered on first use.
    rendered: Vec<Vec<OnceLock<Option<Arc<Rendered>>>>>,
}

impl Site {
    /// Creates the site of a service with these settings and operations, without routes.
    pub fn new(settings: SiteSettings, tools: &'static [Entry]) -> Self {
        let rendered =
            DOCUMENTS.iter().map(|document| document.forms.iter().map(|_| OnceLock::new()).collect());
        Self {
            content_usage: super::content_usage(&settings.content),
            settings,
            tools,
            routes: Vec::new(),
            families: serve::families(),
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
        let open =
            |route: &&Route| matches!(route.kind, RouteKind::Document(position) if DOCUMENTS[position].open);
        self.open = routes.iter().filter(open).map(|route| route.path.to_string()).collect();
        let form = |route: &&Route| matches!(route.kind, RouteKind::Form);
        self.forms = routes.iter().filter(form).map(|route| route.path.to_string()).collect();
        self.routes = routes;
        self
    }

    /// Returns the URL of the operation, document or endpoint with this name; `None` if this service does not
    /// have it.
    pub fn url_of(&self, name: &str) -> Option<String> {
        self.links.has(name).then(|| self.links.url(name, &[]))
    }

    /// True if this configuration has a document. A renderer of an optional document must not call it.
    pub(super) fn has(&self, document: &Document) -> bool {
        document.absent.is_empty() || self.document(document.name).is_some()
    }

    /// Returns the operations that documents list: those with a use in this configuration.
    pub(super) fn offered(&self) -> impl Iterator<Item = &'static Entry> {
        self.tools.iter().filter(|entry| self.settings.offer.has(entry))
    }

    /// Returns the description of the service, with the caution about its models.
    pub(super) fn description(&self) -> String {
        let owner = super::owner();
        let text = owner["description"].as_str().unwrap_or_default();
        match self.settings.offer.caution() {
            Some(caution) => format!("{text} {caution}"),
            None => text.to_owned(),
        }
    }

    /// Returns the tagline of at most 100 characters. It mentions simulated models.
    pub(super) fn tagline(&self) -> String {
        let owner = super::owner();
        let text = owner["tagline"].as_str().unwrap_or_default();
        if self.settings.offer.simulated() {
            format!("{} (simulated models).", text.trim_end_matches('.'))
        } else {
            text.to_owned()
        }
    }

    /// Returns the documents that lists of documents include, with their URLs.
    pub(super) fn listed(&self) -> impl Iterator<Item = (&'static Document, String)> {
        let documents = DOCUMENTS.iter().filter(|document| document.listed && self.has(document));
        documents.filter_map(|document| Some((document, self.url_of(document.name)?)))
    }

    /// True if pages of every website may read this path.
    pub fn is_open(&self, path: &str) -> bool {
        self.open.contains(path)
    }

    /// True if the request submits a form.
    pub fn is_form(&self, request: &Parts) -> bool {
        request.method == axum::http::Method::POST && self.forms.contains(request.uri.path())
    }

    /// Returns the current time; the start time if there is no clock.
    pub(super) fn now(&self) -> Option<Timestamp> {
        self.clock.as_ref().map(|clock| clock.now()).or(self.settings.since)
    }

    /// Sets the price that documents quote; `None` if it is unknown.
    pub fn set_price(&self, price: Option<PollPrice>) {
        *self.price.write().unwrap_or_else(PoisonError::into_inner) = price;
    }

    /// Sets if free polls find models; `None` if it is unknown.
    pub fn set_free_models(&self, free: Option<bool>) {
        *self.free_models.write().unwrap_or_else(PoisonError::into_inner) = free;
    }

    /// True unless free polls are known to find no models.
    pub(super) fn may_have_free_models(&self) -> bool {
        *self.free_models.read().unwrap_or_else(PoisonError::into_inner) != Some(false)
    }

    /// The price of a poll, where polls are charged and it is known.
    pub(super) fn price(&self) -> Option<PollPrice> {
        let price = self.price.read().unwrap_or_else(PoisonError::into_inner);
        price.clone().filter(|_| self.settings.offer.charges)
    }

    /// Returns another document in its default form, for documents that quote it or compute its digest. A
    /// document must not request itself, directly or indirectly.
    pub fn document(&self, name: &str) -> Option<Bytes> {
        let index = DOCUMENTS.iter().position(|document| document.name == name)?;
        self.rendered(index, 0).map(|rendered| rendered.bytes.clone())
    }

    /// Returns a form of a document, rendered once unless it changes.
    pub(super) fn rendered(&self, document: usize, form: usize) -> Option<Arc<Rendered>> {
        let cell = self.rendered.get(document)?.get(form)?;
        let (document, form) = (&DOCUMENTS[document], &DOCUMENTS[document].forms[form]);
        let render = || {
            let bytes = (form.render)(self)?;
            let headers = serve::headers(self, document, form);
            Some(Arc::new(Rendered::new(bytes, headers)))
        };
        match document.changes {
            Changes::Never => cell.get_or_init(render).clone(),
            Changes::WithTime | Changes::WithModels => render(),
        }
    }

    /// Returns every form of every document, with its document index and form index.
    pub(super) fn forms() -> impl Iterator<Item = (&'static Form, usize, usize)> {
        DOCUMENTS.iter().enumerate().flat_map(|(position, document)| {
            document.forms.iter().enumerate().map(move |(index, form)| (form, position, index))
        })
    }
}
