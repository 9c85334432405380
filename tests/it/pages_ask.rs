//! The form of the start page in a real browser (`tests/pages/ask.mjs`).

use std::path::Path;

use serde_json::json;
use tokio::process::Command;

use crate::harness::{IdentityProvider, Setup, node};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_are_asked_in_a_browser() {
    let (setup, url) = Setup::demo().at_known_address();
    let provider = IdentityProvider::start(&url, 0).await;
    let service = setup
        .with("EP_AUTH_ISSUER_URL", &provider.issuer)
        .with("EP_AUTH_CLIENT_ID", "polls")
        .with("EP_AUTH_CLIENT_SECRET", "a secret of the client")
        .boot()
        .await;
    let given = json!({ "provider": provider.issuer, "screenshots": std::env::var("EP_SCREENSHOTS").ok() });
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/ask.mjs");
    let walk =
        Command::new(node()).arg(check).args([&service.url, &given.to_string()]).output().await.unwrap();
    let text = String::from_utf8_lossy(&[walk.stdout, walk.stderr].concat()).into_owned();
    assert!(walk.status.success() && text.contains("checks hold"), "{text}");
}
