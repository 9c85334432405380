//! Architecture rules that the crate graph cannot express.

mod features;
mod imports;
mod lexer;
mod retired_words;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ensemble_poll::payments::RAILS;
use ep_protocols::{a2a, mcp};
use ep_site::Route;
use ep_site::rail::Arrival;
use imports::Imports;
use lexer::{tokens, without_tests};

/// The maximum number of lines per file.
const CEILING: usize = 600;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir()
            && !path.ends_with("target")
            && !path.file_name().unwrap().to_str().unwrap().starts_with('.')
        {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn every_source() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    sources(root, &mut found);
    assert!(found.len() > 100, "only {} sources found", found.len());
    found
        .into_iter()
        .map(|path| {
            (path.strip_prefix(root).unwrap().display().to_string(), fs::read_to_string(&path).unwrap())
        })
        .collect()
}

#[test]
fn files_stay_below_the_line_limit() {
    for (file, text) in every_source() {
        assert!(text.lines().count() <= CEILING, "{file} has {} lines; split it", text.lines().count());
    }
}

/// The limits of the sources outside tests: their median and their 90th percentile, in lines.
const USUAL: (usize, usize) = (120, 270);

#[test]
fn most_files_are_short() {
    let is_own = |file: &str| crate_roots().iter().any(|root| file.starts_with(root.as_str()));
    let sources = every_source().into_iter().filter(|(file, _)| is_own(file));
    let mut sizes: Vec<(usize, String)> = sources.map(|(file, text)| (text.lines().count(), file)).collect();
    sizes.sort();
    let (median, most) = (sizes[sizes.len() / 2].0, sizes[sizes.len() * 9 / 10].0);
    let longest: Vec<_> = sizes.iter().filter(|(lines, _)| *lines > USUAL.1).collect();
    assert!(median <= USUAL.0, "half of the files have more than {median} lines");
    assert!(most <= USUAL.1, "a tenth of the files have {most} lines or more; split some of {longest:#?}");
}

#[test]
fn file_names_are_specific() {
    for (file, _) in every_source() {
        let path = Path::new(&file);
        for part in path.with_extension("").iter().map(|part| part.to_str().unwrap()) {
            assert!(
                !["utils", "util", "common", "helpers", "types", "misc"].contains(&part),
                "{file}: {part} says nothing"
            );
        }
    }
}

/// Fails if a file below `folder` contains one of these words.
fn forbid(folder: &str, words: &[&str]) {
    forbid_except(folder, words, &[]);
}

/// Fails if a file below `folder`, except those below `homes`, contains one of these words.
fn forbid_except(folder: &str, words: &[&str], homes: &[&str]) {
    let mut seen = 0;
    for home in homes {
        assert!(every_source().iter().any(|(file, _)| file.starts_with(home)), "nothing lies below {home}");
    }
    let is_checked =
        |file: &str| file.starts_with(folder) && !homes.iter().any(|home| file.starts_with(home));
    for (file, text) in every_source().into_iter().filter(|(file, _)| is_checked(file)) {
        seen += 1;
        let code = text.split("#[cfg(test)]").next().unwrap();
        for word in words {
            let line = code.lines().find(|line| !line.trim_start().starts_with("//") && line.contains(word));
            assert!(line.is_none(), "{file} names {word}: {}", line.unwrap().trim());
        }
    }
    assert!(seen > 0, "nothing lies below {folder}");
}

/// The packages, each with those of this workspace that it may use. Every arrow points up in this table.
const PACKAGES: [(&str, &[&str]); 12] = [
    ("ep-polling", &[]),
    ("ep-store", &["ep-polling"]),
    ("ep-kernel", &["ep-polling", "ep-store"]),
    ("ep-outgoing", &["ep-kernel", "ep-store"]),
    ("ep-upstream", &["ep-kernel", "ep-outgoing", "ep-polling", "ep-store"]),
    ("ep-outside", &["ep-kernel", "ep-outgoing", "ep-polling", "ep-store"]),
    ("ep-tools", &["ep-kernel", "ep-polling", "ep-store"]),
    ("ep-labels", &["ep-kernel", "ep-polling", "ep-store", "ep-tools"]),
    ("ep-site", &["ep-kernel", "ep-outside", "ep-polling", "ep-store", "ep-tools", "ep-upstream"]),
    ("ep-protocols", &["ep-kernel", "ep-outside", "ep-polling", "ep-site", "ep-store", "ep-tools"]),
    ("ep-pages", &["ep-kernel", "ep-outside", "ep-polling", "ep-site", "ep-store", "ep-tools"]),
    (
        "ensemble-poll",
        &[
            "ep-kernel",
            "ep-labels",
            "ep-outgoing",
            "ep-outside",
            "ep-pages",
            "ep-polling",
            "ep-protocols",
            "ep-site",
            "ep-store",
            "ep-tools",
            "ep-upstream",
        ],
    ),
];

