//! Gold rows that were not drawn at random: levels of agreement that they lack, and differences from the file.

use std::fs;

use serde_json::{Value, json};

use crate::command_line::stdout;
use crate::label::lines;
use crate::label_proof::{Fixture, is_unanimous};

/// Writes the rows with these lines of labels as gold rows, with the labels of the models.
fn write_gold(fixture: &Fixture, name: &str, is_gold: impl Fn(&Value) -> bool) -> u64 {
    let labels = lines(&fixture.path("first.jsonl"));
    let row = |line: &Value| {
        let (id, label) = (line["id"].as_str().unwrap(), line["label"].as_str().unwrap());
        let number = &id[1..];
        format!("{id},Text {number},left {number}|right {number},{label}\n")
    };
    let rows: Vec<String> = labels.iter().filter(|line| is_gold(line)).map(row).collect();
    fs::write(fixture.path(name), format!("id,text,options,gold\n{}", rows.concat())).unwrap();
    rows.len() as u64
}

/// A bound that holds for unanimous rows says nothing about rows on which the models disagree.
#[tokio::test]
async fn gold_of_one_level_stops_before_a_label_is_read_and_proves_this_level_alone() {
    let fixture = Fixture::new().await;
    let unanimous = write_gold(&fixture, "gold.csv", is_unanimous);
    assert!((40..100).contains(&unanimous), "{unanimous}");
    let proof = ["--gold", "gold.csv", "--choose", "0", "--own-draw", "--max-error", "0.4"];
    let stopped = fixture.label(&proof, 11).await;
    assert_eq!(stopped["proof"]["verdict"], "unread");
    let reason = stopped["proof"]["reasons"][0].as_str().unwrap();
    let expected = (unanimous as f64 * unanimous as f64 / 200.0).round();
    for said in [
        "the gold rows differ from data.csv more than a random draw does",
        "repeat the command with --despite-difference",
        &format!("{unanimous} gold rows with an agreement of 3 of 3 (3 models); about {expected} expected"),
        &format!(
            "0 gold rows with an agreement of 2 of 3 (3 models); about {} expected",
            unanimous as f64 - expected
        ),
    ] {
        assert!(reason.contains(said), "{said}: {reason}");
    }
    let difference = &stopped["proof"]["differences"][0];
    assert_eq!((&difference["rows"], &difference["models"]), (&json!({ "agreement": "2 of 3" }), &json!(3)));
    assert!(!fixture.path("labels.proof.json").exists() && !fixture.path("labels.accepted.jsonl").exists());

    // No label was read, so another command proves with them.
    let repeated = [&proof[..], &["--despite-difference"]].concat();
    let proved = &fixture.label(&repeated, 0).await["proof"];
    let (rule, statement) = (&proved["rules"][0], proved["statement"].as_str().unwrap());
    assert_eq!((&proved["verdict"], &proved["set_aside"]), (&json!("proved"), &json!(0)));
    assert!(
        statement.starts_with("The rows of gold.csv differ from data.csv more than a random draw does."),
        "{statement}"
    );
    assert!(statement.contains("\n\nProved for rows drawn like the gold: "), "{statement}");
    assert!(
        statement.contains("2 of 3: no gold row, so labels with this or a lower agreement are not accepted")
    );
    assert_eq!((&rule["accepted"], &rule["without_gold"]), (&json!(unanimous), &json!("2 of 3")));
    assert_eq!(rule["tests"].as_array().unwrap().len(), 1);
    assert!(lines(&fixture.path("labels.accepted.jsonl")).iter().all(|line| line["by"] == "gold"));
    let verified = stdout(&fixture.verify("labels.jsonl"), 0);
    assert!(verified.contains("The rows of gold.csv differ from data.csv"), "{verified}");

    // Removing the difference from the record hides nothing. Earlier releases accepted the level without gold.
    let path = fixture.path("labels.proof.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    record["result"].as_object_mut().unwrap().remove("differences").unwrap();
    fs::write(&path, record.to_string()).unwrap();
    let verified = stdout(&fixture.verify("labels.jsonl"), 0);
    assert!(verified.contains("The rows of gold.csv differ from data.csv"), "{verified}");
    record["result"]["rules"][0]["accepted"] = json!(200);
    fs::write(&path, record.to_string()).unwrap();
    let refused = fixture.verify("labels.jsonl");
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(
        error.contains("No gold row has an agreement of 2 of 3; earlier releases accepted such labels"),
        "{error}"
    );
}

/// A strict level without gold ends the tests before they begin, and the gold labels stay unread.
#[tokio::test]
async fn labels_of_a_strict_level_without_gold_are_not_accepted() {
    let fixture = Fixture::new().await;
    write_gold(&fixture, "gold.csv", |line| !is_unanimous(line));
    let proof =
        ["--gold", "gold.csv", "--choose", "0", "--own-draw", "--despite-difference", "--max-error", "0.1"];
    let stopped = fixture.label(&proof, 11).await;
    let reason = stopped["proof"]["reasons"][0].as_str().unwrap();
    assert!(reason.starts_with("no gold row has an agreement of 3 of 3"), "{reason}");
    assert_eq!(stopped["proof"]["verdict"], "unread");
}
