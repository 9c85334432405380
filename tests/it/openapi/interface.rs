//! The operations of the interface specification: each must be described.

use std::collections::BTreeSet;

use super::{described, operations};

/// The operations that the specification lists.
const INTERFACE: &[&str] = &[
    "POST /api/poll",
    "POST /api/poll/stream",
    "POST /api/poll/dry-run",
    "GET /api/poll/estimate",
    "GET /api/profiles",
    "POST /api/polls",
    "GET /api/polls/{id}/status",
    "GET /api/polls/{id}/result",
    "GET /api/results/recent",
    "GET /api/results/{resultId}",
    "GET /api/results",
    "GET /api/keys",
    "POST /api/keys",
    "DELETE /api/keys/{keyId}",
    "GET /api/balance",
    "POST /api/checkout",
    "POST /api/deposit",
    "GET /api/wallet/challenge",
    "POST /api/wallet/verify",
    "POST /api/wallet/revoke-key",
    "POST /api/wallet/rotate-key",
    "GET /api/auth/login",
    "GET /api/auth/callback",
    "GET /api/auth/logout",
    "GET /api/auth/me",
    "POST /api/mcp",
    "GET /.well-known/agent.json",
    "GET /.well-known/agent-card.json",
    "POST /api/a2a/tasks/send",
    "GET /api/errors/catalog",
    "GET /api/models",
    "GET /api/health",
    "GET /.well-known/openid-configuration",
    "GET /.well-known/oauth-protected-resource",
    "GET /api/openapi.json",
    "GET /asyncapi.json",
    "GET /api/docs",
    "POST /api/feedback",
    "GET /api/feedback/{pollId}",
    "GET /api/intents",
    "POST /api/intents/match",
    "GET /api/reputation",
    "GET /api/reputation/models",
    "GET /api/graph/node-spec",
    "GET /api/graph/mermaid/{pollId}",
    "GET /api/examples",
    "GET /api/examples/{language}",
    "GET /api/surfaces",
    "GET /robots.txt",
    "GET /sitemap.xml",
    "GET /api/routing-descriptions.json",
    "GET /.well-known/ai-plugin.json",
    "GET /api/agent-card",
    "GET /.well-known/api-catalog",
    "GET /.well-known/mcp/server-card.json",
    "GET /.well-known/agent-skills/index.json",
    "GET /llms.txt",
    "GET /llms-full.txt",
    "GET /api/skill-bundle",
    "GET /.{tool_dir}/skills/prevent-hallucinations-with-a-poll/SKILL.md",
    "GET /.{tool_dir}/skills/prevent-hallucinations-with-a-poll.md",
    "GET /.{tool_dir}/prevent-hallucinations-with-a-poll/SKILL.md",
    "GET /{home}/{root_file}.md",
];

#[tokio::test]
async fn interface_operations_are_described() {
    let description = described().await;
    assert_eq!(
        (&description["openapi"], &description["info"]["version"]),
        (&"3.1.0".into(), &"2.0.0".into())
    );
    let described = operations(&description);
    let missing: Vec<&&str> =
        INTERFACE.iter().filter(|operation| !described.contains_key(**operation)).collect();
    assert!(missing.is_empty(), "not described: {missing:?}");
    let all: BTreeSet<&&str> = INTERFACE.iter().collect();
    assert_eq!((all.len(), INTERFACE.len()), (63, 63), "each operation is listed once");
}

#[tokio::test]
async fn interface_details_are_described() {
    let description = described().await;
    let schemas = &description["components"]["schemas"];
    let members = |name: &str| {
        schemas[name]["properties"].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>()
    };
    let (private, public) = (members("VoteResult"), members("PublicVote"));
    let costs: Vec<&String> = private.difference(&public).collect();
    assert_eq!(costs, ["cost_basis", "estimated_cost"], "the public result tells no cost");
    assert!(public.is_subset(&private));
    let operations = operations(&description);
    let poll = &operations["POST /api/poll"];
    assert_eq!(poll["security"].as_array().unwrap().len(), 4, "{}", poll["security"]);
    assert_eq!(
        poll["requestBody"]["content"]["application/json"]["schema"]["anyOf"].as_array().unwrap().len(),
        2
    );
    let statuses: Vec<&String> = poll["responses"].as_object().unwrap().keys().collect();
    for status in ["200", "202", "400", "401", "402", "422", "429", "500"] {
        assert!(statuses.iter().any(|known| *known == status), "{status} in {statuses:?}");
    }
    assert_eq!(schemas["PollRequest"]["required"], serde_json::json!(["options"]));
    assert_eq!(schemas["PollRequestWithScale"]["required"], serde_json::json!(["scale"]));
    for form in ["application/json", "application/problem+json"] {
        let content = &description["components"]["responses"]["BadRequest"]["content"];
        assert!(content[form]["schema"].is_object(), "{content}");
    }
}
