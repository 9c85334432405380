//! Measures the CPU of documents served from memory. In the router alone: full, not modified (304) and HEAD.
//! For the whole process with sockets: beside bare axum with the same number of bytes. Target: 50 µs.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Path};
use axum::http::{Method, Request};
use ensemble_poll::app::{assemble, server};
use ensemble_poll::config;
use ep_pages::documents::DOCUMENTS;
use http_body_util::BodyExt;
use reqwest::Client;
use tower::ServiceExt;

use crate::process::{Bare, BareServer, Server, cpu_of_calls, cpu_of_this_thread, median, micros};

const ROUNDS: usize = 9;
/// Requests per round in the router. The number is large because a thread's CPU time advances in steps of
/// some milliseconds.
const REQUESTS: u32 = 5_000;
const ROUNDS_OF_PROCESSES: usize = 3;

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
    let service = assemble::service(&config, assemble::Environment::system()).await.expect("a service");
    let router = server::router(&service, &config);
    let settings = [("EP_CONTACT", "help@example.com"), ("EP_RATE_LIMIT_PUBLIC_PER_MINUTE", "1000000000")];
    let other = tempfile::tempdir().expect("a folder");
    let process = Server::start(&other, &settings);
    let client = Client::builder().tcp_nodelay(true).no_proxy().build().expect("a client");
    let bare = BareServer::start(Bare::Document, "");
    println!(
        "CPU for a document in µs, median of {ROUNDS} rounds in the router, of {ROUNDS_OF_PROCESSES} in processes"
    );
    println!(
        "  {:<44} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "bytes", "whole", "304", "HEAD", "process", "axum", "above"
    );
    for document in DOCUMENTS {
        let Some(path) = (document.paths)(&service.site).into_iter().find(|path| !path.contains('{')) else {
            continue;
        };
        let (status, tag, bytes) = fetched(&router, &path).await;
        if status != 200 {
            continue;
        }
        let [whole, known, head] = [
            timed(&router, Method::GET, &path, None).await,
            timed(&router, Method::GET, &path, Some(&tag)).await,
            timed(&router, Method::HEAD, &path, None).await,
        ]
        .map(micros);
        let (url, bare_url) = (format!("{}{path}", process.url), format!("{}/{bytes}", bare.url));
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS_OF_PROCESSES {
            ours.push(cpu_of_calls(process.pid(), || get(&client, &url)).await);
            theirs.push(cpu_of_calls(bare.pid(), || get(&client, &bare_url)).await);
        }
        let (ours, theirs) = (micros(median(ours)), micros(median(theirs)));
        println!(
            "  {path:<44} {bytes:>8} {whole:>8.1} {known:>8.1} {head:>8.1} {ours:>8.1} {theirs:>8.1} {:>8.1}",
            ours - theirs
        );
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

/// Returns the status, entity tag and length of a document.
async fn fetched(router: &Router, path: &str) -> (u16, String, usize) {
    let response = router.clone().oneshot(request(Method::GET, path, None)).await.expect("a response");
    let tag = response.headers().get("etag").and_then(|tag| tag.to_str().ok()).unwrap_or_default().to_owned();
    let status = response.status().as_u16();
    (status, tag, response.into_body().collect().await.expect("a body").to_bytes().len())
}

/// Measures the CPU of one request in the router, which spawns no tasks.
async fn timed(router: &Router, method: Method, path: &str, tag: Option<&str>) -> Duration {
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        let cpu = cpu_of_this_thread();
        for _ in 0..REQUESTS {
            let response =
                router.clone().oneshot(request(method.clone(), path, tag)).await.expect("a response");
            response.into_body().collect().await.expect("a body");
        }
        // The first round is a warm-up.
        if round > 0 {
            times.push(cpu_of_this_thread().saturating_sub(cpu) / REQUESTS);
        }
    }
    median(times)
}

async fn get(client: &Client, url: &str) {
    let response = client.get(url).send().await.expect("a response");
    assert_eq!(response.status(), 200, "{url}");
    response.bytes().await.expect("a body");
}

/// A bare axum router that serves `/{bytes}`.
pub(crate) fn bare() -> Router {
    let memory = Bytes::from(vec![b' '; 1 << 20]);
    let response = move |Path(bytes): Path<usize>| {
        let headers = [("content-type", "application/json"), ("etag", "\"0123456789abcdef\"")];
        let body = memory.slice(..bytes);
        async move { (headers, body) }
    };
    Router::new().route("/{bytes}", axum::routing::get(response))
}
