//! Help, completions and manual pages of the `ep` command.

use std::process::Command;

use serde_json::Value;

use super::command_line::{ep, stdout};

#[test]
fn help_of_an_operation_has_arguments_and_a_working_example() {
    let data = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| stdout(&ep(data.path(), arguments, &[]), 0);
    let help = run(&["call", "dry_run_poll", "--help"]);
    for words in
        ["Check and price a poll", "question", "string, at least 10 characters", "Options to choose from."]
    {
        assert!(help.contains(words), "{words} in {help}");
    }
    assert!(!data.path().join("ensemble-poll.db").exists(), "help needs no database");
    // The example is a command for a shell.
    let example = help.lines().find_map(|line| line.strip_prefix("  ep call ")).unwrap();
    let (name, input) = example.split_once(" '").unwrap();
    let answer: Value =
        serde_json::from_str(&run(&["call", name, input.strip_suffix('\'').unwrap()])).unwrap();
    assert_eq!(answer["valid"], true, "{answer}");
    let general = run(&["call", "-h"]);
    assert!(general.contains("Usage: ep call") && !general.contains("dry_run_poll"), "{general}");
    let unknown = ep(data.path(), &["call", "pol_question"], &[]);
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(unknown.status.code() == Some(2) && said.contains("did you mean poll_question?"), "{said}");
}

#[test]
fn bash_completes_commands_and_operations() {
    let data = tempfile::tempdir().unwrap();
    let script = stdout(&ep(data.path(), &["completions", "bash"], &[]), 0);
    let file = data.path().join("ep.bash");
    std::fs::write(&file, script).unwrap();
    let parsed = Command::new("bash").arg("-n").arg(&file).output().unwrap();
    assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
    let completed = |words: &str, last: &str, before: &str| {
        let code = format!(
            "source {}; COMP_WORDS=({words} {last}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _ep ep {last} {before}; echo \"${{COMPREPLY[*]}}\"",
            file.display()
        );
        stdout(&Command::new("bash").args(["--norc", "-c", &code]).output().unwrap(), 0).trim().to_owned()
    };
    assert_eq!(completed("ep", "doc", "ep"), "doctor");
    assert_eq!(completed("ep call", "get_po", "call"), "get_poll_result get_poll_status get_poll");
    // clap_complete knows values of positional arguments in bash and zsh only.
    for (shell, word) in
        [("zsh", "poll_question"), ("fish", "doctor"), ("elvish", "doctor"), ("powershell", "doctor")]
    {
        let script = stdout(&ep(data.path(), &["completions", shell], &[]), 0);
        assert!(script.contains(word), "{shell}");
    }
}

#[test]
fn manual_pages_describe_every_command() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("man1");
    stdout(&ep(data.path(), &["man", folder.to_str().unwrap()], &[]), 0);
    for page in ["ep.1", "ep-serve.1", "ep-call.1", "ep-admin-create-user.1"] {
        assert!(folder.join(page).exists(), "{page}");
    }
    let page = std::fs::read_to_string(folder.join("ep-poll.1")).unwrap();
    insta::assert_snapshot!("man_page_of_poll", page.replace(env!("CARGO_PKG_VERSION"), "[version]"));
}

#[test]
fn occupied_address_is_named_with_the_remedy() {
    let data = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let output = ep(data.path(), &["serve", "--listen", &address], &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in [address.as_str(), "in use", "EP_LISTEN", "--listen", "for example 127.0.0.1:"] {
        assert!(said.contains(words), "{words} in {said}");
    }
}
