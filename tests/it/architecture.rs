//! Architecture rules that the crate graph cannot express.

mod features;
mod imports;
mod lexer;
mod retired_words;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ensemble_poll::protocols::{a2a, mcp};
use ensemble_poll::site::rails::Arrival;
use ensemble_poll::site::{RAILS, Route, RouteKind};
use imports::Imports;

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

/// Fails if a file below `folder`, other than those of `tables`, contains one of these words.
fn forbid_except(folder: &str, words: &[&str], tables: &[&str]) {
    let mut seen = 0;
    let is_checked = |file: &str| file.starts_with(folder) && !tables.contains(&file);
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

#[test]
fn dependencies_point_inwards() {
    forbid(
        "crates/kernel/src",
        &[
            "axum",
            "rmcp",
            "sqlx",
            "reqwest",
            "StatusCode",
            "std::fs",
            "std::net::Tcp",
            "std::env",
            "a2a_",
            "Mcp",
        ],
    );
    forbid("tools", &["axum", "rmcp", "jsonrpc", "sqlx", "reqwest"]);
    forbid("crates/store/src", &["axum", "rmcp", "reqwest", "ep_upstream", "ep_tools"]);
    forbid("src", &["sqlx::"]);
    // The site and the documents read and write header values, but serve nothing.
    for folder in ["src/site", "src/documents"] {
        let serving = ["axum::Router", "axum::routing", "axum::extract", "axum::response"];
        forbid(folder, &[&serving[..], &["body::Body", "Response<", "Handler"]].concat());
    }
    forbid("src/layout", &["axum"]);
    forbid("src/protocols/a2a", &["rmcp"]);
    for folder in ["src/protocols/rest", "src/http", "src/cli", "src/documents"] {
        forbid(folder, &["rmcp", "jsonrpsee"]);
    }
    // Operations use only the ports of their context.
    forbid("tools", &["ep_kernel::app", "ep_kernel::guard", "UserStore", "KeyStore", "Ledger"]);
    // Surfaces leave access, limits and idempotency to the guard and dispatch.
    forbid("src/protocols", &[".admits(", "limiter", "app.idempotency", "accounts."]);
}

/// The modules at the top of `src/`, each with those that it may import. Every arrow points up in this table.
const IMPORTS: [(&str, &[&str]); 13] = [
    ("site", &[]),
    ("config", &["site"]),
    ("telemetry", &["site"]),
    ("layout", &["site"]),
    ("documents", &["layout", "site"]),
    ("http", &["layout", "site"]),
    ("protocols", &["http", "site"]),
    ("payments", &["config", "http", "site"]),
    ("web", &["documents", "http", "layout", "site"]),
    ("app", &["config", "documents", "http", "payments", "protocols", "site", "telemetry", "web"]),
    ("cli", &["app", "config", "documents", "layout", "payments", "protocols", "site", "telemetry"]),
    ("lib", &[]),
    ("main", &[]),
];

#[test]
fn folders_import_in_one_direction() {
    for (place, (folder, imported)) in IMPORTS.iter().enumerate() {
        for name in *imported {
            let earlier = IMPORTS[..place].iter().any(|(known, _)| known == name);
            assert!(earlier, "{folder} must come after {name}");
        }
    }
    let mut unused: BTreeSet<(&str, &str)> =
        IMPORTS.iter().flat_map(|(folder, names)| names.iter().map(|name| (*folder, *name))).collect();
    for (file, text) in every_source() {
        let Some(inner) = file.strip_prefix("src/") else { continue };
        let folder = inner.split(['/', '.']).next().unwrap();
        let row = IMPORTS.iter().find(|(known, _)| *known == folder);
        let (folder, allowed) = row.unwrap_or_else(|| panic!("{file}: {folder} is not in the table"));
        for name in imports(inner, &text) {
            if name == *folder {
                continue;
            }
            assert!(allowed.contains(&name.as_str()), "{file} imports {name}");
            unused.retain(|(from, to)| from != folder || *to != name);
        }
    }
    assert!(unused.is_empty(), "no file needs these rows of the table: {unused:?}");
}

/// Returns the modules at the top of `src/` that a file names, by `crate::` or by a chain of `super::`.
fn imports(file: &str, text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]").next().unwrap();
    let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = lines.join("\n");
    assert!(!code.contains("crate::{"), "{file}: name the module after crate:: in each import");
    // `super::` once for each folder above the file leads to the crate; mod.rs is one level higher.
    let depth = file.matches('/').count() + usize::from(!file.ends_with("mod.rs"));
    let to_crate = "super::".repeat(depth);
    let chains = code.split("crate::").skip(1).chain(code.split(to_crate.as_str()).skip(1));
    let names = chains.map(|rest| rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap());
    names.filter(|name| IMPORTS.iter().any(|(known, _)| known == name)).map(str::to_owned).collect()
}

