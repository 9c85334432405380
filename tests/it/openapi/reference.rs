//! The API reference.

use std::path::Path;

use ep_site::names::API_REFERENCE;
use reqwest::Method;

use super::{described, folder, operations, run};
use crate::harness::{Service, Setup, node};

/// Returns the reference for this `Accept` header.
async fn read(service: &Service, accept: &str) -> crate::harness::Reply {
    let url = service.app.ports.links.url(API_REFERENCE, &[]);
    let client = service.anonymous();
    let request = client.request(Method::GET, url.strip_prefix(&service.url).unwrap());
    client.send(request.header("accept", accept)).await
}

#[tokio::test]
async fn page_shows_every_operation_and_loads_no_external_resources() {
    let service = Setup::demo().boot().await;
    let page = read(&service, "text/html,*/*").await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    assert!(policy.contains("style-src 'self'") && !policy.contains("unsafe"), "{policy}");
    for (name, operation) in operations(&described().await) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(page.text.contains(&format!(" id=\"{id}\"")), "{name} is not listed");
    }
    for markup in ["<script>", "<style", "<iframe", " src=\"http", " style=", "@import", "url("] {
        assert!(!page.text.contains(markup), "{markup}");
    }
    // The anchors that other pages and clients may have stored.
    for anchor in ["credentials", "headers", "errors", "schemas", "parameter-Idempotency-Key"] {
        assert!(page.text.contains(&format!(" id=\"{anchor}\"")), "{anchor}");
    }
    assert!(page.text.len() < 80_000, "{} bytes", page.text.len());
    // Every link within the page has a target.
    for target in page.text.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(page.text.contains(&format!(" id=\"{target}\"")), "#{target} leads nowhere");
    }
}

#[tokio::test]
async fn page_is_valid_and_accessible_html() {
    let service = Setup::demo().boot().await;
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("page.html");
    std::fs::write(&file, read(&service, "text/html").await.text).unwrap();
    let checker = Path::new("node_modules/html-validate/bin/html-validate.mjs");
    assert!(folder().join(checker).exists(), "run scripts/install");
    let arguments = [
        checker.to_str().unwrap(),
        "--preset",
        "standard,a11y",
        "--max-warnings",
        "0",
        file.to_str().unwrap(),
    ];
    run(node(), &arguments).await;
}

#[tokio::test]
async fn markdown_is_served_on_request() {
    let service = Setup::demo()
        .with("EP_STRIPE_SECRET_KEY", "sk_test_of_the_tests")
        .with("EP_STRIPE_WEBHOOK_SECRET", "whsec_test")
        .boot()
        .await;
    let text = read(&service, "text/markdown, text/html;q=0.9").await;
    assert_eq!(text.header("content-type"), "text/markdown; charset=utf-8");
    for entry in ep_tools::TOOLS.iter() {
        assert!(text.text.contains(&format!("\n## {}\n", entry.spec.name)), "{}", entry.spec.name);
    }
    assert!(text.text.contains("- `POST /api/mcp`: "), "{}", text.text);
    let twin = service
        .anonymous()
        .get(&service.app.ports.links.url("api_reference_markdown", &[])[service.url.len()..])
        .await;
    assert_eq!(
        (twin.text, twin.headers["content-type"].clone()),
        (text.text, text.headers["content-type"].clone())
    );
}
