//! Parts of the service that clients request access tokens for (RFC 9728).

use ep_kernel::key_terms::KeyScope;
use ep_kernel::links::Links;

/// A part of the service that clients request access tokens for. Every part accepts a token for any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedResource {
    /// The whole service.
    Api,
    /// The MCP endpoint.
    Mcp,
    /// The A2A endpoint.
    A2a,
}

impl ProtectedResource {
    /// All resources.
    pub const ALL: [Self; 3] = [Self::Api, Self::Mcp, Self::A2a];

    /// Returns the name of the resource's metadata document.
    pub const fn document(self) -> &'static str {
        match self {
            Self::Api => "protected_resource",
            Self::Mcp => "protected_resource_mcp",
            Self::A2a => "protected_resource_a2a",
        }
    }

    /// Returns the resource identifier, without a trailing slash (RFC 9728 §1.2).
    pub fn identifier(self, links: &Links) -> String {
        match self {
            Self::Api => links.base_url().to_owned(),
            Self::Mcp => links.url("mcp", &[]),
            Self::A2a => links.url("a2a", &[]),
        }
    }

    /// Returns the widest useful scope for this resource.
    pub const fn scope(self) -> KeyScope {
        match self {
            Self::Api => KeyScope::All,
            Self::Mcp | Self::A2a => KeyScope::Polls,
        }
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
        Self { resource: ProtectedResource::Api, scope: KeyScope::Read }
    }
}
