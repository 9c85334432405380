//! Waits in tests and scripts, read from their source. A test waits for a state with `until`, which has a deadline and names the
//! state. Without it, a state that never comes blocks the whole suite, or fails somewhere else.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::every_source;
use super::lexer::{only_tests, tokens};

/// The home of `until`.
const HELPER: &str = "crates/kernel/src/testing.rs";

/// Pauses that wait for nothing, because they are the behaviour of a scripted peer or a fault: the file, their argument
/// and the reason.
const PAUSES: [(&str, &str, &str); 11] = [
    (
        "crates/store/src/testing/postgres.rs",
        "Duration::from_millis(50)",
        "a start with a deadline, whose error has a log",
    ),
    ("crates/kernel/tests/database/interruptions.rs", "self.takes", "the latency of a scripted model"),
    ("crates/upstream/src/testing/server.rs", "latency", "the latency of a scripted model"),
    ("crates/upstream/src/testing/server.rs", "pause", "a response that arrives in pieces"),
    ("tests/it/crash.rs", "Duration::from_millis(4<<(round/2))", "the moment of a kill"),
    ("tests/it/deposits.rs", "Duration::from_millis(wait_ms)", "the moment of a kill"),
    ("tests/it/keys.rs", "Duration::from_millis(number)", "the moments of concurrent requests"),
    (
        "tests/it/rounds/dice.rs",
        "Duration::from_millis(from+self.below(to-from))",
        "the moments of random kills",
    ),
    (
        "tests/it/rounds/lane.rs",
        "Duration::from_millis(500)",
        "a drain with a deadline, whose panic has a log",
    ),
    ("tests/it/rounds/mod.rs", "LEASE*2", "the length of a process's pause"),
    (
        "tests/it/rounds/receiver.rs",
        "Duration::from_millis(shared.dice.below(80))",
        "the latency of a receiver",
    ),
];

/// The loops around a pause, or the loop of a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Loops {
    /// `while` or `loop`.
    endless: bool,
    /// `for _`.
    counted: bool,
}

const PLAIN: Loops = Loops { endless: false, counted: false };
const ENDLESS: Loops = Loops { endless: true, ..PLAIN };
const COUNTED: Loops = Loops { counted: true, ..PLAIN };

/// A pause in a source.
#[derive(Debug, PartialEq, Eq)]
struct Pause {
    line: usize,
    /// The loops around it.
    loops: Loops,
    /// The argument, without spaces.
    argument: String,
    /// True for a fixed time below a second.
    is_short: bool,
}

/// Returns the pauses among these tokens of a source.
fn pauses(source: &str, tokens: &[&str]) -> Vec<Pause> {
    let mut found = Vec::new();
    let mut blocks: Vec<Loops> = Vec::new();
    // The number of open brackets at each loop whose body has not begun: its condition can contain blocks in brackets.
    let mut heads = Vec::new();
    let mut brackets = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).copied();
        match *token {
            "(" | "[" => brackets += 1,
            ")" | "]" => brackets = brackets.saturating_sub(1),
            "while" | "loop" => heads.push((brackets, ENDLESS)),
            "for" if next == Some("_") => heads.push((brackets, COUNTED)),
            "{" => blocks.push(heads.pop_if(|head| head.0 == brackets).map_or(PLAIN, |head| head.1)),
            "}" => {
                blocks.pop();
            }
            "sleep" | "sleep_until" | "yield_now" if next == Some("(") && tokens[at - 1] != "fn" => {
                let argument = argument(&tokens[at + 2..]);
                let line = source[..token.as_ptr() as usize - source.as_ptr() as usize].lines().count();
                found.push(Pause {
                    line,
                    loops: Loops {
                        endless: blocks.iter().any(|block| block.endless),
                        counted: blocks.iter().any(|block| block.counted),
                    },
                    is_short: *token == "yield_now" || is_short(argument),
                    argument: argument.concat(),
                });
            }
            _ => {}
        }
    }
    found
}

