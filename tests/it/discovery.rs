//! Discovery documents as read by their clients (`tests/discovery/check.py`, installed by `scripts/install`), by
//! crawlers, by browsers and by attackers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ep_pages::documents::DOCUMENTS;
use ep_site::{Route, RouteKind};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::harness::{Client, Reply, Service, Setup};

const PUBLIC_URL: &str = "https://polls.example.com";

/// A service with every feature that documents describe.
fn setup() -> Setup {
    Setup::demo()
        .with("EP_CONTACT", "security@example.com")
        .with("EP_DOCUMENTATION_URL", "https://docs.example.com/polls")
        .with("EP_AUTH_ISSUER_URL", "https://login.example.com")
}

/// Returns the problems that `check.py` finds.
async fn complaints(asked: Value) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/discovery");
    let python = folder.join(".python/bin/python");
    assert!(python.exists(), "{} is not installed: run scripts/install", python.display());
    let mut process = Command::new(python)
        .arg(folder.join("check.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(asked.to_string().as_bytes()).await.unwrap();
    let output =
        tokio::time::timeout(Duration::from_mins(1), process.wait_with_output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn reader_libraries_find_no_problems() {
    let service =
        setup().with("EP_BASE_URL", PUBLIC_URL).with("EP_RATE_LIMIT_PUBLIC_PER_MINUTE", "600").boot().await;
    let documents: BTreeMap<&str, String> = DOCUMENTS
        .iter()
        .filter(|document| !(document.paths)(&service.site).is_empty())
        .filter_map(|document| {
            let bytes = service.site.document(document.name)?;
            Some((document.name, String::from_utf8(bytes.to_vec()).ok()?))
        })
        .collect();
    let robots = service.anonymous().get("/robots.txt").await;
    let headers: BTreeMap<&str, &str> = ["ratelimit", "ratelimit-policy", "content-usage"]
        .into_iter()
        .map(|name| (name, robots.header(name)))
        .collect();
    let fetched = json!({
        "/": true,
        "/sitemap.xml": true,
        "/.well-known/agent-card.json": true,
        "/api/mcp": true,
        "/api/agent-card": true,
        "/api/health": true,
        "/api/results/EP-20260101-0000000000": true,
        "/api/results/recent": false,
        "/api/results": false,
        "/api/keys": false,
        "/api/balance": false,
        "/api/poll": false,
        "/api/polls": false,
        "/api/auth/login": false,
        "/api/wallet/challenge": false,
        "/api/a2a/tasks": false,
        "/dashboard": false,
        "/login": true,
        "/login?return_to=%2Fdocs": true,
        "/healthz": false,
        "/readyz": false,
        "/results": true,
        "/results/EP-20260101-0000000000": true,
        "/models?q=free": true,
        "/how-sure": true,
    });
    let schemas = std::env::var("EP_SCHEMAS").ok();
    let asked = json!({
        "base_url": PUBLIC_URL, "documents": documents, "headers": headers, "robots": fetched, "schemas": schemas,
    });
    let wrong = complaints(asked.clone()).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    // The check detects a broken document.
    let mut broken = asked;
    broken["documents"]["robots"] = "User-agent: *\nAllow: /\n".into();
    broken["documents"]["security"] = "Contact: nobody\n".into();
    let wrong = complaints(broken).await;
    assert!(wrong.iter().any(|text| text.starts_with("robots: Another at /api/keys")), "{wrong:#?}");
    assert!(wrong.iter().any(|text| text.starts_with("security.txt")), "{wrong:#?}");
}

#[tokio::test]
async fn cards_and_catalogues_have_required_fields() {
    let service = setup().with("EP_BASE_URL", PUBLIC_URL).boot().await;
    let get = async |path: &str| service.anonymous().get(path).await.expect(200);
    for path in ["/api/mcp/server-card", "/.well-known/mcp/server-card.json"] {
        let card = get(path).await;
        assert_eq!(
            card["$schema"],
            "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
        );
        assert_eq!(card["name"], "com.example.polls/ensemble-poll");
        assert!((1..=100).contains(&card["description"].as_str().unwrap().len()));
        let remote = &card["remotes"][0];
        assert_eq!(
            (&remote["type"], &remote["url"]),
            (&json!("streamable-http"), &json!("https://polls.example.com/api/mcp"))
        );
        assert_eq!(remote["headers"][0]["isRequired"], false, "the issuer gives tokens");
        assert_eq!(card["serverInfo"]["name"], "ensemble-poll");
        assert_eq!(
            (&card["transport"]["endpoint"], card["capabilities"]["tools"].is_object()),
            (&remote["url"], true)
        );
    }
    let registered = get("/server.json").await;
    assert_eq!(registered["remotes"][0]["url"], "https://polls.example.com/api/mcp");
    let catalog = get("/.well-known/mcp/catalog.json").await;
    assert_eq!(catalog["entries"][0]["url"], "https://polls.example.com/api/mcp/server-card");
    let catalog = get("/.well-known/ai-catalog.json").await;
    assert_eq!(catalog["entries"][1]["identifier"], "urn:air:polls.example.com:a2a:ensemble-poll");
    let card = get("/api/agent-card").await;
    assert_eq!(card["version"], "1.0.0");
    for interface in ["rest", "mcp", "a2a"] {
        assert!(
            card["interfaces"][interface]["url"].as_str().unwrap().starts_with(PUBLIC_URL),
            "{interface}"
        );
    }
    let methods: Vec<&str> = card["authentication"]["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|method| method["type"].as_str().unwrap())
        .collect();
    assert_eq!(methods, ["none", "api_key", "session_cookie", "siwe", "oauth2"]);
    let linkset = get("/.well-known/api-catalog").await;
    let anchors: Vec<&Value> =
        linkset["linkset"].as_array().unwrap().iter().map(|of| &of["anchor"]).collect();
    assert!(anchors.contains(&&json!("https://polls.example.com/api/mcp")), "{anchors:?}");
    for of in linkset["linkset"].as_array().unwrap() {
        for (relation, targets) in of.as_object().unwrap().iter().filter(|(name, _)| *name != "anchor") {
            assert!(targets[0]["href"].is_string(), "{relation}");
        }
    }
}

#[tokio::test]
async fn every_route_is_described_with_cost_and_latency() {
    let service = Setup::demo().boot().await;
    let described = service.anonymous().get("/api/routing-descriptions.json").await.expect(200);
    let described = described["routes"].as_array().unwrap();
    let paths = service.anonymous().get("/api/openapi.json").await.expect(200)["paths"].clone();
    for of in described {
        assert!(of["cost"]["class"].is_string() && of["latency"]["at_most_ms"].is_u64(), "{of}");
        let path = of["path"].as_str().unwrap();
        let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
        assert!(paths[path].is_object(), "{path} is not in the OpenAPI description");
    }
    for route in &service.site.routes {
        let (method, path) = (json!(route.method.as_str()), json!(route.path));
        let of_path = |of: &Value| path_of(of) == unnamed(&route.path);
        let known = described.iter().any(|of| of["method"] == method && of_path(of));
        let same = described.iter().any(|of| of["name"] == route.name && of["kind"] == "document");
        let unconfigured =
            route.kind == RouteKind::Document && service.anonymous().get(&route.path).await.status == 404;
        let described =
            known || same || unconfigured || matches!(route.kind, RouteKind::Webhook | RouteKind::Form);
        assert!(described, "{method} {path}");
    }
    let poll = described.iter().find(|of| of["name"] == "poll_question").unwrap();
    assert_eq!(
        (&poll["cost"]["class"], &poll["cost"]["at_most_default_usd"]),
        (&json!("metered"), &json!(1.0))
    );
    assert_eq!(poll["latency"], json!({ "class": "seconds_to_minutes", "at_most_ms": 180_000 }));
    assert!(poll["cost"]["estimate_url"].as_str().unwrap().ends_with("/api/poll/estimate"));
    let health = described.iter().find(|of| of["path"] == "/api/health").unwrap();
    assert_eq!((&health["cost"]["usd"], &health["latency"]["class"]), (&json!(0), &json!("instant")));
}

/// Returns a route's path with unnamed placeholders.
fn path_of(described: &Value) -> String {
    unnamed(described["path"].as_str().unwrap())
}

/// Returns a path with unnamed placeholders.
fn unnamed(path: &str) -> String {
    path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part }).collect::<Vec<_>>().join("/")
}

/// Returns this service's URLs in a text, without placeholders.
fn own_urls(text: &str, base_url: &str) -> BTreeSet<String> {
    let ends = |c: char| c.is_whitespace() || "\"'<>()`\\,;".contains(c);
    text.split(base_url)
        .skip(1)
        .map(|rest| rest.split(ends).next().unwrap().trim_end_matches(['.', ':']).to_owned())
        .filter(|path| path.is_empty() || path.starts_with('/'))
        .collect()
}

#[tokio::test]
async fn every_link_in_every_document_resolves() {
    let service = setup().boot().await;
    let client = service.anonymous();
    let mut found: BTreeMap<String, &str> = BTreeMap::new();
    let mut read = 0;
    for document in DOCUMENTS {
        for path in (document.paths)(&service.site).iter().filter(|path| !path.contains('{')) {
            for accept in ["*/*", "text/markdown"] {
                let reply = client.send(client.request(Method::GET, path).header("accept", accept)).await;
                if service.site.document(document.name).is_none() {
                    assert_eq!(reply.status, 404, "{path}");
                    continue;
                }
                assert_eq!(reply.status, 200, "{path}");
                let links = own_urls(&reply.text, &service.url)
                    .into_iter()
                    .chain(own_urls(reply.header("link"), &service.url));
                found.extend(links.map(|link| (link, document.name)));
                read += 1;
            }
        }
    }
    assert!(read > 30 && found.len() > 20, "{read} {}", found.len());
    for (path, document) in found {
        // Skip URLs of commands, which have separate tests, and of an example's poll.
        if path.contains('$') || path.contains("7KQ2M4X9TB") {
            continue;
        }
        // Readers fill in templates.
        if path.contains('{') {
            let known = service.site.routes.iter().any(|route| unnamed(&route.path) == unnamed(&path));
            assert!(known, "{document} names {path}, which is no route");
            continue;
        }
        let reply = client.get(&path).await;
        // Some take another method, a credential or more input.
        let redirects = |route: &&Route| route.kind == RouteKind::Redirect && route.path == path;
        let is_redirect = reply.status == 302 && service.site.routes.iter().any(|route| redirects(&route));
        let is_there = is_redirect || matches!(reply.status, 200 | 400 | 401 | 405);
        assert!(is_there, "{document} links {path}: {} {}", reply.status, reply.text);
    }
}

#[tokio::test]
async fn start_page_links_to_every_document() {
    let service = setup().with("EP_OPERATOR_NAME", "A <script>alert(1)</script> & Co").boot().await;
    let client = service.anonymous();
    let page = client.get("/").await;
    let link = page.header("link");
    for (relation, path) in
        [("api-catalog", "/.well-known/api-catalog"), ("status", "/api/health"), ("alternate", "/index.md")]
    {
        let wanted = format!("<{}{path}>; rel=\"{relation}\"", service.url);
        assert!(link.contains(&wanted), "{wanted} in {link}");
    }
    assert!(page.header("content-security-policy").starts_with("default-src 'none'; script-src 'self'; "));
    assert!(page.text.contains("curl ") && page.text.contains("/api/mcp") && !page.text.contains("<script>"));
    assert!(page.text.contains("Agreement is not proof"));
    assert!(page.headers.get("x-robots-tag").is_none());
    let catalog = client.send(client.request(Method::HEAD, "/.well-known/api-catalog")).await;
    let own = format!("<{}/.well-known/api-catalog>; rel=\"api-catalog\"", service.url);
    assert_eq!(catalog.header("link"), own);
}

#[tokio::test]
async fn pages_are_served_as_markdown_on_request() {
    let service = setup().boot().await;
    let client = service.anonymous();
    let asked = async |path: &str, accept: &str| {
        let reply = client.send(client.request(Method::GET, path).header("accept", accept)).await;
        assert!(
            reply.headers.get_all("vary").iter().any(|vary| vary.to_str().unwrap().starts_with("accept")),
            "{path}: {:?}",
            reply.headers
        );
        reply
    };
    for path in [
        "/",
        "/api/mcp",
        "/docs",
        "/docs/clients",
        "/docs/accounts",
        "/api/docs",
        "/models",
        "/how-sure",
        "/about",
        "/login",
    ] {
        for accept in ["text/markdown", "text/markdown, text/html;q=0.9", "text/markdown, */*"] {
            let reply = asked(path, accept).await;
            assert_eq!(
                (reply.status, reply.header("content-type")),
                (200, "text/markdown; charset=utf-8"),
                "{path} {accept}"
            );
            assert!(reply.text.starts_with("# "), "{path}: {}", reply.text);
        }
        for accept in
            ["text/html", "text/html, text/markdown;q=0.5", "text/html,application/xhtml+xml,*/*;q=0.8"]
        {
            let reply = asked(path, accept).await;
            assert_eq!(
                (reply.status, reply.header("content-type")),
                (200, "text/html; charset=utf-8"),
                "{path} {accept}"
            );
            assert_ne!(reply.text, asked(path, "text/markdown").await.text);
        }
    }
    assert_eq!(asked("/", "*/*").await.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(asked("/", "text/markdown").await.text, client.get("/index.md").await.text);
    assert_eq!(asked("/api/mcp", "text/event-stream").await.status, 405);
}

#[tokio::test]
async fn server_card_is_readable_by_every_website() {
    let service = setup().boot().await;
    let client = service.anonymous();
    let elsewhere = "https://inspector.example";
    for path in ["/api/mcp/server-card", "/.well-known/mcp/server-card.json", "/.well-known/ai-catalog.json"]
    {
        let plain = client.get(path).await;
        assert_eq!(plain.header("access-control-allow-origin"), "*", "{path}");
        assert_eq!(plain.header("access-control-allow-methods"), "GET", "{path}");
        assert_eq!(plain.header("access-control-allow-headers"), "Content-Type, If-None-Match", "{path}");
        let read = client.send(client.request(Method::GET, path).header("origin", elsewhere)).await;
        assert_eq!((read.status, allows(&read, elsewhere)), (200, true), "{path}");
        assert!(read.header("access-control-expose-headers").to_lowercase().contains("etag"));
        let preflight = client.request(Method::OPTIONS, path).header("origin", elsewhere);
        let preflight = preflight.header("access-control-request-method", "GET");
        let preflight =
            client.send(preflight.header("access-control-request-headers", "if-none-match")).await;
        assert_eq!((preflight.status, allows(&preflight, elsewhere)), (200, true), "{path}");
        assert!(preflight.header("access-control-allow-headers").contains("if-none-match"));
    }
    for (method, path) in
        [(Method::POST, "/api/poll"), (Method::GET, "/api/health"), (Method::POST, "/api/mcp")]
    {
        let refused = client.send(client.request(method, path).header("origin", elsewhere)).await;
        assert_eq!(refused.status, 403, "{path}");
    }
}

fn allows(reply: &Reply, origin: &str) -> bool {
    let allowed = reply.header("access-control-allow-origin");
    allowed == "*" || allowed == origin
}

#[tokio::test]
async fn robots_excludes_only_the_api() {
    let service = setup().boot().await;
    let client = service.anonymous();
    let html = |path: &str| client.request(Method::GET, path).header("accept", "text/html");
    for path in
        ["/api/health", "/api/agent-card", "/api/routing-descriptions.json", "/api/profiles", "/api/keys"]
    {
        assert_eq!(client.send(html(path)).await.header("x-robots-tag"), "noindex", "{path}");
    }
    for path in ["/", "/index.md", "/robots.txt", "/sitemap.xml", "/api/mcp", "/.well-known/agent-card.json"]
    {
        assert_eq!(client.send(html(path)).await.header("x-robots-tag"), "", "{path}");
    }
}

#[tokio::test]
async fn content_usage_follows_the_settings() {
    let setup = Setup::demo().with("EP_CONTENT_AI_TRAIN", "true").with("EP_CONTENT_SEARCH", "false");
    let robots = setup.boot().await.anonymous().get("/robots.txt").await;
    let text = &robots.text;
    assert_eq!(
        text.matches("\nContent-Signal: search=no, ai-input=yes, ai-train=yes\n").count(),
        3,
        "{text}"
    );
    assert_eq!(robots.header("content-usage"), "search=n, train-ai=y");
}

#[tokio::test]
async fn security_txt_never_expires_while_the_service_runs() {
    let service = setup().seeded(1).boot().await;
    let (client, clock) = (service.anonymous(), service.clock.as_ref().unwrap());
    let mut seen = BTreeSet::new();
    for _ in 0..20 {
        let reply = client.get("/.well-known/security.txt").await;
        let expires = reply.text.lines().find_map(|line| line.strip_prefix("Expires: ")).unwrap().to_owned();
        assert!(expires > service.app.ports.clock.now().to_string(), "{expires}");
        let tag = client.request(Method::GET, "/security.txt").header("if-none-match", reply.header("etag"));
        assert_eq!(client.send(tag).await.status, 304);
        seen.insert(expires);
        clock.advance(Duration::from_hours(24 * 45));
    }
    assert!(seen.len() > 15, "{seen:?}");
}

/// Sends a request line unchanged, because clients would normalize the path.
async fn raw(service: &Service, path: &str) -> String {
    let address = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn only_routes_of_the_tables_are_served() {
    let service = setup().boot().await;
    for path in [
        "/.well-known/../robots.txt",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/.well-known/%2e%2e/robots.txt",
        "/.well-known/..%2frobots.txt",
        "/..%5c..%5cetc/passwd",
        "//robots.txt",
        "/.well-known//security.txt",
        "/.well-known/",
        "/.well-known",
        "/.git/config",
        "/.env",
        "/.ssh/id_rsa",
        "/.npmrc",
        "/robots.txt%00",
        "/%00",
        "/%",
        "/%zz",
        "/.",
        "/./robots.txt",
        "/robots.txt;a=b",
        "/ROBOTS.TXT",
        "/logo.svg/..",
        "/well-known/owner.json",
        "/Cargo.toml",
    ] {
        let reply = raw(&service, path).await;
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap();
        assert!(status == "404" || status == "400", "{path}: {reply}");
        let body: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{path}: {reply}"));
        assert!(body["error"].is_string() && body.as_object().unwrap().len() == 1, "{path}: {body}");
    }
    let client: Client = service.anonymous();
    assert_eq!(client.get("/robots.txt?a=b").await.status, 200, "a query changes nothing");
}
