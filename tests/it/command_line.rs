//! The `ep` command, run as a person and as a script.

use std::path::Path;
use std::process::{Command, Output};

use ep_upstream::testing::{Action, Behaviour, Forms, Script, VoteFor};
use serde_json::{Value, json};

use crate::harness::Setup;

/// Runs `ep` with only a data folder configured.
pub(super) fn ep(data: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
    command.args(arguments).env_clear().env("EP_DATA_DIR", data).env("EP_DEMO_PACE", "0").current_dir(data);
    command.envs(variables.iter().copied()).output().unwrap()
}

#[track_caller]
pub(super) fn stdout(output: &Output, code: i32) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(output.status.code(), Some(code), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Runs `ep` next to a service in this process.
async fn beside(data: &Path, arguments: Vec<String>, variables: Vec<(&'static str, String)>) -> Output {
    let data = data.to_owned();
    let run = move || {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        ep(&data, &arguments, &variables)
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(ToString::to_string).collect()
}

const ASK: &[&str] = &["poll", "Which of the two is the better one?", "-o", "Alpha", "-o", "Beta"];

#[test]
fn poll_works_without_configuration() {
    let data = tempfile::tempdir().unwrap();
    let output = ep(data.path(), ASK, &[]);
    let shown = stdout(&output, 0);
    for words in [
        "Alpha",
        "Beta",
        "Simulated voters: “",
        "Votes",
        "Stopped",
        "How sure",
        "Cost",
        "`ep show EP-",
        "Simulated votes say nothing about real models",
        "no model was paid",
    ] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    let json = stdout(&ep(data.path(), &[ASK, &["--json"]].concat(), &[]), 0);
    let poll: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&poll["simulated"], poll["votes"].is_array()), (&json!(true), true));
    let complete = [ASK, &["--preset", "quintet", "--complete", "--on-tie", "strongest", "--json"]].concat();
    let complete: Value = serde_json::from_str(&stdout(&ep(data.path(), &complete, &[]), 0)).unwrap();
    assert_eq!(complete["votes"].as_array().unwrap().len(), 5);
    assert!(complete["decision"]["option"].is_string(), "{complete}");
    assert!(!shown.contains("http://"), "nothing serves the result: {shown}");
    // The result is stored in the database.
    let id = poll["poll_id"].as_str().unwrap();
    let stored = stdout(&ep(data.path(), &["show", id], &[]), 0);
    let (tally, headline) = (stored.lines().take(4), "Simulated voters: “");
    assert!(tally.clone().any(|line| line.contains("Alpha")) && stored.contains(headline), "{stored}");
    let as_json: Value =
        serde_json::from_str(&stdout(&ep(data.path(), &["show", id, "--json"], &[]), 0)).unwrap();
    assert_eq!(as_json["tally"], poll["tally"]);
    let id = format!("{{\"poll_id\": {}}}", poll["poll_id"]);
    let again = stdout(&ep(data.path(), &["call", "get_poll_result", &id], &[]), 0);
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap()["tally"], poll["tally"]);
    let fresh = data.path().join("fresh");
    stdout(&ep(data.path(), &["migrate"], &[("EP_DATA_DIR", fresh.to_str().unwrap())]), 0);
    let folder = std::fs::metadata(&fresh).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&folder.permissions()) & 0o777, 0o700);
    let secret = std::fs::metadata(data.path().join("secret.key")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&secret.permissions()) & 0o777, 0o600);
}

