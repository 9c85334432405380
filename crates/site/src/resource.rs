//! Parts of the service that clients request access tokens for (RFC 9728).

use ep_kernel::Links;
use ep_store::KeyScope;

/// A part of the service that clients request access tokens for. Every part accepts a token for any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtectedResource {
    /// Name of its metadata document.
    pub document: &'static str,
    /// Name of its route; `None` for the whole service.
    pub route: Option<&'static str>,
    /// Its widest useful scope.
    pub scope: KeyScope,
}

impl ProtectedResource {
    /// The whole service.
    pub const API: Self = Self { document: "protected_resource", route: None, scope: KeyScope::All };

    /// Returns the resource identifier, without a trailing slash (RFC 9728 §1.2).
    pub fn identifier(&self, links: &Links) -> String {
        self.route.map_or_else(|| links.base_url().to_owned(), |route| links.url(route, &[]))
    }
}

/// The access token that a route requests from its callers.
#[derive(Debug, Clone, Copy)]
pub struct Challenge {
    /// The resource of the token.
    pub resource: ProtectedResource,
    /// The scope of the token.
    pub scope: KeyScope,
}

impl Default for Challenge {
    fn default() -> Self {
        Self { resource: ProtectedResource::API, scope: KeyScope::Read }
    }
}
