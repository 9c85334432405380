//! Gold rows are read once: they are known again after edits, on other machines, and under other questions.

use std::fs;

use ep_upstream::testing::{Script, ScriptedUpstream, VoteFor};
use serde_json::{Value, json};

use crate::command_line::{ep, stdout};
use crate::label::{TRIO, run};
use crate::label_proof::{Fixture, GOLD, arguments, is_unanimous};

/// A record of another machine does not hide that this one has read the gold rows for another rule.
#[tokio::test]
async fn a_record_from_elsewhere_proves_no_gold_that_was_read_here() {
    let [here, elsewhere] = [Fixture::new().await, Fixture::new().await];
    for fixture in [&here, &elsewhere] {
        fixture.write_gold("gold.csv", "1", |line, number| !is_unanimous(line) && number % 3 == 0);
    }
    let proof = ["--gold", "gold.csv", "--choose", "0", "--max-error", "0.1"];
    assert_eq!(elsewhere.label(&proof, 0).await["proof"]["verdict"], "proved");
    let other_rule = [&proof[..5], &["0.2", "--out", "other.jsonl"]].concat();
    assert_eq!(here.label(&other_rule, 0).await["proof"]["verdict"], "proved");
    for name in ["labels.jsonl", "labels.proof.json"] {
        fs::copy(elsewhere.path(name), here.path(name)).unwrap();
    }
    let refused = here.refused(&proof).await;
    assert!(refused.contains("a gold row was opened before on this machine"), "{refused}");
    let verified = here.verify("labels.jsonl");
    assert_eq!(verified.status.code(), Some(1), "{verified:?}");
}

/// Gold rows stay known after edits that change no label, and the rows that were set apart prove nothing later.
#[tokio::test]
async fn edited_gold_rows_are_not_new() {
    let fixture = Fixture::new().await;
    fixture.write_gold("gold.csv", "1", |_, number| number % 2 == 0);
    let error = ["--max-error", "0.1"];
    let first = [&["--gold", "gold.csv", "--choose", "60"], &error[..]].concat();
    let first = fixture.label(&first, 11).await;
    assert_eq!((&first["proof"]["verdict"], &first["proof"]["gold"]), (&json!("nothing"), &json!(GOLD - 60)));
    fixture.write_gold("gold.csv", "1", |line, number| !is_unanimous(line) && number % 3 == 0);
    let gold = fs::read_to_string(fixture.path("gold.csv")).unwrap();
    let with_note = |row: &str| format!("{row},{}\n", if row.starts_with("id,") { "note" } else { "seen" });
    let edits = [gold.clone(), gold.lines().map(with_note).collect(), gold.replacen("options", "choices", 1)];
    for (number, edited) in edits.into_iter().enumerate() {
        fs::write(fixture.path("edited.csv"), edited).unwrap();
        let out = format!("edited{number}.jsonl");
        let again =
            [&["--gold", "edited.csv", "--choose", "0", "--own-draw", "--out", &out], &error[..]].concat();
        let again = if number == 2 {
            let renamed =
                fs::read_to_string(fixture.path("data.csv")).unwrap().replacen("options", "choices", 1);
            fs::write(fixture.path("data.csv"), renamed).unwrap();
            let renamed: Vec<&str> = arguments(&again)
                .into_iter()
                .map(|word| if word == "options" { "choices" } else { word })
                .collect();
            let output = run(fixture.folder.path(), &fixture.upstream, &renamed).await;
            serde_json::from_str(&stdout(&output, 11)).unwrap()
        } else {
            fixture.label(&again, 11).await
        };
        assert_eq!(again["proof"]["verdict"], "estimate", "edit {number}");
    }
}