#[test]
fn paths_appear_only_in_the_tables() {
    // Operations declare their paths in their specifications, protocols in their mod.rs, documents in declarations.
    let tables = ["src/web/mod.rs", "src/site/names.rs", "src/site/rails.rs"];
    let is_table = |file: &str| tables.contains(&file) || is_protocol_root(file);
    let mut seen = 0;
    for folder in ["src/", "crates/kernel/src"] {
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
    assert!(seen > 50, "{seen}");
}

/// True for `src/protocols/*/mod.rs`.
fn is_protocol_root(file: &str) -> bool {
    let folder = file.strip_prefix("src/protocols/").and_then(|inner| inner.strip_suffix("/mod.rs"));
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
    for folder in ["src/documents", "src/http", "src/layout", "src/web", "src/app", "src/telemetry.rs"] {
        forbid(folder, &["stripe", "Stripe", "x402", "X402", "usdc", "Usdc", "USDC"]);
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
    forbid_headers(headers, &["src/payments/", "src/site/rails.rs", "src/protocols/a2a/payments.rs"]);
}

/// Fails if a source of `src/` outside `homes` names one of these headers.
fn forbid_headers<'a>(headers: impl Iterator<Item = &'a str>, homes: &[&str]) {
    let headers: BTreeSet<String> = headers.map(|name| format!("\"{}\"", name.to_lowercase())).collect();
    assert!(headers.len() > 3, "{headers:?}");
    for (file, text) in every_source().into_iter().filter(|(file, _)| file.starts_with("src/")) {
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
    let tables = ["src/app/routes.rs", "src/app/jobs.rs", "src/site/names.rs"];
    let words = ["Mcp", "A2a", "MCP_", "mcp::", "a2a::", "\"mcp", "\"a2a"];
    for folder in ["src/app", "src/http", "src/layout", "src/payments", "src/site", "src/telemetry.rs"] {
        forbid_except(folder, &words, &tables);
    }
    forbid("src/documents/openapi", &words);
    let routes: Vec<Route> = mcp::ROUTES.iter().cloned().chain(a2a::routes()).collect();
    let headers = routes.iter().filter_map(|route| match route.kind {
        RouteKind::Protocol(endpoint) => Some(endpoint.protocol.headers),
        _ => None,
    });
    // The agent card has a form for each version that the header names.
    forbid_headers(headers.flatten().copied(), &["src/protocols/", "src/documents/agent_card.rs"]);
}

#[test]
fn surfaces_name_no_operation() {
    let names: Vec<&str> = ep_tools::TOOLS.iter().map(|entry| entry.spec.name).collect();
    for folder in ["src/protocols", "src/http", "src/documents"] {
        forbid(folder, &names);
    }
}

/// Words that open a relative clause. A doc comment opens with a noun or a verb instead.
const RELATIVE: [&str; 9] = ["What", "Whether", "Who", "Whom", "Whose", "Where", "How", "Which", "Whatever"];

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
