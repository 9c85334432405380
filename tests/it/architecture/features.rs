//! Every command builds a shared package with the same features, so that it is built once.

use std::collections::BTreeSet;
use std::process::Command;

/// Returns the packages that a selection builds, each with its features.
fn packages(selection: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(["tree", "--locked", "--prefix", "none"]);
    let output = cargo.args(["--format", "{p} {f}"]).args(selection).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{selection:?}: {}", String::from_utf8_lossy(&output.stderr));
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn every_command_builds_the_same_features() {
    let all = packages(&["--workspace"]);
    assert!(all.len() > 300, "only {} packages found", all.len());
    // What `cargo run` builds.
    assert_eq!(packages(&[]).difference(&all).collect::<Vec<_>>(), [""; 0]);
    let names = all.iter().filter(|package| package.contains(env!("CARGO_MANIFEST_DIR")));
    for name in names.map(|package| package.split(' ').next().unwrap()) {
        let package = packages(&["--package", name]);
        let others: Vec<&String> = package.difference(&all).collect();
        assert!(others.is_empty(), "`--package {name}` builds these with other features: {others:?}");
    }
}
