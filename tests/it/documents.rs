//! Rendered documents: snapshots for review, and the documents as served.

use std::sync::Arc;

use ensemble_poll::app::routes;
use ensemble_poll::payments::RAILS;
use ep_kernel::SigningKeys;
use ep_pages::documents::DOCUMENTS;
use ep_polling::Timestamp;
use ep_site::names::{API_REFERENCE, DOCS, OPENAPI};
use ep_site::{Document, SiteSettings};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::harness::{Setup, configured};

#[test]
fn every_served_document_as_a_snapshot() {
    let variables = [
        ("EP_CONFIG", "/dev/null"),
        ("EP_BASE_URL", "https://polls.example.com/"),
        ("EP_OPERATOR_NAME", "Example Polls Ltd"),
        ("EP_OPERATOR_URL", "https://example.com/about"),
        ("EP_CONTACT", "keys@example.com"),
        ("EP_DOCUMENTATION_URL", "https://docs.example.com/polls"),
        ("EP_AUTH_ISSUER_URL", "https://login.example.com"),
    ];
    let config = configured(&variables.map(|(name, value)| (name, value.to_owned())));
    let signing = Some(Arc::new(SigningKeys::derive(b"of this snapshot", 1)));
    let since = Some(Timestamp::from_millis(1_790_000_000_000));
    let settings = SiteSettings { signing, since, ..SiteSettings::new(&config, &RAILS) };
    let site = routes::site(settings, &ep_tools::TOOLS);
    let mut seen = 0;
    let served = |document: &&Document| !(document.paths)(&site).is_empty();
    // The full documentation quotes documents reviewed elsewhere. `openapi::every_operation_as_a_snapshot` shows
    // the REST interface of every operation in short.
    let elsewhere = ["llms_full", OPENAPI, API_REFERENCE, "api_reference_markdown", DOCS, "docs_markdown"];
    // Assets are served unchanged from `assets/`; pictures are reviewed by eye.
    let is_asset = |document: &Document| {
        (document.paths)(&site)[0].starts_with("/assets/") || document.forms[0].media_type == "image/png"
    };
    let is_guide = |document: &Document| document.name.starts_with("guide_");
    let reviewed = |document: &&Document| {
        !elsewhere.contains(&document.name) && !is_asset(document) && !is_guide(document)
    };
    // Texts in the shared page layout: their Markdown is reviewed.
    let framed = ["about", "how_sure", "privacy", "terms"];
    for document in DOCUMENTS.iter().filter(served).filter(reviewed) {
        for (place, form) in document.forms.iter().enumerate() {
            if place == 0 && framed.contains(&document.name) {
                continue;
            }
            let name = match place {
                0 => document.name.to_owned(),
                place => format!("{}_form_{place}", document.name),
            };
            // With these settings, only documents that depend on a missing document are absent.
            let Some(bytes) = (form.render)(&site) else { continue };
            let reviewed = reviewed_part(&name, std::str::from_utf8(&bytes).unwrap());
            insta::assert_snapshot!(name, reviewed);
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen}");
}

/// Returns a document, or the digest of a long one with an example. `fields::every_field_of_every_operation_as_a_snapshot` has the
/// schemas of long ones, and their other texts are those of `surfaces` and of the operations.
fn reviewed_part(name: &str, text: &str) -> String {
    let (list, of) = match name {
        "node_spec" => ("nodes", "id"),
        "routing_descriptions" => ("routes", "name"),
        "intents" => ("intents", "operation"),
        "asyncapi" => ("channels", ""),
        _ => return without_versions(text),
    };
    let document: Value = serde_json::from_str(text).unwrap();
    let example = match &document[list] {
        Value::Array(entries) => entries.iter().find(|entry| entry[of] == "get_balance").unwrap(),
        entries => &entries["watch_poll"],
    };
    let digest = hex::encode(Sha256::digest(text.as_bytes()));
    format!("sha256 {digest}\n{}", serde_json::to_string_pretty(example).unwrap())
}

/// Returns a page without asset digests.
fn without_versions(page: &str) -> String {
    let mut parts = page.split("?v=");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "?v=" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}

#[tokio::test]
async fn missing_documents_explain_why() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    for (path, reason) in [
        ("/.well-known/security.txt", "EP_CONTACT"),
        ("/security.txt", "EP_CONTACT"),
        ("/.well-known/oauth-protected-resource", "EP_AUTH_ISSUER_URL"),
        ("/.well-known/openid-configuration", "EP_AUTH_ISSUER_URL"),
    ] {
        let refusal = client.get(path).await.refused(404);
        assert!(refusal.contains(reason), "{path}: {refusal}");
    }
}

#[tokio::test]
async fn documents_have_types_tags_forms_and_caching() {
    let setup = Setup::demo().with("EP_AUTH_ISSUER_URL", "https://login.example.com");
    let service = setup.with("EP_CONTACT", "help@example.com").boot().await;
    let client = service.anonymous();
    for document in DOCUMENTS {
        for path in (document.paths)(&service.site) {
            let full = client.get(&path).await;
            if service.site.document(document.name).is_none() {
                assert_eq!(full.refused(404), document.absent, "{path}");
                continue;
            }
            assert_eq!(full.status, 200, "{path}");
            assert_eq!(full.header("content-type"), document.forms[0].media_type);
            assert_eq!(full.header("cache-control"), format!("public, max-age={}", document.max_age));
            let bytes = service.site.document(document.name).unwrap();
            assert_eq!(full.text, String::from_utf8_lossy(&bytes));
            let known =
                client.request(reqwest::Method::GET, &path).header("if-none-match", full.header("etag"));
            let known = client.send(known).await;
            assert_eq!((known.status, known.text.as_str()), (304, ""), "{path}");
            let head = client.send(client.request(reqwest::Method::HEAD, &path)).await;
            assert_eq!((head.status, head.text.as_str()), (200, ""), "{path}");
            for name in
                ["content-type", "content-length", "etag", "vary", "link", "access-control-allow-origin"]
            {
                assert_eq!(head.header(name), full.header(name), "{name} of {path}");
            }
            let by_anyone = if document.open { "*" } else { "" };
            assert_eq!(full.header("access-control-allow-origin"), by_anyone, "{path}");
        }
    }
    let request = client.request(reqwest::Method::GET, "/.well-known/agent-card.json");
    let version_1 = client.send(request.header("a2a-version", "1.0")).await;
    assert_eq!(version_1.header("vary"), "a2a-version");
    assert!(version_1.expect(200).get("protocolVersion").is_none());
}

#[test]
fn the_schema_of_the_main_operation() {
    let entry = ep_tools::find("poll_question").unwrap();
    insta::assert_json_snapshot!("poll_question_input", entry.input());
}
