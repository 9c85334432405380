//! The invariant of the README: no I/O, no clock, no async runtime, and few, pure dependencies.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

/// The allowed dependencies: calendar dates, random orders, exact decimals, JSON Schemas (optional),
/// serialization, digests, error types, Unicode.
const ALLOWED: [&str; 9] = [
    "jiff",
    "rand",
    "rand_chacha",
    "rust_decimal",
    "schemars",
    "serde",
    "sha2",
    "thiserror",
    "unicode-normalization",
];

const FORBIDDEN: [&str; 15] = [
    "std::fs",
    "std::io",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant",
    "Timestamp::now",
    "Zoned::now",
    "SysRng",
    "rand::rng",
    "tokio",
    "futures",
    "async ",
];

fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else {
            found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

#[test]
fn dependencies_are_few_and_pure() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let mut names: Vec<&str> =
        manifest["dependencies"].as_table().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ALLOWED);
    for table in ["build-dependencies", "target"] {
        assert!(!manifest.contains_key(table), "{table} is not covered by this test");
    }
}

#[test]
fn sources_do_no_io_and_read_no_clock() {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(sources.len() > 20, "only {} sources found", sources.len());
    for (file, text) in sources {
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
            let found = FORBIDDEN.iter().find(|word| line.contains(*word));
            assert!(found.is_none(), "{file} names {}: {line}", found.unwrap());
        }
    }
}
