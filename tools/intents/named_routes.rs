//! Routes that are not operations, but can be matched by intent.

use super::matching::RequestEffect;

/// A route that is not an operation, with its trigger phrases.
pub struct NamedRoute {
    /// The name of its route.
    pub name: &'static str,
    /// Its display name.
    pub title: &'static str,
    /// Effect of a request to it.
    pub consequence: RequestEffect,
    /// Trigger phrases.
    pub intents: &'static [&'static str],
}

/// All such routes, in listing order.
pub const NAMED_ROUTES: [NamedRoute; 6] = [
    NamedRoute {
        name: "deposit",
        title: "Deposit USDC",
        consequence: RequestEffect::Changes,
        intents: &[
            "deposit USDC",
            "how can I deposit USDC",
            "pay with USDC by x402",
            "fund my account with stablecoins on chain",
            "an on-chain deposit of USDC into my account",
        ],
    },
    NamedRoute {
        name: "login",
        title: "Log in with a browser",
        consequence: RequestEffect::None,
        intents: &[
            "log in",
            "log in with a browser",
            "the login page",
            "sign in at the identity provider",
            "how do I sign in",
        ],
    },
    NamedRoute {
        name: "logout",
        title: "Log out",
        consequence: RequestEffect::Changes,
        intents: &[
            "log me out",
            "sign out",
            "sign me out",
            "log out of this browser",
            "sign out of my account",
            "log out of this session",
        ],
    },
    NamedRoute {
        name: "openapi",
        title: "Read the OpenAPI description",
        consequence: RequestEffect::None,
        intents: &[
            "where is the OpenAPI description",
            "the OpenAPI spec of this API",
            "download the swagger file",
            "the machine-readable API description",
            "the schema of the REST API",
        ],
    },
    NamedRoute {
        name: "node_spec",
        title: "Read the node specifications",
        consequence: RequestEffect::None,
        intents: &[
            "node specifications",
            "which nodes are there for a workflow graph",
            "compose operations as nodes of a graph",
            "the node specs",
            "nodes for a workflow editor",
        ],
    },
    NamedRoute {
        name: "surfaces",
        title: "List the surfaces",
        consequence: RequestEffect::None,
        intents: &[
            "which surfaces are there",
            "list the surfaces of this service",
            "which protocols can agents use: REST, MCP, A2A",
            "is A2A supported",
            "the surfaces by which this service can be reached",
        ],
    },
];