/// Third-party dependencies, each with the packages that may use it.
const OWNERS: [(&str, &[&str]); 6] = [
    ("axum", &["ep-site", "ep-protocols", "ep-pages", "ensemble-poll"]),
    ("rmcp", &["ep-protocols"]),
    ("jsonrpsee-core", &["ep-protocols"]),
    ("sqlx", &["ep-store"]),
    ("rusqlite", &["ep-store"]),
    ("reqwest", &["ep-outgoing", "ep-upstream", "ep-outside", "ensemble-poll"]),
];

/// Returns the name of each package with its dependencies, without those of tests.
fn packages() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let folders = crates.chain([root.to_owned(), root.join("tools")]);
    let package = |folder: PathBuf| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let name = manifest["package"]["name"].as_str().unwrap().to_owned();
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        // An optional dependency belongs to the fakes of tests.
        let used = dependencies.into_iter().flatten().filter(|(_, used)| used.get("optional").is_none());
        (name, used.map(|(name, _)| name.clone()).collect())
    };
    folders.map(package).collect()
}

#[test]
fn packages_use_each_other_in_one_direction() {
    for (place, (package, used)) in PACKAGES.iter().enumerate() {
        for name in *used {
            let earlier = PACKAGES[..place].iter().any(|(known, _)| known == name);
            assert!(earlier, "{package} must come after {name}");
        }
    }
    let packages = packages();
    let known: BTreeSet<&str> = PACKAGES.iter().map(|(package, _)| *package).collect();
    let found: BTreeSet<&str> = packages.keys().map(String::as_str).collect();
    assert_eq!(found, known);
    for (package, allowed) in PACKAGES {
        let used: Vec<&str> =
            packages[package].iter().map(String::as_str).filter(|name| known.contains(name)).collect();
        assert_eq!(used, allowed, "{package}");
    }
    for (other, owners) in OWNERS {
        let users = packages.iter().filter(|(_, used)| used.contains(other)).map(|(name, _)| name.as_str());
        assert_eq!(users.collect::<BTreeSet<_>>(), owners.iter().copied().collect(), "{other}");
    }
}

#[test]
fn dependencies_point_inwards() {
    forbid("crates/kernel/src", &["std::fs", "std::net::Tcp", "std::env", "Mcp"]);
    // The site and the documents read and write header values, but serve nothing.
    let serving = ["axum::Router", "axum::routing", "axum::extract", "axum::response"];
    let serving = [&serving[..], &["body::Body", "Response<", "Handler"]].concat();
    forbid("crates/pages/src/documents", &serving);
    forbid_except("crates/site/src", &serving, &["crates/site/src/http"]);
    for folder in ["crates/site/src/layout", "crates/pages/src/share_image"] {
        forbid(folder, &["axum"]);
    }
    forbid("crates/protocols/src/a2a", &["rmcp"]);
    for folder in ["crates/protocols/src/rest", "crates/protocols/src/openai"] {
        forbid(folder, &["rmcp", "jsonrpsee"]);
    }
    // Operations, protocols and pages use the store, but neither its other handles nor the methods for the worker of batches and for uploads.
    let elsewhere =
        ["Treasury", "Vault", "Runtime", ".treasury", ".vault", "end_row(", "reserve_row(", "release_rows("];
    let files = [
        "begin_file(",
        "add_lines(",
        "complete_file(",
        "delete_old_files(",
        "store.lines(",
        "store().lines(",
    ];
    let elsewhere = [&elsewhere[..], &files[..]].concat();
    forbid_except("tools", &elsewhere, &["tools/testing.rs"]);
    forbid("tools", &["ep_kernel::app", "ep_kernel::guard"]);
    for folder in ["crates/protocols/src", "crates/pages/src"] {
        forbid(folder, &elsewhere);
    }
    // Surfaces leave access, limits and idempotency to the guard and dispatch.
    forbid("crates/protocols/src", &[".admits(", "limiter", "app.idempotency", "accounts."]);
}