#[test]
fn faults_have_exit_codes_and_messages() {
    let data = tempfile::tempdir().unwrap();
    let failed = |arguments: &[&str], code: i32, words: &str| {
        let output = ep(data.path(), arguments, &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(words), "{said}");
    };
    failed(&["poll", "short", "-o", "a", "-o", "b"], 2, "the question has 5 characters; write at least 10");
    failed(&["poll", "x", "-o", "a", "-o", "b"], 2, "the question has 1 character; write");
    failed(
        &["poll", "Which of the two is better?", "-o", "a"],
        2,
        "--option: add at least one more option: 2 to 10",
    );
    failed(
        &["poll", "Which of the two is better?", "-o", "a", "-o", "a"],
        2,
        "--option 2 is the same as --option 1",
    );
    let scale = ["poll", "How good is this text?", "--levels", "a,b", "--pass", "c"];
    failed(&scale, 2, "--pass is not one of the levels");
    failed(
        &["poll", "How good is this text?", "--levels", "a,a"],
        2,
        "--levels: level 2 is the same as level 1",
    );
    failed(&[ASK, &["--threshold", "2"]].concat(), 2, "--threshold must be a number from 0 to 1");
    failed(&[ASK, &["--max-cost", "-1"]].concat(), 2, "--max-cost must be a number greater than 0");
    failed(&[ASK, &["--pace", "x"]].concat(), 2, "--pace must be one of");
    failed(&[ASK, &["--reasons", "9"]].concat(), 2, "--reasons must be a number from 1 to 3");
    failed(&[ASK, &["--reasons", "-1"]].concat(), 2, "invalid value '-1' for '--reasons <NUMBER>'");
    failed(&[ASK, &["--preset", "code", "--model", "x"]].concat(), 2, "cannot be used with");
    stdout(&ep(data.path(), &["poll", "Which of the two is better?", "-o", "-1", "-o", "1"], &[]), 0);
    failed(
        &[ASK, &["-o", "-x"]].concat(),
        2,
        "to pass '-x' as the value of a flag, join them: --option='-x'",
    );
    std::fs::write(data.path().join("rows.csv"), "text\nA text to label\n").unwrap();
    for command in
        [&["doctor"][..], &["label", "rows.csv", "--question", "Is it? {text}", "--options", "a,b", "--yes"]]
    {
        failed(&[command, &["--preset", "nope"]].concat(), 2, "--preset: unknown preset");
        failed(
            &[command, &["--model", "zz", "--model", "yy"]].concat(),
            2,
            "--model: the registry has no zz, yy",
        );
    }
    failed(&["show", "EP-20260131-0000000000"], 7, "no poll");
    failed(
        &[ASK, &["--server", "localhost:9"]].concat(),
        2,
        "--server: localhost:9 is not the URL of a server; write http://localhost:9",
    );
    failed(&[ASK, &["--server", "ftp://x"]].concat(), 2, "must begin with http:// or https://");
    let unreachable = ep(data.path(), &[ASK, &["--server", "http://u:hunter2@127.0.0.1:9"]].concat(), &[]);
    let said = String::from_utf8_lossy(&unreachable.stderr).into_owned();
    assert!(said.contains("http://127.0.0.1:9/ is unreachable") && !said.contains("hunter2"), "{said}");
    failed(
        &[ASK, &["--preset", "nope"]].concat(),
        2,
        "--preset: unknown preset \"nope\"; the presets are fast_and_cheap",
    );
    failed(&[ASK, &["--model", "demo/*", "--exclude", "no/such"]].concat(), 2, "no/such");
    failed(&[ASK, &["--threshold", "NaN"]].concat(), 2, "number");
    failed(&[ASK, &["--max-cost", "inf"]].concat(), 2, "number");
    failed(&["call", "nope"], 2, "ep call");
    failed(&["call", "get_poll_result", "{\"poll_id\": \"EP-20260131-0000000000\"}"], 7, "no poll");
    failed(&["call", "get_health", "{"], 2, "JSON");
    failed(&["call", "match_intent"], 2, "see `ep call match_intent --help`");
    failed(&[ASK, &["--server", "http://127.0.0.1:9"]].concat(), 9, "is unreachable");
    let output = ep(data.path(), &[ASK, &["--dry-run", "--threshold", "2"]].concat(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--threshold must be"), "{output:?}");
    assert!(stdout(&ep(data.path(), &[ASK, &["--dry-run"]].concat(), &[]), 0).contains("valid"));
    // A negative number is an option like others.
    let negative = ["poll", "What is one minus two?", "-o", "-1", "-o", "1", "--dry-run"];
    assert!(stdout(&ep(data.path(), &negative, &[]), 0).contains("valid"));
}

#[test]
fn errors_are_printed_once_with_the_url_that_was_tried() {
    let data = tempfile::tempdir().unwrap();
    let said = |arguments: &[&str], variables: &[(&str, &str)]| {
        let output = ep(data.path(), arguments, variables);
        assert_ne!(output.status.code(), Some(0), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!said.contains("hunter2") && !said.contains("(\""), "{said}");
        said
    };
    let upstream = [("EP_UPSTREAM_URL", "http://u:hunter2@127.0.0.1:9/v1")];
    for command in [ASK, &["doctor"], &["call", "list_models"]] {
        let said = said(command, &upstream);
        for words in ["http://127.0.0.1:9/v1: cannot connect", "Connection refused"] {
            assert_eq!(said.matches(words).count(), 1, "{words} in {said}");
        }
    }
    let database = said(&["migrate"], &[("EP_DATABASE_URL", "postgres://u:hunter2@127.0.0.1:9/x")]);
    for words in ["postgres://u@127.0.0.1:9/x", "Connection refused"] {
        assert_eq!(database.matches(words).count(), 1, "{words} in {database}");
    }
    let presets = data.path().join("presets.toml");
    std::fs::write(&presets, "[[preset]]\nname = \"x\"\n[x\n").unwrap();
    let presets = presets.to_str().unwrap();
    for (variable, value, words) in [
        ("EP_UPSTREAM_URL", "abc", "EP_UPSTREAM_URL cannot be used: it must be an absolute URL"),
        ("EP_PRESETS", "/none.toml", "EP_PRESETS cannot be used: /none.toml: No such file"),
        ("EP_PRESETS", presets, "presets.toml: line 3: "),
        ("EP_DATABASE_URL", "mysql://u:hunter2@h/x", "EP_DATABASE_URL cannot be used: "),
        ("EP_LOG", "=,=", "EP_LOG must be a list of filter directives"),
    ] {
        let said = said(&["migrate"], &[(variable, value)]);
        assert!(said.contains(words), "{said}");
    }
    let key = [("EP_UPSTREAM_URL", "http://127.0.0.1:9/v1"), ("EP_UPSTREAM_API_KEY", "hunter2\nx")];
    assert!(said(&["migrate"], &key).contains("EP_UPSTREAM_API_KEY cannot be used: "));
}

#[test]
fn misspelt_variables_are_warned_about_and_those_of_kubernetes_are_not() {
    let data = tempfile::tempdir().unwrap();
    let misspelt = ("EP_UPSTREM_URL", "http://127.0.0.1:9");
    let kubernetes = [
        ("EP_SERVICE_HOST", "10.0.0.1"),
        ("EP_SERVICE_PORT_HTTP", "80"),
        ("EP_PORT", "tcp://10.0.0.1:80"),
        ("EP_PORT_80_TCP_ADDR", "10.0.0.1"),
    ];
    let warning = "the variable EP_UPSTREM_URL is unknown and has no effect; did you mean EP_UPSTREAM_URL?";
    let variables = [&[misspelt], &kubernetes[..]].concat();
    let poll = ep(data.path(), &[ASK, &["--json"]].concat(), &variables);
    serde_json::from_str::<Value>(&stdout(&poll, 0)).unwrap();
    let said = String::from_utf8(poll.stderr).unwrap();
    assert!(said.contains(warning) && !said.contains("_SERVICE_") && !said.contains("_PORT"), "{said}");
    // The log of a server stays JSON, also if the server does not start.
    let variables = [&variables[..], &[("EP_LOG_FORMAT", "json"), ("EP_LISTEN", "abc")]].concat();
    let served = ep(data.path(), &["serve"], &variables);
    assert_eq!(served.status.code(), Some(1), "{served:?}");
    let log: Vec<Value> = String::from_utf8(served.stderr)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
        .collect();
    assert_eq!((&log[0]["level"], &log[0]["fields"]["message"]), (&json!("WARN"), &json!(warning)));
    let error = "EP_LISTEN must be an address and a port, for example 127.0.0.1:8080";
    assert_eq!((log.len(), &log[1]["fields"]["error"]), (2, &json!(error)));
}

#[tokio::test]
async fn a_link_is_printed_only_if_it_is_served() {
    let data = tempfile::tempdir().unwrap();
    for (status, is_served) in [("200 OK", true), ("404 Not Found", false)] {
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
        let url = fixed_response_server(head).await;
        let shown = stdout(&beside(data.path(), words(ASK), vec![("EP_BASE_URL", url.clone())]).await, 0);
        assert_eq!(shown.contains(&format!("{url}/api/results/EP-")), is_served, "{shown}");
        assert!(shown.contains("`ep show EP-"), "{shown}");
    }
}

#[tokio::test]
async fn a_level_below_the_pass_mark_has_an_exit_code() {
    let data = tempfile::tempdir().unwrap();
    for (vote, code) in [("poor", 12), ("good", 0)] {
        let script = Script { votes_for: VoteFor::Text(vote.into()), ..Script::panel(5) };
        let upstream = ep_upstream::testing::ScriptedUpstream::start(script).unwrap();
        let ask = words(&["poll", "How good is this text?", "--levels", "poor,fair,good", "--pass", "fair"]);
        let polled = beside(data.path(), ask, vec![("EP_UPSTREAM_URL", upstream.base_url())]).await;
        stdout(&polled, code);
    }
}

#[tokio::test]
async fn exit_codes_follow_the_outcome_of_a_real_upstream() {
    let data = tempfile::tempdir().unwrap();
    let script = Script::divided_panel(20);
    let upstream = ep_upstream::testing::ScriptedUpstream::start(script).unwrap();
    let variables = || vec![("EP_UPSTREAM_URL", upstream.base_url())];
    let ask = [ASK, &["--threshold", "1"]].concat();
    let tie = beside(data.path(), words(&ask), variables()).await;
    assert!(stdout(&tie, 3).contains(" tie with "));
    upstream.change(|script| {
        script.default =
            Behaviour::of(vec![Action::Status(401, "{\"error\": {\"message\": \"bad key\"}}".into())]);
    });
    let none = beside(data.path(), words(&ask), variables()).await;
    assert!(stdout(&none, 4).contains("No model voted."));
    upstream.change(|script| {
        script.default = Behaviour::default();
        script.votes_for = VoteFor::Text("Beta".into());
    });
    let won = beside(data.path(), words(&ask), variables()).await;
    let shown = stdout(&won, 0);
    assert!(shown.contains("“Beta” won") && !shown.contains("imulated"), "{shown}");
    assert!(shown.contains("Agreement is not proof."), "{shown}");
}

#[tokio::test]
async fn polls_a_server_with_and_without_a_key() {
    let service = Setup::demo().boot().await;
    let data = tempfile::tempdir().unwrap();
    let client = service.user().await;
    let ask: Vec<String> = words(&[ASK, &["--json", "--server", &service.url]].concat());
    let key = vec![("EP_API_KEY", client.key.clone().unwrap())];
    let poll: Value = serde_json::from_str(&stdout(&beside(data.path(), ask.clone(), key).await, 0)).unwrap();
    let id = poll["poll_id"].as_str().unwrap();
    service.anonymous().get(&format!("/api/results/{id}")).await.expect(200);
    let estimate = r#"{"models": ["demo/cedar*", "demo/harbor*"], "exclude": ["*-nano"]}"#;
    let estimate = words(&["call", "estimate_poll", estimate, "--server", &service.url]);
    let estimate: Value =
        serde_json::from_str(&stdout(&beside(data.path(), estimate, vec![]).await, 0)).unwrap();
    assert_eq!(estimate["models"], 10, "a list goes into the query, once per name");
    let refused = beside(data.path(), ask, vec![("EP_API_KEY", "ep_k_wrong".into())]).await;
    assert_eq!(refused.status.code(), Some(5));
    let free: Vec<String> =
        words(&["poll", "Is water wet?", "-o", "Yes", "-o", "No", "--server", &service.url]);
    let shown = stdout(&beside(data.path(), free, vec![]).await, 0);
    assert!(shown.contains("Simulated voters: “") && shown.contains(" votes · "), "{shown}");
    let health = words(&["call", "get_health", "--server", &service.url]);
    assert!(stdout(&beside(data.path(), health, vec![]).await, 0).contains("\"ok\""));
    assert!(!data.path().join("ensemble-poll.db").exists(), "a remote call needs no database");
}

/// Starts a server that sends these bytes for every request.
async fn fixed_response_server(response: String) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 8192];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(response.as_bytes()).await;
        }
    });
    url
}

