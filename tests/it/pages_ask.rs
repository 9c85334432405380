//! The form of the start page in a real browser (`tests/pages/ask.mjs`).

use serde_json::json;

use crate::harness::{IdentityProvider, Setup};
use crate::pages::walked_by;

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
    walked_by("ask.mjs", &service, given, |_| ()).await;
}
