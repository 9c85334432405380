//! Texts for agents: the skill with its index, bundle and alias paths, llms.txt, llms-full.txt and auth.md.

mod commands;
mod programs;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use ep_kernel::Entry;
use ep_kernel::dispatch::entry;
use ep_pages::documents::DOCUMENTS;
use ep_site::AliasPaths;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{Client, Service, Setup};

const NAME: &str = "prevent-hallucinations-with-a-poll";
const SKILL: &str = "/.well-known/agent-skills/prevent-hallucinations-with-a-poll/SKILL.md";
const INDEX: &str = "/.well-known/agent-skills/index.json";
/// The texts for agents.
const TEXTS: [&str; 5] = [SKILL, "/AGENTS.md", "/auth.md", "/llms.txt", "/llms-full.txt"];

/// Returns the text at a path.
async fn text(client: &Client, path: &str) -> String {
    let reply = client.get(path).await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.text);
    reply.text
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

#[tokio::test]
async fn index_and_bundle_digests_match_the_served_bytes() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let index = client.get(INDEX).await.expect(200);
    assert_eq!(index["$schema"], "https://schemas.agentskills.io/discovery/0.2.0/schema.json");
    let [skill] = index["skills"].as_array().unwrap().as_slice() else { panic!("{index}") };
    let members: BTreeSet<&str> = skill.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, BTreeSet::from(["name", "type", "description", "url", "digest"]));
    assert_eq!((&skill["name"], &skill["type"]), (&json!(NAME), &json!("skill-md")));
    let path = skill["url"].as_str().unwrap().strip_prefix(&service.url).unwrap();
    let served = client.get(path).await;
    assert_eq!(served.header("content-type"), "text/markdown; charset=utf-8");
    assert_eq!(skill["digest"], digest(served.text.as_bytes()));
    let bundle = client.get("/api/skill-bundle").await.expect(200);
    let [file] = bundle["files"].as_array().unwrap().as_slice() else { panic!("{bundle}") };
    assert_eq!((&file["path"], &file["content"]), (&json!("SKILL.md"), &json!(served.text)));
    assert_eq!((&file["digest"], &file["size"]), (&skill["digest"], &json!(served.text.len())));
    assert_eq!((&bundle["name"], &bundle["description"]), (&skill["name"], &skill["description"]));
}

#[tokio::test]
async fn every_alias_path_serves_the_same_bytes() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let mut seen = BTreeSet::new();
    for document in DOCUMENTS {
        for path in document.aliases.iter().flat_map(AliasPaths::paths) {
            let canonical = service.site.document(document.name).unwrap();
            let (status, head, body) = raw(&service, &path).await;
            assert_eq!((status, body.as_bytes()), (200, &canonical[..]), "{path}");
            assert!(head.contains("content-type: text/markdown; charset=utf-8"), "{path}: {head}");
            assert!(seen.insert(path.clone()), "{path} twice");
            assert!(
                service.site.routes.iter().all(|route| route.path != path),
                "{path} is in the catalogues"
            );
        }
    }
    for path in [
        "/.claude/skills/prevent-hallucinations-with-a-poll/SKILL.md",
        "/.agents/skills/prevent-hallucinations-with-a-poll.md",
        "/.cursor/prevent-hallucinations-with-a-poll/SKILL.md",
        "/~/CLAUDE.md",
        "/%7E/AGENTS.md",
    ] {
        assert!(seen.contains(path), "{path}");
        let head = client.send(client.request(Method::HEAD, path)).await;
        let get = client.request(Method::GET, path).header("if-none-match", head.header("etag"));
        assert_eq!((head.status, client.send(get).await.status), (200, 304), "{path}");
        client.post(path, &json!({})).await.refused(405);
    }
    let bundle = client.get("/api/skill-bundle").await.expect(200);
    let listed = bundle["aliases"].as_array().unwrap();
    let dirs = listed[0]["values"]["tool_dir"].as_array().unwrap();
    assert!(listed.len() == 3 && dirs.len() >= 40, "{bundle}");
    assert!(listed.iter().all(|family| family["path"].as_str().unwrap().starts_with("/.{tool_dir}/")));
}

/// Requests exactly this target, because an HTTP client would normalize it.
async fn raw(service: &Service, target: &str) -> (u16, String, String) {
    let address = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_lowercase(), body.to_owned())
}

