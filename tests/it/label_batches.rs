//! `ep label --server`: rows labelled by batches of a service.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::{Action, Behaviour, Forms, Script};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::command_line::{ep, stdout};
use crate::crash::signal;
use crate::harness::{Client, Service, Setup, until};
use crate::label::{TRIO, arguments, lines, long_kills, reviews};

/// A folder with a file of rows, and an account at a service.
struct Fixture {
    folder: tempfile::TempDir,
    service: Service,
    client: Client,
}

impl Fixture {
    async fn new(setup: Setup, rows: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        reviews(folder.path(), rows);
        let service = setup.boot().await;
        let client = service.user_with(MicroUsd::new(5_000_000)).await.1;
        Self { folder, service, client }
    }

    fn command(&self, more: &[&str]) -> Command {
        self.command_of(&TRIO, more)
    }

    fn command_of(&self, models: &[&str], more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
        command.args(arguments(&[models, &["--server", &self.service.url], more].concat()));
        command.env_clear().env("EP_DATA_DIR", self.folder.path()).current_dir(self.folder.path());
        command.env("EP_API_KEY", self.client.key.as_deref().unwrap()).kill_on_drop(true);
        command
    }

    async fn label(&self, more: &[&str]) -> Output {
        self.command(more).output().await.unwrap()
    }

