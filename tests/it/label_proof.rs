//! `ep label prove`: an error bound, proved while a file is labelled.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ep_upstream::testing::{Behaviour, Script, ScriptedUpstream, VoteFor};
use serde_json::{Value, json};

use crate::command_line::{ep, stdout};
use crate::label::{TRIO, lines, run};

/// Rows of the file. With three models that vote at random, one label in four is unanimous.
const ROWS: usize = 200;
/// Rows with a gold label, of which 29 unanimous and right ones prove an error of at most 10 %.
pub const GOLD: usize = 160;

/// Returns the arguments to label the file, or to prove with gold rows. Each row has two options of its own, so that the votes differ between rows.
pub fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let label = ["data.csv", "--question", "Which one? {text}", "--options-from", "options", "--id", "id"];
    let command: &[&str] = if more.contains(&"--gold") { &["label", "prove"] } else { &["label"] };
    command
        .iter()
        .copied()
        .chain(label)
        .chain(["--yes", "--json"])
        .chain(TRIO)
        .chain(more.iter().copied())
        .collect()
}

fn write_rows(path: &Path, rows: std::ops::Range<usize>) {
    let rows: Vec<String> = rows.map(|row| format!("r{row},Text {row},left {row}|right {row}\n")).collect();
    fs::write(path, format!("id,text,options\n{}", rows.concat())).unwrap();
}

/// A folder with a labelled file, and with gold rows that `ep label sample` drew from it.
pub struct Fixture {
    pub folder: tempfile::TempDir,
    pub upstream: ScriptedUpstream,
    labels: BTreeMap<String, Value>,
}

impl Fixture {
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_rows(&folder.path().join("data.csv"), 0..ROWS);
        let upstream = ScriptedUpstream::start(Script::panel(3)).unwrap();
        stdout(&run(folder.path(), &upstream, &arguments(&["--out", "first.jsonl"])).await, 0);
        let labels = lines(&folder.path().join("first.jsonl"));
        let labels = labels.into_iter().map(|line| (line["id"].as_str().unwrap().to_owned(), line)).collect();
        Self { folder, upstream, labels }
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Draws gold rows and labels them: wrongly if `is_wrong` of the line of the row, the number of such rows before it.
    pub fn write_gold(&self, name: &str, seed: &str, is_wrong: impl Fn(&Value, usize) -> bool) {
        let sample = ["label", "sample", "data.csv", &GOLD.to_string(), "--seed", seed];
        let drawn = stdout(&ep(self.folder.path(), &sample, &[]), 0);
        let mut gold = String::new();
        for (number, row) in drawn.lines().enumerate() {
            gold.push_str(row);
            if number > 0 {
                let id = row.split(',').next().unwrap();
                let line = &self.labels[id];
                let label = line["label"].as_str().unwrap();
                let other = if label.starts_with("left") { "right" } else { "left" };
                let number = label.split(' ').next_back().unwrap();
                let is_wrong = is_wrong(line, number.parse().unwrap());
                let side = if is_wrong { other } else { label.split(' ').next().unwrap() };
                gold.extend([side, " ", number]);
            }
            gold.push('\n');
        }
        fs::write(self.path(name), gold).unwrap();
    }

    /// Labels the file with these further arguments, and returns the summary.
    pub async fn label(&self, more: &[&str], code: i32) -> Value {
        let output = run(self.folder.path(), &self.upstream, &arguments(more)).await;
        serde_json::from_str(&stdout(&output, code)).unwrap()
    }