#[tokio::test]
async fn only_listed_paths_are_served() {
    let service = Setup::demo().boot().await;
    let skill = text(&service.anonymous(), SKILL).await;
    for target in [
        "/.unknown/skills/prevent-hallucinations-with-a-poll/SKILL.md",
        "/.ssh/skills/prevent-hallucinations-with-a-poll/SKILL.md",
        "/claude/skills/prevent-hallucinations-with-a-poll/SKILL.md",
        "/.CLAUDE/skills/prevent-hallucinations-with-a-poll/SKILL.md",
        "/.claude/skills/another-skill/SKILL.md",
        "/.claude/skills/prevent-hallucinations-with-a-poll/skill.md",
        "/.claude/skills/prevent-hallucinations-with-a-poll/README.md",
        "/.claude/skills/prevent-hallucinations-with-a-poll/",
        "/.claude/skills/prevent-hallucinations-with-a-poll",
        "/.claude/skills/",
        "/.claude/settings.json",
        "/.claude//skills/prevent-hallucinations-with-a-poll/SKILL.md",
        "//.claude/skills/prevent-hallucinations-with-a-poll/SKILL.md",
        "/./.claude/skills/prevent-hallucinations-with-a-poll/SKILL.md",
        "/.claude/skills/../skills/prevent-hallucinations-with-a-poll/SKILL.md",
        "/.claude/skills/prevent-hallucinations-with-a-poll/../../../etc/passwd",
        "/.claude/skills/%2e%2e/SKILL.md",
        "/%2eclaude/skills/prevent-hallucinations-with-a-poll/SKILL.md",
        "/.claude%2fskills/prevent-hallucinations-with-a-poll/SKILL.md",
        "/.claude/skills/prevent-hallucinations-with-a-poll/SKILL.md%00",
        "/.{tool_dir}/skills/prevent-hallucinations-with-a-poll/SKILL.md",
        "/.env",
        "/.git/config",
        "/.well-known/agent-skills/",
        "/.well-known/agent-skills/another/SKILL.md",
        "/.well-known/agent-skills/../agent-card.json",
        "/~/UNKNOWN.md",
        "/~/.bashrc",
        "/~/AGENTS",
        "/~root/AGENTS.md",
        "/~/../AGENTS.md",
        "/%7E/..%2fAGENTS.md",
        "/%7E%7E/AGENTS.md",
        "/%257E/AGENTS.md",
        "/home/AGENTS.md",
        "/CLAUDE.md",
        "/llms-full.txt/../llms.txt",
        "/well-known/skill.md",
    ] {
        let (status, head, body) = raw(&service, target).await;
        assert_eq!(status, 404, "{target}: {body}");
        assert!(head.contains("x-request-id:") && !body.contains(&skill[..200]), "{target}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert!(body["error"].is_string() && body.as_object().unwrap().len() == 1, "{target}: {body}");
    }
}

#[tokio::test]
async fn service_without_polls_has_no_skill() {
    static FEW: LazyLock<Vec<Entry>> = LazyLock::new(|| vec![entry::<ep_tools::service::GetHealth>()]);
    let service = Setup { tools: &FEW, ..Setup::demo() }.boot().await;
    for path in [SKILL, INDEX, "/api/skill-bundle", "/AGENTS.md", "/~/AGENTS.md"] {
        let said = service.anonymous().get(path).await.refused(404);
        assert!(said.contains("takes no polls"), "{path}: {said}");
    }
    let llms = text(&service.anonymous(), "/llms.txt").await;
    assert!(!llms.contains("SKILL.md") && !llms.contains("/api/poll"), "{llms}");
}

/// Asserts the grammar of llmstxt.org: a title, a summary, text without headings, then sections with only links.
fn check_grammar(llms: &str) {
    let mut lines = llms.lines().filter(|line| !line.is_empty());
    assert!(lines.next().unwrap().starts_with("# "));
    assert!(lines.next().unwrap().starts_with("> "));
    let (mut section, mut links, mut titles) = (None, 0, Vec::new());
    for line in lines {
        if let Some(title) = line.strip_prefix("## ") {
            assert!(section.is_none() || links > 0, "{section:?} is empty");
            (section, links) = (Some(title), 0);
            titles.push(title);
        } else if section.is_some() {
            let (name, rest) = line.strip_prefix("- [").unwrap().split_once("](").unwrap();
            let (url, notes) = rest.split_once("): ").unwrap();
            assert!(!name.is_empty() && url.starts_with("http") && !notes.is_empty(), "{line}");
            links += 1;
        } else {
            assert!(!line.starts_with('#'), "{line}");
        }
    }
    assert!(links > 0 && titles.last() == Some(&"Optional"), "{titles:?}");
}

#[tokio::test]
async fn llms_txt_is_short_and_its_links_resolve() {
    // A base URL of the maximum typical length.
    let base =
        "https://polls.a-rather-long-name-of-a-department.a-rather-long-name-of-an-organisation.example.com";
    let service = Setup::demo().with("EP_BASE_URL", base).boot().await;
    let client = service.anonymous();
    let reply = client.send(client.request(Method::GET, "/llms.txt")).await;
    assert_eq!(reply.header("content-type"), "text/plain; charset=utf-8");
    assert!(reply.text.len() < 4096, "{} bytes", reply.text.len());
    check_grammar(&reply.text);
    for link in reply.text.split("](").skip(1) {
        let path = link.split(')').next().unwrap().strip_prefix(base).unwrap();
        assert_eq!(client.get(path).await.status, 200, "{path}");
    }
}

/// Returns every URL of the service in a text, without the query.
fn addresses<'a>(service: &Service, text: &'a str) -> BTreeSet<&'a str> {
    let end = |rest: &str| rest.find(|c: char| " \n)>\"'`?|,;*$".contains(c)).unwrap_or(rest.len());
    let whole = |rest: &&str| !rest[end(rest)..].starts_with('$');
    let found = text.split(service.url.as_str()).skip(1).filter(whole).map(|rest| &rest[..end(rest)]);
    let found = found.map(|path| path.trim_end_matches(['.', ':']).trim_end_matches("/…"));
    // Example ids and variables are not URLs.
    found.filter(|path| path.starts_with('/') && !path.contains("/EP-")).collect()
}