/// The modules at the top of a package.
struct Modules {
    /// The folder of its sources.
    root: &'static str,
    /// Its modules, each with those that it may import. Every arrow points up. All others are called `others`.
    imports: &'static [(&'static str, &'static [&'static str])],
}

/// The packages that have several parts.
const PARTS: [Modules; 4] = [
    Modules {
        root: "src/",
        imports: &[
            ("config", &[]),
            ("payments", &["config"]),
            ("telemetry", &["payments"]),
            ("app", &["config", "payments", "telemetry"]),
            ("cli", &["app", "config", "payments", "telemetry"]),
            ("others", &[]),
        ],
    },
    Modules {
        root: "crates/site/src/",
        imports: &[("others", &[]), ("layout", &["others"]), ("http", &["layout", "others"])],
    },
    Modules {
        root: "crates/protocols/src/",
        imports: &[("a2a", &[]), ("mcp", &[]), ("openai", &[]), ("rest", &[]), ("others", &["openai"])],
    },
    Modules {
        root: "crates/pages/src/",
        imports: &[
            ("share_image", &[]),
            ("documents", &["share_image"]),
            ("web", &["documents", "share_image"]),
            ("others", &["share_image"]),
        ],
    },
];

#[test]
fn folders_import_in_one_direction() {
    for Modules { root, imports } in PARTS {
        for (place, (folder, imported)) in imports.iter().enumerate() {
            for name in *imported {
                let earlier = imports[..place].iter().any(|(known, _)| known == name);
                assert!(earlier, "{root}{folder} must come after {name}");
            }
        }
        let mut unused: BTreeSet<(&str, &str)> =
            imports.iter().flat_map(|(folder, names)| names.iter().map(|name| (*folder, *name))).collect();
        let part = |name: &str| imports.iter().map(|(known, _)| *known).find(|known| *known == name);
        let part = |name: &str| part(name).unwrap_or("others");
        for (file, text) in every_source() {
            let Some(inner) = file.strip_prefix(root) else { continue };
            let folder = part(inner.split(['/', '.']).next().unwrap());
            let allowed = imports.iter().find(|(known, _)| *known == folder).unwrap().1;
            for name in imported_modules(inner, &text).iter().map(|name| part(name)) {
                if name == folder {
                    continue;
                }
                assert!(allowed.contains(&name), "{file} imports {name}");
                unused.remove(&(folder, name));
            }
        }
        assert!(unused.is_empty(), "no file below {root} needs these rows of the table: {unused:?}");
    }
}

/// Returns the names at the top of the package that a file names, by `crate::` or by a chain of `super::`.
fn imported_modules(file: &str, text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]").next().unwrap();
    let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = lines.join("\n");
    // `super::` once for each folder above the file leads to the crate; mod.rs is one level higher.
    let depth = file.matches('/').count() + usize::from(!file.ends_with("mod.rs"));
    let to_crate = "super::".repeat(depth);
    let chains = code.split("crate::").skip(1).chain(code.split(to_crate.as_str()).skip(1));
    let paths = chains.flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => list.split('}').next().unwrap().split(',').map(str::trim_start).collect(),
        None => vec![rest],
    });
    let names = paths.map(|path| path.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap());
    names.map(str::to_owned).collect()
}

#[test]
fn paths_appear_only_in_the_tables() {
    // Operations declare their paths in their specifications, protocols in their mod.rs, documents in declarations.
    let tables = ["crates/pages/src/web/mod.rs", "crates/site/src/names.rs"];
    let is_rail = |file: &str| file.starts_with("src/payments/") && file.ends_with("/rail.rs");
    let is_table = |file: &str| tables.contains(&file) || is_rail(file) || is_protocol_root(file);
    let mut seen = 0;
    for folder in ["src/", "crates/site/src", "crates/pages/src", "crates/protocols/src", "crates/kernel/src"]
    {
        for (file, text) in every_source().into_iter().filter(|(file, _)| file.starts_with(folder)) {
            seen += 1;
            let code = text.split("#[cfg(test)]").next().unwrap();
            let code = without_declared_documents(code);
            let named = code.lines().filter(|line| !line.trim_start().starts_with("//")).find(|line| {
                ["\"/api/", "}/api/", "\"/.well-known", "}/.well-known"]
                    .iter()
                    .any(|path| line.contains(path))
            });
            assert!(named.is_none() || is_table(&file), "{file} names a path: {named:?}");
        }
    }
    assert!(seen > 400, "{seen}");
}

