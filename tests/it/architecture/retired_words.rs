//! Words that this project no longer uses, because readers had to read a sentence with them twice.

use std::fs;
use std::path::{Path, PathBuf};

/// Retired words, each with its replacement. A trailing `*` matches any ending, a space any white space.
const RETIRED: [(&str, &str); 15] = [
    ("heard", "responded"),
    ("unheard*", "without a response, or failed"),
    ("told", "notified, informed, or shown"),
    ("hears of", "is notified of"),
    ("mirror*", "alias path, or proxied document"),
    ("look after", "reconcile"),
    ("looks after", "reconciles"),
    ("looked after", "reconciled"),
    ("ask after", "reconcile"),
    ("asks after", "reconciles"),
    ("asked after", "reconciled"),
    ("carr* out", "run"),
    ("withdrawn", "cancelled or revoked"),
    ("kept", "cached, stored or committed"),
    ("whoever", "anyone who, or the name of the role"),
];

/// Uses that stay: the end of a file's path, a part of the line, and the reason.
const EXCEPTIONS: [(&str, &str, &str); 2] = [
    ("", "options_are_told_apart", "to tell apart is the ordinary verb for distinguishing colours"),
    ("", "funds_withdrawn", "the name of an event of Stripe"),
];

/// Names of types that say less than the thing they hold.
const RETIRED_TYPES: [&str; 12] = [
    "Wanted",
    "Asked",
    "Taken",
    "Said",
    "Understood",
    "Mirror",
    "FinalAnswer",
    "KeptPages",
    "Step",
    "Shape",
    "Slot",
    "Ended",
];

/// Endings of the files to check.
const ENDINGS: [&str; 9] = [".rs", ".md", ".txt", ".html", ".js", ".toml", ".mjs", ".py", ".sh"];

/// Returns the words of a text, lower-cased; the parts of an identifier are words, too.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in line.chars() {
        let breaks = !letter.is_ascii_alphanumeric() || (was_lower && letter.is_ascii_uppercase());
        if breaks && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (letter.is_ascii_alphanumeric(), words.last_mut()) {
            word.push(letter.to_ascii_lowercase());
        }
        was_lower = letter.is_ascii_lowercase();
    }
    words
}

/// Returns the retired word in a line, with its replacement.
fn retired(line: &str) -> Option<(&'static str, &'static str)> {
    let words = words(line);
    let matches = |pattern: &str, word: &String| match pattern.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => word == pattern,
    };
    RETIRED.into_iter().find(|(retired, _)| {
        let patterns: Vec<&str> = retired.split(' ').collect();
        let fits =
            |found: &[String]| patterns.iter().zip(found).all(|(pattern, word)| matches(pattern, word));
        words.windows(patterns.len()).any(fits)
    })
}

/// Returns the type declared in a line, if its name is retired.
fn retired_type(line: &str) -> Option<&'static str> {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.find(|word| ["struct", "enum", "trait", "type"].contains(word))?;
    let name = words.next()?;
    RETIRED_TYPES.into_iter().find(|retired| *retired == name)
}

fn is_excepted(file: &str, line: &str) -> bool {
    EXCEPTIONS.iter().any(|(ending, part, _)| file.ends_with(ending) && line.contains(part))
}

/// Adds the text files below `folder` that this project's people write.
fn texts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !["target", "node_modules", "snapshots"].contains(&name.as_str()) {
                texts(&path, found);
            }
        } else if ENDINGS.iter().any(|ending| name.ends_with(ending)) || !name.contains('.') {
            // A file without an ending is a script.
            found.push(path);
        }
    }
}

#[test]
fn retired_words_are_not_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let folders =
        ["src", "crates", "tools", "tests", "docs", "well-known", "assets", "benches", "examples", "scripts"];
    for folder in folders {
        texts(&root.join(folder), &mut found);
    }
    let files =
        ["README.md", "CONTRIBUTING.md", "AGENTS.md", "CHANGELOG.md", "SECURITY.md", "migrations/README.md"];
    found.extend(files.map(|file| root.join(file)));
    assert!(found.len() > 300, "only {} files found", found.len());
    let mut wrong = Vec::new();
    for path in found {
        let file = path.strip_prefix(root).unwrap().display().to_string();
        if file == "tests/it/architecture/retired_words.rs" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !is_excepted(&file, line)) {
            if let Some((word, instead)) = retired(line) {
                wrong.push(format!("{file}:{}: {word}; say {instead}: {}", number + 1, line.trim()));
            }
            if let Some(name) = retired_type(line) {
                wrong.push(format!("{file}:{}: name the type {name} after what it is", number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{} retired words:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn retired_words_are_found_in_text_and_in_names() {
    for (line, word) in [
        ("/// Models that could not be heard.", "heard"),
        ("    pub unheard_rate: Option<f64>,", "unheard*"),
        ("struct KeptPages;", "kept"),
        ("It is carried out once.", "carr* out"),
        ("fn carry_out() {}", "carr* out"),
        ("Looks after deposits.", "looks after"),
        ("It mirrors the registry.", "mirror*"),
    ] {
        assert_eq!(retired(line).map(|(word, _)| word), Some(word), "{line}");
    }
    for line in
        ["/// Keeps the connection open.", "The models responded.", "fn bookkeeping() {}", "carry one out"]
    {
        assert_eq!(retired(line), None, "{line}");
    }
    assert_eq!(retired_type("pub(crate) struct Wanted {"), Some("Wanted"));
    assert_eq!(retired_type("let wanted: Wanted = limits;"), None);
}
