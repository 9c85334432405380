//! What documents are rendered from.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::HeaderValue;
use axum::http::request::Parts;
use ep_kernel::fault::ADD_FUNDS;
use ep_kernel::links::{Links, Way};
use ep_kernel::method::Method;
use ep_kernel::ports::Clock;
use ep_kernel::signing::SigningKeys;
use ep_kernel::tool::{Entry, Tool};
use ep_polling::time::Timestamp;
use ep_tools::account::CreateCheckout;
use serde_json::{Value, json};
use url::Url;

use super::{Changes, DOCUMENTS, Document, Form, Offer, PollPrice, serve};
use crate::config::{Config, Content, Limits, Operator, Sessions};
use crate::site::names::{DASHBOARD, DEPOSIT, FUNDS};
use crate::site::{Route, RouteKind};
use crate::surface::http::Rendered;

/// The settings that documents depend on.
#[derive(Debug, Clone)]
pub struct SiteSettings {
    /// The public base URL, without a trailing slash.
    pub base_url: String,
    /// Who runs the service.
    pub operator: Operator,
    /// Whether programs with a key may read their account.
    pub keys_read_account: bool,
    /// The features of this configuration.
    pub offer: Offer,
    /// Since when documents are what they are, where that is known: they follow from the settings and the program.
    pub since: Option<Timestamp>,
    /// What programs that collect content may use it for.
    pub content: Content,
    /// How long one poll may take.
    pub poll_deadline: Duration,
    /// How many requests callers may make.
    pub limits: Limits,
    /// The host that questions are sent to, where it is known by name on the web.
    pub upstream_host: Option<String>,
    /// How long browsers stay signed in.
    pub sessions: Sessions,
    /// How long polls that nobody owns are kept, in days; 0 is for ever.
    pub keep_anonymous_days: u32,
    /// Whether the starter credits of one client address are counted.
    pub counts_addresses: bool,
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

    /// The page where a person funds an account, if there is one.
    fn add_funds_page(&self, links: &Links) -> Option<String> {
        let Operator { add_funds_url, .. } = &self.operator;
        if !add_funds_url.is_empty() {
            return Some(add_funds_url.clone());
        }
        let pays_here = self.offer.takes_payments() && links.has(DASHBOARD);
        pays_here.then(|| format!("{}{FUNDS}", links.url(DASHBOARD, &[])))
    }

    /// The operator's address, as a URL.
    fn contact_url(&self) -> Option<String> {
        let contact = &self.operator.contact;
        match Url::parse(contact) {
            Ok(_) => Some(contact.clone()),
            Err(_) => contact.contains('@').then(|| format!("mailto:{contact}")),
        }
    }

