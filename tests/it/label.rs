//! `ep label`, as a person runs it on a file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ep_upstream::testing::{Action, Behaviour, Script, ScriptedUpstream, VoteFor, priced};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::command_line::{ep, stdout};
use crate::harness::Setup;

const QUESTION: &str = "Is this review positive or negative? {text}";

/// Writes a file of reviews.
pub fn reviews(folder: &Path, rows: usize) {
    let rows: Vec<String> = (0..rows).map(|row| format!("r{row},\"Review {row}, quite long\"\n")).collect();
    fs::write(folder.join("data.csv"), format!("id,text\n{}", rows.concat())).unwrap();
}

/// Returns the arguments for the file, by a panel of three models.
pub fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let label = [
        "label",
        "data.csv",
        "--question",
        QUESTION,
        "--options",
        "positive,negative",
        "--id",
        "id",
        "--yes",
    ];
    label.into_iter().chain(more.iter().copied()).collect()
}

/// Three models, named from the strongest to the weakest.
pub const TRIO: [&str; 6] =
    ["--model", "maker0/line-0", "--model", "maker1/line-1", "--model", "maker2/line-2"];

/// Returns the number of kills of a long run (`scripts/long/rounds`), which has to be reached.
pub fn long_kills() -> Option<usize> {
    std::env::var("EP_TEST_KILLS").ok().map(|kills| kills.parse().unwrap())
}

pub fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub async fn run(folder: &Path, upstream: &ScriptedUpstream, arguments: &[&str]) -> std::process::Output {
    run_with(folder, upstream, arguments, &[]).await
}

/// Runs the command with further variables of the environment.
async fn run_with(
    folder: &Path,
    upstream: &ScriptedUpstream,
    arguments: &[&str],
    variables: &[(&'static str, &'static str)],
) -> std::process::Output {
    let folder = folder.to_owned();
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let (url, variables) = (upstream.base_url(), variables.to_vec());
    let run = move || {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let usual = [("EP_UPSTREAM_URL", &*url), ("EP_LEASE_MS", "1500")];
        ep(&folder, &arguments, &[&usual[..], &variables].concat())
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[tokio::test]
async fn a_second_run_asks_nothing_and_ends_alike() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 12);
    let upstream = ScriptedUpstream::start(Script::panel(3)).unwrap();
    let arguments = arguments(&[&TRIO[..], &["--json"]].concat());
    let output = run(folder.path(), &upstream, &arguments).await;
    let first: Value = serde_json::from_str(&stdout(&output, 0)).unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("12 labels are in labels.jsonl"), "{output:?}");
    assert_eq!((&first["labelled"], &first["ties"], &first["failed"]), (&json!(12), &json!(0), &json!(0)));
    assert_eq!(upstream.total_calls(), 36);
    let labels = lines(&folder.path().join("labels.jsonl"));
    let mut ids: Vec<&str> = labels.iter().map(|line| line["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 12);
    for line in &labels {
        let votes = line["votes"].as_array().unwrap();
        let for_label = votes.iter().filter(|vote| vote["vote"] == line["label"]).count();
        assert!(votes.len() == 3 && for_label >= 2, "{line}");
        assert_eq!(line["score"], for_label as f64 / 3.0);
    }
    let again: Value =
        serde_json::from_str(&stdout(&run(folder.path(), &upstream, &arguments).await, 0)).unwrap();
    assert_eq!((again, upstream.total_calls()), (first, 36));

    // Another question, other options and another panel ask again.
    let other = arguments.iter().map(|word| if *word == QUESTION { "Good? It says: {text}" } else { word });
    stdout(&run(folder.path(), &upstream, &other.collect::<Vec<_>>()).await, 0);
    assert_eq!(upstream.total_calls(), 72);
}

#[tokio::test]
async fn ties_follow_the_rule() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 3);
    let choices = [("maker0/line-0", "negative"), ("maker1/line-1", "positive")];
    let votes_for = VoteFor::ByModel(choices.map(|(model, vote)| (model.to_owned(), vote.to_owned())).into());
    let upstream = ScriptedUpstream::start(Script { votes_for, ..Script::panel(2) }).unwrap();
    let pair = &TRIO[..4];
    let tied = run(folder.path(), &upstream, &arguments(pair)).await;
    assert!(stdout(&tied, 3).contains("0 rows"));
    assert!(
        lines(&folder.path().join("labels.jsonl"))
            .iter()
            .all(|line| line["label"].is_null() && line["by"] == "none")
    );
    // Another rule decides anew, with the votes that are stored.
    let calls = upstream.total_calls();
    let strongest = [pair, &["--on-tie", "strongest", "--out", "strongest.jsonl"]].concat();
    stdout(&run(folder.path(), &upstream, &arguments(&strongest)).await, 0);
    assert_eq!(upstream.total_calls(), calls);
    let is_broken = |line: &Value| line["label"] == "negative" && line["by"] == "tie_break";
    let broken = lines(&folder.path().join("strongest.jsonl"));
    assert!(broken.iter().all(is_broken), "{broken:?}");
    // The same file has one label for each row, by the rule of the last run.
    let same = [pair, &["--on-tie", "strongest"]].concat();
    let output = run(folder.path(), &upstream, &arguments(&same)).await;
    stdout(&output, 0);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("3 labels were decided by another --on-tie, and will be decided by --on-tie strongest from the same votes"), "{said}");
    assert_eq!(said.matches("decided by another --on-tie").count(), 1, "{said}");
    let decided = lines(&folder.path().join("labels.jsonl"));
    assert!(decided.len() == 3 && decided.iter().all(is_broken), "{decided:?}");
    stdout(&run(folder.path(), &upstream, &arguments(pair)).await, 3);
    assert!(lines(&folder.path().join("labels.jsonl")).iter().all(|line| line["by"] == "none"));
    assert_eq!(upstream.total_calls(), calls);
}