/// Returns the tokens up to the bracket that closes.
fn argument<'a, 'b>(tokens: &'b [&'a str]) -> &'b [&'a str] {
    let mut open = 1_usize;
    let end = tokens.iter().position(|token| {
        match *token {
            "(" => open += 1,
            ")" => open -= 1,
            _ => {}
        }
        open == 0
    });
    &tokens[..end.unwrap_or(tokens.len())]
}

/// True if an argument is a number of milliseconds below a thousand.
fn is_short(argument: &[&str]) -> bool {
    let time = argument.strip_prefix(&["std", "::", "time", "::"]).unwrap_or(argument);
    let ["Duration", "::", "from_millis", "(", number, ")"] = time else { return false };
    number.replace('_', "").parse::<u64>().is_ok_and(|millis| millis < 1000)
}

/// True if tests begin with tokio's clock paused, so that a pause takes no time. `None` without tests.
fn is_simulated(tokens: &[&str]) -> Option<bool> {
    let tests = tokens.windows(6).filter(|window| window.starts_with(&["#", "[", "tokio", "::", "test"]));
    let after = tests.map(|window| (window.as_ptr() as usize - tokens.as_ptr() as usize) / size_of::<&str>());
    let paused: Vec<bool> = after
        .map(|at| {
            tokens[at..].iter().take_while(|token| **token != "]").any(|token| *token == "start_paused")
        })
        .collect();
    if paused.is_empty() { None } else { Some(paused.iter().all(|paused| *paused)) }
}

/// Returns the tokens of a source that are for tests.
fn test_tokens<'a>(file: &str, text: &'a str) -> Vec<&'a str> {
    let for_tests = file.contains("tests/") || file.contains("/testing/") || file.ends_with("/testing.rs");
    let all = tokens(text);
    if for_tests { all } else { only_tests(all) }
}

#[test]
fn tests_wait_for_a_state_until_a_deadline() {
    let sources = every_source();
    let sources: Vec<(&str, &str, Vec<&str>)> =
        sources.iter().map(|(file, text)| (file.as_str(), text.as_str(), test_tokens(file, text))).collect();
    let folder = |file: &str| Path::new(file).parent().unwrap().to_owned();
    let (mut problems, mut unused) = (Vec::new(), PAUSES.iter().collect::<BTreeSet<_>>());
    let mut seen = 0;
    for (file, text, code) in sources.iter().filter(|(file, ..)| *file != HELPER) {
        // A file without tests belongs to those of its folder.
        let beside = || {
            let beside = sources.iter().filter(|(other, ..)| folder(other) == folder(file));
            let beside: Vec<bool> = beside.filter_map(|(_, _, code)| is_simulated(code)).collect();
            !beside.is_empty() && beside.iter().all(|simulated| *simulated)
        };
        let found = pauses(text, code);
        let is_simulated = !found.is_empty() && is_simulated(code).unwrap_or_else(beside);
        for pause in found {
            seen += 1;
            let place = format!("{file}:{}", pause.line);
            let known = |row: &&(&str, &str, &str)| row.0 == *file && row.1 == pause.argument;
            if let Some(known) = PAUSES.iter().find(known) {
                unused.remove(known);
            } else if pause.loops.endless || (pause.loops.counted && !is_simulated) {
                problems.push(format!("{place}: wait with `until`: it has a deadline, and names the state"));
            } else if !pause.is_short && !is_simulated {
                let time = &pause.argument;
                problems.push(format!("{place}: wait with `until` for a state, not for the time {time}"));
            }
        }
    }
    assert!(seen > 60, "only {seen} pauses found");
    assert!(problems.is_empty(), "{} waits:\n{}", problems.len(), problems.join("\n"));
    assert!(unused.is_empty(), "no source has these pauses: {unused:#?}");
}

/// Returns the lines of scripts with a `while` or `until` that pauses and names no bound. Its body is indented.
fn endless_waits(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_endless = |at: &usize| {
        let head = lines[*at];
        if !["while ", "until ", "for (;;"].iter().any(|loops| head.trim_start().starts_with(loops)) {
            return false;
        }
        let body = lines[at + 1..].iter();
        let body = body.take_while(|line| line.trim().is_empty() || indent(line) > indent(head));
        let text = [head].into_iter().chain(body.copied()).collect::<Vec<_>>().join("\n");
        let names = |words: &[&str]| words.iter().any(|word| text.contains(word));
        names(&["sleep", "setTimeout", "pause("]) && !names(&["monotonic()", "Date.now()", "$SECONDS"])
    };
    (0..lines.len()).filter(is_endless).map(|at| at + 1).collect()
}

