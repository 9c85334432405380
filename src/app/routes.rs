//! The table of all routes, and their handlers.
//!
//! The router, `Allow`, documents, links and the tests of access and faults are derived from the table. Tools,
//! documents and the modules of protocols and pages declare their own paths.

use std::borrow::Cow;
use std::collections::HashMap;

use ep_kernel::Entry;
use ep_kernel::method::Method;
use ep_pages::documents::{DOCUMENTS, extended_agent_card};
use ep_pages::web;
use ep_protocols::a2a::AgentParts;
use ep_protocols::{a2a, mcp, openai};
use ep_site::http::{AppState, Handler};
use ep_site::{Route, Site, SiteSettings};
use futures::FutureExt;

use crate::payments;
use crate::payments::Rails;

/// Builds the site for these settings and operations. Its documents know every route.
pub fn site(settings: SiteSettings, tools: &'static [Entry]) -> Site {
    let site = Site::new(settings, tools, DOCUMENTS);
    let routes = table(&site);
    site.with_routes(routes)
}

/// A module with routes of its own.
struct Module {
    /// Returns its routes.
    routes: fn() -> Vec<Route>,
    /// Returns the same routes with their handlers.
    endpoints: fn(&AppState, &Rails) -> Vec<(Route, Handler)>,
}

/// Every module with routes of its own.
static MODULES: [Module; 5] = [
    Module {
        routes: || mcp::ROUTES.to_vec(),
        endpoints: |state, _| mcp::endpoints(&state.app, state.tools, &state.web).collect(),
    },
    Module {
        routes: || a2a::routes().collect(),
        endpoints: |_, payments| {
            let payments = payments.task_payments().cloned();
            a2a::endpoints(&AgentParts { payments, extended_card: extended_agent_card })
        },
    },
    Module { routes: || openai::routes().collect(), endpoints: |_, _| openai::endpoints() },
    Module {
        routes: || payments::routes().collect(),
        endpoints: |_, payments| payments.endpoints().collect(),
    },
    Module { routes: || web::routes().cloned().collect(), endpoints: |_, _| web::endpoints().collect() },
];

/// Returns every route for these operations and settings.
fn table(site: &Site) -> Vec<Route> {
    let mut routes: Vec<Route> =
        site.tools.iter().flat_map(|entry| operations(entry, site.settings.keys_read_account)).collect();
    routes.extend(MODULES.iter().flat_map(|module| (module.routes)()));
    routes.extend(site.document_routes());
    routes
}

/// Returns the routes of an operation: its REST binding and its event stream, if it has them.
fn operations(entry: &'static Entry, keys_read_account: bool) -> impl Iterator<Item = Route> {
    let mut pages = web::PAGES_OF_OPERATIONS.into_iter();
    let page = pages.find(|(operation, _)| *operation == entry.spec.name).map(|(_, page)| page);
    let rest = entry.spec.rest.map(|rest| {
        let route = Route::operation(entry, rest, false, keys_read_account);
        Route { page, ..route }
    });
    let stream = entry.spec.stream.map(|rest| Route::operation(entry, rest, true, keys_read_account));
    rest.into_iter().chain(stream)
}

/// Handlers of routes that are not operations, by method and path.
pub struct Handlers(HashMap<(Method, Cow<'static, str>), Handler>);

impl Handlers {
    /// Collects the handlers of a service.
    pub fn new(state: &AppState, payments: &Rails) -> Self {
        let endpoints = MODULES.iter().flat_map(|module| (module.endpoints)(state, payments));
        Self(endpoints.map(|(route, handler)| ((route.method, route.path), handler)).collect())
    }

    /// Returns the handler of a route that is not an operation.
    pub fn of(&self, route: &Route) -> Option<Handler> {
        if let Some(document) = route.as_document() {
            return Some(Handler::new(move |exchange, admission| {
                web::document(document, exchange, admission).boxed()
            }));
        }
        self.0.get(&(route.method, route.path.clone())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::app::assemble::{Environment, service};
    use crate::app::server::state;
    use crate::config;

    /// Routes with a handler of their own: all but operations, which dispatch serves, and documents.
    fn needs_handler(route: &Route) -> bool {
        route.as_operation().is_none() && route.as_document().is_none()
    }

    #[tokio::test]
    async fn every_route_has_a_handler_and_every_handler_a_route() {
        let read = |name: &str| match name {
            "EP_CONFIG" => Some("/dev/null".to_owned()),
            "EP_DATABASE_URL" => Some("sqlite::memory:".to_owned()),
            "EP_SECRET_KEY" => Some("00".repeat(32)),
            _ => None,
        };
        let config = config::load(read).unwrap();
        let service = service(&config, Environment::system()).await.unwrap();
        let handlers = Handlers::new(&state(&service, &config), &service.payments);
        let routes = service.site.routes.iter().filter(|route| needs_handler(route));
        let routes: BTreeSet<String> =
            routes.map(|route| format!("{} {}", route.method.as_str(), route.path)).collect();
        let handled: BTreeSet<String> =
            handlers.0.keys().map(|(method, path)| format!("{} {path}", method.as_str())).collect();
        assert!(routes.len() > 50, "{routes:?}");
        assert_eq!(routes, handled);
    }
}