#[tokio::test]
async fn a_label_is_contested_like_the_result_of_its_poll() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 1);
    let choices =
        [("maker0/line-0", "negative"), ("maker1/line-1", "positive"), ("maker2/line-2", "positive")];
    let votes_for = VoteFor::ByModel(choices.map(|(model, vote)| (model.to_owned(), vote.to_owned())).into());
    let upstream = ScriptedUpstream::start(Script { votes_for, ..Script::panel(3) }).unwrap();
    stdout(&run(folder.path(), &upstream, &arguments(&TRIO)).await, 0);
    let line = lines(&folder.path().join("labels.jsonl")).remove(0);
    assert_eq!((&line["label"], &line["contested"]), (&json!("positive"), &json!(true)), "{line}");
    let poll = json!({ "poll_id": line["poll_id"] }).to_string();
    let output = run(folder.path(), &upstream, &["call", "get_poll_result", &poll]).await;
    let result: Value = serde_json::from_str(&stdout(&output, 0)).unwrap();
    assert_eq!((&result["winning_option"], &result["contested"]), (&line["label"], &line["contested"]));
}

/// A preset with an order of strength is a panel, whichever argument names it.
#[tokio::test]
async fn ordered_presets_are_panels() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 1);
    let upstream = ScriptedUpstream::start(Script::panel(3)).unwrap();
    let mut keys = Vec::new();
    for argument in ["--panel", "--preset"] {
        let out = format!("by{argument}.jsonl");
        stdout(&run(folder.path(), &upstream, &arguments(&[argument, "trio", "--out", &out])).await, 0);
        keys.push(lines(&folder.path().join(out)).remove(0)["key"].clone());
    }
    assert_eq!(keys[0], keys[1]);
    assert_eq!(upstream.total_calls(), 3);
}

#[tokio::test]
async fn models_that_are_too_slow_are_named_with_the_settings_that_help() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 2);
    let hanging = Behaviour { actions: vec![Action::Hang], ..Behaviour::default() };
    let upstream = ScriptedUpstream::start(Script::panel(3).with("maker1/line-1", hanging)).unwrap();
    let limits = [("EP_POLL_DEADLINE_MS", "1000"), ("EP_UPSTREAM_TIMEOUT_MS", "1000")];
    let output = run_with(folder.path(), &upstream, &arguments(&TRIO), &limits).await;
    stdout(&output, 4);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("2 rows: maker1/line-1 did not respond\n"), "{stderr}");
    let advice =
        "2 rows had models that did not respond in time: ask about fewer rows at once (--at-once), or give";
    assert!(stderr.contains(advice), "{stderr}");
}

