//! HTML pages: their content, their access rules, and checks in a real browser (`tests/pages`).

use std::path::Path;
use std::process::Stdio;

use ep_polling::MicroUsd;
use ep_upstream::testing::Script;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::harness::{Client, Reply, Service, Setup, node, question};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async fn get(client: &Client, path: &str, headers: &[(&str, &str)]) -> Reply {
    let request = client.request(Method::GET, path);
    client.send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
}

async fn asked(client: &Client, question: &str, options: &[&str]) -> String {
    let reply =
        client.post("/api/poll", &json!({ "question": question, "options": options })).await.expect(200);
    reply["poll_id"].as_str().unwrap().to_owned()
}

/// Runs the browser checks of every page.
pub async fn walked(service: &Service, given: Value) {
    walked_by("check.mjs", service, given, |_| ()).await;
}

/// Runs a file of browser checks. `on_line` gets the lines that it prints on the way.
pub async fn walked_by(check: &str, service: &Service, given: Value, mut on_line: impl FnMut(&str)) {
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages").join(check);
    let mut command = Command::new(node());
    command.arg(check).args([&service.url, &given.to_string()]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut walk = command.kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(walk.stdout.take().unwrap()).lines();
    let mut text = String::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        on_line(&line);
        text.extend([&line, "\n"]);
    }
    let ended = walk.wait_with_output().await.unwrap();
    text.push_str(&String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success() && text.contains("checks hold"), "{text}");
}

#[tokio::test]
async fn pages_pass_the_browser_checks() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let plain = asked(&client, "Which drink suits a long meeting best?", &["Tea", "Water", "Coffee"]).await;
    let script = "<script>alert(1)</script>";
    let right_to_left =
        asked(&client, &format!("ما هي عاصمة أستراليا؟ {script}"), &["سيدني", "كانبرا"]).await;
    let image = "\"><img src=x onerror=alert(1)>";
    let long =
        asked(&client, &format!("{} 👩‍👩‍👧‍👦 ok?", "W".repeat(200)), &["a".repeat(49).as_str(), image]).await;
    let page = |id: &str| format!("/results/{id}");
    let embedded = format!("/embed/{plain}");
    let mut paths =
        vec![page(&plain), page(&right_to_left), page(&long), page("EP-20260101-0000000000"), embedded];
    paths.extend(
        [
            "/",
            "/login?return_to=/dashboard",
            "/models",
            "/models?q=free",
            "/how-sure",
            "/calibration",
            "/results",
            "/about",
            "/privacy",
            "/terms",
        ]
        .map(str::to_owned),
    );
    walked(
        &service,
        json!({ "paths": paths, "hostile": [[page(&right_to_left), script], [page(&long), image]] }),
    )
    .await;
}

#[tokio::test]
async fn lighthouse_reports_no_problems() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let id = asked(&client, "Which drink suits a long meeting best?", &["Tea", "Water"]).await;
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/lighthouse.mjs");
    let page = format!("/results/{id}");
    // scripts/long/lighthouse runs it on every page.
    let paths = ["/models", "/docs/start"];
    let given = json!({ "entrances": ["/", page], "paths": paths }).to_string();
    let run = Command::new(node()).arg(check).args([&service.url, &given]).output().await.unwrap();
    let text = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
    assert!(run.status.success() && text.lines().count() >= paths.len() + 4, "{text}");
}

#[tokio::test]
async fn running_poll_is_followed_in_a_browser() {
    let script = Script { held: true, ..Script::divided_panel(40) };
    let patient = [("EP_UPSTREAM_TIMEOUT_MS", "170000"), ("EP_POLL_DEADLINE_MS", "180000")];
    let setup = patient.iter().fold(Setup::scripted(script), |setup, (name, value)| setup.with(name, *value));
    let service = setup.boot().await;
    let client = service.user().await;
    let started =
        client.post("/api/polls", &question(json!({ "confidence_threshold": 1 }))).await.expect(202);
    let id = started["poll_id"].as_str().unwrap();
    let upstream = service.upstream.as_ref().unwrap();
    let given = json!({ "paths": [format!("/results/{id}")], "live": id });
    walked_by("check.mjs", &service, given, |line| match line {
        "the running poll is followed" => upstream.release(5),
        "the running poll has grown" => upstream.release(1000),
        _ => {}
    })
    .await;
}

