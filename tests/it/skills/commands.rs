//! Runs every command of the skill and of `auth.md` unchanged.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use super::{SKILL, text};
use crate::deposits::PaymentSetup;
use crate::harness::{Service, Setup, WalletLibraries, node};

/// Returns the fenced blocks of a language.
fn blocks<'a>(markdown: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    markdown.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Runs a block in bash and returns its output.
async fn bash(block: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", block]).envs(variables.iter().copied()).kill_on_drop(true);
    tokio::time::timeout(Duration::from_mins(2), command.output()).await.unwrap().unwrap()
}

/// Runs a block in Node, next to the libraries that it imports, and returns its output.
async fn javascript(block: &str, wallet_key: &str) -> String {
    let libraries = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/counterparts");
    let mut command = Command::new(node());
    command.args(["--input-type=module", "--eval", block]).env("WALLET_KEY", wallet_key);
    command.current_dir(libraries).kill_on_drop(true);
    let run = tokio::time::timeout(Duration::from_mins(2), command.output()).await.unwrap().unwrap();
    let printed = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{printed}{}", String::from_utf8_lossy(&run.stderr));
    printed
}

/// Runs every bash block and returns the responses.
async fn answers(service: &Service, path: &str) -> Vec<Value> {
    let page = text(&service.anonymous(), path).await;
    let key = service.user().await.key.unwrap();
    let wallet = WalletLibraries::start().wallet().await;
    let mut answers = Vec::new();
    for block in blocks(&page, "bash") {
        let run = bash(block, &[("EP_API_KEY", &key), ("WALLET_ADDRESS", &wallet.address)]).await;
        let printed = String::from_utf8(run.stdout).unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success() && said.is_empty(), "{path}: {block}\n{printed}{said}");
        answers
            .push(serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {block}{printed}")));
    }
    answers
}

#[tokio::test]
async fn skill_commands_poll() {
    let service = Setup::demo().boot().await;
    let answers = answers(&service, SKILL).await;
    let [free, paid, late, estimate] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!((&free["cost"], &free["options"][3]), (&Value::from(0), &Value::from("none of these")));
    assert_eq!(free["question"], paid["question"]);
    assert!(paid["tally"]["409 Conflict"].is_u64() && paid["votes"].as_array().unwrap().len() > 1, "{paid}");
    assert!(late["outcome"].is_string() && late["poll_id"].is_string(), "{late}");
    assert!(estimate["cost_usd_at_most"].is_number(), "{estimate}");
    // The fields that the skill describes exist in results.
    let skill = text(&service.anonymous(), SKILL).await;
    let (_, table) = skill.split_once("## Read the result").unwrap();
    let table = table.split("\n\n").nth(1).unwrap();
    let mut members = 0;
    for row in table.lines().skip(2) {
        for member in row.split('|').nth(1).unwrap().split(',').map(|cell| cell.trim().trim_matches('`')) {
            assert!(paid.get(member).is_some(), "{member}");
            members += 1;
        }
    }
    assert!(members >= 9, "{members}");
    for member in ["answer", "reasoning", "confidence", "simulated", "notices", "result_url"] {
        assert!(free.get(member).is_some(), "{member}");
    }
    // The client configuration is JSON and names the endpoint.
    let settings: Value = serde_json::from_str(blocks(&skill, "json")[0]).unwrap();
    let url = settings["mcpServers"]["ensemble-poll"]["url"].as_str().unwrap();
    let tool =
        service.user().await.rpc(url.strip_prefix(&service.url).unwrap(), "tools/list", Value::Null).await;
    assert!(tool.expect(200).to_string().contains("poll_question"));
}

#[tokio::test]
async fn instructions_command_polls() {
    let service = Setup::demo().boot().await;
    let answers = answers(&service, "/AGENTS.md").await;
    assert_eq!((answers.len(), &answers[0]["theme"]), (1, &Value::from("free")));
}

#[tokio::test]
async fn auth_md_commands_get_a_key() {
    let world = PaymentSetup::start().await;
    let service = world.with_node(Setup::demo()).boot().await;
    let answers = answers(&service, "/auth.md").await;
    let [free, challenge, payment, keys, limited] = answers.as_slice() else { panic!("{answers:?}") };
    assert!(free["answer"].is_string() || free["answer"].is_null());
    assert!(challenge["message"].is_string() && payment["accepts"].is_array(), "{challenge} {payment}");
    assert_eq!(keys.as_array().unwrap().len(), 1);
    assert!(limited["key"].as_str().unwrap().starts_with("ep_k_"), "{limited}");
    let page = text(&service.anonymous(), "/auth.md").await;
    let [sign_up, pay] = blocks(&page, "js")[..] else { panic!("{page}") };
    let wallet = world.wallet(20).await;
    assert!(javascript(sign_up, &world.libraries.wallet().await.private_key).await.contains("ep_k_"));
    // The library rejects unknown tokens, such as the one of the test's chain.
    let pay = pay.replace("setSpendControls({", "setSpendControls({ allowedAssets: true,");
    let paid = javascript(&pay, &wallet.private_key).await;
    assert!(paid.contains("ep_k_") && paid.contains("amount_cents: 500"), "{paid}");
}
