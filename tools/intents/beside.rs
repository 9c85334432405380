//! Routes that are not operations, but can be matched by intent.

use super::matching::Consequence;

/// A route that is not an operation, with its trigger phrases.
pub struct Beside {
    /// The name of its route.
    pub name: &'static str,
    /// Its display name.
    pub title: &'static str,
    /// Effect of a request to it.
    pub consequence: Consequence,
    /// Trigger phrases.
    pub intents: &'static [&'static str],
}

/// All such routes, in listing order.
pub const BESIDE: [Beside; 6] = [
    Beside {
        name: "deposit",
        title: "Deposit USDC",
        consequence: Consequence::Changes,
        intents: &[
            "deposit USDC",
            "how can I deposit USDC",
            "pay with USDC by x402",
            "fund my account with stablecoins on chain",
            "an on-chain deposit of USDC into my account",
        ],
    },
    Beside {
        name: "login",
        title: "Log in with a browser",
        consequence: Consequence::None,
        intents: &[
            "log in",
            "log in with a browser",
            "the login page",
            "sign in at the identity provider",
            "how do I sign in",
        ],
    },
    Beside {
        name: "logout",
        title: "Log out",
        consequence: Consequence::Changes,
        intents: &[
            "log me out",
            "sign out",
            "log out of this browser",
            "sign out of my account",
            "log out of this session",
        ],
    },
    Beside {
        name: "openapi",
        title: "Read the OpenAPI description",
        consequence: Consequence::None,
        intents: &[
            "where is the OpenAPI description",
            "the OpenAPI spec of this API",
            "download the swagger file",
            "the machine-readable API description",
            "the schema of the REST API",
        ],
    },
    Beside {
        name: "node_spec",
        title: "Read the node specifications",
        consequence: Consequence::None,
        intents: &[
            "node specifications",
            "which nodes are there for a workflow graph",
            "compose operations as nodes of a graph",
            "the node specs",
            "nodes for a workflow editor",
        ],
    },
    Beside {
        name: "surfaces",
        title: "List the surfaces",
        consequence: Consequence::None,
        intents: &[
            "which surfaces are there",
            "list the surfaces of this service",
            "which protocols can agents use: REST, MCP, A2A",
            "is A2A supported",
            "the surfaces by which this service can be reached",
        ],
    },
];