/// True for `crates/protocols/src/*/mod.rs`.
fn is_protocol_root(file: &str) -> bool {
    let folder = file.strip_prefix("crates/protocols/src/").and_then(|inner| inner.strip_suffix("/mod.rs"));
    folder.is_some_and(|folder| !folder.contains('/'))
}

/// Returns a source without its document declarations.
fn without_declared_documents(code: &str) -> String {
    let declares = |statement: &&str| statement.contains(": Document = Document::");
    let statements: Vec<&str> = code.split(";\n").filter(|statement| !declares(statement)).collect();
    statements.join(";\n")
}

/// Returns the folders of the sources, each the root of a crate.
fn crate_roots() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(root.join("crates")).unwrap();
    let crates = crates.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let crates = crates.map(|name| format!("crates/{name}/src/"));
    crates.chain(["src/", "tools/", "fuzz/targets/"].map(str::to_owned)).collect()
}

/// The files of each crate form layers: no file imports a file that imports it, directly or indirectly.
#[test]
fn files_do_not_import_each_other_in_a_circle() {
    let sources = every_source();
    let (mut files, mut arrows) = (0, 0);
    for root in crate_roots() {
        let below =
            sources.iter().filter_map(|(file, text)| Some((file.strip_prefix(&root)?, text.as_str())));
        let imports = Imports::read(below);
        assert!(imports.files() > 0, "nothing lies below {root}");
        (files, arrows) = (files + imports.files(), arrows + imports.arrows());
        let circle = imports.circle();
        assert!(circle.is_none(), "below {root}, these files import each other in a circle: {circle:?}");
    }
    assert!(files > 500 && arrows > 1500, "{arrows} arrows between {files} files");
}

/// The modules of a crate form layers: no module depends on a module that depends on it, directly or indirectly.
#[test]
fn kernel_modules_have_no_cycles() {
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in every_source() {
        let Some(inner) = file.strip_prefix("crates/kernel/src/") else { continue };
        let module = inner.split(['/', '.']).next().unwrap().to_owned();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let named =
            lines.flat_map(|line| line.split("crate::").skip(1).map(str::to_owned).collect::<Vec<_>>());
        let named = named
            .map(|rest| rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap().to_owned());
        uses.entry(module.clone()).or_default().extend(named.filter(|name| *name != module));
    }
    assert!(uses.len() > 15, "{uses:?}");
    while !uses.is_empty() {
        let free: Vec<String> = uses
            .iter()
            .filter(|(_, used)| used.iter().all(|name| !uses.contains_key(name)))
            .map(|(m, _)| m.clone())
            .collect();
        assert!(!free.is_empty(), "these modules use each other in a circle: {uses:?}");
        uses.retain(|module, _| !free.contains(module));
    }
}

#[test]
fn payment_rails_are_named_in_their_table() {
    // Documents, pages and the wiring iterate over the table of rails.
    let words = ["stripe", "Stripe", "x402", "X402", "usdc", "Usdc", "USDC"];
    for folder in
        ["crates/pages/src", "crates/site/src/http", "crates/site/src/layout", "src/app", "src/telemetry.rs"]
    {
        forbid(folder, &words);
    }
    // The headers of a rail are data of its table, too.
    let headers = RAILS.iter().flat_map(|rail| match &rail.arrival {
        Arrival::Webhook(webhook) => vec![webhook.header],
        Arrival::Proof(proof) => {
            let of_requests = proof.headers.iter().map(|(name, _)| *name);
            of_requests.chain(proof.response_headers.iter().copied()).collect()
        }
    });
    // A state of the A2A extension for payments is named like a header.
    let homes = ["src/payments/", "crates/protocols/src/a2a/payments.rs"];
    forbid_headers(headers, &homes);
}

/// Fails if a source of the surfaces outside `homes` names one of these headers.
fn forbid_headers<'a>(headers: impl Iterator<Item = &'a str>, homes: &[&str]) {
    let headers: BTreeSet<String> = headers.map(|name| format!("\"{}\"", name.to_lowercase())).collect();
    assert!(headers.len() > 3, "{headers:?}");
    let surfaces = ["src/", "crates/site/src/", "crates/pages/src/", "crates/protocols/src/"];
    let is_surface = |file: &str| surfaces.iter().any(|folder| file.starts_with(folder));
    for (file, text) in every_source().into_iter().filter(|(file, _)| is_surface(file)) {
        if homes.iter().any(|home| file.starts_with(home)) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap().to_lowercase();
        let named = headers.iter().find(|name| code.contains(*name));
        assert!(named.is_none(), "{file} names the header {}", named.unwrap());
    }
}