#[tokio::test]
async fn rows_that_were_not_fully_asked_are_an_input() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 5);
    let script = || Script::panel(3);
    let broken = script().with(
        "maker1/line-1",
        Behaviour { actions: vec![Action::Status(401, String::new())], ..Behaviour::default() },
    );
    let upstream = ScriptedUpstream::start(broken).unwrap();
    let output = run(folder.path(), &upstream, &arguments(&TRIO)).await;
    stdout(&output, 4);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("5 rows: maker1/line-1 did not respond"), "{stderr}");
    assert_eq!(lines(&folder.path().join("labels.jsonl")).len(), 0);
    let failed = folder.path().join("labels.failed.jsonl");
    let rows = lines(&failed);
    let first = rows.iter().find(|row| row["id"] == "r0").unwrap();
    assert!(rows.len() == 5 && first["text"] == "Review 0, quite long", "{rows:?}");
    let reason = json!("maker1/line-1 did not respond");
    // Once with the others, and once again after them.
    assert_eq!((&first["_failed"]["attempts"], &first["_failed"]["reason"]), (&json!(2), &reason));
    assert_eq!(upstream.calls("maker0/line-0"), 10, "the broken model was asked again, with one more");

    let mended = ScriptedUpstream::start(script()).unwrap();
    let mut again = arguments(&TRIO);
    again[1] = "labels.failed.jsonl";
    stdout(&run(folder.path(), &mended, &again).await, 0);
    assert_eq!(
        (mended.calls("maker1/line-1"), mended.total_calls()),
        (5, 10),
        "only missing votes are asked"
    );
    assert!(lines(&folder.path().join("labels.jsonl")).iter().all(|line| {
        let votes = line["votes"].as_array().unwrap();
        votes.len() == 3 && votes.iter().all(|vote| vote["vote"].is_string())
    }));
    assert_eq!(lines(&folder.path().join("labels.jsonl")).len(), 5);
    assert!(!failed.exists(), "nothing is left to ask");
}

#[tokio::test]
async fn a_model_that_never_responds_counts_as_one_that_does_not_vote() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 5);
    let broken = Behaviour { actions: vec![Action::Status(401, String::new())], ..Behaviour::default() };
    let votes_for = VoteFor::Text("positive".to_owned());
    let upstream =
        ScriptedUpstream::start(Script { votes_for, ..Script::panel(3) }.with("maker1/line-1", broken))
            .unwrap();
    for code in [4, 0] {
        stdout(&run(folder.path(), &upstream, &arguments(&TRIO)).await, code);
    }
    let labels = lines(&folder.path().join("labels.jsonl"));
    assert_eq!(labels.len(), 5);
    for line in &labels {
        let silent = &line["votes"][1];
        assert!(silent["vote"].is_null() && silent["error"].is_string(), "{line}");
        assert_eq!((&line["label"], &line["score"]), (&json!("positive"), &json!(2.0 / 3.0)));
    }
    assert!(!folder.path().join("labels.failed.jsonl").exists());
}

/// A limit and the load of the upstream say nothing about a row, so the row waits for the model.
#[tokio::test]
async fn a_row_is_not_labelled_without_a_model_that_was_limited() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 2);
    for (attempts, status) in [(2, 429), (4, 503)] {
        let refusal = Action::StatusWithHeader(status, Vec::new(), ("retry-after", "3600".to_owned()));
        let refused = Behaviour { actions: vec![refusal], ..Behaviour::default() };
        let upstream = ScriptedUpstream::start(Script::panel(3).with("maker1/line-1", refused)).unwrap();
        stdout(&run(folder.path(), &upstream, &arguments(&TRIO)).await, 4);
        assert_eq!(lines(&folder.path().join("labels.jsonl")).len(), 0);
        let failed = lines(&folder.path().join("labels.failed.jsonl"));
        let counts = |row: &Value| (row["_failed"]["attempts"].clone(), row["_failed"]["limited"].clone());
        assert!(failed.iter().all(|row| counts(row) == (json!(attempts), json!(attempts))), "{failed:?}");
    }
    let free = ScriptedUpstream::start(Script::panel(3)).unwrap();
    stdout(&run(folder.path(), &free, &arguments(&TRIO)).await, 0);
    assert_eq!(free.total_calls(), 4, "the limited model, and one more of each row");
    assert_eq!(lines(&folder.path().join("labels.jsonl")).len(), 2);
}