/// Without ids, rows are known by the columns of the question in any order, and by long texts.
#[tokio::test]
async fn gold_rows_without_ids_are_known_by_their_texts() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = ScriptedUpstream::start(Script::panel(3)).unwrap();
    let opened = async |name: &str, text: &str, more: &str, question: &str| {
        let row = |row: usize| format!("{text} {row},kind {},note{more},left\n", row % 3);
        let rows: Vec<String> = (0..60).map(row).collect();
        let [file, out] = [format!("{name}.csv"), format!("{name}.jsonl")];
        let header = format!("text,kind,note{more},gold");
        fs::write(folder.path().join(&file), format!("{header}\n{}", rows.concat())).unwrap();
        let words = [
            "label",
            "prove",
            &file,
            "--question",
            question,
            "--options",
            "left,right",
            "--yes",
            "--gold",
            &file,
        ];
        let words =
            words.into_iter().chain(["--choose", "0", "--own-draw", "--out", &out, "--max-error", "0.1"]);
        let words: Vec<&str> = words.chain(["--json"]).chain(TRIO).collect();
        let output = run(folder.path(), &upstream, &words).await;
        String::from_utf8_lossy(&output.stderr).contains("60 of the gold rows were read before")
    };
    assert!(!opened("first", "Short", "", "Left or right? {text} ({kind})").await);
    assert!(opened("order", "Short", ",more", "Which one is it? {kind}: {text} {text}").await);
    let long = "A review of more than thirty characters with number";
    assert!(!opened("long", long, "", "Left or right? {text}").await);
    assert!(opened("columns", long, ",more", "Left or right? {text} ({kind})").await);
}

/// Another question about the same rows needs new gold labels; another file with the same ids does not.
#[tokio::test]
async fn gold_rows_are_known_by_their_ids_when_the_question_changes() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = ScriptedUpstream::start(Script::panel(3)).unwrap();
    let names = ["Ada", "Ben", "Cleo", "Dan", "Eve"];
    let rows = |text: &str, category: bool| {
        let row = |row: usize| {
            let kind = if category { format!(",kind {}", row % 3) } else { String::new() };
            format!("r{row},{text} {row} by {}{kind},left\n", names[row % 5])
        };
        let rows: Vec<String> = (0..60).map(row).collect();
        format!("id,text{},gold\n{}", if category { ",kind" } else { "" }, rows.concat())
    };
    let opened = async |name: &str, rows: String, question: &str| {
        let [file, out] = [format!("{name}.csv"), format!("{name}.jsonl")];
        fs::write(folder.path().join(&file), rows).unwrap();
        let words = [
            "label",
            "prove",
            &file,
            "--question",
            question,
            "--options",
            "left,right",
            "--id",
            "id",
            "--yes",
        ];
        let words = words.into_iter().chain(["--gold", &file, "--choose", "0", "--own-draw", "--out", &out]);
        let words: Vec<&str> = words.chain(["--max-error", "0.1", "--json"]).chain(TRIO).collect();
        let output = run(folder.path(), &upstream, &words).await;
        String::from_utf8_lossy(&output.stderr).contains("60 of the gold rows were read before")
    };
    assert!(!opened("first", rows("A long enough review", false), "Left or right? {text}").await);
    assert!(opened("added", rows("A long enough review", true), "Left or right? {text} ({kind})").await);
    assert!(
        !opened("other", rows("A complaint of another file", true), "Left or right? {text} ({kind})").await
    );
}

#[tokio::test]
async fn gold_requests_are_known_by_their_ids_when_they_are_reworded() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = ScriptedUpstream::start(Script::panel(3)).unwrap();
    let opened = async |name: &str, before: &str, after: &str, rows: usize| {
        let [file, out] = [format!("{name}.jsonl"), format!("{name}.labels.jsonl")];
        let line = |row: usize| {
            let body =
                json!({ "question": format!("{before} {row}, {after}"), "options": ["left", "right"] });
            let line = json!({
                "custom_id": format!("r{row}"), "method": "POST", "url": "/api/poll", "body": body, "gold": "left",
            });
            format!("{line}\n")
        };
        fs::write(folder.path().join(&file), (0..rows).map(line).collect::<String>()).unwrap();
        let words =
            ["label", "prove", &file, "--yes", "--gold", &file, "--choose", "0", "--own-draw", "--out", &out];
        let words: Vec<&str> =
            words.into_iter().chain(["--max-error", "0.1", "--json"]).chain(TRIO).collect();
        let output = run(folder.path(), &upstream, &words).await;
        String::from_utf8_lossy(&output.stderr).contains("of the gold rows were read before")
    };
    assert!(!opened("first", "Is this review good? Review", "quite long", 60).await);
    assert!(opened("reworded", "Would you buy after reading this? Review", "quite long", 60).await);
    assert!(!opened("other", "Is this good? Complaint", "of another file", 61).await);
}

