//! Surfaces: every claim is tested.

use std::collections::HashSet;

use ep_kernel::method::Method;
use serde_json::Value;

use crate::harness::{Service, Setup};

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// Checks the claims of each descriptor and returns the descriptors.
async fn checked(service: &Service) -> Vec<Value> {
    let client = service.anonymous();
    let listed = client.get("/api/surfaces").await.expect(200);
    let descriptors = listed.as_array().unwrap();
    let mut ids = HashSet::new();
    for descriptor in descriptors {
        let id = descriptor["pattern_id"].as_str().unwrap();
        assert!(ids.insert(id), "{id} twice");
        let category = descriptor["category"].as_str().unwrap();
        assert!(["standard", "emerging", "speculative"].contains(&category), "{descriptor}");
        let users = texts(&descriptor["user_types"]);
        let known = ["human", "coding_agent", "browser_agent"];
        assert!(!users.is_empty() && users.iter().all(|user| known.contains(user)), "{descriptor}");
        for member in ["description", "user_story", "detection_rule"] {
            assert!(descriptor[member].as_str().unwrap().len() > 10, "{descriptor}");
        }
        let artifacts = texts(&descriptor["artifacts"]);
        assert!(!artifacts.is_empty(), "{descriptor}");
        for artifact in artifacts {
            let path = artifact.strip_prefix(&service.url).unwrap();
            let reply = client.get(path).await;
            // A route that accepts only POST returns 405.
            let posted =
                service.site.routes.iter().any(|route| route.path == path && route.method == Method::Post);
            let expected = if posted { 405 } else { 200 };
            assert_eq!(reply.status, expected, "{id}: {artifact}: {}", reply.text);
        }
    }
    descriptors.clone()
}

#[tokio::test]
async fn every_artifact_of_every_descriptor_responds() {
    let service = Setup::demo().boot().await;
    let descriptors = checked(&service).await;
    assert!(descriptors.len() >= 20, "{}", descriptors.len());
    for category in ["standard", "emerging", "speculative"] {
        assert!(descriptors.iter().any(|descriptor| descriptor["category"] == category), "{category}");
    }
}

#[tokio::test]
async fn optional_surfaces_are_listed_only_if_configured() {
    let has =
        |descriptors: &[Value], id: &str| descriptors.iter().any(|descriptor| descriptor["pattern_id"] == id);
    let without = checked(&Setup::demo().boot().await).await;
    let with =
        checked(&Setup::demo().with("EP_AUTH_ISSUER_URL", "https://login.example.com").boot().await).await;
    assert!(!has(&without, "oauth_protected_resource") && has(&with, "oauth_protected_resource"));
    assert!(!has(&without, "x402_deposit"), "it is not configured");
}