/// One vote of a panel of three is no answer, however often the two others are asked.
#[tokio::test]
async fn too_few_votes_give_no_label() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 2);
    let broken = || Behaviour { actions: vec![Action::Status(401, String::new())], ..Behaviour::default() };
    let script = Script::panel(3).with("maker1/line-1", broken()).with("maker2/line-2", broken());
    let upstream = ScriptedUpstream::start(script).unwrap();
    for attempts in [2, 4] {
        stdout(&run(folder.path(), &upstream, &arguments(&TRIO)).await, 4);
        assert_eq!(lines(&folder.path().join("labels.jsonl")).len(), 0);
        let failed = lines(&folder.path().join("labels.failed.jsonl"));
        assert!(
            failed.len() == 2 && failed.iter().all(|row| row["_failed"]["attempts"] == attempts),
            "{failed:?}"
        );
    }
    assert_eq!(upstream.calls("maker0/line-0"), 2, "the model that voted is not asked again");
    let mended = ScriptedUpstream::start(Script::panel(3)).unwrap();
    stdout(&run(folder.path(), &mended, &arguments(&TRIO)).await, 0);
    assert_eq!(lines(&folder.path().join("labels.jsonl")).len(), 2);
}

#[tokio::test]
async fn an_outage_of_two_runs_loses_no_row() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 4);
    let mut down = Script::panel(3);
    down.default = Behaviour { actions: vec![Action::Status(401, String::new())], ..Behaviour::default() };
    let upstream = ScriptedUpstream::start(down).unwrap();
    for attempts in [2, 4] {
        let summary =
            stdout(&run(folder.path(), &upstream, &arguments(&[&TRIO[..], &["--json"]].concat())).await, 4);
        let summary: Value = serde_json::from_str(&summary).unwrap();
        assert_eq!(
            (&summary["failed"], &summary["ties"], &summary["unasked"]),
            (&json!(4), &json!(0), &json!(0))
        );
        assert_eq!(lines(&folder.path().join("labels.jsonl")).len(), 0);
        let failed = lines(&folder.path().join("labels.failed.jsonl"));
        assert!(
            failed.len() == 4 && failed.iter().all(|row| row["_failed"]["attempts"] == attempts),
            "{failed:?}"
        );
    }
    let mended = ScriptedUpstream::start(Script::panel(3)).unwrap();
    stdout(&run(folder.path(), &mended, &arguments(&TRIO)).await, 0);
    assert_eq!(mended.total_calls(), 12);
    let labels = lines(&folder.path().join("labels.jsonl"));
    assert!(labels.len() == 4 && labels.iter().all(|line| line["label"].is_string()), "{labels:?}");
    assert!(!folder.path().join("labels.failed.jsonl").exists());
}

#[tokio::test]
async fn rows_on_which_every_model_refuses_are_no_ties() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 3);
    let mut script = Script::panel(3);
    script.default =
        Behaviour { actions: vec![Action::Says("I do not vote.".to_owned())], ..Behaviour::default() };
    let upstream = ScriptedUpstream::start(script).unwrap();
    let summary =
        stdout(&run(folder.path(), &upstream, &arguments(&[&TRIO[..], &["--json"]].concat())).await, 3);
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(
        (&summary["without_votes"], &summary["ties"], &summary["unasked"]),
        (&json!(3), &json!(0), &json!(0))
    );
}

#[tokio::test]
async fn the_cost_limit_holds_for_the_file() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 40);
    let upstream = ScriptedUpstream::start(Script::panel(3)).unwrap();
    let limited = [&TRIO[..], &["--max-cost-usd", "0.003"]].concat();
    stdout(&run(folder.path(), &upstream, &arguments(&limited)).await, 10);
    let spent = |labels: &[Value]| labels.iter().map(|line| line["cost_usd"].as_f64().unwrap()).sum::<f64>();
    let labels = lines(&folder.path().join("labels.jsonl"));
    assert!((1..40).contains(&labels.len()), "{}", labels.len());
    assert!(spent(&labels) <= 0.003, "{}", spent(&labels));
    // All runs share the limit.
    let calls = upstream.total_calls();
    stdout(&run(folder.path(), &upstream, &arguments(&limited)).await, 10);
    assert!(upstream.total_calls() <= calls + 3, "{} after {calls}", upstream.total_calls());
    // The rest is labelled when there is more to spend.
    stdout(&run(folder.path(), &upstream, &arguments(&TRIO)).await, 0);
    assert_eq!(lines(&folder.path().join("labels.jsonl")).len(), 40);
    assert_eq!(upstream.total_calls(), 120);
}

