//! Rendered documents: as snapshots, so that a change shows in review, and as they are served.

use std::sync::Arc;

use ensemble_poll::documents::{API_REFERENCE, DOCUMENTS, OPENAPI, SiteSettings};
use ensemble_poll::surface::routes;
use ep_kernel::signing::SigningKeys;

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
    let settings = SiteSettings { signing, ..SiteSettings::new(&config) };
    let site = routes::site(settings, &ep_tools::TOOLS);
    let mut seen = 0;
    let served = DOCUMENTS.iter().filter(|document| !(document.paths)(&site).is_empty());
    // Of every operation, so that they change with each: `openapi::every_operation_as_a_snapshot` shows the first in short.
    for document in
        served.filter(|document| ![OPENAPI, API_REFERENCE, "api_reference_markdown"].contains(&document.name))
    {
        for (place, form) in document.forms.iter().enumerate() {
            let name = match place {
                0 => document.name.to_owned(),
                place => format!("{}_form_{place}", document.name),
            };
            let bytes = (form.render)(&site).unwrap();
            insta::assert_snapshot!(name, std::str::from_utf8(&bytes).unwrap());
            seen += 1;
        }
    }
    assert!(seen >= 2);
}

#[tokio::test]
async fn documents_have_types_tags_forms_and_caching() {
    let setup = Setup::demo().with("EP_AUTH_ISSUER_URL", "https://login.example.com");
    let service = setup.boot().await;
    let client = service.anonymous();
    for document in DOCUMENTS {
        for path in (document.paths)(&service.site) {
            let full = client.get(&path).await;
            assert_eq!(full.status, 200, "{path}");
            assert_eq!(full.header("content-type"), document.forms[0].media_type);
            assert_eq!(full.header("cache-control"), format!("public, max-age={}", document.max_age));
            assert_eq!(full.text.as_bytes(), service.site.document(document.name).unwrap());
            let known =
                client.request(reqwest::Method::GET, &path).header("if-none-match", full.header("etag"));
            let known = client.send(known).await;
            assert_eq!((known.status, known.text.as_str()), (304, ""), "{path}");
            let head = client.send(client.request(reqwest::Method::HEAD, &path)).await;
            assert_eq!((head.status, head.header("etag")), (200, full.header("etag")));
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
