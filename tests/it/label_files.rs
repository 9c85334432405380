//! Files of `ep label` as spreadsheets, exports and other tools write them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ep_upstream::testing::{Script, ScriptedUpstream, VoteFor};
use serde_json::{Value, json};

use crate::command_line::{ep, stdout};
use crate::label::{TRIO, lines, run};

/// Labels a file by its column `text`. Returns the ids with their labels, and what was said.
async fn label(file: &str, bytes: &[u8], more: &[&str]) -> (BTreeMap<String, Value>, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(file), bytes).unwrap();
    let upstream = ScriptedUpstream::start(Script::panel(3)).unwrap();
    let own = ["label", file, "--id", "id", "--yes"];
    let question = ["--question", "Is this review positive or negative? {text}"];
    let options = ["--options", "positive,negative"];
    let question = if more.contains(&"--question") { &[][..] } else { &question };
    let options = if more.iter().any(|word| word.starts_with("--option")) { &[][..] } else { &options };
    let output = run(folder.path(), &upstream, &[&own[..], question, options, &TRIO, more].concat()).await;
    (labels(folder.path()), String::from_utf8(output.stderr).unwrap())
}

fn labels(folder: &Path) -> BTreeMap<String, Value> {
    let path = folder.join("labels.jsonl");
    let lines = if path.exists() { lines(&path) } else { Vec::new() };
    lines
        .into_iter()
        .map(|line| (line["id"].as_str().map_or(line["id"].to_string(), str::to_owned), line))
        .collect()
}

#[tokio::test]
async fn separators_and_encodings_are_recognised() {
    let utf_16: Vec<u8> =
        "\u{feff}id\ttext\r\n1\tfine\r\n2\tbad\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [
        b"id;text\r\n1;fine, really\r\n2;bad\r\n".to_vec(),
        b"sep=;\r\nid;text\r\n1;fine\r\n2;bad\r\n".to_vec(),
        b"id\ttext\n1\tfine\n2\tbad\n".to_vec(),
        b"id , text\n1,fine\n2,bad\n".to_vec(),
        utf_16,
    ] {
        let (labels, said) = label("rows.csv", &bytes, &[]).await;
        assert_eq!(labels.keys().collect::<Vec<_>>(), ["1", "2"], "{said}");
        assert!(labels.values().all(|line| line["label"].is_string()), "{labels:?}");
    }
    for (file, bytes, words) in [
        ("rows.csv", &b"id;text, long\n1;fine\n"[..], "separated by commas or by semicolons"),
        (
            "rows.xlsx",
            b"PK\x03\x04\x14\0\x06\0",
            "rows.xlsx is a spreadsheet or a zip archive; save the sheet as CSV",
        ),
        ("rows.csv.gz", b"\x1f\x8b\x08\0\0\0\0\0", "rows.csv.gz is compressed (gzip)"),
        (
            "latin1.csv",
            b"id,text\n1,\xe9t\xe9\n",
            "latin1.csv is not UTF-8; convert it, for example with iconv",
        ),
        ("latin1.jsonl", b"{\"id\": 1, \"text\": \"\xe9t\xe9\"}\n", "latin1.jsonl is not UTF-8"),
        ("rows.csv", b"id,text, text\n1,fine,bad\n", "two columns of rows.csv are named \"text\""),
    ] {
        let (labels, said) = label(file, bytes, &[]).await;
        assert!(labels.is_empty() && said.contains(words), "{words} in {said}");
    }
}

#[tokio::test]
async fn fields_in_fields_have_names() {
    let question = ["--question", "Is this review positive or negative? {fields.text}"];
    let rows = "{\"id\": 1, \"fields\": {\"text\": \"fine\"}}\n{\"id\": 2, \"fields.text\": \"bad\"}\n";
    let (labels, said) = label("rows.jsonl", rows.as_bytes(), &question).await;
    assert_eq!(labels.keys().collect::<Vec<_>>(), ["1", "2"], "{said}");
    let (labels, said) =
        label("rows.jsonl", b"{\"id\": 1, \"fields\": {\"txt\": \"fine\"}}\n", &question).await;
    assert!(labels.is_empty() && said.contains("has no column \"fields.text\""), "{said}");
}

