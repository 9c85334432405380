//! The page of a poll in every state, and running polls, in a real browser (`tests/pages/result.mjs`).

use std::collections::HashMap;

use ep_polling::MicroUsd;
use ep_upstream::testing::{Action, Behaviour, Billing, Script, VoteFor};
use serde_json::{Value, json};

use crate::harness::{Client, Service, Setup};
use crate::pages::walked_by;

/// The id of a model of the panel.
fn model(n: usize) -> String {
    format!("maker{}/line-{n}", n % 10)
}

/// A panel in which this many models vote for each option, and all others fail.
fn panel(votes: &[(&str, usize)]) -> Script {
    let chosen = votes.iter().flat_map(|(option, count)| vec![(*option).to_owned(); *count]);
    let chosen: HashMap<String, String> = chosen.enumerate().map(|(n, option)| (model(n), option)).collect();
    let obeys = Behaviour { billing: Billing::Cost(120, 12, 0.0001), ..Behaviour::default() };
    let down = Behaviour::of(vec![Action::Status(500, r#"{"error":{"message":"down"}}"#.into())]);
    let script = Script { default: down, ..Script::panel(150) };
    let script = chosen.keys().fold(script, |script, id| script.with(id, obeys.clone()));
    Script { votes_for: VoteFor::ByModel(chosen), ..script }
}

/// Polls a panel of this size, with all votes counted unless `members` say otherwise, and returns the page's path.
async fn asked(
    service: &Service,
    client: &Client,
    votes: &[(&str, usize)],
    size: usize,
    members: Value,
) -> String {
    service.upstream().change(|script| *script = panel(votes));
    let options: Vec<&str> = votes.iter().map(|(option, _)| *option).collect();
    let mut body = json!({
        "question": "Which of these should a small team choose for a new web service?",
        "options": options,
        "models": (0..size).map(model).collect::<Vec<_>>(),
        "confidence_threshold": 1,
        "pace": "fast",
    });
    for (name, value) in members.as_object().unwrap() {
        body[name] = value.clone();
    }
    let poll = client.post("/api/poll", &body).await.expect(200);
    format!("/results/{}", poll["poll_id"].as_str().unwrap())
}

/// Polls until the last of 11 models has decided, because a poll ends once no vote could change it. Returns the page's
/// path.
async fn close(service: &Service, client: &Client) -> String {
    for _ in 0..50 {
        let path = asked(service, client, &[("TypeScript", 6), ("Go", 5)], 11, json!({})).await;
        let result = client.get(&format!("/api{path}")).await.expect(200);
        if result["models_succeeded"] == 11 {
            return path;
        }
    }
    panic!("no poll was decided by its last model");
}

const LANGUAGES: [&str; 10] =
    ["TypeScript", "Go", "Rust", "Python", "Java", "Kotlin", "Elixir", "Ruby", "PHP", "C#"];

#[tokio::test]
async fn results_in_every_state_are_pages_to_share() {
    // In a few orders, the first models asked all vote for one option, which gives some confidence.
    let service = Setup::scripted(Script::panel(150)).seeded(1).boot().await;
    let (user, client) = service.user_with(MicroUsd::new(50_000_000)).await;
    let four = |counts: [usize; 4]| LANGUAGES.into_iter().zip(counts).collect::<Vec<_>>();
    let ten: Vec<(&str, usize)> = LANGUAGES.into_iter().zip([20, 11, 8, 6, 4, 3, 2, 1, 1, 0]).collect();
    let long = format!(
        "{} Which would you choose for it?",
        "Consider the cost of hosting and of hiring. ".repeat(6)
    );
    let mut states = serde_json::Map::new();
    for (name, votes, size, members) in [
        ("won", four([8, 2, 1, 0]), 12, json!({})),
        ("tie", four([6, 6, 0, 0]), 12, json!({})),
        ("none", four([0, 0, 0, 0]), 15, json!({})),
        ("failures", four([4, 1, 0, 0]), 18, json!({})),
        ("ten", ten, 60, json!({})),
        ("many", four([60, 30, 20, 5]), 150, json!({})),
        // Too few models disagree for a tie among the first.
        ("budget", four([76, 4, 0, 0]), 80, json!({ "max_cost_usd": 0.002, "pace": "thrifty" })),
        ("private", four([8, 2, 1, 0]), 12, json!({ "private": true })),
        ("long", four([8, 2, 1, 0]), 12, json!({ "question": long })),
    ] {
        states.insert(name.to_owned(), asked(&service, &client, &votes, size, members).await.into());
    }
    let drinks = [("شاي", 26), ("قهوة", 15), ("ماء", 9)];
    let rtl = json!({ "question": "أي مشروب أنسب للاجتماعات الطويلة في المكتب؟" });
    states.insert("rtl".to_owned(), asked(&service, &client, &drinks, 50, rtl).await.into());
    let mut frames = serde_json::Map::new();
    for (name, word, count) in
        [("two-wordy", "conditions ", 2), ("wordy", "conditions ", 10), ("wide", "漢字", 4)]
    {
        let options: Vec<String> = (0..count)
            .map(|n| {
                format!("{n} {}", word.repeat(20)).chars().take(200).collect::<String>().trim().to_owned()
            })
            .collect();
        let votes: Vec<(&str, usize)> =
            options.iter().zip(1..).map(|(option, n)| (option.as_str(), n)).collect();
        let members = json!({ "question": "Which of these is right? ".repeat(5).trim() });
        let size = votes.iter().map(|(_, count)| count).sum();
        frames.insert(name.to_owned(), asked(&service, &client, &votes, size, members).await.into());
    }
    states.insert("close".to_owned(), close(&service, &client).await.into());
    let simulated = Setup::demo().boot().await;
    let body = json!({ "question": "Is a hot dog a sandwich?", "options": ["Yes", "No"] });
    let poll = simulated.anonymous().post("/api/poll", &body).await.expect(200);
    let given = json!({
        "states": states,
        "frames": frames,
        "question": long.trim(),
        "cookie": service.cookie(user).await,
        "simulated": format!("{}/results/{}", simulated.url, poll["poll_id"].as_str().unwrap()),
        "screenshots": std::env::var("EP_SCREENSHOTS").ok(),
    });
    walked_by("result.mjs", &service, given, |_| ()).await;
}

/// Polls that run until the test releases their calls.
async fn running(service: &Service, count: usize) -> Vec<Value> {
    let client = service.user().await;
    let mut paths = Vec::new();
    for _ in 0..count {
        let body = crate::harness::question(json!({ "confidence_threshold": 1 }));
        let poll = client.post("/api/polls", &body).await.expect(202);
        paths.push(json!(format!("/results/{}", poll["poll_id"].as_str().unwrap())));
    }
    paths
}

#[tokio::test]
async fn running_polls_are_followed_in_many_tabs() {
    let script = Script { held: true, ..Script::divided_panel(40) };
    let patient = [("EP_UPSTREAM_TIMEOUT_MS", "170000"), ("EP_POLL_DEADLINE_MS", "180000")];
    let setup = patient.iter().fold(Setup::scripted(script), |setup, (name, value)| setup.with(name, *value));
    let service = setup.boot().await;
    let given =
        json!({ "running": running(&service, 7).await, "screenshots": std::env::var("EP_SCREENSHOTS").ok() });
    walked_by("result.mjs", &service, given, |line| {
        if let Some(calls) = line.strip_prefix("release ") {
            service.upstream().release(calls.parse().unwrap());
        }
    })
    .await;
}

#[tokio::test]
async fn running_poll_does_not_move_its_page() {
    let script = Script { held: true, ..Script::divided_panel(40) };
    let patient = [("EP_UPSTREAM_TIMEOUT_MS", "170000"), ("EP_POLL_DEADLINE_MS", "180000")];
    let setup = patient.iter().fold(Setup::scripted(script), |setup, (name, value)| setup.with(name, *value));
    let service = setup.boot().await;
    let given = json!({ "growing": running(&service, 1).await[0] });
    walked_by("result.mjs", &service, given, |line| {
        if let Some(calls) = line.strip_prefix("release ") {
            service.upstream().release(calls.parse().unwrap());
        }
    })
    .await;
}

#[tokio::test]
async fn links_to_a_result_name_its_answer() {
    let service = Setup::scripted(Script::panel(150)).boot().await;
    let (_, client) = service.user_with(MicroUsd::new(5_000_000)).await;
    let votes = [("TypeScript", 8), ("Go", 2), ("Rust", 1)];
    let path = asked(&service, &client, &votes, 11, json!({})).await;
    let result = client.get(&format!("/api{path}")).await.expect(200);
    // The poll ends as soon as it is decided, so the number of votes varies.
    let of = |option: &str| result["tally"][option].as_u64().unwrap();
    let (won, all) = (of("TypeScript"), of("TypeScript") + of("Go") + of("Rust"));
    let line = format!("TypeScript · {won} of {all} AI models");
    let page = client.get(&path).await.text;
    for tag in [
        format!("og:title\" content=\"{line}\""),
        "og:description\" content=\"Which of these should a small team choose for a new web service? TypeScript ".into(),
        format!("name=\"description\" content=\"{line}\""),
    ] {
        assert!(page.contains(&tag), "{tag}: {page}");
    }
    let card = client.get(&format!("{path}.svg")).await.text;
    assert!(card.contains(&format!(">{won} of {all} AI models</text>")), "{card}");
    let mark = include_str!("../../well-known/logo.svg").matches("<circle").count();
    assert_eq!(card.matches("<circle").count() - mark, 11);
    // Shares add up to 100.
    let markdown = client.get(&format!("{path}.md")).await.text;
    let rows = markdown.lines().filter_map(|line| line.strip_suffix(" % |")?.rsplit("| ").next());
    assert_eq!(rows.map(|share| share.parse::<u32>().unwrap()).sum::<u32>(), 100, "{markdown}");
    let page = client.get(&close(&service, &client).await).await.text;
    assert!(page.contains("og:title\" content=\"Close: TypeScript · 6 of 11 AI models\""), "{page}");
}