fn scripts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !name.starts_with('.') && name != "node_modules" {
            scripts(&path, found);
        } else if path.is_file() && path.extension().is_none_or(|kind| kind == "py" || kind == "mjs") {
            found.push(path);
        }
    }
}

#[test]
fn scripts_wait_for_a_limited_time() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["scripts", "tests"] {
        scripts(&root.join(folder), &mut found);
    }
    assert!(found.len() > 80, "only {} scripts found", found.len());
    let problems: Vec<String> = found
        .iter()
        .flat_map(|path| {
            let lines = endless_waits(&String::from_utf8_lossy(&fs::read(path).unwrap()));
            lines
                .into_iter()
                .map(move |line| format!("{}:{line}", path.strip_prefix(root).unwrap().display()))
        })
        .collect();
    assert!(problems.is_empty(), "these loops wait without a limit: {problems:#?}");
}

#[test]
fn endless_waits_are_found_in_each_language() {
    let shell = "for _ in $(seq 9); do\n    sleep 1\ndone\nuntil ready; do sleep 1; done\nwhile read -r line; do echo; done\n";
    assert_eq!(endless_waits(shell), [4]);
    let python = "while True:\n    if ready():\n        break\n    time.sleep(1)\nwhile True:\n    read()\n";
    assert_eq!(endless_waits(python), [1]);
    let bounded = "while not ready():\n    assert time.monotonic() < deadline\n\n    time.sleep(1)\n";
    assert_eq!(endless_waits(bounded), [0; 0]);
    let node = "async function f() {\n  while (!await g()) {\n    await new Promise((done) => setTimeout(done, 5))\n  }\n}\n";
    assert_eq!(endless_waits(node), [2]);
}

#[test]
fn pauses_are_found_by_their_place_and_length() {
    let source = r#"
        // while true { sleep(Duration::from_secs(1)) }
        async fn sleep(time: Duration) { text("loop { sleep(x) }") }
        fn once() { tokio::time::sleep(Duration::from_millis(999)).await }
        fn waits() {
            while read(async { Reply { status: 1 } }).await != 2 {
                sleep(std::time::Duration::from_millis(5)).await;
            }
            sleep(Duration::from_millis(1_000)).await;
            'outer: loop { let wait = async { yield_now().await }; }
            for number in 0..3 { sleep(LEASE * 2).await }
            for _ in 0..3 { if true { thread::sleep(Duration::from_secs(1)) } }
            impl Wait for Loop { fn wait() { sleep(latency(1).min(within)) } }
        }
    "#;
    let found = pauses(source, &tokens(source));
    let found: Vec<_> =
        found.iter().map(|pause| (pause.line, pause.loops, pause.is_short, &*pause.argument)).collect();
    let expected = [
        (4, PLAIN, true, "Duration::from_millis(999)"),
        (7, ENDLESS, true, "std::time::Duration::from_millis(5)"),
        (9, PLAIN, false, "Duration::from_millis(1_000)"),
        (10, ENDLESS, true, ""),
        (11, PLAIN, false, "LEASE*2"),
        (12, COUNTED, false, "Duration::from_secs(1)"),
        (13, PLAIN, false, "latency(1).min(within)"),
    ];
    assert_eq!(found, expected);
    let simulated = |source: &str| is_simulated(&tokens(source));
    assert_eq!(simulated("fn a() {}"), None);
    assert_eq!(simulated("#[tokio::test(start_paused = true)] fn a() {}"), Some(true));
    assert_eq!(
        simulated("#[tokio::test(start_paused = true)] fn a() {} #[tokio::test] fn b() {}"),
        Some(false)
    );
    assert_eq!(
        test_tokens("src/a.rs", "fn a() {} #[cfg(test)] mod tests { b }"),
        ["mod", "tests", "{", "b", "}"]
    );
}
