//! CPU of a document that is served from memory: in the router alone, whole, not changed (304) and as a HEAD request;
//! and for the whole process, with connection and sockets. Asked: 50 µs.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Method, Request};
use ensemble_poll::documents::DOCUMENTS;
use ensemble_poll::{config, server, wiring};
use http_body_util::BodyExt;
use reqwest::Client;
use tower::ServiceExt;

use crate::process::{Server, cpu_of_this_thread, median};

const ROUNDS: usize = 9;
const REQUESTS: u32 = 500;
/// Requests of a round in the router: a thread reads its own account in steps of some milliseconds.
const REQUESTS_IN_ROUTER: u32 = 10 * REQUESTS;

/// Measures documents.
pub(crate) async fn run() {
    let data = tempfile::tempdir().expect("a folder");
    let folder = data.path().display().to_string();
    let variable = |name: &str| match name {
        "EP_CONFIG" => Some("/dev/null".to_owned()),
        "EP_DATA_DIR" => Some(folder.clone()),
        "EP_CONTACT" => Some("help@example.com".to_owned()),
        "EP_RATE_LIMIT_PUBLIC_PER_MINUTE" => Some("1000000000".to_owned()),
        _ => None,
    };
    let config = config::load(variable).expect("settings");
    let service = wiring::assemble(&config, wiring::Environment::system()).await.expect("a service");
    let router = server::router(&service, &config);
    let settings = [("EP_CONTACT", "help@example.com"), ("EP_RATE_LIMIT_PUBLIC_PER_MINUTE", "1000000000")];
    let other = tempfile::tempdir().expect("a folder");
    let process = Server::start(&other, &settings);
    let client = Client::builder().tcp_nodelay(true).no_proxy().build().expect("a client");
    println!("CPU for a document, median of {ROUNDS} rounds of {REQUESTS}, in µs");
    println!("  {:<44} {:>8} {:>8} {:>8} {:>8} {:>8}", "", "bytes", "whole", "304", "HEAD", "process");
    for document in DOCUMENTS {
        let Some(path) = (document.paths)(&service.site).into_iter().find(|path| !path.contains('{')) else {
            continue;
        };
        let (status, tag, bytes) = fetched(&router, &path).await;
        if status != 200 {
            continue;
        }
        let [whole, known, head, whole_process] = [
            timed(&router, Method::GET, &path, None).await,
            timed(&router, Method::GET, &path, Some(&tag)).await,
            timed(&router, Method::HEAD, &path, None).await,
            by_process(&process, &client, &path).await,
        ]
        .map(|time| time.as_secs_f64() * 1e6);
        println!("  {path:<44} {bytes:>8} {whole:>8.1} {known:>8.1} {head:>8.1} {whole_process:>8.1}");
    }
    service.stop(tokio::time::Instant::now()).await;
}

fn request(method: Method, path: &str, tag: Option<&str>) -> Request<Body> {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    let request = match tag {
        Some(tag) => request.header("if-none-match", tag),
        None => request,
    };
    let mut request = request.body(Body::empty()).expect("a request");
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 1))));
    request
}

/// Status, entity tag and length of a document.
async fn fetched(router: &Router, path: &str) -> (u16, String, usize) {
    let answer = router.clone().oneshot(request(Method::GET, path, None)).await.expect("an answer");
    let tag = answer.headers().get("etag").and_then(|tag| tag.to_str().ok()).unwrap_or_default().to_owned();
    let status = answer.status().as_u16();
    (status, tag, answer.into_body().collect().await.expect("a body").to_bytes().len())
}

/// CPU of one request in the router, which spawns nothing.
async fn timed(router: &Router, method: Method, path: &str, tag: Option<&str>) -> Duration {
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        let cpu = cpu_of_this_thread();
        for _ in 0..REQUESTS_IN_ROUTER {
            let answer = router.clone().oneshot(request(method.clone(), path, tag)).await.expect("an answer");
            answer.into_body().collect().await.expect("a body");
        }
        // The first round warms up.
        if round > 0 {
            times.push(cpu_of_this_thread().saturating_sub(cpu) / REQUESTS_IN_ROUTER);
        }
    }
    median(times)
}

/// CPU of the server's process for one request on an open connection.
async fn by_process(server: &Server, client: &Client, path: &str) -> Duration {
    let url = format!("{}{path}", server.url);
    let mut used = Vec::new();
    for round in 0..=ROUNDS {
        let cpu = server.cpu();
        for _ in 0..REQUESTS {
            let answer = client.get(&url).send().await.expect("an answer");
            assert_eq!(answer.status(), 200, "{path}");
            answer.bytes().await.expect("a body");
        }
        if round > 0 {
            used.push(server.cpu().saturating_sub(cpu) / REQUESTS);
        }
    }
    median(used)
}
