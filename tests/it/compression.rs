//! Compression: content types, clients and entity tags.

use std::io::Read;

use ep_polling::MicroUsd;
use reqwest::Method;
use serde_json::json;

use crate::harness::Setup;

#[tokio::test]
async fn texts_are_compressed_for_clients_that_accept_gzip() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let asked = json!({ "question": "Is a hot dog a sandwich?", "options": ["Yes", "No"] });
    let poll = client.post("/api/poll", &asked).await.expect(200);
    let [page, embed] =
        ["results", "embed"].map(|page| format!("/{page}/{}", poll["poll_id"].as_str().unwrap()));
    for path in
        ["/", "/llms-full.txt", "/api/openapi.json", "/assets/style.css", "/api/models", &page, &embed]
    {
        let plain = client.get(path).await;
        assert_eq!(plain.status, 200, "{path}");
        assert!(plain.header("content-encoding").is_empty(), "{path}");
        assert!(plain.headers.get_all("vary").iter().any(|vary| vary == "accept-encoding"), "{path}");
        let request = client.request(Method::GET, path).header("accept-encoding", "br, gzip");
        let compressed = request.send().await.unwrap();
        let headers = compressed.headers().clone();
        assert_eq!(headers["content-encoding"], "gzip", "{path}");
        assert!(headers.get_all("vary").iter().any(|vary| vary == "accept-encoding"), "{path}");
        let bytes = compressed.bytes().await.unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
        assert!(bytes.len() < plain.text.len() / 2, "{path}: {} of {}", bytes.len(), plain.text.len());
        if path == "/" {
            continue;
        }
        assert_eq!(text, plain.text, "{path}");
        let tag = headers["etag"].to_str().unwrap();
        assert_eq!(tag, format!("W/{}", plain.header("etag")), "other bytes have no strong tag in common");
        let known = client.request(Method::GET, path).header("if-none-match", tag);
        assert_eq!(client.send(known).await.status, 304, "{path}");
    }
}

#[tokio::test]
async fn secret_and_precompressed_content_is_not_compressed() {
    let service = Setup::demo().boot().await;
    let (user, _) = service.user_with(MicroUsd::new(5_000_000)).await;
    let cookie = service.cookie(user).await;
    let client = service.anonymous();
    let encoding = async |path: &str, cookie: &str| {
        let request =
            client.request(Method::GET, path).header("accept-encoding", "gzip").header("cookie", cookie);
        request.send().await.unwrap().headers().get("content-encoding").cloned()
    };
    assert_eq!(encoding("/", "").await.unwrap(), "gzip");
    assert_eq!(encoding("/", &cookie).await, None);
    assert_eq!(encoding("/favicon.ico", "").await, None);
    assert_eq!(encoding("/api/health", "").await, None, "too small");
}

#[tokio::test]
async fn hsts_is_sent_if_the_service_uses_tls() {
    for (base_url, policy) in [("https://polls.example.com", "max-age=31536000"), ("http://127.0.0.1:1", "")]
    {
        let service = Setup::demo().with("EP_BASE_URL", base_url).boot().await;
        for path in ["/", "/api/health", "/nowhere"] {
            let reply = service.anonymous().get(path).await;
            assert_eq!(reply.header("strict-transport-security"), policy, "{path}");
        }
    }
}
