//! Bodies for the JSON-RPC endpoints of a whole service in process. The first byte selects the endpoint.

#![no_main]
#![expect(clippy::expect_used, reason = "a fuzz target fails by panicking")]

use std::sync::LazyLock;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use ensemble_poll::app::assemble::{self, Environment};
use ensemble_poll::app::server;
use ensemble_poll::config;
use ep_polling::money::MicroUsd;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

/// Maximum length of a response, in bytes.
const MAX_RESPONSE: usize = 16 * 1024 * 1024;

struct Service {
    runtime: Runtime,
    router: Router,
    key: String,
    _data: TempDir,
}

static SERVICE: LazyLock<Service> = LazyLock::new(|| {
    let data = tempfile::tempdir().expect("a folder");
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let variables = [
        ("EP_DATA_DIR", data.path().display().to_string()),
        ("EP_CONFIG", "/dev/null".into()),
        ("EP_DEMO_PACE", "0".into()),
        ("EP_BILLING", "off".into()),
        ("EP_RATE_LIMIT_PER_MINUTE", "0".into()),
    ];
    let variable =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    let config = config::load(variable).expect("settings");
    let (router, key) = runtime.block_on(async {
        let service = assemble::service(&config, Environment::system()).await.expect("a service");
        let accounts = &service.app.accounts;
        let email = "fuzz@example.com".parse().expect("an address");
        let user = accounts.create_user(email, MicroUsd::STARTER_CREDIT).await.expect("an account");
        let issued =
            service.app.ports.keys.issue(user, "fuzz".parse().expect("a label")).await.expect("a key");
        (server::router(&service, &config), issued.key.reveal().to_owned())
    });
    Service { runtime, router, key, _data: data }
});

/// Sends a body. Returns the status and the body of the response.
async fn send(service: &Service, path: &str, version: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let request = Request::post(path)
        .header(HOST, "127.0.0.1")
        .header(CONTENT_TYPE, "application/json")
        .header(AUTHORIZATION, format!("Bearer {}", service.key))
        .header("a2a-version", version)
        .body(Body::from(body.to_vec()))
        .expect("a request");
    let Ok(response) = service.router.clone().oneshot(request).await;
    let status = response.status().as_u16();
    (status, axum::body::to_bytes(response.into_body(), MAX_RESPONSE).await.expect("a body").to_vec())
}

fuzz_target!(|input: &[u8]| {
    let Some((&endpoint, body)) = input.split_first() else { return };
    let (path, version) = match endpoint % 4 {
        0 => ("/api/mcp", ""),
        1 => ("/api/a2a", ""),
        2 => ("/api/a2a", "1.0"),
        _ => ("/api/a2a/tasks/send", ""),
    };
    let service = &*SERVICE;
    let (status, response) = service.runtime.block_on(send(service, path, version, body));
    assert!(status < 500, "{status} from {path}");
    // An MCP notification gets an empty response.
    if status == 202 && path == "/api/mcp" {
        return assert!(response.is_empty());
    }
    let response: Value = serde_json::from_slice(&response).expect("a response in JSON");
    if path == "/api/a2a/tasks/send" {
        return;
    }
    assert_eq!(response["jsonrpc"], "2.0", "{response}");
    // The envelope may be valid even if its parameters are not.
    if let Ok(sent) = serde_json::from_slice::<Value>(body) {
        assert!(
            response["id"].is_null() || Some(&response["id"]) == sent.get("id"),
            "another id: {response}"
        );
    }
    assert_ne!(response["error"]["code"], -32603, "{response}");
});
