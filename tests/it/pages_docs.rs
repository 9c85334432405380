//! The documentation pages: completeness, links and checks in a real browser.

use std::collections::{BTreeMap, BTreeSet};

use ep_pages::documents::DOCUMENTS;
use ep_site::names::{API_REFERENCE, DOCS, OPERATION_PAGE};
use serde_json::json;

use crate::harness::{Client, Reply, Service, Setup};
use crate::pages::{walked, walked_by};

/// Returns the paths of the guides.
fn guides(service: &Service) -> Vec<String> {
    let guides = DOCUMENTS.iter().filter(|document| document.listed && document.name.starts_with("guide_"));
    guides.flat_map(|document| (document.paths)(&service.site)).collect()
}

fn path(service: &Service, name: &str) -> String {
    service.site.url_of(name).unwrap()[service.url.len()..].to_owned()
}

#[tokio::test]
async fn documentation_passes_the_browser_checks() {
    let service = Setup::demo().boot().await;
    let docs = path(&service, DOCS);
    let mut paths = vec![docs.clone()];
    paths.extend(guides(&service));
    paths.extend([path(&service, "mcp_page"), "/".to_owned(), format!("{docs}?q=poll")]);
    assert!(paths.len() >= 11, "{paths:?}");
    walked(&service, json!({ "paths": paths })).await;
}

#[tokio::test]
async fn operations_pass_the_browser_checks() {
    let service = Setup::demo().boot().await;
    let mut paths = vec![path(&service, API_REFERENCE)];
    paths.extend(["poll_question", "watch_result", "list_models"].map(|name| operation_page(&service, name)));
    walked(&service, json!({ "paths": paths })).await;
}

#[tokio::test]
async fn documentation_is_searched_and_read_in_a_browser() {
    let service = Setup::demo().boot().await;
    let pages = ["poll_question", "get_poll_result"].map(|name| operation_page(&service, name));
    let given = json!({ "docs": path(&service, DOCS), "operations": pages });
    walked_by("docs.mjs", &service, given, |_| ()).await;
}

/// Returns the path of the page of an operation.
fn operation_page(service: &Service, name: &str) -> String {
    service.site.links.url(OPERATION_PAGE, &[("operation", name)])[service.url.len()..].to_owned()
}

#[tokio::test]
async fn every_operation_has_a_page_and_unknown_ones_are_not_found() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let sitemap = client.get("/sitemap.xml").await.text;
    for entry in ep_tools::TOOLS.iter() {
        let spec = &entry.spec;
        let own = operation_page(&service, spec.name);
        if !service.site.settings.offer.has(entry) {
            client.get(&own).await.refused(404);
            continue;
        }
        let page = read(&client, &own).await;
        for rest in entry.bindings() {
            assert!(page.contains(&format!("<span class=\"tag\">{}</span>", rest.method.as_str())), "{own}");
        }
        for language in ["curl", "python", "typescript"] {
            assert!(page.contains(&format!("id=\"lang-{language}\"")), "{own}: {language}");
        }
        for (name, _) in entry.input().as_value()["properties"].as_object().into_iter().flatten() {
            assert!(page.contains(&format!("<dt><code>{name}</code>")), "{own}: {name}");
        }
        for command in ["ep admin", "ep call", "EP_KEYS"] {
            assert!(!page.contains(command), "{own}: {command}");
        }
        assert!(sitemap.contains(&format!("{own}</loc>")), "{own}");
        let text = client.get(&format!("{own}.md")).await;
        assert_eq!(text.header("content-type"), "text/markdown; charset=utf-8");
        assert!(text.text.starts_with(&format!("# {}\n", spec.name)), "{}", text.text);
        let asked = client.request(reqwest::Method::GET, &own).header("accept", "text/markdown");
        assert_eq!(client.send(asked).await.text, text.text, "{own}");
        let known = client.request(reqwest::Method::GET, &format!("{own}.md"));
        let known = client.send(known.header("if-none-match", text.header("etag"))).await;
        assert_eq!(known.status, 304);
    }
    for unknown in ["nothing", "poll_question.html", "%2e%2e", "poll%00", &"x".repeat(500)] {
        client.get(&format!("/api/docs/{unknown}")).await.refused(404);
    }
}

#[tokio::test]
async fn search_finds_passages_of_every_kind() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let docs = path(&service, DOCS);
    let found = async |query: &str| {
        let page = read(&client, &format!("{docs}?q={query}")).await;
        page.split_once("id=\"results\"").unwrap().1.split_once("</ol>").unwrap().0.to_owned()
    };
    for (query, url, kind) in [
        ("confidence", "/how-sure", "Page"),
        ("embed", "/docs/sharing#embed-a-result", "Guide"),
        ("privacy", "/privacy", "Page"),
        ("get_poll_result", "/api/docs/get_poll_result", "Operation"),
        ("insufficient_balance", "/docs/errors#insufficient_balance", "Error"),
        ("WEBHOOK%20signature", "/docs/webhooks#verifying-the-signature", "Guide"),
    ] {
        let page = found(query).await;
        assert!(page.contains(&format!("<a href=\"{url}")), "{query}: {page}");
        assert!(page.contains(&format!("<span>{kind}</span>")) && page.contains("<mark>"), "{query}: {page}");
    }
    let nothing = found("zzzz%20%3Cscript%3E").await;
    assert!(nothing.contains("Nothing found") && !nothing.contains("<mark>"), "{nothing}");
    let long = format!("{docs}?q={}", "poll%20".repeat(400));
    assert!(read(&client, &long).await.contains("results</p>"));
    let asked =
        client.request(reqwest::Method::GET, &format!("{docs}?q=embed")).header("accept", "text/markdown");
    let text = client.send(asked).await;
    assert!(text.text.contains("/docs/sharing#embed-a-result): "), "{}", text.text);
}

