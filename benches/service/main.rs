//! Measures the whole service beside baselines. `cargo bench --bench service -- NAME`, with one or more of `polls`,
//! `polls-postgres`, `storage`, `mcp`, `openai`, `requests`, `documents`, `pages`, `replicas`, `batches`, `batches-replicas`, `labels`
//! and `streams`; all without a name.

#![expect(clippy::expect_used, reason = "a bench fails by panicking")]

mod batches;
mod documents;
mod labels;
mod mcp;
mod openai;
mod pages;
mod polls;
mod process;
mod replicas;
mod requests;
mod storage;
mod streams;

fn main() {
    // The benches do not use TLS, but a client cannot be built without a provider.
    drop(rustls::crypto::ring::default_provider().install_default());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    if let Some((what, argument)) = process::bare_server_argument() {
        return runtime.block_on(async {
            let router = match what {
                process::Bare::Mcp => mcp::bare(&argument),
                process::Bare::Document => documents::bare(),
                process::Bare::Client => return polls::bare(argument).await,
            };
            process::serve_bare(router).await;
        });
    }
    let names: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wants = |name: &str| names.is_empty() || names.iter().any(|names| names == name);
    if wants("polls") {
        runtime.block_on(polls::run());
    }
    if wants("polls-postgres") {
        runtime.block_on(polls::run_on_postgres());
    }
    if wants("storage") {
        runtime.block_on(storage::run());
    }
    if wants("requests") {
        runtime.block_on(requests::run());
    }
    if wants("documents") {
        runtime.block_on(documents::run());
    }
    if wants("pages") {
        runtime.block_on(pages::run());
    }
    if wants("mcp") {
        runtime.block_on(mcp::run());
    }
    if wants("openai") {
        runtime.block_on(openai::run());
    }
    if wants("replicas") {
        runtime.block_on(replicas::run());
    }
    if wants("batches") {
        runtime.block_on(batches::run());
    }
    if wants("batches-replicas") {
        runtime.block_on(batches::run_on_replicas());
    }
    if wants("labels") {
        runtime.block_on(labels::run());
    }
    if wants("streams") {
        runtime.block_on(streams::run());
    }
}