    /// The ways to fund an account that work here: none where nothing is charged, and the operator where no payment
    /// is configured.
    fn funding(&self, links: &Links) -> Vec<Way> {
        let way = |description: &str, request: (Method, String), example: Option<Value>| Way {
            action: "add_funds",
            description: description.to_owned(),
            request: Some(request),
            example,
        };
        let mut ways = Vec::new();
        if !self.offer.charges {
            return ways;
        }
        if self.offer.usdc.is_some() && links.has(DEPOSIT) {
            let text = "Deposit USDC (x402): the first response says what to pay. With Authorization, that account is \
                        credited, otherwise the account of the paying wallet.";
            ways.push(way(text, links.request(DEPOSIT), Some(json!({ "amount_usd": 5 }))));
        }
        if self.offer.cards && links.has(CreateCheckout::SPEC.name) {
            let text =
                "With the session of a signed-in browser, begin a payment by card and open the returned url.";
            let example = serde_json::from_str(CreateCheckout::SPEC.example).ok();
            ways.push(way(text, links.request(CreateCheckout::SPEC.name), example));
        }
        if let Some(page) = self.add_funds_page(links) {
            let text =
                match (self.operator.add_funds_url.is_empty(), self.offer.cards, self.offer.usdc.is_some()) {
                    (false, ..) => "Fund the account on the operator's page.",
                    (true, true, true) => "Sign in on this page and pay by card or from a wallet.",
                    (true, true, false) => "Sign in on this page and pay by card.",
                    (true, false, _) => "Sign in on this page and pay from a wallet.",
                };
            ways.push(way(text, (Method::Get, page), None));
        }
        if ways.is_empty() {
            ways.push(Way {
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

/// Everything that documents are rendered from: settings, operations, routes, and each other.
pub struct Site {
    /// The settings.
    pub settings: SiteSettings,
    /// Every operation.
    pub tools: &'static [Entry],
    /// Everything that is served.
    pub routes: Vec<Route>,
    /// The families of further paths of documents, as descriptions have them.
    pub(super) families: Vec<Route>,
    /// Absolute links to the routes.
    pub links: Links,
    /// The time of day, for documents that depend on it.
    clock: Option<Arc<dyn Clock>>,
    /// The price of a poll, where it is known.
    price: RwLock<Option<PollPrice>>,
    /// True if free polls find models, where it is known.
    free_models: RwLock<Option<bool>>,
    /// The paths of documents that pages of every website may read.
    open: HashSet<String>,
    /// The paths that forms of pages are sent to.
    forms: HashSet<String>,
    /// What content may be used for, as a header.
    pub content_usage: Option<HeaderValue>,
    /// Each form of each document, rendered at its first use.
    rendered: Vec<Vec<OnceLock<Option<Arc<Rendered>>>>>,
}

impl Site {
    /// The site of a service with these settings and operations, before its routes are known.
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

    /// The site with the time of day.
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// The site with everything that is served.
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
        let open = |route: &&Route| matches!(route.kind, RouteKind::Document(place) if DOCUMENTS[place].open);
        self.open = routes.iter().filter(open).map(|route| route.path.to_string()).collect();
        let form = |route: &&Route| matches!(route.kind, RouteKind::Form);
        self.forms = routes.iter().filter(form).map(|route| route.path.to_string()).collect();
        self.routes = routes;
        self
    }

    /// The URL of the operation, document or protocol endpoint of this name; `None` where this service has none.
    pub fn url_of(&self, name: &str) -> Option<String> {
        self.links.has(name).then(|| self.links.url(name, &[]))
    }

    /// Whether this configuration has a document. Not for renderers of documents that may be missing themselves.
    pub(super) fn has(&self, document: &Document) -> bool {
        document.absent.is_empty() || self.document(document.name).is_some()
    }

    /// The operations that documents name: those that are of use in this configuration.
    pub(super) fn offered(&self) -> impl Iterator<Item = &'static Entry> {
        self.tools.iter().filter(|entry| self.settings.offer.has(entry))
    }

    /// The description of the service, with the caution about its models.
    pub(super) fn description(&self) -> String {
        let owner = super::owner();
        let text = owner["description"].as_str().unwrap_or_default();
        match self.settings.offer.caution() {
            Some(caution) => format!("{text} {caution}"),
            None => text.to_owned(),
        }
    }

    /// The tagline of at most 100 characters, which says that models are simulated.
    pub(super) fn tagline(&self) -> String {
        let owner = super::owner();
        let text = owner["tagline"].as_str().unwrap_or_default();
        if self.settings.offer.simulated() {
            format!("{} (simulated models).", text.trim_end_matches('.'))
        } else {
            text.to_owned()
        }
    }

    /// The documents that lists of documents name, with their URLs.
    pub(super) fn listed(&self) -> impl Iterator<Item = (&'static Document, String)> {
        let documents = DOCUMENTS.iter().filter(|document| document.listed && self.has(document));
        documents.filter_map(|document| Some((document, self.url_of(document.name)?)))
    }

    /// Whether pages of every website may read what is at this path.
    pub fn is_open(&self, path: &str) -> bool {
        self.open.contains(path)
    }

    /// Whether this is a form that is sent.
    pub fn is_form(&self, request: &Parts) -> bool {
        request.method == axum::http::Method::POST && self.forms.contains(request.uri.path())
    }

    /// The time; when the service started, where there is no clock.
    pub(super) fn now(&self) -> Option<Timestamp> {
        self.clock.as_ref().map(|clock| clock.now()).or(self.settings.since)
    }

    /// Sets the price that documents quote; `None` where it is unknown.
    pub fn set_price(&self, price: Option<PollPrice>) {
        *self.price.write().unwrap_or_else(PoisonError::into_inner) = price;
    }

    /// Sets whether free polls find models; `None` where it is unknown.
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

    /// The bytes of another document in its default form, for documents that quote or digest it. A
    /// document must not ask for itself, directly or through others.
    pub fn document(&self, name: &str) -> Option<Bytes> {
        let index = DOCUMENTS.iter().position(|document| document.name == name)?;
        self.rendered(index, 0).map(|rendered| rendered.bytes.clone())
    }

    /// A form of a document, rendered once unless it changes.
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

    /// The forms of every document, with the places of document and form.
    pub(super) fn forms() -> impl Iterator<Item = (&'static Form, usize, usize)> {
        DOCUMENTS.iter().enumerate().flat_map(|(place, document)| {
            document.forms.iter().enumerate().map(move |(index, form)| (form, place, index))
        })
    }
}