#[tokio::test]
async fn documentation_names_no_commands_of_the_operator() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    for page in guides(&service) {
        let text = client.get(&format!("{page}.md")).await.text;
        for command in [
            "ep admin",
            "ep serve",
            "ep call",
            "cargo ",
            "scripts/",
            "EP_BASE_URL",
            "EP_SECRET",
            "EP_WEBHOOK_ALLOWED",
        ] {
            assert!(!text.contains(command), "{page}: {command}");
        }
        assert!(!text.contains("<!--"), "{page}");
    }
}

/// Returns the link targets of a page, with their fragments.
fn links(page: &str) -> BTreeSet<String> {
    let targets = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    targets.map(|target| target.replace("&amp;", "&")).collect()
}

/// Requests a path like a browser that follows a link.
async fn open(client: &Client, path: &str) -> Reply {
    client.send(client.request(reqwest::Method::GET, path).header("accept", "text/html,*/*;q=0.8")).await
}

async fn read(client: &Client, path: &str) -> String {
    let reply = open(client, path).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, "text/html; charset=utf-8"), "{path}");
    let policy = reply.header("content-security-policy");
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{path}: {policy}");
    for markup in [" style=", "<style", "<script>"] {
        assert!(!reply.text.contains(markup), "{path}: {markup}");
    }
    reply.text
}

#[tokio::test]
async fn documentation_links_resolve() {
    let service = Setup::demo().with("EP_AUTH_ISSUER_URL", "https://login.example.com").boot().await;
    let client = service.anonymous();
    let mut pages = vec![path(&service, DOCS), path(&service, API_REFERENCE)];
    pages.extend(guides(&service));
    pages.extend(["poll_question", "watch_result"].map(|name| operation_page(&service, name)));
    let mut seen = 0;
    for page in &pages {
        let mut pages_read: BTreeMap<String, (u16, String)> = BTreeMap::new();
        let text = read(&client, page).await;
        assert!(!text.contains("polls.example.com"), "{page} names the address of an example");
        for target in links(&text) {
            let own = target.strip_prefix(service.url.as_str()).unwrap_or(&target);
            if own.starts_with("https://") {
                continue;
            }
            let (to, fragment) = own.split_once('#').unwrap_or((own, ""));
            if !pages_read.contains_key(to) {
                let reply = open(&client, if to.is_empty() { page } else { to }).await;
                pages_read.insert(to.to_owned(), (reply.status, reply.text));
            }
            let (status, there) = &pages_read[to];
            // The account page redirects to the sign-in page.
            let leads = *status == 200 || (*status == 303 && to == "/dashboard");
            assert!(leads, "{page} links {target}: {status}");
            let is_there = fragment.is_empty() || there.contains(&format!(" id=\"{fragment}\""));
            assert!(is_there, "{page} links {target}");
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

#[tokio::test]
async fn documentation_lists_every_operation_and_guide() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let docs = path(&service, DOCS);
    let (page, twin) = (read(&client, &docs).await, client.get(&format!("{docs}.md")).await.text);
    for entry in ep_tools::TOOLS.iter() {
        let spec = &entry.spec;
        if !service.site.settings.offer.has(entry) {
            assert!(!page.contains(&format!("<code>{}</code>", spec.name)), "{}", spec.name);
            continue;
        }
        assert!(page.contains(&format!("<code>{}</code>", spec.name)), "{}", spec.name);
        assert!(page.contains(&format!("href=\"{}\"", operation_page(&service, spec.name))), "{}", spec.name);
        assert!(twin.contains(&format!("(`{}`): {}", spec.name, spec.summary)), "{}", spec.name);
    }
    for guide in guides(&service) {
        assert!(
            page.contains(&format!("href=\"{guide}\"")) && twin.contains(&format!("{guide})")),
            "{guide}"
        );
        let text = client.get(&format!("{guide}.md")).await;
        assert_eq!(text.header("content-type"), "text/markdown; charset=utf-8");
        let asked = client.request(reqwest::Method::GET, &guide).header("accept", "text/markdown");
        assert_eq!(client.send(asked).await.text, text.text, "{guide}");
    }
    let sitemap = client.get("/sitemap.xml").await.text;
    assert!(sitemap.contains(&format!("{docs}</loc>")), "{sitemap}");
}
