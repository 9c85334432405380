//! Summaries of the suites in `scripts/long` name the commit of their run, and a script finds those that are stale.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

const SCRIPT: &str = "scripts/long/summaries";

/// Runs a command in a folder and returns its exit code and its output.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "a@example.com");
    }
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

/// A repository with one suite, whose inputs are its own folder and `src`.
struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        let suites = json!({ "one": { "summary": "scripts/long/one/summary.json", "inputs": ["src"] } });
        let script = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(SCRIPT)).unwrap();
        repository.write(SCRIPT, &script);
        repository.write("scripts/long/suites.json", &suites.to_string());
        repository.write("scripts/long/one/run", "true");
        repository.write("src/deep/code.rs", "one");
        repository.write("README.md", "no input");
        repository.git(&["init", "-q"]);
        repository.commit();
        repository
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, arguments: &[&str]) -> String {
        let (code, output) = run(self.0.path(), "git", arguments);
        assert_eq!(code, 0, "git {arguments:?}: {output}");
        output
    }

    fn commit(&self) {
        self.git(&["add", "."]);
        self.git(&["commit", "-q", "-m", "a change"]);
    }

    /// Writes the summary of a run on the current commit.
    fn run_suite(&self) {
        let (code, stamp) = run(self.0.path(), "python3", &[SCRIPT, "stamp", "one"]);
        assert_eq!(code, 0, "{stamp}");
        let mut summary: Value = serde_json::from_str(&stamp).unwrap();
        summary["passed"] = json!(true);
        self.write("scripts/long/one/summary.json", &summary.to_string());
        self.commit();
    }

    fn check(&self) -> (i32, String) {
        run(self.0.path(), "python3", &[SCRIPT, "check"])
    }
}

#[test]
fn summaries_go_stale_when_their_inputs_change() {
    let repository = Repository::new();
    let (code, output) = repository.check();
    assert!(code == 2 && output.contains("names no commit"), "{output}");

    repository.run_suite();
    let current = (0, "Long suites: 1 of 1 summaries are current.\n".to_owned());
    assert_eq!(repository.check(), current);
    repository.write("README.md", "still no input");
    repository.commit();
    assert_eq!(repository.check(), current, "other files are no inputs");

    // Without a commit, too.
    repository.write("src/deep/code.rs", "two");
    let (code, output) = repository.check();
    assert!(code == 1 && output.contains("one must run again"), "{output}");
    assert!(output.contains("changed since: src/deep/code.rs\n"), "{output}");
    repository.commit();
    assert_eq!(repository.check().0, 1);
    repository.run_suite();
    assert_eq!(repository.check(), current);
    repository.write("scripts/long/one/new.py", "a new file of the suite");
    assert_eq!(repository.check().0, 1);
    repository.run_suite();

    // As a sentence, for summaries in Markdown.
    let (_, sentence) = run(repository.0.path(), "python3", &[SCRIPT, "stamp", "one", "--markdown"]);
    repository.write("scripts/long/one/summary.json", &sentence);
    assert_eq!(repository.check(), current, "{sentence}");

    repository.write("scripts/long/two/run", "a suite without a row");
    let (code, output) = repository.check();
    assert!(code == 2 && output.contains("two: suites.json must name"), "{output}");
}

#[test]
fn a_clone_without_the_history_is_checked_by_the_digest() {
    let repository = Repository::new();
    repository.run_suite();
    repository.write("README.md", "later");
    repository.commit();
    let shallow = Repository(tempfile::tempdir().unwrap());
    let origin = format!("file://{}", repository.0.path().display());
    shallow.git(&["clone", "-q", "--depth", "1", &origin, "."]);
    assert_eq!(shallow.check(), (0, "Long suites: 1 of 1 summaries are current.\n".to_owned()));
    shallow.write("src/deep/code.rs", "two");
    let (code, output) = shallow.check();
    assert!(code == 1 && output.contains("this clone lacks the commit"), "{output}");

    // A commit that was rewritten later.
    repository.git(&["checkout", "-q", "--orphan", "rewritten"]);
    repository.commit();
    let (code, output) = repository.check();
    assert!(code == 0 && output.contains("which this history does not contain"), "{output}");
}

#[test]
fn every_summary_names_its_commit() {
    let (code, output) = run(Path::new(env!("CARGO_MANIFEST_DIR")), "python3", &[SCRIPT, "check"]);
    // Whether a suite must run again is no question for this test: `.ci/run` prints it.
    assert!([0, 1].contains(&code), "{output}");
}
