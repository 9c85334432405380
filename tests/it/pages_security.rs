//! Security rules of every page: its headers, and no markup from request data.

use ep_kernel::method::Method as Known;
use ep_site::names::EMBED;
use ep_site::{Route, RouteKind};
use reqwest::Method;
use serde_json::json;

use crate::harness::{Service, Setup};

const SCRIPT: &str = "<script>alert(1)</script>";

async fn service() -> Service {
    let limits = ["PUBLIC", "RESULTS", "DEFAULT"].map(|class| match class {
        "PUBLIC" => "EP_RATE_LIMIT_PUBLIC_PER_MINUTE",
        "RESULTS" => "EP_RATE_LIMIT_RESULTS_PER_MINUTE",
        _ => "EP_RATE_LIMIT_PER_MINUTE",
    });
    limits.into_iter().fold(Setup::demo(), |setup, limit| setup.with(limit, "0")).boot().await
}

/// Returns the pages and documents, each with an existing URL.
async fn addresses(service: &Service) -> Vec<(&'static str, String)> {
    let asked = json!({ "question": format!("Is {SCRIPT} a fruit?"), "options": ["Yes", "\"><img src=x>"] });
    let poll = service.anonymous().post("/api/poll", &asked).await.expect(200);
    let id = poll["poll_id"].as_str().unwrap();
    let said = json!({ "poll_id": id, "outcome_correct": true, "notes": format!("{SCRIPT}<img src=x>") });
    service.user().await.post("/api/feedback", &said).await.expect(201);
    let read = |route: &&Route| {
        let shown = matches!(route.kind, RouteKind::Page | RouteKind::Document | RouteKind::Redirect);
        route.method == Known::Get && shown
    };
    let routes = service.site.routes.iter().filter(read);
    routes.map(|route| (route.name, route.path.replace("{poll_id}", id))).collect()
}

#[tokio::test]
async fn pages_have_security_headers() {
    let service = service().await;
    let client = service.anonymous();
    let mut seen = 0;
    for (name, path) in addresses(&service).await {
        let page = client.send(client.request(Method::GET, &path).header("accept", "text/html")).await;
        if !page.header("content-type").starts_with("text/html") {
            continue;
        }
        seen += 1;
        let policy = page.header("content-security-policy");
        let frames = if name == EMBED { "frame-ancestors *" } else { "frame-ancestors 'none'" };
        assert!(policy.contains("default-src 'none'") && policy.contains(frames), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(page.header("x-content-type-options"), "nosniff", "{path}");
        assert!(
            !page.header("referrer-policy").is_empty() && !page.header("permissions-policy").is_empty(),
            "{path}"
        );
        // A title, a description, and no inline style or script.
        for part in ["<title>", "<meta name=\"description\" content=\"", "<html lang=\"en\">"] {
            assert_eq!(page.text.matches(part).count(), 1, "{path}: {part}");
        }
        for part in ["style=\"", "<style", " onclick", "javascript:"] {
            assert!(!page.text.contains(part), "{path}: {part}");
        }
    }
    assert!(seen >= 10, "{seen}");
}

#[tokio::test]
async fn request_data_never_becomes_markup() {
    let service = service().await;
    let client = service.anonymous();
    let hostile = format!("\"'>{SCRIPT}");
    let encoded: String = url::form_urlencoded::byte_serialize(hostile.as_bytes()).collect();
    let names = [
        "q",
        "sort",
        "option",
        "again",
        "preset",
        "page",
        "url",
        "return_to",
        "notice",
        "code",
        "state",
        "error",
    ];
    let query = names.map(|name| format!("{name}={encoded}")).join("&");
    for (_, path) in addresses(&service).await {
        for address in [path.clone(), format!("{path}?{query}"), format!("{path}/{encoded}")] {
            let request = client.request(Method::GET, &address).header("accept", "text/html,*/*;q=0.5");
            let headers =
                ["referer", "user-agent", "accept-language", "x-forwarded-host", "x-request-id", "cookie"];
            let request = headers.into_iter().fold(request, |request, name| request.header(name, &hostile));
            let page = client.send(request).await;
            assert!(page.status < 500 || page.status == 503, "{address}: {}", page.status);
            if page.header("content-type").starts_with("text/html") {
                let left = page.text.replace("\\u003cscript", "");
                assert!(!left.contains(SCRIPT) && !left.contains("<img src=x>"), "{address}");
                assert!(!left.contains("x-forwarded"), "{address}");
            }
            assert!(!page.header("location").contains('<'), "{address}");
        }
    }
}
