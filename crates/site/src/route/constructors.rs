//! The constructors of routes, one for each kind.

use std::borrow::Cow;
use std::time::Duration;

use ep_kernel::guard::PROBE;
use ep_kernel::method::Method;
use ep_kernel::{Access, Cost, Effect, Entry, Latency, Rate, Rest};

use super::{MAX_BODY, Needs, Redirect, Route, RouteKind, Target, faults};
use crate::document::Document;
use crate::protocol::{JSON, ProtocolRoute};
use crate::rail::{Arrival, Rail};

/// Deadline of a payment: longer than its verification and settlement on a chain.
const PAYMENT_DEADLINE: Duration = Duration::from_secs(90);

impl Route {
    /// Creates a public GET route.
    const fn new(kind: RouteKind, name: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            method: Method::Get,
            path: Cow::Borrowed(path),
            summary: Cow::Borrowed(summary),
            kind,
            target: Target::Nothing,
            surface: "web",
            access: Access::PUBLIC,
            ignores_credentials: true,
            effect: Effect::Read,
            rate: Rate::Public,
            deadline: None,
            max_body: MAX_BODY,
            reads_json: true,
            faults: &[],
            query: &[],
            media_types: &[],
            schema: "",
            redirect: None,
            cacheable: false,
            cost: Cost::Free,
            latency: Latency::Instant,
            needs: Needs::Nothing,
            group: None,
            for_people: false,
            is_public: false,
            personal: false,
            page: None,
        }
    }

    /// Creates the route of an operation's binding. `keys_read_account` is the operator's setting.
    pub const fn operation(
        entry: &'static Entry,
        rest: Rest,
        streamed: bool,
        keys_read_account: bool,
    ) -> Self {
        let spec = &entry.spec;
        let kind = if streamed { RouteKind::EventStream } else { RouteKind::Operation };
        let access = spec.access.and(rest.only);
        let mut route = Self::new(kind, spec.name, rest.path, spec.summary);
        route.method = rest.method;
        route.target = Target::Operation(entry, rest);
        route.surface = if streamed { "sse" } else { "rest" };
        route.access = Access { key: access.key && (keys_read_account || !rest.keys_by_setting), ..access };
        route.ignores_credentials = false;
        route.effect = spec.effect;
        route.rate = spec.rate;
        if let Some(bytes) = rest.max_body {
            route.max_body = bytes;
        }
        route.faults = spec.faults;
        route.cost = spec.cost;
        route.latency = spec.latency;
        let reads = matches!(spec.effect, Effect::Read) && !matches!(spec.rate, Rate::SignIn);
        route.is_public = !streamed && reads && access.anonymous;
        route
    }

    /// Creates the route of a protocol's endpoint.
    pub const fn protocol(
        endpoint: ProtocolRoute,
        method: Method,
        name: &'static str,
        path: &'static str,
        summary: &'static str,
    ) -> Self {
        let mut route = Self::new(RouteKind::Protocol, name, path, summary);
        route.method = method;
        route.target = Target::Protocol(endpoint);
        route.surface = endpoint.protocol.surface;
        route.ignores_credentials = false;
        route.faults = faults::PROTOCOL;
        if endpoint.opens_polls {
            route.cost = Cost::Metered;
            route.latency = Latency::Models;
        }
        route.group = Some((endpoint.protocol.group, endpoint.protocol.about));
        route
    }

    /// Creates the route of a document at a path, which may be a pattern with placeholders.
    pub fn document(document: &'static Document, path: String) -> Self {
        let route = Self::file(document.name, "", document.summary);
        Self {
            path: path.into(),
            target: Target::Document(document),
            for_people: document.forms[0].media_type.starts_with("text/html"),
            faults: if document.absent.is_empty() { &[] } else { faults::ABSENT },
            ..route
        }
    }

    /// Creates the route of a JSON document that the issuer of access tokens provides.
    pub const fn of_issuer(name: &'static str, path: &'static str, summary: &'static str) -> Self {
        let mut route = Self::file(name, path, summary);
        route.needs = Needs::Issuer;
        route.media_types = &[JSON];
        route.cacheable = true;
        route.faults = faults::OF_ISSUER;
        route
    }

    const fn file(name: &'static str, path: &'static str, summary: &'static str) -> Self {
        let mut route = Self::new(RouteKind::Document, name, path, summary);
        route.surface = "document";
        route.group = Some(("Documents", "What machines read about the service."));
        route.is_public = true;
        route
    }

    /// Creates the route of a payment rail. It identifies its caller from the content of the request, not from a
    /// credential.
    pub const fn rail(rail: &'static Rail) -> Self {
        let (name, path, summary) = (rail.receiver.name, rail.receiver.path, rail.receiver.summary);
        let mut route = Self::new(RouteKind::Webhook, name, path, summary);
        route.method = Method::Post;
        route.target = Target::Rail(rail);
        match rail.arrival {
            Arrival::Webhook(_) => {
                route.rate = Rate::Exempt;
                route.reads_json = false;
                route.faults = faults::WEBHOOK;
            }
            Arrival::Proof(_) => {
                route.kind = RouteKind::Payment;
                route.ignores_credentials = false;
                route.rate = Rate::Default;
                route.deadline = Some(PAYMENT_DEADLINE);
                route.latency = Latency::Models;
                route.faults = faults::PAYMENT;
            }
        }
        route
    }

    /// Creates the route of a page.
    pub const fn page(name: &'static str, path: &'static str, summary: &'static str) -> Self {
        let mut route = Self::new(RouteKind::Page, name, path, summary);
        route.media_types = &["text/html"];
        route.cacheable = true;
        route.faults = faults::PAGE;
        route.group = Some(("Pages", "Pages for people."));
        route.for_people = true;
        route.is_public = true;
        route
    }

    /// Creates the target of a page's form.
    pub const fn form(method: Method, name: &'static str, path: &'static str, summary: &'static str) -> Self {
        let mut route = Self::page(name, path, summary);
        route.kind = RouteKind::Form;
        route.method = method;
        route.faults = &[];
        route
    }

    /// Creates a route that redirects browsers to the identity provider or back.
    pub const fn redirect(name: &'static str, path: &'static str, summary: &'static str) -> Self {
        let mut route = Self::new(RouteKind::Redirect, name, path, summary);
        route.redirect =
            Some(Redirect { status: 302, description: "Redirects the browser.", sets_cookie: true });
        route.faults = faults::REDIRECT;
        route
    }

    /// Creates a health check.
    pub const fn probe(name: &'static str, path: &'static str, summary: &'static str) -> Self {
        let mut route = Self::new(RouteKind::Probe, name, path, summary);
        route.surface = PROBE;
        route.rate = Rate::Exempt;
        route.media_types = &[JSON];
        route.schema = r#"{ "type": "object", "required": ["status"], "properties": { "status": { "type": "string" } } }"#;
        route.faults = faults::PROBE;
        route.group = Some(("Service", "The service itself."));
        route
    }
}