#[tokio::test]
async fn poll_has_a_page_markdown_and_votes() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let poll = client.poll(json!({ "options": ["Ja | nein", "=1+1"] })).await.expect(200);
    let path = format!("/results/{}", poll["poll_id"].as_str().unwrap());
    let page = client.get(&path).await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(
        page.text.contains("Ja | nein")
            && page.text.contains("Simulated votes say nothing about real models")
    );
    assert!(page.text.contains("<title>Simulated voters: "), "{}", page.text);
    for hidden in ["estimated_cost", "0.000", "max_cost"] {
        assert!(!page.text.contains(hidden), "{hidden}");
    }
    let policy = page.header("content-security-policy");
    assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
    // A browser must not show a deleted poll from its cache.
    assert_eq!(page.header("cache-control"), "public, max-age=0, must-revalidate, s-maxage=86400");
    let again = get(&client, &path, &[("if-none-match", page.header("etag"))]).await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));

    let negotiated = get(&client, &path, &[("accept", "text/markdown")]).await;
    let twin = client.get(&format!("{path}.md")).await;
    assert_eq!((twin.status, &negotiated.text), (200, &twin.text));
    assert!(twin.text.contains("| Ja \\| nein |"), "{}", twin.text);

    let none = client.get(&format!("{path}?option=9")).await;
    assert!(none.text.contains("No vote matches this filter.") && none.text.contains("class=\"filter\""));

    let votes = client.get(&format!("{path}.csv")).await;
    assert_eq!(votes.header("content-type"), "text/csv; charset=utf-8");
    let mut lines = csv::Reader::from_reader(votes.text.as_bytes());
    assert_eq!(lines.headers().unwrap().get(2), Some("chosen_option"));
    let chosen: Vec<String> = lines.records().map(|line| line.unwrap()[2].to_owned()).collect();
    let result = client.get(&format!("/api{path}")).await.expect(200);
    assert_eq!(chosen.len(), result["votes"].as_array().unwrap().len());
    // Spreadsheets must not evaluate user text as a formula.
    assert!(chosen.iter().all(|option| ["Ja | nein", "'=1+1", ""].contains(&option.as_str())), "{chosen:?}");
}

#[tokio::test]
async fn only_browsers_are_redirected_to_the_page() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let id = asked(&client, "Is a hot dog a sandwich?", &["Yes", "No"]).await;
    let api = format!("/api/results/{id}");
    let sent = get(&client, &api, &[("accept", BROWSER)]).await;
    assert_eq!((sent.status, sent.header("location")), (303, format!("/results/{id}").as_str()));
    for accept in ["*/*", "application/json", "application/json, text/plain, */*"] {
        let result = get(&client, &api, &[("accept", accept)]).await;
        assert!(result.header("vary").to_lowercase().contains("accept"));
        assert_eq!(result.expect(200)["poll_id"], json!(id));
    }
}

#[tokio::test]
async fn private_poll_page_requires_its_owner() {
    let service = Setup::demo().boot().await;
    let (user, owner) = service.user_with(MicroUsd::new(5_000_000)).await;
    let poll = owner.poll(json!({ "private": true })).await.expect(200);
    let path = format!("/results/{}", poll["poll_id"].as_str().unwrap());
    let anyone = service.anonymous();
    let refused = get(&anyone, &path, &[("accept", BROWSER)]).await;
    assert_eq!((refused.status, refused.header("content-type")), (404, "text/html; charset=utf-8"));
    let (other, _) = service.user_with(MicroUsd::ZERO).await;
    for (user, status) in [(user, 200), (other, 404)] {
        let cookie = service.cookie(user).await;
        let page = get(&anyone, &path, &[("cookie", &cookie), ("accept", BROWSER)]).await;
        assert_eq!((page.status, page.header("cache-control")), (status, "no-store"));
    }
    // A session that has ended can read public polls.
    let public = asked(&anyone, "Is a hot dog a sandwich?", &["Yes", "No"]).await;
    let page = get(&anyone, &format!("/results/{public}"), &[("cookie", "ep_session=ended")]).await;
    assert_eq!(page.status, 200, "{}", page.text);
}

