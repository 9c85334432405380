//! Measures the CPU of pages as browsers request them: compressed, uncompressed and not modified (304). The
//! whole process with sockets is compared with bare axum that sends the same number of bytes. Target: 150 µs
//! for a page from memory, as these are from the second request on.

use futures::FutureExt;
use reqwest::Client;
use serde_json::{Value, json};

use crate::process::{Bare, BareServer, Server, cpu_of_calls, median, micros};

const ROUNDS: usize = 7;

/// Measures pages.
pub(crate) async fn run() {
    let limits = ["PUBLIC", "RESULTS", "FREE"].map(|class| format!("EP_RATE_LIMIT_{class}_PER_MINUTE"));
    let settings: Vec<(&str, &str)> =
        limits.iter().map(|name| (name.as_str(), "1000000000")).chain([("EP_DEMO_PACE", "0")]).collect();
    let data = tempfile::tempdir().expect("a folder");
    let process = Server::start(&data, &settings);
    let bare = BareServer::start(Bare::Document, "");
    let client = Client::builder().tcp_nodelay(true).no_proxy().build().expect("a client");
    let calls =
        json!({ "question": "Should a code base use tabs or spaces?", "options": ["Tabs", "Spaces"] });
    let poll = client.post(format!("{}/api/poll", process.url)).json(&calls).send().await.expect("a poll");
    let poll: Value = poll.json().await.expect("a result");
    let id = poll["poll_id"].as_str().expect("an id");
    println!("CPU for a page in µs, whole process with sockets, median of {ROUNDS} rounds");
    println!("  {:<24} {:<14} {:>8} {:>8} {:>8} {:>8}", "", "", "bytes", "process", "axum", "above");
    for path in
        ["/".to_owned(), format!("/results/{id}"), format!("/embed/{id}"), format!("/results/{id}.png")]
    {
        let url = format!("{}{path}", process.url);
        let tag = client.get(&url).send().await.expect("a page");
        let tag = tag.headers().get("etag").and_then(|tag| tag.to_str().ok()).unwrap_or_default().to_owned();
        let forms = [
            ("plain", "accept-encoding", "identity"),
            ("gzip", "accept-encoding", "gzip"),
            ("304", "if-none-match", tag.as_str()),
        ];
        for (form, name, value) in forms.into_iter().filter(|(.., value)| !value.is_empty()) {
            let get = || {
                let request = client.get(&url).header(name, value).header("accept", "text/html");
                async { request.send().await.expect("a page").bytes().await.expect("a body").len() }
            };
            let bytes = get().await;
            let bare_url = format!("{}/{bytes}", bare.url);
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                ours.push(cpu_of_calls(process.pid(), || get().map(drop)).await);
                theirs.push(
                    cpu_of_calls(bare.pid(), || async {
                        drop(client.get(&bare_url).send().await.expect("a response").bytes().await);
                    })
                    .await,
                );
            }
            let (ours, theirs) = (micros(median(ours)), micros(median(theirs)));
            let page = path.split(id).collect::<Vec<_>>().join("{id}");
            println!("  {page:<24} {form:<14} {bytes:>8} {ours:>8.1} {theirs:>8.1} {:>8.1}", ours - theirs);
        }
    }
}