    fn begin(&self, more: &[&str]) -> Child {
        self.command(more).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn calls(&self) -> usize {
        self.service.upstream().total_calls()
    }

    /// Returns the batches of the account, the oldest first.
    async fn batches(&self) -> Vec<Value> {
        let list = self.client.get("/api/batches?limit=100").await.expect(200);
        let mut batches = list["batches"].as_array().unwrap().clone();
        batches.reverse();
        batches
    }

    /// Waits until a number of rows has a label.
    async fn labelled(&self, rows: usize) {
        let complete = |path: &Path| fs::read_to_string(path).unwrap_or_default().matches('\n').count();
        let read = async || complete(&self.path("labels.jsonl"));
        until("these rows have labels", read, |labelled| *labelled >= rows).await;
    }
}

fn slow(rows: &str) -> Setup {
    let mut script = Script::panel(3);
    script.default.latency = Duration::from_millis(100);
    Setup::scripted(script).with("EP_BATCH_ROWS", rows)
}

fn cost(labels: &[Value]) -> f64 {
    labels.iter().map(|line| line["cost_usd"].as_f64().unwrap()).sum()
}

#[tokio::test]
async fn rows_are_labelled_by_a_batch_that_other_runs_find_again() {
    let fixture = Fixture::new(Setup::scripted(Script::panel(3)), 12).await;
    let summary: Value = serde_json::from_str(&stdout(&fixture.label(&["--json"]).await, 0)).unwrap();
    assert_eq!((&summary["labelled"], &summary["failed"]), (&json!(12), &json!(0)));
    let batches = fixture.batches().await;
    assert_eq!(batches.len(), 1, "{batches:?}");
    assert_eq!(batches[0]["rows"], json!({ "total": 12, "completed": 12, "failed": 0 }));
    let labels = lines(&fixture.path("labels.jsonl"));
    for line in &labels {
        let votes = line["votes"].as_array().unwrap();
        let for_label = votes.iter().filter(|vote| vote["vote"] == line["label"]).count();
        assert_eq!((votes.len(), &line["score"]), (3, &json!(for_label as f64 / 3.0)), "{line}");
    }
    assert!((cost(&labels) - batches[0]["cost_usd"].as_f64().unwrap()).abs() < 1e-9);
    assert!(!fixture.path("labels.batches.jsonl").exists());
    // The polls are private.
    let poll = format!("/api/results/{}", labels[0]["poll_id"].as_str().unwrap());
    fixture.service.anonymous().get(&poll).await.refused(404);

    // Nothing is left to ask, and another rule decides with the same votes.
    stdout(&fixture.label(&[]).await, 0);
    stdout(&fixture.label(&["--on-tie", "strongest", "--out", "strongest.jsonl"]).await, 0);
    assert_eq!((fixture.calls(), fixture.batches().await.len()), (36, 1));
    assert_eq!(lines(&fixture.path("strongest.jsonl")).len(), 12);
    // Another round asks anew.
    stdout(&fixture.label(&["--round", "2", "--out", "second.jsonl"]).await, 0);
    assert_eq!((fixture.calls(), fixture.batches().await.len()), (72, 2));
}

#[tokio::test]
async fn an_evaluation_asks_by_batches_and_is_stored() {
    let fixture = Fixture::new(Setup::scripted(Script::panel(3)), 0).await;
    let rows: Vec<String> = (0..60).map(|row| format!("r{row},Review {row},positive\n")).collect();
    fs::write(fixture.path("gold.csv"), format!("id,text,gold\n{}", rows.concat())).unwrap();
    let mut command = fixture.command(&[]);
    command = {
        let mut evaluate = Command::new(env!("CARGO_BIN_EXE_ep"));
        let label = command.as_std().get_args().skip(2).map(ToOwned::to_owned).collect::<Vec<_>>();
        evaluate.args(["panel", "evaluate", "gold.csv", "--json", "--store"]).args(label);
        evaluate.env_clear().env("EP_DATA_DIR", fixture.folder.path()).current_dir(fixture.folder.path());
        evaluate.env("EP_API_KEY", fixture.client.key.as_deref().unwrap());
        evaluate
    };
    let output = command.output().await.unwrap();
    let report: Value = serde_json::from_str(&stdout(&output, 0)).unwrap();
    let batches = fixture.batches().await;
    assert_eq!((batches.len(), &batches[0]["rows"]["completed"]), (1, &json!(50)), "{batches:?}");
    assert_eq!(batches[0]["metadata"]["name"], "gold.csv");
    assert_eq!(fixture.calls(), 150);
    let listed = fixture.client.get("/api/evaluations").await.expect(200);
    let stored = &listed["evaluations"][0];
    assert_eq!((&stored["title"], &stored["shared"]), (&json!("gold.csv"), &json!(false)), "{listed}");
    let path = format!("/api/evaluations/{}", stored["evaluation_id"].as_str().unwrap());
    assert_eq!(fixture.client.get(&path).await.expect(200)["report"], report);
    let (notes, page) = (String::from_utf8_lossy(&output.stderr), stored["page_url"].as_str().unwrap());
    assert!(notes.contains(page) && notes.contains(batches[0]["page_url"].as_str().unwrap()), "{notes}");
}

/// Wherever the client is killed, the next run finds its batches, and no vote is asked twice.
#[tokio::test(flavor = "multi_thread")]
async fn kills_pay_no_row_twice() {
    // The service goes on while the client is dead, so many kills need a slow one.
    let long = long_kills();
    let (at_most, rows, rows_at_once) = long.map_or((8, 60, "4"), |kills| (kills, 6 * kills, "1"));
    let fixture = Fixture::new(slow(rows_at_once), rows).await;
    let (mut labelled, mut kills, mut code) = (String::new(), 0, None);
    while kills < at_most && code.is_none() {
        let mut child = fixture.begin(&[]);
        let life = Duration::from_millis(60 + 53 * (kills as u64 % 8));
        if let Ok(status) = tokio::time::timeout(life, child.wait()).await {
            code = status.unwrap().code();
        } else {
            child.kill().await.unwrap();
            kills += 1;
        }
        let text = fs::read_to_string(fixture.path("labels.jsonl")).unwrap_or_default();
        let complete = text.rfind('\n').map_or("", |end| &text[..=end]);
        assert!(complete.starts_with(&labelled), "a label is lost");
        labelled = complete.to_owned();
    }
    if code.is_none() {
        code = fixture.begin(&[]).wait().await.unwrap().code();
    }
    assert_eq!(code, Some(0));
    assert!(long.is_none_or(|long| kills == long), "only {kills} kills before the end");
    let mut labels: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines(&fixture.path("labels.jsonl")) {
        *labels.entry(line["id"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    assert!(labels.len() == rows && labels.values().all(|lines| *lines == 1), "{labels:?}");
    assert_eq!(fixture.calls(), 3 * rows, "{kills} kills");
    assert_eq!(fixture.batches().await.len(), 1);
    println!("{kills} kills");
}

#[tokio::test]
async fn rows_of_a_batch_of_another_server_are_not_paid_again() {
    let fixture = Fixture::new(slow("2"), 20).await;
    let mut child = fixture.begin(&[]);
    fixture.labelled(1).await;
    child.kill().await.unwrap();
    let refused = |output: &Output, words: &str| {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() != Some(0) && text.contains(words), "{words} in {text}");
    };
    let here = arguments(&["--preset", "budget"]);
    refused(&ep(fixture.folder.path(), &here, &[]), "20 rows are in batches of");
    let other = fixture.service.user().await.key.unwrap();
    let stranger = fixture.command(&[]).env("EP_API_KEY", other).output().await.unwrap();
    refused(&stranger, "use a key of the account that created it");
    let anonymous = fixture.command(&[]).env_remove("EP_API_KEY").output().await.unwrap();
    refused(&anonymous, "set EP_API_KEY");
    stdout(&fixture.label(&[]).await, 0);
    assert_eq!((lines(&fixture.path("labels.jsonl")).len(), fixture.calls()), (20, 60));
}

#[tokio::test]
async fn the_cost_limit_holds_for_all_batches_of_a_file() {
    let fixture = Fixture::new(Setup::scripted(Script::panel(3)).with("EP_BATCH_ROWS", "4"), 40).await;
    let limit = ["--max-cost-usd", "0.003"];
    stdout(&fixture.label(&limit).await, 10);
    let labels = lines(&fixture.path("labels.jsonl"));
    assert!((1..40).contains(&labels.len()), "{}", labels.len());
    assert!(cost(&labels) <= 0.003, "{}", cost(&labels));
    let batches = fixture.batches().await;
    assert!(batches.iter().all(|batch| batch["max_cost_usd"].as_f64().unwrap() <= 0.003), "{batches:?}");
    let paid: f64 = batches.iter().map(|batch| batch["cost_usd"].as_f64().unwrap()).sum();
    assert!((paid - cost(&labels)).abs() < 1e-9, "{paid}");
    // All runs share the limit.
    stdout(&fixture.label(&limit).await, 10);
    assert!(cost(&lines(&fixture.path("labels.jsonl"))) <= 0.003);
    // The rest is labelled when there is more to spend.
    stdout(&fixture.label(&[]).await, 0);
    assert_eq!((lines(&fixture.path("labels.jsonl")).len(), fixture.calls()), (40, 120));
}

#[tokio::test]
async fn rows_wait_for_the_money_of_the_account() {
    let setup = Setup::scripted(Script::panel(3)).with("EP_BATCH_ROWS", "4");
    let mut fixture = Fixture::new(setup, 40).await;
    // Enough for some rows only.
    let (user, client) = fixture.service.user_with(MicroUsd::new(3_000)).await;
    fixture.client = client;
    let output = fixture.label(&[]).await;
    // The summary tells what was done with the money.
    let summary = stdout(&output, 6);
    let text = String::from_utf8_lossy(&output.stderr);
    let labels = lines(&fixture.path("labels.jsonl"));
    assert!((1..40).contains(&labels.len()), "{}", labels.len());
    assert!(summary.contains("labelled"), "{summary}");
    let left =
        format!("{} rows were not asked; add funds, then run the same command again", 40 - labels.len());
    assert!(
        text.contains("the account has too little money for the next row") && text.contains(&left),
        "{text}"
    );
    // With more money, the same command continues.
    fixture.service.app.accounts.credit(user, MicroUsd::new(5_000_000), "more").await.unwrap();
    stdout(&fixture.label(&[]).await, 0);
    assert_eq!((lines(&fixture.path("labels.jsonl")).len(), fixture.calls()), (40, 120));
}

#[tokio::test]
async fn only_models_that_did_not_respond_are_asked_again() {
    // Its first ten calls fail: those of the first batch and of the second one.
    let mut actions = vec![Action::Status(401, String::new()); 10];
    actions.push(Action::Obey(Forms::ALL));
    let script = Script::panel(3).with("maker1/line-1", Behaviour { actions, ..Behaviour::default() });
    let fixture = Fixture::new(Setup::scripted(script), 5).await;
    let output = fixture.label(&[]).await;
    stdout(&output, 4);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("5 rows: maker1/line-1 did not respond"), "{stderr}");
    let rows = lines(&fixture.path("labels.failed.jsonl"));
    assert!(rows.len() == 5 && rows.iter().all(|row| row["_failed"]["attempts"] == 2), "{rows:?}");
    let upstream = fixture.service.upstream();
    assert_eq!((upstream.calls("maker0/line-0"), upstream.calls("maker1/line-1")), (10, 10));
    stdout(&fixture.label(&[]).await, 0);
    let labels = lines(&fixture.path("labels.jsonl"));
    assert!(
        labels.len() == 5 && labels.iter().all(|line| line["votes"][1]["vote"].is_string()),
        "{labels:?}"
    );
    assert_eq!((upstream.calls("maker1/line-1"), upstream.calls("maker2/line-2")), (15, 5));
    assert!(!fixture.path("labels.failed.jsonl").exists());
    let totals: Vec<Value> =
        fixture.batches().await.iter().map(|batch| batch["rows"]["total"].clone()).collect();
    assert_eq!(totals, [5, 5, 5]);
}

#[tokio::test]
async fn an_interrupt_cancels_the_batch_and_keeps_its_results() {
    let fixture = Fixture::new(slow("2"), 40).await;
    let mut child = fixture.begin(&[]);
    fixture.labelled(1).await;
    signal(&child, "-INT").await;
    assert_eq!(child.wait().await.unwrap().code(), Some(130));
    let batches = fixture.batches().await;
    assert_eq!(batches[0]["status"], "cancelled", "{batches:?}");
    let labels = lines(&fixture.path("labels.jsonl")).len();
    assert!(labels < 40 && batches[0]["rows"]["completed"] == labels, "{labels} labels, {batches:?}");
    assert!(!fixture.path("labels.batches.jsonl").exists());
    stdout(&fixture.label(&[]).await, 0);
    assert_eq!((lines(&fixture.path("labels.jsonl")).len(), fixture.calls()), (40, 120));
}

/// Rows that a batch of an earlier run left out belong to the question and the panel of that run.
#[tokio::test]
async fn rows_of_an_earlier_run_are_not_asked_for_another_panel() {
    let fixture = Fixture::new(slow("2"), 40).await;
    let mut child = fixture.begin(&[]);
    fixture.labelled(1).await;
    child.kill().await.unwrap();
    let id = fixture.batches().await[0]["batch_id"].as_str().unwrap().to_owned();
    fixture.client.post(&format!("/api/batches/{id}/cancel"), &json!({})).await.expect(200);
    let ended = async || fixture.batches().await[0]["status"] == "cancelled";
    until("the batch is cancelled", ended, |ended| *ended).await;
    let asked = fixture.batches().await[0]["rows"]["completed"].as_u64().unwrap() as usize;
    assert!(asked < 40);

    // Two models that differ tie.
    stdout(&fixture.command_of(&TRIO[..4], &[]).output().await.unwrap(), 3);
    let labels = lines(&fixture.path("labels.jsonl"));
    let of_panel = |models: usize| {
        labels.iter().filter(|line| line["votes"].as_array().unwrap().len() == models).count()
    };
    assert_eq!((of_panel(3), of_panel(2)), (asked, 40));
    assert_eq!(fixture.calls(), 3 * asked + 2 * 40);
}

#[tokio::test]
async fn a_second_interrupt_ends_a_run_that_reads_earlier_batches() {
    let fixture = Fixture::new(slow("1"), 40).await;
    let mut child = fixture.begin(&[]);
    fixture.labelled(1).await;
    child.kill().await.unwrap();
    let labelled = fs::read_to_string(fixture.path("labels.jsonl")).unwrap().matches('\n').count();
    let mut child = fixture.begin(&[]);
    // It has begun to read, so it listens to signals.
    fixture.labelled(labelled + 1).await;
    signal(&child, "-INT").await;
    signal(&child, "-INT").await;
    assert_eq!(child.wait().await.unwrap().code(), Some(130));
    stdout(&fixture.label(&[]).await, 0);
    assert_eq!((lines(&fixture.path("labels.jsonl")).len(), fixture.calls()), (40, 120));
}