#[tokio::test]
async fn a_panel_is_ordered_so_that_its_strongest_model_breaks_ties() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 2);
    // The dearest models are the panel, in the order of their prices; its last one never votes.
    let models =
        (0..4).map(|n| priced(&format!("maker{n}/line-{n}"), &format!("0.000000{}", n + 1), "0.000001"));
    let votes = [("maker3/line-3", "negative"), ("maker2/line-2", "positive")];
    let votes_for = VoteFor::ByModel(votes.map(|(model, vote)| (model.to_owned(), vote.to_owned())).into());
    let silent =
        Behaviour { actions: vec![Action::Says("I do not vote.".to_owned())], ..Behaviour::default() };
    let script = Script { models: models.collect(), votes_for, ..Script::default() };
    let upstream = ScriptedUpstream::start(script.with("maker1/line-1", silent)).unwrap();
    let arguments = arguments(&["--panel", "trio", "--on-tie", "strongest"]);
    let output = run(folder.path(), &upstream, &arguments).await;
    stdout(&output, 0);
    let notice = String::from_utf8_lossy(&output.stderr);
    assert!(
        notice.contains("the models of trio are ordered by price; `ep panel evaluate` judges them"),
        "{notice}"
    );
    let duo: Vec<&str> = arguments.iter().map(|word| if *word == "trio" { "duo" } else { word }).collect();
    let unknown = run(folder.path(), &upstream, &duo).await;
    let error = String::from_utf8_lossy(&unknown.stderr);
    assert!(error.contains("there is no panel \"duo\"; the panels are trio, quintet"), "{error}");
    let wrong = run(folder.path(), &upstream, &[&*duo, &["--options", "positive"]].concat()).await;
    let error = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2), "{error}");
    for part in ["--options: option 3 is the same as option 1", "there is no panel \"duo\""] {
        assert!(error.contains(part), "{error}");
    }
    for line in lines(&folder.path().join("labels.jsonl")) {
        assert_eq!((&line["label"], &line["by"]), (&json!("negative"), &json!("tie_break")), "{line}");
    }
}

#[tokio::test]
async fn a_server_labels_likewise() {
    let service = Setup::scripted(Script::panel(3)).boot().await;
    let key = service.user().await.key.unwrap();
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 4);
    let arguments = arguments(&[&TRIO[..], &["--server", &service.url]].concat());
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let path = folder.path().to_owned();
    let run = move || {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        ep(&path, &arguments, &[("EP_API_KEY", &key)])
    };
    stdout(&tokio::task::spawn_blocking(run).await.unwrap(), 0);
    assert_eq!(lines(&folder.path().join("labels.jsonl")).len(), 4);
}

#[test]
fn wrong_files_and_templates_ask_nothing() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 2);
    let refused = |arguments: &[&str], words: &str| {
        let output = ep(folder.path(), arguments, &[]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() != Some(0) && text.contains(words), "{words} in {text}");
    };
    let options = ["--options", "a,b", "--preset", "budget", "--yes"];
    let with = |file, question| [&["label", file, "--question", question], &options[..]].concat();
    refused(
        &with("data.csv", "{txt}: a or b, please?"),
        "row 1 has no column \"txt\"; its columns are id, text",
    );
    refused(&with("data.csv", "{text: a or b?"), "single brace");
    refused(&with("other.csv", "{text}?"), "cannot open other.csv");
    fs::write(folder.path().join("bad.csv"), "a,b\n1,2\n3\n").unwrap();
    refused(&with("bad.csv", "{a}: a or b, please?"), "row 2: has 1 fields");
    let unconfirmed =
        ["label", "data.csv", "--question", "{text}: a or b?", "--options", "a,b", "--preset", "budget"];
    refused(&unconfirmed, "add --yes");
    assert!(!folder.path().join("labels.jsonl").exists(), "nothing was asked");
    refused(&["label", "data.csv", "--question", "{text}: a or b?", "--options", "a,b"], "--preset");
    refused(&with("data.csv", "{id}?"), "row 1: the question");
    fs::write(folder.path().join("array.json"), "[{\"a\": 1}]").unwrap();
    refused(&with("array.json", "{a}: a or b, please?"), "JSON array");
    let pattern =
        ["label", "data.csv", "--question", "{text}: a or b?", "--options", "a,b", "--model", "demo/*"];
    refused(&pattern, "is a pattern");
    refused(&with("data.csv", "A good review, or a bad one?"), "names no column");
    fs::write(folder.path().join("twice.csv"), "id,text\n1,one\n1,two\n").unwrap();
    let twice = [&with("twice.csv", "{text}: a or b, please?")[..], &["--id", "id"]].concat();
    refused(&twice, "row 2: the id \"1\" was used before");
    let nowhere = [&with("data.csv", "{text}: a or b?")[..], &["--out", "none/labels.jsonl"]].concat();
    refused(&nowhere, "the folder none does not exist");
    refused(&[&with("data.csv", "{text}: a or b?")[..], &["--on-tie", "strongest"]].concat(), "--model");
    refused(
        &[&with("data.csv", "{text}: a or b?")[..], &["--out", "data.csv"]].concat(),
        "not a file of labels",
    );
    assert!(fs::read_to_string(folder.path().join("data.csv")).unwrap().starts_with("id,text\n"));
}