#[tokio::test]
async fn poll_still_running_on_a_server_is_named() {
    let data = tempfile::tempdir().unwrap();
    let running = json!({ "poll_id": "EP-20260131-7KQ2M4X9TB", "status": "running", "question": "Which is better?",
        "tally": { "Alpha": 1, "Beta": 0 }, "leader": "Alpha", "confidence": 0.0, "answered": 1, "roster_size": 50,
        "notices": [], "poll_after_ms": 2000 });
    let event = format!("event: running\ndata: {running}\n\n");
    let url = fixed_response_server(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{event}"
    ))
    .await;
    let ask = words(&[ASK, &["--server", &url]].concat());
    let key = || vec![("EP_API_KEY", "ep_k_x".to_owned())];
    let shown = stdout(&beside(data.path(), ask.clone(), key()).await, 0);
    assert!(shown.contains("still running") && shown.contains("EP-20260131-7KQ2M4X9TB"), "{shown}");
    let ask: Vec<String> = ask.into_iter().chain(words(&["--json"])).collect();
    let json: Value = serde_json::from_str(&stdout(&beside(data.path(), ask, key()).await, 0)).unwrap();
    assert_eq!(json["status"], "running");
}

#[test]
fn accounts_keys_and_ledger() {
    let data = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], code: i32| stdout(&ep(data.path(), arguments, &[]), code);
    let made: Value = serde_json::from_str(&run(
        &["admin", "create-user", "--email", "a@example.com", "--credit-usd", "2.5", "--json"],
        0,
    ))
    .unwrap();
    assert!(made["api_key"].as_str().unwrap().starts_with("ep_k_"));
    assert_eq!(made["user_id"].as_str().unwrap().len(), 36);
    run(&["admin", "create-user", "--email", "A@example.com", "--credit-usd", "1"], 2);
    run(&["admin", "create-user", "--email", "nonsense", "--credit-usd", "1"], 2);
    let credit = ["admin", "credit", "--email", "a@example.com", "--usd", "0.5", "--reference", "gift-1"];
    assert!(run(&credit, 0).contains("credited $0.50"));
    assert!(run(&credit, 0).contains("already credited"));
    let other_amount =
        ["admin", "credit", "--email", "a@example.com", "--usd", "0.6", "--reference", "gift-1"];
    let refused = ep(data.path(), &other_amount, &[]);
    stdout(&refused, 2);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("used for another amount"));
    let limit = "1,000,000,000,000 USD";
    for beyond in ["1000000000000.01", "5e12", "1e20", "1000000000000"] {
        let credit = ["admin", "credit", "--email", "a@example.com", "--usd", beyond, "--reference", "typo"];
        let refused = ep(data.path(), &credit, &[]);
        stdout(&refused, 2);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains(limit) && said.contains("most that an account can hold"), "{beyond}: {said}");
    }
    let long_label = "x".repeat(65);
    run(&["admin", "create-key", "--email", "a@example.com", "--label", &long_label], 2);
    let balance: Value =
        serde_json::from_str(&run(&["admin", "balance", "--email", "a@example.com", "--json"], 0)).unwrap();
    assert_eq!(balance["available_usd"].as_f64(), Some(3.0));
    let key: Value =
        serde_json::from_str(&run(&["admin", "create-key", "--email", "a@example.com", "--json"], 0))
            .unwrap();
    let revoke =
        ["admin", "revoke-key", "--email", "a@example.com", "--key-id", key["key_id"].as_str().unwrap()];
    run(&revoke, 0);
    run(&revoke, 7);
    let by_email = |command: &'static str| vec!["admin", command, "--email", "a@example.com"];
    let debit = [by_email("debit"), vec!["--usd", "1", "--reference", "fine"]].concat();
    assert!(run(&debit, 0).contains("took $1.00") && run(&debit, 0).contains("already deducted"));
    let too_much = [by_email("debit"), vec!["--usd", "9", "--reference", "all"]].concat();
    let refused = ep(data.path(), &too_much, &[]);
    stdout(&refused, 2);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the available balance is $2.00"));
    let user: Value = serde_json::from_str(run(&["admin", "list-users"], 0).trim()).unwrap();
    assert_eq!((&user["id"], &user["email"]), (&made["user_id"], &json!("a@example.com")));
    let keys = run(&by_email("list-keys"), 0);
    assert_eq!(keys.lines().count(), 2);
    assert!(!keys.contains(made["api_key"].as_str().unwrap()));
    assert_eq!(run(&by_email("freeze"), 0).trim(), "frozen");
    assert!(run(&["admin", "list-users"], 0).contains("\"frozen\":true"));
    assert_eq!(run(&by_email("unfreeze"), 0).trim(), "no longer frozen");
    assert_eq!(run(&by_email("revoke-all"), 0).trim(), "revoked 1 key, ended 0 sessions");
    assert!(run(&["admin", "reconcile"], 0).contains("reconciled 0 card payments"));
    let export: Value = serde_json::from_str(&run(&by_email("export-user"), 0)).unwrap();
    let parts = [&export["keys"], &export["transfers"], &export["polls"], &export["feedback"]];
    assert_eq!(parts.map(|part| part.as_array().unwrap().len()), [2, 3, 0, 0]);
    assert!(run(&by_email("delete-user"), 0).contains("nothing was deleted"));
    let id = made["user_id"].as_str().unwrap();
    let refused = ep(data.path(), &["admin", "delete-user", "--user", id, "--yes"], &[]);
    stdout(&refused, 2);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("a balance of $2.00"));
    run(&["admin", "delete-user", "--user", id, "--yes", "--forfeit-balance"], 0);
    run(&by_email("balance"), 7);
    let balance = run(&["admin", "balance", "--user", id, "--json"], 0);
    assert!(balance.contains("\"available_usd\":0"), "what was left is forfeited: {balance}");
    let shown = run(&["admin", "audit"], 0);
    assert!(shown.contains("the ledger is consistent") && shown.contains("are free"), "{shown}");
    let audit: Value = serde_json::from_str(&run(&["admin", "audit", "--json"], 0)).unwrap();
    assert_eq!((&audit["clean"], &audit["stranded_polls"]), (&json!(true), &json!([])));
    assert!(audit["free_pages"].is_u64() && audit["database_bytes"].as_u64() > audit["free_bytes"].as_u64());
}

