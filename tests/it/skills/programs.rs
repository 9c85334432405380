//! Third-party programs that read skills and llms.txt: `tests/skills`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use super::{INDEX, NAME, SKILL, text};
use crate::harness::{Setup, node};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/skills")
}

/// Runs a program and returns its output; the program must succeed.
async fn output(command: &mut Command) -> String {
    command.kill_on_drop(true);
    let run = tokio::time::timeout(Duration::from_mins(1), command.output()).await.unwrap().unwrap();
    let printed = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{printed}{}", String::from_utf8_lossy(&run.stderr));
    printed
}

#[tokio::test]
async fn skill_validator_reports_no_problems() {
    let service = Setup::demo().boot().await;
    let skill = text(&service.anonymous(), SKILL).await;
    let scratch = tempfile::tempdir().unwrap();
    let place = scratch.path().join(NAME);
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("SKILL.md"), &skill).unwrap();
    let validator = folder().join(".python/bin/agentskills");
    let said = output(Command::new(&validator).arg("validate").arg(&place)).await;
    assert!(said.contains("Valid skill"), "{said}");
    let read = output(Command::new(&validator).arg("read-properties").arg(&place)).await;
    let read: Value = serde_json::from_str(&read).unwrap();
    let index = service.anonymous().get(INDEX).await.expect(200);
    assert_eq!(read["description"], index["skills"][0]["description"]);
    assert_eq!((&read["name"], &read["metadata"]["service"]), (&NAME.into(), &service.url.as_str().into()));
}

#[tokio::test]
async fn skill_installer_installs_the_served_skill() {
    let service = Setup::demo().boot().await;
    let skill = text(&service.anonymous(), SKILL).await;
    let (project, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let installer = folder().join("node_modules/skills/bin/cli.mjs");
    let mut command = Command::new(node());
    command.arg(installer).args(["add", &service.url, "--skill", NAME, "-a", "claude-code", "--copy", "-y"]);
    command.current_dir(project.path()).env("HOME", home.path());
    // Disable telemetry.
    command.envs([("DISABLE_TELEMETRY", "1"), ("DO_NOT_TRACK", "1"), ("CI", "1")]);
    output(&mut command).await;
    let installed = project.path().join(format!(".claude/skills/{NAME}/SKILL.md"));
    assert_eq!(std::fs::read_to_string(installed).unwrap(), skill);
}

#[tokio::test]
async fn llms_txt_audit_reports_no_problems() {
    let service = Setup::demo().boot().await;
    let mut command = Command::new(folder().join(".python/bin/llms-txt-audit"));
    command.arg(format!("{}/llms.txt", service.url));
    command.args(["--strict", "--require-optional", "--no-relative-links", "--fail-on-warning", "--json"]);
    let report: Value = serde_json::from_str(&output(&mut command).await).unwrap();
    assert_eq!(report["score"], 100, "{report}");
}