#[test]
fn samples_are_random_rows_with_a_column_for_gold() {
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), 50);
    let sample = |seed: &str| {
        let arguments = ["label", "sample", "data.csv", "7", "--seed", seed];
        stdout(&ep(folder.path(), &arguments, &[]), 0)
    };
    let drawn = sample("1");
    assert_eq!(drawn.lines().next(), Some("id,text,gold"));
    assert_eq!(drawn.lines().count(), 8);
    assert_eq!(drawn, sample("1"));
    assert_ne!(drawn, sample("2"));
    // A file that is there is not overwritten.
    let to_file = ["label", "sample", "data.csv", "7", "--out", "gold.csv"];
    stdout(&ep(folder.path(), &to_file, &[]), 0);
    assert_eq!(fs::read_to_string(folder.path().join("gold.csv")).unwrap(), drawn);
    let again = ep(folder.path(), &to_file, &[]);
    assert!(
        String::from_utf8_lossy(&again.stderr).contains("gold.csv exists already; name a new file"),
        "{again:?}"
    );
}

/// No row is lost and no stored vote is asked again, wherever the process is killed.
#[tokio::test(flavor = "multi_thread")]
async fn kills_lose_no_row_and_ask_no_stored_vote_again() {
    const AT_ONCE: usize = 4;
    let long = long_kills();
    let (at_most, rows) = long.map_or((15, 45), |kills| (kills, 12 * kills));
    let folder = tempfile::tempdir().unwrap();
    reviews(folder.path(), rows);
    let mut script = Script::panel(3);
    script.default.latency = Duration::from_millis(150);
    let upstream = ScriptedUpstream::start(script).unwrap();
    let at_once = AT_ONCE.to_string();
    let arguments = arguments(&[&TRIO[..], &["--at-once", &at_once]].concat());
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
        command.args(&arguments).env_clear().env("EP_DATA_DIR", folder.path()).current_dir(folder.path());
        command.env("EP_UPSTREAM_URL", upstream.base_url()).env("EP_LEASE_MS", "300");
        command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap()
    };
    let mut kills = 0;
    let journal = folder.path().join("labels.jsonl");
    let (mut ended, mut labelled) = (None, String::new());
    while kills < at_most && ended.is_none() {
        let mut child = start();
        let life = Duration::from_millis(300 + 37 * (kills as u64 % 16));
        if let Ok(status) = tokio::time::timeout(life, child.wait()).await {
            ended = Some(status.unwrap());
        } else {
            child.kill().await.unwrap();
            kills += 1;
        }
        // Whatever was labelled stays; a line that was being written is not complete.
        let text = fs::read_to_string(&journal).unwrap_or_default();
        let complete = text.rfind('\n').map_or("", |end| &text[..=end]);
        assert!(complete.starts_with(&labelled), "a label is lost");
        labelled = complete.to_owned();
    }
    let status = match ended {
        Some(status) => status,
        None => start().wait().await.unwrap(),
    };
    assert_eq!(status.code(), Some(0));
    assert!(long.is_none_or(|long| kills == long), "only {kills} kills before the end");
    let mut labels: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines(&journal) {
        *labels.entry(line["id"].as_str().unwrap().to_owned()).or_default() += 1;
        assert_eq!(line["votes"].as_array().unwrap().len(), 3);
    }
    assert!(labels.len() == rows && labels.values().all(|lines| *lines == 1), "{labels:?}");
    // Only calls in flight at a kill are repeated.
    let repeated = upstream.total_calls() - 3 * rows;
    assert!(repeated <= kills * AT_ONCE * 3, "{repeated} calls were repeated after {kills} kills");
    println!("{kills} kills, {repeated} of {} calls repeated", 3 * rows);
}