#[tokio::test]
async fn errors_are_pages_for_browsers_and_json_for_programs() {
    let service = Setup::demo().with("EP_RATE_LIMIT_FREE_PER_MINUTE", "1").boot().await;
    let client = service.anonymous();
    for (path, status, words) in [
        ("/nowhere", 404, "There is nothing at /nowhere"),
        ("/results/EP-20260101-0000000000", 404, "It may be private or deleted."),
        // Invalid ids may contain characters that change the displayed sentence.
        ("/results/%E2%80%AE%00x", 404, "It may be private or deleted."),
        ("/api/balance", 401, "/login?return_to=%2Fapi%2Fbalance"),
    ] {
        let page = get(&client, path, &[("accept", BROWSER)]).await;
        assert_eq!(
            (page.status, page.header("content-type")),
            (status, "text/html; charset=utf-8"),
            "{path}"
        );
        assert!(
            page.text.contains(words) && page.text.contains(page.header("x-request-id")),
            "{}",
            page.text
        );
        assert!(page.header("content-security-policy").contains("script-src 'self'"));
        let text = get(&client, path, &[("accept", "text/markdown")]).await;
        assert_eq!((text.status, text.header("content-type")), (status, "text/markdown; charset=utf-8"));
        assert!(text.text.starts_with("# "));
        client.get(path).await.refused(status);
        let problem = get(&client, path, &[("accept", "application/problem+json, text/html")]).await;
        assert_eq!(problem.header("content-type"), "application/problem+json");
    }
    asked(&client, "Is a hot dog a sandwich?", &["Yes", "No"]).await;
    let body = json!({ "question": "Is a hot dog a sandwich?", "options": ["Yes", "No"] });
    let limited = client.request(Method::POST, "/api/poll").header("accept", BROWSER).json(&body);
    let limited = client.send(limited).await;
    assert_eq!(limited.status, 429);
    assert!(limited.text.contains("id=\"countdown\" data-seconds=\""), "{}", limited.text);
}

#[tokio::test]
async fn people_are_led_to_pages_and_programs_to_operations() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let main = async |path: &str, status: u16| {
        let page = get(&client, path, &[("accept", BROWSER)]).await;
        assert_eq!(
            (page.status, page.header("content-type")),
            (status, "text/html; charset=utf-8"),
            "{path}"
        );
        page.text.split_once("<main").unwrap().1.split_once("</main>").unwrap().0.to_owned()
    };
    let near = main("/modls", 404).await;
    let first = near.split_once("<li>").unwrap().1;
    assert!(first.starts_with("<a href=\"/models\">Did you mean /models?</a>"), "{near}");
    assert!(!near.contains("agent-card") && near.contains("There is nothing at /modls</p>"), "{near}");
    // The nearest address is one of programs alone.
    for path in ["/api/blance", "/nowhere"] {
        let page = main(path, 404).await;
        assert!(!page.contains("Did you mean") && !page.contains("agent-card"), "{page}");
    }
    let text = client.get("/api/blance").await.refused(404);
    assert!(text.contains("/api/balance") && text.contains("agent-card"), "{text}");

    let wrong = main("/api/poll", 405).await;
    for shown in ["This address is for programs", "href=\"/\">Ask a question.", "href=\"/docs\">"] {
        assert!(wrong.contains(shown), "{shown}: {wrong}");
    }
    assert!(client.get("/api/poll").await.refused(405).contains("use"), "the response lists the methods");
}

#[tokio::test]
async fn the_owner_of_a_deleted_poll_is_led_to_the_other_polls() {
    let service = Setup::demo().boot().await;
    let (user, _) = service.user_with(MicroUsd::ZERO).await;
    let client = service.anonymous();
    let cookie = service.cookie(user).await;
    let path = "/results/EP-20260101-0000000000";
    let page = get(&client, path, &[("cookie", &cookie), ("accept", BROWSER)]).await;
    assert_eq!(page.status, 404);
    assert!(page.text.contains("You may have deleted it"), "{}", page.text);
    assert!(
        page.text.contains("href=\"/dashboard#polls\"") && !page.text.contains("Sign in, if"),
        "{}",
        page.text
    );
    for headers in [vec![], vec![("cookie", "ep_session=ended")]] {
        let headers = [headers, vec![("accept", BROWSER)]].concat();
        let page = get(&client, path, &headers).await;
        assert!(page.text.contains("Sign in, if") && !page.text.contains("deleted it"), "{}", page.text);
    }
}