#[test]
fn rendered_files_are_current_and_settings_are_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO_BIN_EXE_ep"))
        .args(["render", "--check"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let data = tempfile::tempdir().unwrap();
    assert!(stdout(&ep(data.path(), &["config"], &[]), 0).contains("EP_DATABASE_URL"));
    std::fs::write(data.path().join("ep.toml"), "[server]\nlisten = \"not an address\"\n").unwrap();
    let output = ep(data.path(), &["migrate"], &[]);
    assert_eq!(output.status.code(), Some(1));
    let place = "ep.toml, line 2: server.listen must be an address and a port";
    assert!(String::from_utf8_lossy(&output.stderr).contains(place), "{output:?}");
}

/// Starts a server that sends this JSON for every request.
fn json_server(status: u16, body: &Value) -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let body = body.to_string();
    let kind = "content-type: application/json\r\nconnection: close";
    let answer = format!("HTTP/1.1 {status} X\r\n{kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 8192]);
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

#[test]
fn server_output_cannot_contain_terminal_escapes() {
    let data = tempfile::tempdir().unwrap();
    let escape = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\r";
    let result = json!({ "question": escape, "outcome": escape, "winning_option": escape, "is_tie": false,
        "tally": { escape: 3 }, "votes": [], "termination_reason": escape, "result_url": escape,
        "notices": [escape], "text": "plain" });
    let problem = json!({ "code": "invalid_input", "detail": escape });
    let answers = [(200, &result), (400, &problem)];
    for (status, answer) in answers {
        let url = json_server(status, answer);
        let poll = [ASK, &["--server", &url]].concat();
        let json = [ASK, &["--server", &url, "--json"]].concat();
        for arguments in [&poll[..], &json, &["call", "list_profiles", "--server", &url]] {
            let output = ep(data.path(), arguments, &[]);
            for shown in [&output.stdout, &output.stderr] {
                let shown = String::from_utf8(shown.clone()).unwrap();
                let unsafe_character = |c: char| c.is_control() && c != '\n';
                assert!(!shown.contains(unsafe_character), "{arguments:?}: {shown:?}");
            }
            assert!(!output.stdout.is_empty() || !output.stderr.is_empty());
        }
    }
}

#[tokio::test]
async fn doctor_reports_capabilities_of_each_model() {
    let mut script = Script { votes_for: VoteFor::Text("Blue".into()), ..Script::panel(3) };
    let names: Vec<String> =
        script.models.iter().map(|model| model["id"].as_str().unwrap().to_owned()).collect();
    let silent = Behaviour::of([Action::Says("I cannot say.".into())]);
    script = script.with(&names[0], silent).with(&names[1], Behaviour::of([Action::Says("Seven".into())]));
    let upstream = ep_upstream::testing::ScriptedUpstream::start(script).unwrap();
    let data = tempfile::tempdir().unwrap();
    let variables = vec![("EP_UPSTREAM_URL", upstream.base_url())];
    let shown = beside(data.path(), words(&["doctor", "--preset", "generalist"]), variables.clone()).await;
    let shown = stdout(&shown, 1);
    let line = |name: &str| shown.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(line(&names[0]).contains("no vote: unparsable"), "{shown}");
    assert!(line(&names[1]).contains("text") && line(&names[1]).ends_with("wrong (Seven)"), "{shown}");
    assert!(line(&names[2]).contains("forced_tool") && line(&names[2]).ends_with("right"), "{shown}");
    assert!(shown.starts_with("Model ") && shown.contains("\n1 of 3 ready. "), "{shown}");
    for problem in ["1 gave no readable vote: exclude", "1 voted for another option than expected: exclude"] {
        assert!(shown.lines().any(|line| line.starts_with(problem)), "{shown}");
    }
    let json = words(&["doctor", "--model", &names[1], "--model", &names[2], "--json"]);
    let shown = stdout(&beside(data.path(), json, variables).await, 0);
    let found: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| found.iter().find(|found| found["model"] == name).unwrap();
    assert_eq!((&of(&names[1])["vote"], &of(&names[1])["expected"]), (&json!("Seven"), &json!(false)));
    assert_eq!(of(&names[2])["ballot_mode"], "forced_tool");
    assert_eq!(of(&names[2])["unpriced"], false);
    upstream.change(|script| {
        for model in &mut script.models {
            model.as_object_mut().unwrap().remove("pricing");
        }
    });
    let fresh = tempfile::tempdir().unwrap();
    let variables = || vec![("EP_UPSTREAM_URL", upstream.base_url())];
    let ask = ["doctor", "--model", &names[0], "--model", &names[2]];
    let shown = stdout(&beside(fresh.path(), words(&ask), variables()).await, 1);
    let line = |name: &str| shown.lines().find(|line| line.starts_with(name)).unwrap();
    for name in [&names[0], &names[2]] {
        assert!(line(name).contains("unpriced") && !line(name).contains('$'), "{shown}");
    }
    assert!(shown.contains("2 of them without a listed price"), "{shown}");
    let json = words(&[&ask[..], &["--json"]].concat());
    let shown = stdout(&beside(fresh.path(), json, variables()).await, 1);
    let first: Value = serde_json::from_str(shown.lines().next().unwrap()).unwrap();
    assert_eq!((&first["unpriced"], &first["cost_usd"]), (&json!(true), &json!(null)));
}

#[tokio::test]
async fn doctor_shows_what_it_has_learnt_and_forgets_it() {
    let script = Script { votes_for: VoteFor::Text("Blue".into()), ..Script::panel(2) };
    let name = script.models[0]["id"].as_str().unwrap().to_owned();
    let script = script.with(&name, Behaviour::of([Action::Obey(Forms::THINKING)]));
    let upstream = ep_upstream::testing::ScriptedUpstream::start(script).unwrap();
    let data = tempfile::tempdir().unwrap();
    let doctor = async |arguments: &[&str]| {
        let all = words(&[&["doctor"], arguments].concat());
        stdout(&beside(data.path(), all, vec![("EP_UPSTREAM_URL", upstream.base_url())]).await, 0)
    };
    let calls = || upstream.calls(&name);
    let ask = ["--preset", "generalist"];
    let learnt = format!("{name} is offered the tool, and not forced to call it");
    for requests in [3, 1] {
        let before = calls();
        let shown = doctor(&ask).await;
        assert!(shown.lines().any(|line| line == learnt), "{shown}");
        assert_eq!(calls() - before, requests);
    }
    assert_eq!(doctor(&["--forget", "maker9/*"]).await, "Forgot what was learnt about 0 models.\n");
    assert_eq!(doctor(&["--forget"]).await, "Forgot what was learnt about 1 model.\n");
    let before = calls();
    let json = doctor(&[&ask[..], &["--json"]].concat()).await;
    let found: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let facts = |name: &str| found.iter().find(|found| found["model"] == name).unwrap()["learnt"].clone();
    assert_eq!(facts(&name), json!(["is offered the tool, and not forced to call it"]));
    assert_eq!(calls() - before, 3);
}
