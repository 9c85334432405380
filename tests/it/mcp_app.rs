//! The result card of a poll in MCP hosts. `tests/mcp-app` has the host and a browser.

use std::path::Path;

use serde_json::json;
use tokio::process::Command;

use crate::harness::{Service, Setup, node};

const URI: &str = "ui://poll/result";

#[tokio::test]
async fn hosts_find_and_show_the_card() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let discovered = client.mcp(json!({}), "server/discover", None, json!({})).await.expect(200);
    let extension = &discovered["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/ui"];
    assert_eq!(extension["mimeTypes"], json!(["text/html;profile=mcp-app"]));
    let tools = client.mcp(json!({}), "tools/list", None, json!({})).await.expect(200);
    for (place, shown) in [(0, true), (1, true), (2, false)] {
        let meta = &tools["result"]["tools"][place]["_meta"];
        assert_eq!(meta["ui"]["resourceUri"] == URI && meta["ui/resourceUri"] == URI, shown, "{meta}");
    }
    let listed = client.mcp(json!({}), "resources/list", None, json!({})).await.expect(200);
    assert!(listed["result"]["resources"].as_array().unwrap().iter().any(|resource| resource["uri"] == URI));
    let read = client.mcp(json!({}), "resources/read", Some(URI), json!({ "uri": URI })).await.expect(200);
    let page = &read["result"]["contents"][0];
    assert_eq!(page["mimeType"], "text/html;profile=mcp-app");
    assert_eq!(page["_meta"]["ui"]["csp"], json!({ "connectDomains": [], "resourceDomains": [] }));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("poll-result.html");
    std::fs::write(&file, page["text"].as_str().unwrap()).unwrap();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp-app");
    let shown = Command::new(node()).arg(scripts.join("check.mjs")).arg(&file).output().await.unwrap();
    let text = String::from_utf8_lossy(&[shown.stdout, shown.stderr].concat()).into_owned();
    assert!(shown.status.success() && text.contains("checks hold"), "{text}");
}

#[tokio::test]
async fn endpoint_shows_connection_instructions_in_a_browser() {
    let service = Service::start().await;
    let client = service.anonymous();
    let browser = client.request(reqwest::Method::GET, "/api/mcp").header("accept", "text/html,*/*;q=0.8");
    let page = client.send(browser).await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.text.contains(&format!("ensemble-poll {}/api/mcp", service.url)), "{}", page.text);
    assert!(page.header("content-security-policy").contains("style-src 'self'"));
    // Some clients request a server event stream, which is not offered.
    let stream = client.request(reqwest::Method::GET, "/api/mcp").header("accept", "text/event-stream");
    let refused = client.send(stream).await;
    assert_eq!((refused.status, refused.header("allow")), (405, "OPTIONS, POST"));
}