    /// Returns the error of a command that fails.
    pub async fn refused(&self, more: &[&str]) -> String {
        let output = run(self.folder.path(), &self.upstream, &arguments(more)).await;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    pub fn verify(&self, name: &str) -> std::process::Output {
        ep(self.folder.path(), &["label", "verify", name], &[])
    }
}

pub fn is_unanimous(line: &Value) -> bool {
    line["score"] == 1.0
}

#[tokio::test]
async fn unanimous_labels_are_proved_and_the_rest_is_left_to_a_person() {
    let fixture = Fixture::new().await;
    // Of the labels with two votes of three, every third one is wrong.
    fixture.write_gold("gold.csv", "1", |line, number| !is_unanimous(line) && number % 3 == 0);
    let calls = fixture.upstream.total_calls();
    let proof = ["--gold", "gold.csv", "--max-error", "0.1", "--choose", "0"];
    let summary = fixture.label(&proof, 0).await;
    assert_eq!(fixture.upstream.total_calls(), calls, "stored votes are not asked again");
    let proof_result = &summary["proof"];
    assert_eq!((&proof_result["verdict"], &proof_result["gold"]), (&json!("proved"), &json!(GOLD)));
    let statement = proof_result["statement"].as_str().unwrap();
    assert!(
        statement.starts_with(
            "Proved: of the rows of data.csv that the rule accepts, gold included, at most 10 % are wrong, with 95 % \
             confidence over the draw."
        ),
        "{statement}"
    );
    let tests = &proof_result["rules"][0]["tests"];
    assert_eq!((&tests[0]["agreement"], &tests[0]["wrong"]), (&json!("3 of 3"), &json!(0)));
    assert_eq!((&tests[1]["agreement"], tests.as_array().unwrap().len()), (&json!("2 of 3"), 2));

    // Every row is in one of the two files: accepted by the rule or by a person, or left for a person.
    let accepted = lines(&fixture.path("labels.accepted.jsonl"));
    let gold = accepted.iter().filter(|line| line["by"] == "gold").count();
    assert_eq!(gold, GOLD);
    let by_rule = || accepted.iter().filter(|line| line["by"] != "gold");
    assert!(by_rule().all(is_unanimous) && by_rule().count() > 0);
    let unanimous = fixture.labels.values().filter(|line| is_unanimous(line)).count();
    assert_eq!(proof_result["rules"][0]["accepted"], unanimous);
    let review = fs::read_to_string(fixture.path("labels.review.csv")).unwrap();
    let header = review.lines().next().unwrap();
    assert_eq!(header, "id,text,options,panel_label,panel_share,panel_votes,reviewed");
    let ids = review.lines().skip(1).map(|row| row.split(',').next().unwrap().to_owned());
    let ids: BTreeSet<String> =
        ids.chain(accepted.iter().map(|line| line["id"].as_str().unwrap().to_owned())).collect();
    assert_eq!((ids.len(), review.lines().count() - 1 + accepted.len()), (ROWS, ROWS));

    // Without a proof, all rows are in the order of doubt.
    fixture.label(&["--review", "doubt.csv"], 0).await;
    let doubt = fs::read_to_string(fixture.path("doubt.csv")).unwrap();
    let shares: Vec<&str> = doubt.lines().skip(1).map(|row| row.split(',').nth(4).unwrap()).collect();
    assert_eq!((shares.len(), shares[0], shares[ROWS - 1]), (ROWS, "0.67", "1.00"));
    assert!(shares.is_sorted());

    // The proof can be checked and repeated. Other rules need new gold.
    assert!(stdout(&fixture.verify("labels.jsonl"), 0).starts_with("Verified:"));
    assert_eq!(fixture.label(&proof, 0).await, summary);
    let other = ["--gold", "gold.csv", "--max-error", "0.2", "--choose", "0"];
    assert!(fixture.refused(&other).await.contains("has the proof of other rules"));
    let again = fixture.label(&[&other[..], &["--out", "other.jsonl"]].concat(), 11).await;
    assert_eq!(again["proof"]["verdict"], "estimate");
    let reason = again["proof"]["reasons"][0].as_str().unwrap();
    assert!(reason.starts_with(&format!("{GOLD} of the {GOLD} gold rows were opened before")), "{reason}");
    assert!(stdout(&fixture.verify("other.jsonl"), 11).contains("Not proved; an estimate"));
    // Another round asks anew, where the same one finds stored votes.
    let calls = fixture.upstream.total_calls();
    fixture.label(&["--round", "2", "--out", "second.jsonl"], 0).await;
    assert_eq!(fixture.upstream.total_calls(), calls + 3 * ROWS);
    assert!(!fixture.path("other.accepted.jsonl").exists());

    // What a person has reviewed stays, and completes the file.
    let finish =
        |name: &str| ep(fixture.folder.path(), &["label", "finish", "labels.jsonl", "--out", name], &[]);
    assert_eq!(finish("some.csv").status.code(), Some(4));
    let fill = |row: &str| match row.split(',').next().unwrap() {
        "id" => format!("{row}\n"),
        id => format!("{row}left {}\n", &id[1..]),
    };
    let filled: String = review.lines().map(fill).collect();
    // A reviewed row that was edited is not left out silently.
    fs::write(fixture.path("labels.review.csv"), filled.replacen("\nr", "\nR", 1)).unwrap();
    let edited = finish("edited.csv");
    let error = String::from_utf8_lossy(&edited.stderr);
    assert!(error.contains("row 1 of") && error.contains("its id or its text was edited"), "{edited:?}");
    assert!(!fixture.path("edited.csv").exists());
    fs::write(fixture.path("labels.review.csv"), &filled).unwrap();
    fixture.label(&proof, 0).await;
    assert_eq!(fs::read_to_string(fixture.path("labels.review.csv")).unwrap(), filled);
    stdout(&finish("finished.csv"), 0);
    let finished = fs::read_to_string(fixture.path("finished.csv")).unwrap();
    assert!(finished.starts_with("id,text,options,label,label_by\nr0,Text 0,left 0|right 0,"), "{finished}");
    let by = |by: &str| finished.lines().filter(|row| row.ends_with(by)).count();
    let left = review.lines().count() - 1;
    assert_eq!((by(",person"), by(",models")), (GOLD + left, ROWS - GOLD - left));
    assert_eq!(finish("finished.csv").status.code(), Some(1), "a file is never overwritten");

    // An accepted label that was changed afterwards is found.
    let accepted = fs::read_to_string(fixture.path("labels.accepted.jsonl")).unwrap();
    let swapped = accepted.replacen("\"label\":\"left", "\"label\":\"right", 1);
    let extra = format!("{accepted}{}\n", accepted.lines().next().unwrap());
    for changed in [&swapped, &extra, ""] {
        assert_ne!(changed, accepted);
        fs::write(fixture.path("labels.accepted.jsonl"), changed).unwrap();
        for refused in [fixture.verify("labels.jsonl"), finish("changed.csv")] {
            let error = String::from_utf8_lossy(&refused.stderr);
            assert!(error.contains("is not what the proved rule accepts; run the command"), "{refused:?}");
        }
    }
    fs::remove_file(fixture.path("labels.accepted.jsonl")).unwrap();
    let unchecked = stdout(&fixture.verify("labels.jsonl"), 0);
    assert!(unchecked.contains("labels.accepted.jsonl is not here"), "{unchecked}");
    assert!(String::from_utf8_lossy(&finish("changed.csv").stderr).contains("run the command"));
    fixture.label(&proof, 0).await;
    assert_eq!(fs::read_to_string(fixture.path("labels.accepted.jsonl")).unwrap(), accepted);

    // A vote that was changed afterwards is found, and so is a label.
    let labels = fs::read_to_string(fixture.path("labels.jsonl")).unwrap();
    fs::write(fixture.path("labels.jsonl"), labels.replacen("\"vote\":\"left", "\"vote\":\"Left", 1))
        .unwrap();
    let changed = fixture.verify("labels.jsonl");
    assert!(
        String::from_utf8_lossy(&changed.stderr).contains("has changed since the gold labels were read"),
        "{changed:?}"
    );
    fs::write(fixture.path("labels.jsonl"), &labels).unwrap();
    let record = fs::read_to_string(fixture.path("labels.proof.json")).unwrap();
    fs::write(
        fixture.path("labels.proof.json"),
        record.replacen("\"max_error\": 0.1", "\"max_error\": 0.05", 1),
    )
    .unwrap();
    let changed = fixture.verify("labels.jsonl");
    assert!(
        String::from_utf8_lossy(&changed.stderr).contains("have changed since the gold labels were read"),
        "{changed:?}"
    );
    // Rows cannot be set aside afterwards, either.
    let forged =
        record.replacen("\"opened_before\": []", &format!("\"opened_before\": [\"{}\"]", "0".repeat(32)), 1);
    assert_ne!(forged, record);
    fs::write(fixture.path("labels.proof.json"), forged).unwrap();
    let changed = fixture.verify("labels.jsonl");
    assert!(
        String::from_utf8_lossy(&changed.stderr).contains("have changed since the gold labels were read"),
        "{changed:?}"
    );
    fs::write(fixture.path("labels.proof.json"), record).unwrap();
}

#[tokio::test]
async fn several_rules_share_the_risk_and_wrong_labels_prove_nothing() {
    let fixture = Fixture::new().await;
    fixture.write_gold("gold.csv", "3", |line, number| !is_unanimous(line) && number % 3 == 0);
    // Another seed: these rows are a sample of some file, but not known to be one of this file.
    let rules = ["--gold", "gold.csv", "--max-error", "0.05,0.15", "--sizes", "1,3", "--choose", "0"];
    let refused = fixture.refused(&rules).await;
    assert!(refused.contains("If you drew with another seed, name it with --seed"), "{refused}");
    let rules = [&rules[..], &["--own-draw"]].concat();
    let summary = fixture.label(&rules, 0).await;
    let statement = summary["proof"]["statement"].as_str().unwrap();
    assert!(
        statement.starts_with("Proved for rows drawn like the gold: of the rows that the rule accepts,"),
        "{statement}"
    );
    assert!(
        statement.contains("gold.csv is not exactly what `ep label sample` draws from data.csv"),
        "{statement}"
    );
    assert!(statement.contains("with 95 % confidence for all 4 rules together"), "{statement}");
    // The single model is too often wrong, and 5 % needs more gold rows than are unanimous.
    assert_eq!(summary["proof"]["chosen"], 3);

    fixture.write_gold("wrong.csv", "3", |_, number| number % 2 == 0);
    let wrong =
        ["--gold", "wrong.csv", "--max-error", "0.1", "--choose", "0", "--own-draw", "--out", "wrong.jsonl"];
    let nothing = fixture.label(&wrong, 11).await;
    assert_eq!(
        (&nothing["proof"]["verdict"], &nothing["proof"]["chosen"]),
        (&json!("nothing"), &Value::Null)
    );
    let statement = nothing["proof"]["statement"].as_str().unwrap();
    assert!(statement.starts_with("Nothing is proved."), "{statement}");

    // The finished file: the errors among all gold rows.
    fixture.write_gold("set.csv", "9", |line, number| !is_unanimous(line) && number % 3 == 0);
    let set =
        ["--gold", "set.csv", "--seed", "9", "--max-set-error", "0.3", "--choose", "0", "--out", "set.jsonl"];
    let summary = fixture.label(&set, 0).await;
    let proof = &summary["proof"];
    assert_eq!((&proof["verdict"], &proof["is_about_file"]), (&json!("proved"), &json!(false)));
    // Rows that were opened before prove nothing again. The others are no sample of the file.
    let (gold, aside) = (proof["gold"].as_u64().unwrap(), proof["set_aside"].as_u64().unwrap());
    assert!(gold + aside == GOLD as u64 && (9..=40).contains(&gold), "{gold} and {aside}");
    let statement = proof["statement"].as_str().unwrap();
    assert!(
        statement.starts_with(
            "Proved for rows drawn like the gold: of all rows, at most 30 % are accepted and wrong"
        ),
        "{statement}"
    );
    assert!(
        statement.contains("are set aside, so nothing is said about all rows of data.csv"),
        "{statement}"
    );
}

#[tokio::test]
async fn gold_rows_of_another_file_are_asked_too() {
    let fixture = Fixture::new().await;
    let upstream = &fixture.upstream;
    write_rows(&fixture.path("more.csv"), ROWS..ROWS + 60);
    let gold = fs::read_to_string(fixture.path("more.csv")).unwrap();
    let gold: Vec<String> = gold
        .lines()
        .enumerate()
        .map(|(number, row)| match number {
            0 => format!("{row},by_hand\n"),
            number => format!("{row},left {}\n", ROWS + number - 1),
        })
        .collect();
    fs::write(fixture.path("more.csv"), gold.concat()).unwrap();
    let calls = upstream.total_calls();
    let more = [
        "--gold",
        "more.csv",
        "--gold-column",
        "by_hand",
        "--max-error",
        "0.2",
        "--choose",
        "30",
        "--own-draw",
    ];
    let summary = fixture.label(&[&more[..], &["--out", "more.jsonl"]].concat(), 11).await;
    assert_eq!(upstream.total_calls(), calls + 180);
    assert_eq!((&summary["labelled"], &summary["proof"]["gold"]), (&json!(ROWS + 60), &json!(30)));
}

#[tokio::test]
async fn a_model_that_changes_ends_the_proof() {
    let fixture = Fixture::new().await;
    fixture.write_gold("gold.csv", "1", |line, number| !is_unanimous(line) && number % 3 == 0);
    let folder = tempfile::tempdir().unwrap();
    fs::copy(fixture.path("gold.csv"), folder.path().join("gold.csv")).unwrap();
    write_rows(&folder.path().join("data.csv"), 0..ROWS / 2);
    stdout(&run(folder.path(), &fixture.upstream, &arguments(&[])).await, 0);
    write_rows(&folder.path().join("data.csv"), 0..ROWS);
    let reported_model = Some("line-1-2026-11".to_owned());
    let newer = Script::panel(3).with("maker1/line-1", Behaviour { reported_model, ..Behaviour::default() });
    let newer = ScriptedUpstream::start(newer).unwrap();
    let proof = ["--gold", "gold.csv", "--max-error", "0.1", "--choose", "0"];
    let summary = stdout(&run(folder.path(), &newer, &arguments(&proof)).await, 11);
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let reason = "maker1/line-1 responded as maker1/line-1 and line-1-2026-11: it changed between rows. Ask all rows anew, \
                  with another --round and --out";
    assert_eq!(
        (&summary["proof"]["verdict"], &summary["proof"]["reasons"][0]),
        (&json!("unread"), &json!(reason))
    );
    // Lines of an earlier release do not name their reader.
    let mixed = ["--round", "3", "--out", "mixed.jsonl"];
    stdout(&run(folder.path(), &newer, &arguments(&mixed)).await, 0);
    let path = folder.path().join("mixed.jsonl");
    let lines = fs::read_to_string(&path).unwrap();
    assert_eq!(lines.matches("\"reader\":2").count(), ROWS);
    fs::write(&path, lines.replacen(",\"reader\":2", "", 1)).unwrap();
    let summary = stdout(&run(folder.path(), &newer, &arguments(&[&proof[..], &mixed].concat())).await, 11);
    assert!(summary.contains("different versions of the reader have read the votes"), "{summary}");
    // The gold labels were not read, so they can prove with votes of one version.
    assert!(!folder.path().join("labels.proof.json").exists());
    let anew = [&proof[..], &["--round", "2", "--out", "anew.jsonl"]].concat();
    let summary = stdout(&run(folder.path(), &newer, &arguments(&anew)).await, 0);
    assert!(summary.contains("\"verdict\": \"proved\""), "{summary}");
}

#[tokio::test]
async fn an_evaluation_reads_the_labels_that_choose_and_names_the_panel_to_prove() {
    let fixture = Fixture::new().await;
    fixture.write_gold("gold.csv", "1", |_, _| false);
    let calls = fixture.upstream.total_calls();
    let question =
        ["--question", "Which one? {text}", "--options-from", "options", "--id", "id", "--round", "2"];
    let evaluate = [&["panel", "evaluate", "gold.csv", "--yes"], &question[..], &TRIO[..]].concat();
    let with_page = [&evaluate[..], &["--page", "page.html"]].concat();
    let evaluated = run(fixture.folder.path(), &fixture.upstream, &with_page).await;
    let text = stdout(&evaluated, 0);
    assert_eq!(fixture.upstream.total_calls(), calls + 3 * 50);
    // The gold labels are those of the panel.
    assert!(text.contains("Prove the best three models, ties to the strongest: maker"), "{text}");
    let next = String::from_utf8_lossy(&evaluated.stderr);
    assert!(next.contains("Next: ep label prove FILE --question 'Which one? {text}' --options-from options --id id --round 2 --gold"), "{next}");
    let page = fs::read_to_string(fixture.path("page.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("best model") && !page.contains("<script"), "{page}");

    // A second run asks nothing. The figures do not depend on the order of the rows.
    let json = [&evaluate[..], &["--json"]].concat();
    let first: Value =
        serde_json::from_str(&stdout(&run(fixture.folder.path(), &fixture.upstream, &json).await, 0))
            .unwrap();
    let gold = fs::read_to_string(fixture.path("gold.csv")).unwrap();
    let (header, rows) = gold.split_once('\n').unwrap();
    let reversed: Vec<&str> = [header].into_iter().chain(rows.lines().rev()).collect();
    fs::write(fixture.path("gold.csv"), reversed.join("\n")).unwrap();
    let again: Value =
        serde_json::from_str(&stdout(&run(fixture.folder.path(), &fixture.upstream, &json).await, 0))
            .unwrap();
    assert_eq!((fixture.upstream.total_calls(), &again), (calls + 3 * 50, &first));
    let three = &first["panels"][1];
    assert_eq!(
        (&three["name"], &three["right"], &first["rows"]),
        (&json!("all 3 models"), &json!(50), &json!(50))
    );

    // Labels that chose prove nothing, even if none are set apart.
    let proof = ["--gold", "gold.csv", "--max-error", "0.1", "--choose", "0"];
    let summary = fixture.label(&proof, 0).await;
    assert_eq!(
        (&summary["proof"]["verdict"], &summary["proof"]["gold"]),
        (&json!("proved"), &json!(GOLD - 50))
    );

    // Where one model is always right and the others guess, it is better alone.
    let gold = fs::read_to_string(fixture.path("gold.csv")).unwrap();
    let right = gold.lines().map(|row| match row.split_once(',').unwrap() {
        ("id", _) => format!("{row}\n"),
        (id, rest) => {
            let vote = fixture.labels[id]["votes"][2]["vote"].as_str().unwrap();
            format!("{id},{},{vote}\n", rest.rsplit_once(',').unwrap().0)
        }
    });
    fs::write(fixture.path("gold.csv"), right.collect::<String>()).unwrap();
    let text = stdout(&run(fixture.folder.path(), &fixture.upstream, &evaluate).await, 0);
    assert!(text.contains("One model is better than every panel here: use maker2/line-2."), "{text}");
}

/// An evaluation tells whether the panel beats the most frequent label alone.
#[tokio::test]
async fn an_evaluation_compares_its_panel_with_the_most_frequent_label() {
    let folder = tempfile::tempdir().unwrap();
    let row = |row: usize| format!("r{row},Text {row},{}\n", if row < 6 { "spam" } else { "ok" });
    let rows: Vec<String> = (0..60).map(row).collect();
    fs::write(folder.path().join("gold.csv"), format!("id,text,gold\n{}", rows.concat())).unwrap();
    let evaluated = async |says: &str, more: &[&str]| {
        let votes_for = VoteFor::Text(says.into());
        let upstream = ScriptedUpstream::start(Script { votes_for, ..Script::panel(3) }).unwrap();
        let (out, round) = (format!("{says}.jsonl"), if says == "ok" { "1" } else { "2" });
        let words =
            ["panel", "evaluate", "gold.csv", "--question", "Is this spam? {text}", "--options", "ok,spam"];
        let words = [
            &words[..],
            &["--id", "id", "--choose", "60", "--yes", "--round", round, "--out", &out],
            more,
            &TRIO,
        ]
        .concat();
        stdout(&run(folder.path(), &upstream, &words).await, 0)
    };
    // The panel always says the most frequent label itself.
    let same = evaluated("ok", &["--page", "page.html"]).await;
    let sentence = "The proposed labels are not shown to be more often right than always saying “ok” (90 % right): both are \
                    right on the same rows. Label more rows that any model labels otherwise.";
    assert!(
        same.contains("Prove the best three models") && same.ends_with(&format!("{sentence}\n")),
        "{same}"
    );
    assert!(fs::read_to_string(folder.path().join("page.html")).unwrap().contains(sentence));
    // The panel always says another label.
    let json: Value = serde_json::from_str(&evaluated("spam", &["--json"]).await).unwrap();
    let constant = &json["constant"];
    assert_eq!(
        (&constant["label"], &constant["wins"], &constant["losses"], &constant["verdict"]),
        (&json!("ok"), &json!(6), &json!(54), &json!("worse"))
    );
    let worse = evaluated("spam", &[]).await;
    assert!(
        worse.contains("No panel here is clearly better") && worse.contains("are less often right than"),
        "{worse}"
    );
}

#[tokio::test]
async fn empty_and_misspelt_gold_cells_are_listed_before_anything_is_read() {
    let fixture = Fixture::new().await;
    fixture.write_gold("gold.csv", "1", |_, _| false);
    let gold = fs::read_to_string(fixture.path("gold.csv")).unwrap();
    let is_emptied = |row: &str| {
        row.split_once(',')
            .is_some_and(|(id, _)| fixture.labels.get(id).is_some_and(|line| !is_unanimous(line)))
    };
    let emptied: Vec<&str> = gold.lines().filter(|row| is_emptied(row)).take(2).collect();
    let with_cells = |cells: [&str; 2]| {
        emptied.iter().zip(cells).fold(gold.clone(), |gold, (row, cell)| {
            gold.replace(
                row,
                row.rsplit_once(',').map(|(rest, _)| format!("{rest},{cell}")).unwrap().as_str(),
            )
        })
    };
    let number = |row: &str| gold.lines().position(|line| line == row).unwrap();
    let proof = ["--gold", "gold.csv", "--max-error", "0.1", "--choose", "0"];
    for cells in [["", "lefft"], [" ", "LEFT 1"]] {
        fs::write(fixture.path("gold.csv"), with_cells(cells)).unwrap();
        let refused = fixture.refused(&proof).await;
        assert!(refused.contains("the column gold has 2 invalid labels (1 empty, 1 misspelt)"), "{refused}");
        let [empty, misspelt] = [number(emptied[0]), number(emptied[1])];
        assert!(refused.contains(&format!("- row {empty}: empty")), "{refused}");
        assert!(
            refused.contains(&format!("- row {misspelt}: {:?} is none of the options left", cells[1])),
            "{refused}"
        );
        assert!(!fixture.path("labels.proof.json").exists() && !fixture.path("gold-openings.jsonl").exists());
    }
    // At most twenty are listed.
    let blank = |row: &str| format!("{},\n", row.rsplit_once(',').unwrap().0);
    let rows = gold.lines().enumerate();
    let many = rows.map(|(at, row)| if (1..=25).contains(&at) { blank(row) } else { format!("{row}\n") });
    fs::write(fixture.path("gold.csv"), many.collect::<String>()).unwrap();
    let refused = fixture.refused(&proof).await;
    assert!(refused.contains("25 invalid labels") && refused.contains("- and 5 more"), "{refused}");
    assert_eq!(refused.matches(": empty").count(), 20, "{refused}");
    // The labels are still unread, so the corrected file proves.
    fs::write(fixture.path("gold.csv"), &gold).unwrap();
    assert_eq!(fixture.label(&proof, 0).await["proof"]["verdict"], "proved");
}

#[tokio::test]
async fn gold_labels_stay_unread_if_no_rule_can_be_tested() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..40).map(|row| format!("r{row},Text {row},a|b|c,")).collect();
    let data: Vec<String> = rows.iter().map(|row| row.trim_end_matches(',').to_owned()).collect();
    fs::write(folder.path().join("data.csv"), format!("id,text,options\n{}\n", data.join("\n"))).unwrap();
    let gold: Vec<String> = rows.iter().map(|row| format!("{row}a")).collect();
    fs::write(folder.path().join("gold.csv"), format!("id,text,options,gold\n{}\n", gold.join("\n")))
        .unwrap();
    // Three models that never agree.
    let votes = [("maker0/line-0", "a"), ("maker1/line-1", "b"), ("maker2/line-2", "c")];
    let votes_for = VoteFor::ByModel(votes.map(|(model, vote)| (model.to_owned(), vote.to_owned())).into());
    let upstream = ScriptedUpstream::start(Script { votes_for, ..Script::panel(3) }).unwrap();
    let proof = ["--gold", "gold.csv", "--max-error", "0.1", "--choose", "0", "--own-draw"];
    let output = run(folder.path(), &upstream, &arguments(&proof)).await;
    let summary: Value = serde_json::from_str(&stdout(&output, 11)).unwrap();
    let statement = summary["proof"]["statement"].as_str().unwrap();
    let reason = "The gold labels stay unread:\n- the models agree on too few gold rows: a test needs 29";
    assert!(statement.contains(reason), "{statement}");
    assert!(!folder.path().join("labels.proof.json").exists());
}

#[tokio::test]
async fn wrong_gold_files_ask_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write_rows(&folder.path().join("data.csv"), 0..10);
    let upstream = ScriptedUpstream::start(Script::panel(3)).unwrap();
    let refused = async |gold: &str, more: &[&str], words: &str| {
        fs::write(folder.path().join("gold.csv"), gold).unwrap();
        let proof = [&["--gold", "gold.csv"][..], more].concat();
        let output = run(folder.path(), &upstream, &arguments(&proof)).await;
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() != Some(0) && text.contains(words), "{words} in {text}");
    };
    let row = "id,text,options,gold\nr1,Text 1,left 1|right 1,";
    let error = ["--max-error", "0.1", "--own-draw"];
    let one = format!("{row}left 1\n");
    refused(&one, &error, "0 labelled rows to prove with, and 29 are the fewest").await;
    refused(&one, &error[..2], "is not exactly what `ep label sample` draws from data.csv with --seed 1")
        .await;
    refused(&format!("{row}left\n"), &error, "- row 1: \"left\" is none of the options left 1, right 1")
        .await;
    refused("id,text,options\nr1,Text 1,left 1|right 1\n", &error, "no column \"gold\"").await;
    refused(&format!("{one}r1,Text 1,left 1|right 1,left 1\n"), &error, "row 2 equals an earlier row").await;
    refused(
        &one.replace("Text 1", "Other"),
        &error,
        "has the id \"r1\" of a row of data.csv, but another text",
    )
    .await;
    refused("id,text,options,gold\n", &error, "gold.csv has no rows").await;
    refused(&format!("{row}\n"), &error, "gold.csv has no labels: fill its column gold").await;
    let second = "r2,Text 2,left 2|right 2,\n";
    refused(&format!("{one}{second}"), &error, "the column gold has 1 invalid label (1 empty, 0 misspelt)")
        .await;
    refused(&one, &["--own-draw"], "--max-error <SHARE").await;
    refused(&one, &["--max-error", "5"], "must be above 0 and below 1").await;
    refused(&one, &["--max-error", "0.1", "--sizes", "4"], "--sizes 4 must be between 1 and 3").await;
    refused(&one, &["--max-error", "0.1", "--review", "data.csv"], "--review would overwrite data.csv").await;
    assert_eq!(upstream.total_calls(), 0);
    let none = ep(folder.path(), &["label", "verify", "data.csv"], &[]);
    assert!(String::from_utf8_lossy(&none.stderr).contains("data.csv has no proof"));
}