#[tokio::test]
async fn rows_without_a_text_are_asked_only_with_a_flag() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("data.csv"), "id,text\n1,fine\n2,\n3,  \n4,bad\n").unwrap();
    let upstream = ScriptedUpstream::start(Script::panel(3)).unwrap();
    let labelled = async |more: &[&str]| {
        let output =
            run(folder.path(), &upstream, &super::label::arguments(&[&TRIO[..], more].concat())).await;
        let summary: Value = serde_json::from_str(&stdout(&output, 0)).unwrap();
        (summary, String::from_utf8(output.stderr).unwrap())
    };
    let (summary, said) = labelled(&["--json"]).await;
    assert!(said.contains("2 rows have no text in the columns of the question"), "{said}");
    assert_eq!(
        (&summary["labelled"], &summary["empty"], &summary["unasked"]),
        (&json!(2), &json!(2), &json!(0))
    );
    assert_eq!(upstream.total_calls(), 6);
    for id in ["2", "3"] {
        let line = &labels(folder.path())[id];
        assert_eq!(
            (&line["label"], &line["votes"], &line["empty"]),
            (&Value::Null, &json!([]), &json!(true))
        );
    }
    // A second run writes them once, and a run with the flag asks them.
    labelled(&["--json"]).await;
    assert_eq!((lines(&folder.path().join("labels.jsonl")).len(), upstream.total_calls()), (4, 6));
    let (summary, _) = labelled(&["--json", "--ask-empty"]).await;
    assert_eq!((&summary["labelled"], &summary["empty"], upstream.total_calls()), (&json!(4), &json!(0), 12));
}

/// Without its text, the question of the first row is too short for a poll.
#[tokio::test]
async fn a_file_may_begin_with_rows_without_a_text() {
    for (rows, counts) in [("1,\n2,This is fine\n", (1, 1)), ("1,\n2,\n", (0, 2))] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("data.csv"), format!("id,text\n{rows}")).unwrap();
        let upstream = ScriptedUpstream::start(Script::panel(3)).unwrap();
        let ask = [
            "label",
            "data.csv",
            "--question",
            "{text}",
            "--options",
            "yes,no",
            "--id",
            "id",
            "--yes",
            "--json",
        ];
        let output = run(folder.path(), &upstream, &[&ask[..], &TRIO].concat()).await;
        let summary: Value = serde_json::from_str(&stdout(&output, 0)).unwrap();
        assert_eq!(
            (summary["labelled"].as_i64(), summary["empty"].as_i64()),
            (Some(counts.0), Some(counts.1))
        );
    }
}

#[tokio::test]
async fn options_can_have_commas_and_begin_with_a_minus() {
    let rows = b"id,text\n1,fine\n";
    for (options, choice) in [
        (&["--options", "-1,0,1"][..], "-1"),
        (&["--option", "Food, Drink", "--option", "Sports"], "Food, Drink"),
        (&["-o", "-1", "-o", "1"], "-1"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("data.csv"), rows).unwrap();
        let votes_for = VoteFor::ByModel(
            TRIO.iter().skip(1).step_by(2).map(|model| ((*model).to_owned(), choice.to_owned())).collect(),
        );
        let upstream = ScriptedUpstream::start(Script { votes_for, ..Script::panel(3) }).unwrap();
        let own = ["label", "data.csv", "--id", "id", "--yes", "--question", "Which of these is it? {text}"];
        let output = run(folder.path(), &upstream, &[&own[..], &TRIO, options].concat()).await;
        assert_eq!(labels(folder.path())["1"]["label"], choice, "{output:?}");
    }
    let both = ["label", "data.csv", "--question", "{text}?", "--options", "a,b", "--option", "c"];
    stdout(&ep(tempfile::tempdir().unwrap().path(), &both, &[]), 2);
}

/// Flags of earlier releases name the command that replaced them, and a command wins over a file with its name.
#[test]
fn commands_replace_old_flags() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["data.csv", "sample"] {
        fs::write(folder.path().join(name), "id,text\n1,fine\n2,bad\n").unwrap();
    }
    for (old, command) in [
        (&["--sample", "2"][..], "ep label sample FILE NUMBER"),
        (&["--gold", "gold.csv"], "ep label prove FILE --gold GOLD"),
        (&["--max-error=0.1"], "ep label prove FILE --gold GOLD"),
        (&["--prove", "1,3"], "--sizes 1,3,5"),
        (&["--finish", "finished.csv"], "ep label finish LABELS --out FILE"),
        (&["--verify"], "ep label verify LABELS"),
    ] {
        let output = ep(folder.path(), &[&["label", "data.csv"][..], old].concat(), &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(command), "{old:?}: {said}");
    }
    assert_eq!(stdout(&ep(folder.path(), &["label", "sample", "sample", "2"], &[]), 0).lines().count(), 3);
    let asked = ep(folder.path(), &["label", "./sample", "--options", "a,b"], &[]);
    assert!(String::from_utf8_lossy(&asked.stderr).contains("--question"), "{asked:?}");
}