#[tokio::test]
async fn every_url_in_the_documents_is_served() {
    // With every setting that adds links.
    let (setup, _) = Setup::demo().with("EP_AUTH_ISSUER_URL", "https://login.example.com").at_known_address();
    let service = setup.boot().await;
    let client = service.anonymous();
    let mut named = 0;
    for path in TEXTS.into_iter().chain([INDEX]) {
        let text = text(&client, path).await;
        for address in addresses(&service, &text) {
            let address = address.split('#').next().unwrap();
            let reply =
                client.send(client.request(Method::GET, address).header("x-machine-client", "true")).await;
            let unknown = reply.status == 404 && reply.json()["code"] == "unknown_route";
            assert!(!unknown, "{path} names {address}");
            named += 1;
        }
    }
    assert!(named > 40, "{named}");
}

#[tokio::test]
async fn auth_md_follows_the_configuration() {
    let plain = text(&Setup::demo().boot().await.anonymous(), "/auth.md").await;
    let full = Setup::demo()
        .with("EP_AUTH_ISSUER_URL", "https://login.example.com")
        .with("EP_AUTH_CLIENT_ID", "polls")
        .with("EP_AUTH_CLIENT_SECRET", "a secret of the client")
        .with("EP_CONTACT", "keys@example.com")
        .with("EP_STARTER_CREDIT_USD", "2.50");
    let full = text(&full.boot().await.anonymous(), "/auth.md").await;
    for words in ["https://login.example.com", "/login, and creates keys there", "keys@example.com"] {
        assert!(full.contains(words) && !plain.contains(words), "{words}");
    }
    assert!(plain.contains("starts with $1.00") && full.contains("starts with $2.50"));
    assert!(!plain.contains("x402") && !full.contains("x402"));
    let free = text(&Setup::demo().with("EP_BILLING", "off").boot().await.anonymous(), "/auth.md").await;
    assert!(free.contains("does not charge") && !free.contains("starts with"));
}

#[tokio::test]
async fn figures_follow_the_settings() {
    let service = Setup::demo().with("EP_RATE_LIMIT_FREE_PER_MINUTE", "3").boot().await;
    let skill = text(&service.anonymous(), SKILL).await;
    assert!(skill.contains("3 free polls a minute"));
    assert!(skill.contains("2 to 5 options of at most") && skill.contains("at most 1000 characters"));
    assert!(skill.lines().count() < 170, "{} lines", skill.lines().count());
    let unlimited = text(&Setup::demo().boot().await.anonymous(), SKILL).await;
    assert!(!unlimited.contains("free polls a minute"));
    let free = Setup::demo().with("EP_BILLING", "off").boot().await;
    assert!(text(&free.anonymous(), SKILL).await.contains("does not charge"));
}

#[tokio::test]
async fn llms_full_contains_all_documentation() {
    let service = Setup::demo()
        .with("EP_STRIPE_SECRET_KEY", "sk_test_of_the_tests")
        .with("EP_STRIPE_WEBHOOK_SECRET", "whsec_test")
        .boot()
        .await;
    let full = text(&service.anonymous(), "/llms-full.txt").await;
    let mut code = false;
    let titles = full.lines().filter(|line| {
        code ^= line.trim_start().starts_with("```");
        !code && line.starts_with("# ")
    });
    assert_eq!(titles.count(), 1);
    for entry in ep_tools::TOOLS.iter() {
        assert!(full.contains(&format!("\n### {}\n", entry.spec.name)), "{}", entry.spec.name);
    }
    for words in ["\n## Errors\n", "\n## Clients\n", "\n## Webhooks\n", "| `rate_limited` |"] {
        assert!(full.contains(words), "{words}");
    }
    assert!(!full.contains("https://polls.example.com/") && !full.contains("\n---\n"));
}
