//! Clients from third-party generators: each compiles and polls.

use std::path::{Path, PathBuf};

use ep_site::names::OPENAPI;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::{folder, python, run, run_in};
use crate::harness::{Service, Setup, node};

/// A service, a key, and a folder with the service's description.
struct Ready {
    service: Service,
    key: String,
    scratch: TempDir,
}

impl Ready {
    async fn new() -> Self {
        let service = Setup::demo().boot().await;
        let key = service.user().await.key.unwrap();
        // Inside npm's folder, so that Node finds the installed packages.
        let scratch = tempfile::tempdir_in(folder()).unwrap();
        let url = service.app.ports.links.url(OPENAPI, &[]);
        let text = service.anonymous().get(url.strip_prefix(&service.url).unwrap()).await.text;
        std::fs::write(scratch.path().join("openapi.json"), text).unwrap();
        Self { service, key, scratch }
    }

    fn path(&self, name: &str) -> String {
        self.scratch.path().join(name).display().to_string()
    }

    /// Runs a poll with a client and checks its observations.
    async fn polls(&self, program: PathBuf, arguments: &[&str]) {
        let arguments = [arguments, &[&self.service.url, &self.key]].concat();
        let said = run(program, &arguments).await;
        let seen: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
        assert!(seen["outcome"].is_string() && seen["votes"].as_u64().unwrap() > 2, "{said}");
        assert_eq!(seen["valid"], false, "{said}");
        assert!(seen["refused"].as_str().unwrap().contains("there is no poll"), "{said}");
    }
}

/// Returns the script of a program installed by npm.
fn script(path: &str) -> String {
    folder().join("node_modules").join(path).display().to_string()
}

#[tokio::test]
async fn openapi_typescript_and_openapi_fetch() {
    let ready = Ready::new().await;
    let scratch: &Path = ready.scratch.path();
    let types = ["openapi.json", "-o", "schema.d.ts"];
    run_in(
        scratch,
        Command::new(node()),
        &[&[script("openapi-typescript/bin/cli.js").as_str()][..], &types].concat(),
    )
    .await;
    std::fs::copy(folder().join("poll.ts"), scratch.join("poll.ts")).unwrap();
    let compiler = script("typescript/bin/tsc");
    let options = ["--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "poll.ts"];
    run_in(scratch, Command::new(node()), &[&[compiler.as_str()][..], &options].concat()).await;
    ready.polls(node(), &[&ready.path("poll.js")]).await;
}

#[tokio::test]
async fn openapi_python_client() {
    let ready = Ready::new().await;
    let package = ready.path("polls_client");
    // The generator reads documents of unknown media types as text.
    let types = json!({ "content_type_overrides": {
        "application/xml": "text/plain", "image/svg+xml": "text/plain", "image/png": "application/octet-stream",
        "font/woff2": "application/octet-stream",
    } });
    std::fs::write(ready.scratch.path().join("config.json"), types.to_string()).unwrap();
    let (description, config) = (ready.path("openapi.json"), ready.path("config.json"));
    let generate = [
        "generate",
        "--path",
        &description,
        "--config",
        &config,
        "--meta",
        "none",
        "--output-path",
        &package,
    ];
    let said = run(python(".generators", "openapi-python-client"), &generate).await;
    assert!(!said.contains("WARNING") && !said.contains("ERROR"), "{said}");
    ready.polls(python(".generators", "python"), &["python_client.py", &ready.path("")]).await;
}

#[tokio::test]
async fn openapi_generator() {
    let ready = Ready::new().await;
    let (description, package) = (ready.path("openapi.json"), ready.path("generated"));
    let generate =
        ["generate", "-i", &description, "-g", "python", "-o", &package, "--package-name", "polls_client"];
    run(python(".generators", "openapi-generator-cli"), &generate).await;
    ready.polls(python(".generators", "python"), &["openapi_generator.py", &package]).await;
}
