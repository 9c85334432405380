//! The one table of everything that is served.
//!
//! The router, `Allow`, documents, links and the tests that check access and refusals of every route are
//! derived from it. Paths are declared in the tools, the documents and the protocol modules.

use ep_kernel::tool::Entry;

use super::route::Route;
use super::{a2a, mcp, web};
use crate::documents::{self, Site, SiteSettings};

/// The site of a service with these settings and operations: its documents know every route.
pub fn site(settings: SiteSettings, tools: &'static [Entry]) -> Site {
    let site = Site::new(settings, tools);
    let routes = table(&site);
    site.with_routes(routes)
}

/// Every route of a service with these operations and this configuration.
fn table(site: &Site) -> Vec<Route> {
    let mut routes: Vec<Route> =
        site.tools.iter().flat_map(|entry| operations(entry, site.settings.keys_read_account)).collect();
    routes.extend(mcp::ROUTES.iter().cloned());
    routes.extend(a2a::ROUTES.iter().cloned());
    routes.extend(web::ROUTES.iter().cloned());
    routes.extend(documents::routes(site));
    routes
}

/// The routes of one operation: its REST binding and its event stream, as far as it has them.
fn operations(entry: &'static Entry, keys_read_account: bool) -> impl Iterator<Item = Route> {
    let rest = entry.spec.rest.map(|rest| Route::of(entry, rest, false, keys_read_account));
    let stream = entry.spec.stream.map(|rest| Route::of(entry, rest, true, keys_read_account));
    rest.into_iter().chain(stream)
}
