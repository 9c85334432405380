//! The official MCP clients and the inspector against the service: `tests/mcp-clients`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ep_kernel::Agents;
use ep_upstream::testing::Script;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{Service, Setup, node};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp-clients")
}

/// Returns the output of a program.
async fn output(program: PathBuf, arguments: &[&str]) -> String {
    // Otherwise the inspector would start the service on the data of the person who runs the tests.
    let home = tempfile::tempdir().unwrap();
    let run = Command::new(program)
        .args(arguments)
        .current_dir(folder())
        .env_remove("XDG_DATA_HOME")
        .env("HOME", home.path())
        .output();
    let run = tokio::time::timeout(Duration::from_mins(2), run).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&run.stderr));
    text
}

async fn service() -> Service {
    let mut script = Script::divided_panel(20);
    script.default.latency = Duration::from_millis(100);
    Setup::scripted(script).with("EP_UPSTREAM_MAX_CONCURRENT", "4").boot().await
}

async fn walks(program: PathBuf, script: &str) {
    let service = service().await;
    let key = service.user().await.key.unwrap();
    let url = format!("{}/api/mcp/x/all", service.url);
    let done: Value = serde_json::from_str(&output(program, &[script, &url, &key]).await).unwrap();
    let visible = ep_tools::TOOLS.iter().filter(|entry| entry.spec.agents != Agents::None);
    assert_eq!(done["tools"], json!(visible.map(|entry| entry.spec.name).collect::<Vec<_>>()));
    assert_eq!(
        (&done["outcome"], &done["votes"], &done["running"]),
        (&json!("tie"), &json!(20), &json!("running"))
    );
    assert_eq!((&done["cancelled"], &done["listed"]), (&json!(true), &json!(true)));
    assert!(done["balance"].as_str().unwrap().starts_with('$'), "{done}");
    let progress = done["progress"].as_array().unwrap();
    assert!(progress.len() > 10, "{done}");
    assert_eq!(progress.last().unwrap()[1].as_f64(), Some(20.0));
    for (case, words) in
        [("input", "options"), ("missing", "there is no poll EP-"), ("tool", "the tools are poll_question")]
    {
        assert!(done["errors"][case].as_str().unwrap().contains(words), "{case}: {}", done["errors"]);
    }
}

#[tokio::test]
async fn typescript_sdk_1_polls() {
    walks(node(), "v1.mjs").await;
}

#[tokio::test]
async fn typescript_sdk_2_polls() {
    walks(node(), "v2.mjs").await;
}

#[tokio::test]
async fn python_sdk_1_polls() {
    walks(folder().join(".python-1/bin/python"), "client.py").await;
}

#[tokio::test]
async fn python_sdk_2_polls() {
    walks(folder().join(".python-2/bin/python"), "client.py").await;
}

#[tokio::test]
async fn inspector_reports_no_problems() {
    let service = service().await;
    let key = service.user().await.key.unwrap();
    let (url, header) = (format!("{}/api/mcp/x/all", service.url), format!("Authorization: Bearer {key}"));
    let inspector = "node_modules/@modelcontextprotocol/inspector";
    let package = std::fs::read_to_string(folder().join(inspector).join("package.json")).unwrap();
    let package: Value = serde_json::from_str(&package).unwrap();
    let script = format!("{inspector}/{}", package["bin"]["mcp-inspector"].as_str().unwrap());
    for era in ["legacy", "modern"] {
        let http =
            [&script, "--cli", &url, "--transport", "http", "--header", &header, "--protocol-era", era];
        let list = output(node(), &[&http[..], &["--method", "tools/list", "--strict"]].concat()).await;
        assert!(list.contains("poll_question"), "{era}: {list}");
        let call = ["--method", "tools/call", "--tool-name", "get_balance"];
        assert!(output(node(), &[&http[..], &call].concat()).await.contains("balance"), "{era}");
    }
    let ep = env!("CARGO_BIN_EXE_ep");
    let stdio = [&script, "--cli", ep, "mcp", "--method", "tools/list", "--strict"];
    assert!(output(node(), &stdio).await.contains("poll_question"));
}