/// Protocols are data: shared code reads the fields of `Protocol` and `ProtocolRoute`.
#[test]
fn protocols_are_named_in_their_folders() {
    let words = ["Mcp", "A2a", "MCP_", "mcp::", "a2a::", "\"mcp", "\"a2a"];
    forbid_except("src/payments", &words, &["src/payments/usdc/rail.rs"]);
    forbid("src/telemetry.rs", &words);
    forbid_except("src/app", &words, &["src/app/routes.rs", "src/app/jobs.rs"]);
    forbid_except("crates/site/src", &words, &["crates/site/src/names.rs", "crates/site/src/config"]);
    forbid("crates/pages/src/documents/openapi", &words);
    let routes: Vec<Route> = mcp::ROUTES.iter().cloned().chain(a2a::routes()).collect();
    let headers = routes.iter().filter_map(Route::as_protocol).map(|endpoint| endpoint.protocol.headers);
    // The agent card has a form for each version that the header names.
    forbid_headers(
        headers.flatten().copied(),
        &["crates/protocols/src/", "crates/pages/src/documents/agent_card.rs"],
    );
}

#[test]
fn surfaces_name_no_operation() {
    let names: Vec<&str> = ep_tools::TOOLS.iter().map(|entry| entry.spec.name).collect();
    for folder in ["crates/protocols/src", "crates/site/src/http", "crates/pages/src/documents"] {
        forbid(folder, &names);
    }
}

/// Words that open a relative clause. A doc comment opens with a noun or a verb instead.
const RELATIVE: [&str; 9] = ["What", "Whether", "Who", "Whom", "Whose", "Where", "How", "Which", "Whatever"];

/// Types of operations that are written as JSON and read back: outputs, with their parts, that the command line reads from a server
/// or that pages read after a call with an idempotency key; and values of inputs that outputs repeat.
const READ_BACK: [&str; 33] = [
    "CheckoutLink",
    "Costs",
    "CreatedKey",
    "Decisions",
    "DryRun",
    "Estimates",
    "FamilySpread",
    "FeedbackAgreement",
    "FreeAnswer",
    "FreeReply",
    "ModelProposal",
    "ModelReputation",
    "ModelReputations",
    "PollDecision",
    "PollReply",
    "PollResponse",
    "PollResult",
    "PollType",
    "Profile",
    "Progress",
    "ProposedOptions",
    "QuestionRow",
    "RunningPoll",
    "ScaleRequest",
    "SlotBias",
    "SpendingOfDay",
    "StartedPoll",
    "Status",
    "StoredEvaluation",
    "Theme",
    "Timing",
    "VoteResult",
    "VoterReason",
];

/// Other callers inside the program get the output of an operation as it is.
#[test]
fn few_outputs_are_read_back_from_json() {
    let mut found = BTreeSet::new();
    for (_, text) in every_source().iter().filter(|(file, _)| file.starts_with("tools/")) {
        let code = without_tests(tokens(text));
        for (at, _) in code.iter().enumerate().filter(|(_, token)| **token == "derive") {
            let derived: Vec<&str> = code[at..].iter().take_while(|token| **token != ")").copied().collect();
            let name = code[at..].iter().skip_while(|token| !["struct", "enum"].contains(token)).nth(1);
            if derived.contains(&"Serialize") && derived.contains(&"Deserialize") {
                found.insert(name.copied().unwrap_or_default().to_owned());
            }
        }
    }
    assert_eq!(found, READ_BACK.map(str::to_owned).into());
}

#[test]
fn doc_comments_open_with_a_noun_or_a_verb() {
    let (mut all, mut relative) = (0, Vec::new());
    for (file, text) in every_source() {
        let mut inside = false;
        for line in text.lines().map(str::trim_start) {
            let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            let opening = doc.map(str::trim_start).filter(|words| !inside && !words.is_empty());
            inside = doc.is_some();
            let Some(opening) = opening else { continue };
            all += 1;
            let first = opening.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            if RELATIVE.contains(&first) {
                relative.push(format!("{file}: {opening}"));
            }
        }
    }
    assert!(all > 5_000, "{all}");
    let most = all * 2 / 100;
    assert!(relative.len() <= most, "{} of {all}, at most {most}:\n{}", relative.len(), relative.join("\n"));
}
