//! The documentation pages: completeness, links and checks in a real browser.

use std::collections::{BTreeMap, BTreeSet};

use ensemble_poll::documents::DOCUMENTS;
use ensemble_poll::site::names::{API_REFERENCE, DOCS};
use serde_json::json;

use crate::harness::{Client, Reply, Service, Setup};
use crate::pages::walked;

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
    paths.extend([path(&service, "mcp_page"), "/".to_owned()]);
    assert!(paths.len() >= 11, "{paths:?}");
    walked(&service, json!({ "paths": paths, "searched": [[docs, "Wallet key"]] })).await;
}

#[tokio::test]
async fn api_reference_passes_the_browser_checks() {
    let service = Setup::demo().boot().await;
    let reference = path(&service, API_REFERENCE);
    walked(&service, json!({ "paths": [reference], "searched": [[reference, "idempotency-key poll"]] }))
        .await;
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
    let mut pages = vec![path(&service, DOCS)];
    pages.extend(guides(&service));
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
    let reference = path(&service, API_REFERENCE);
    for entry in ep_tools::TOOLS.iter() {
        let spec = &entry.spec;
        if !service.site.settings.offer.has(entry) {
            assert!(!page.contains(&format!("<code>{}</code>", spec.name)), "{}", spec.name);
            continue;
        }
        assert!(page.contains(&format!("<code>{}</code>", spec.name)), "{}", spec.name);
        assert!(twin.contains(&format!("(`{}`): {}", spec.name, spec.summary)), "{}", spec.name);
    }
    assert!(page.contains(&format!("href=\"{reference}#poll_question\"")));
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
