//! The linters.

use ensemble_poll::documents::OPENAPI;
use serde_json::Value;
use tempfile::TempDir;

use super::{described, folder, python, run};
use crate::harness::node;

/// The description in a file.
async fn kept() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(OPENAPI).with_extension("json");
    std::fs::write(&file, described().await.to_string()).unwrap();
    let path = file.to_str().unwrap().to_owned();
    (folder, path)
}

/// The script of a program that npm has installed.
fn script(package: &str, name: &str) -> String {
    let home = format!("node_modules/{package}");
    let known =
        std::fs::read_to_string(folder().join(&home).join("package.json")).expect("run scripts/install");
    let known: Value = serde_json::from_str(&known).unwrap();
    format!("{home}/{}", known["bin"][name].as_str().unwrap())
}

#[tokio::test]
async fn redocly_takes_it() {
    let (_folder, file) = kept().await;
    let redocly = script("@redocly/cli", "redocly");
    let said = run(node(), &[&redocly, "lint", "--extends=spec", &file]).await;
    assert!(said.contains("is valid") && !said.contains("warning"), "{said}");
}

#[tokio::test]
async fn spectral_warns_of_nothing() {
    let (_folder, file) = kept().await;
    let spectral = script("@stoplight/spectral-cli", "spectral");
    let said = run(node(), &[&spectral, "lint", "-r", "spectral.yaml", "--fail-severity=hint", &file]).await;
    assert!(said.contains("No results with a severity of"), "{said}");
}

#[tokio::test]
async fn it_follows_the_specification() {
    let (_folder, file) = kept().await;
    let said = run(python(".python", "openapi-spec-validator"), &["--schema", "3.1", &file]).await;
    assert!(said.contains("OK"), "{said}");
}

#[tokio::test]
async fn its_schemas_are_json_schemas_and_its_references_lead_somewhere() {
    let (_folder, file) = kept().await;
    let found: Value =
        serde_json::from_str(&run(python(".python", "python"), &["schemas.py", &file]).await).unwrap();
    assert!(
        found["schemas"].as_u64().unwrap() > 100 && found["references"].as_u64().unwrap() > 500,
        "{found}"
    );
}