#[tokio::test]
async fn poll_links_have_a_preview_picture() {
    let service = Setup::demo().boot().await;
    let (_, owner) = service.user_with(MicroUsd::new(5_000_000)).await;
    let client = service.anonymous();
    let path = format!("/results/{}", asked(&client, "Is a hot dog a sandwich?", &["Yes", "No"]).await);
    let page = client.get(&path).await;
    let address = format!("<meta property=\"og:image\" content=\"{}{path}.png\">", service.url);
    assert!(page.text.contains(&address), "{}", page.text);

    let raw = || client.request(Method::GET, &format!("{path}.png")).send();
    let (first, again) = (raw().await.unwrap(), raw().await.unwrap());
    assert_eq!(
        (first.status(), &first.headers()["content-type"]),
        (reqwest::StatusCode::OK, &"image/png".parse().unwrap())
    );
    let tag = first.headers()["etag"].to_str().unwrap().to_owned();
    let (first, again) = (first.bytes().await.unwrap(), again.bytes().await.unwrap());
    assert_eq!(first, again);
    // The signature, then the header with width and height (PNG, third edition, section 11.2.1).
    assert!(first.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_eq!((&first[16..20], &first[20..24]), (&1200_u32.to_be_bytes()[..], &630_u32.to_be_bytes()[..]));
    let known = get(&client, &format!("{path}.png"), &[("if-none-match", &tag)]).await;
    assert_eq!(known.status, 304);
    let drawn = client.get(&format!("{path}.svg")).await;
    assert_eq!(drawn.header("content-type"), "image/svg+xml");
    assert!(drawn.text.starts_with("<svg") && drawn.text.contains("sandwich"), "{}", drawn.text);

    let private = owner.poll(json!({ "private": true })).await.expect(200);
    let path = format!("/results/{}", private["poll_id"].as_str().unwrap());
    assert!(!owner.get(&path).await.text.contains("og:image"));
    for ending in [".png", ".svg", ".csv", ".md"] {
        client.get(&format!("{path}{ending}")).await.refused(404);
        assert_eq!(owner.get(&format!("{path}{ending}")).await.header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn public_poll_can_be_embedded_by_other_websites() {
    let service = Setup::demo().boot().await;
    let (user, owner) = service.user_with(MicroUsd::new(5_000_000)).await;
    let client = service.anonymous();
    let id = asked(&client, "Is a hot dog a sandwich?", &["Yes", "No"]).await;
    let page = client.get(&format!("/results/{id}")).await;
    let described = page.text.split("application/json+oembed\" href=\"").nth(1).unwrap();
    let described = described.split('"').next().unwrap().replace("&amp;", "&").replace(&service.url, "");
    let frame = client.get(&described).await.expect(200);
    assert_eq!((&frame["version"], &frame["type"]), (&json!("1.0"), &json!("rich")));
    let html = frame["html"].as_str().unwrap();
    let source = html.split('"').nth(1).unwrap().replace(&service.url, "");
    let (width, height) = (frame["width"].as_u64().unwrap(), frame["height"].as_u64().unwrap());
    assert!(html.contains(&format!("width=\"{width}\" height=\"{height}\"")), "{html}");
    let smaller =
        client.get(&format!("{described}&maxwidth=300&maxheight=200&format=json")).await.expect(200);
    assert_eq!((&smaller["width"], &smaller["height"]), (&json!(300), &json!(200)));
    let thumbnail = frame["thumbnail_url"].as_str().unwrap().replace(&service.url, "");
    assert_eq!(client.get(&thumbnail).await.header("content-type"), "image/png");

    let embedded = client.get(&source).await;
    let policy = embedded.header("content-security-policy");
    assert!(
        embedded.status == 200 && policy.contains("frame-ancestors *") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert_eq!(policy.matches("frame-ancestors").count(), 1);
    for (query, status) in [
        ("", 400),
        ("?url=https://evil.example/results/EP-20260101-0000000000", 404),
        (&format!("{}&format=xml", described.split_once("/oembed").unwrap().1), 400),
        (&format!("{}&maxwidth=wide", described.split_once("/oembed").unwrap().1), 400),
    ] {
        client.get(&format!("/oembed{query}")).await.refused(status);
    }

    // A poll that is gone has no frame to describe.
    let gone = format!("/oembed?url={}/results/EP-20260101-0000000000", service.url);
    client.get(&gone).await.refused(404);

    // A website that shows a deleted poll shows one line, not an error of the browser.
    let missing = get(&client, "/embed/EP-20260101-0000000000", &[("accept", BROWSER)]).await;
    assert_eq!(missing.status, 404);
    assert!(missing.header("content-security-policy").contains("frame-ancestors *"));
    let body = missing.text.split_once("<body>").unwrap().1;
    assert_eq!(body.matches("</h1>").count() + body.matches("<a ").count(), 1, "{body}");
    assert!(body.contains("find this poll. It may be private or deleted."), "{body}");

    // A private poll is never shown in a frame, not even to its owner.
    let private = owner.poll(json!({ "private": true })).await.expect(200);
    let path = format!("/embed/{}", private["poll_id"].as_str().unwrap());
    let cookie = service.cookie(user).await;
    for headers in [vec![], vec![("cookie", cookie.as_str())]] {
        get(&client, &path, &headers).await.refused(404);
    }
    for path in [path.as_str(), "/embed/nonsense"] {
        let missing = get(&client, path, &[("accept", BROWSER)]).await;
        assert_eq!(missing.status, 404);
        assert!(missing.header("content-security-policy").contains("frame-ancestors *"), "{path}");
        assert!(missing.header("x-frame-options").is_empty(), "{path}");
        assert!(missing.text.contains("<main class=\"embedded\">"), "{path}: {}", missing.text);
    }
}