/// Models that always say the same are "proved" on a file where nearly all rows have this label.
#[tokio::test]
async fn a_proof_that_the_most_frequent_label_passes_is_headed_by_that() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..200).map(|row| format!("r{row},Text {row}")).collect();
    fs::write(folder.path().join("data.csv"), format!("id,text\n{}\n", rows.join("\n"))).unwrap();
    let upstream =
        ScriptedUpstream::start(Script { votes_for: VoteFor::Text("ok".into()), ..Script::panel(3) })
            .unwrap();
    let label = async |spam: usize, out: &str, code: i32| {
        let gold: Vec<String> = rows
            .iter()
            .enumerate()
            .map(|(at, row)| format!("{row},{}", if at < spam { "spam" } else { "ok" }))
            .collect();
        fs::write(folder.path().join("gold.csv"), format!("id,text,gold\n{}\n", gold.join("\n"))).unwrap();
        let arguments = [
            &[
                "label",
                "prove",
                "data.csv",
                "--question",
                "Is this spam? {text}",
                "--options",
                "ok,spam",
                "--id",
                "id",
            ],
            &["--yes", "--json", "--gold", "gold.csv", "--choose", "0", "--max-error", "0.05", "--out", out]
                [..],
            &TRIO,
        ]
        .concat();
        let summary: Value =
            serde_json::from_str(&stdout(&run(folder.path(), &upstream, &arguments).await, code)).unwrap();
        summary["proof"].clone()
    };
    let proof = label(2, "first.jsonl", 0).await;
    let statement = proof["statement"].as_str().unwrap();
    let heading = "Always saying “ok” would be proved, too: it is wrong on 2 of the 200 gold rows that the rule accepts.";
    assert!(statement.starts_with(heading) && statement.contains("\n\nProved: "), "{statement}");
    assert!(
        statement.contains("wrong on 2 of these 200 accepted gold rows: it would pass, too."),
        "{statement}"
    );
    let verified = stdout(&ep(folder.path(), &["label", "verify", "first.jsonl"], &[]), 0);
    assert!(verified.contains(heading), "{verified}");
    // A record of an earlier release has no such figure. It is verified, and headed, too.
    let path = folder.path().join("first.proof.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    record["result"]["rules"][0].as_object_mut().unwrap().remove("constant").unwrap();
    fs::write(&path, record.to_string()).unwrap();
    let verified = stdout(&ep(folder.path(), &["label", "verify", "first.jsonl"], &[]), 0);
    assert!(verified.contains(heading), "{verified}");
    record["result"]["rules"][0]["constant"] =
        json!({ "label": "ok", "gold": 200, "wrong": 90, "is_proved": false });
    fs::write(&path, record.to_string()).unwrap();
    let verified = ep(folder.path(), &["label", "verify", "first.jsonl"], &[]);
    assert!(
        String::from_utf8_lossy(&verified.stderr).contains("another result than the record"),
        "{verified:?}"
    );
}

/// A record comes from somewhere else, and names files.
#[tokio::test]
async fn verification_reads_only_regular_files() {
    let fixture = Fixture::new().await;
    fixture.write_gold("gold.csv", "1", |_, _| false);
    let proof = ["--gold", "gold.csv", "--max-error", "0.1", "--choose", "0"];
    assert_eq!(fixture.label(&proof, 0).await["proof"]["verdict"], "proved");
    let record: Value =
        serde_json::from_slice(&fs::read(fixture.path("labels.proof.json")).unwrap()).unwrap();
    let pipe = fixture.path("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    for name in ["/dev/zero", "-", pipe.to_str().unwrap()] {
        let mut changed = record.clone();
        changed["names"]["rows"] = name.into();
        fs::write(fixture.path("labels.proof.json"), changed.to_string()).unwrap();
        let verified = stdout(&fixture.verify("labels.jsonl"), 0);
        assert!(verified.contains(&format!("the file of rows: cannot read {name}: ")), "{verified}");
    }
    for name in ["labels.accepted.jsonl", "labels.proof.json", "labels.jsonl"] {
        let file = fixture.path(name);
        fs::rename(&file, fixture.path("stored")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        let verified = fixture.verify("labels.jsonl");
        let said = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert_eq!(verified.status.code(), Some(1), "{said}");
        assert!(said.contains(name) && said.contains("it is not a regular file"), "{said}");
        fs::rename(fixture.path("stored"), &file).unwrap();
    }
}
