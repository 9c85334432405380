//! The agreement of panels compared with feedback, from polls through the public interfaces.

use std::time::Duration;

use ep_upstream::testing::Script;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Engine, Service, Setup, until};

const LEVELS: [&str; 3] = ["unanimous", "two_thirds", "below_two_thirds"];

/// Returns the calibration once the polls of the first panel that were judged are these, by level. Polls are counted within
/// seconds; figures are cached for five minutes.
async fn calibrated(service: &Service, judged: [i64; 3]) -> Value {
    let read = async || {
        service.clock.as_ref().unwrap().advance(Duration::from_mins(5));
        service.anonymous().get("/api/reputation/calibration").await.expect(200)
    };
    until(&format!("{judged:?} are judged"), read, |calibration| {
        LEVELS.map(|level| level_of(calibration, level)["judged"].as_i64().unwrap_or_default()) == judged
    })
    .await
}

fn level_of<'a>(calibration: &'a Value, level: &str) -> &'a Value {
    let levels = calibration["panels"][0]["levels"].as_array();
    levels.into_iter().flatten().find(|found| found["level"] == level).unwrap_or(&Value::Null)
}

async fn judge(user: &Client, poll: &Value, correct: Option<bool>) {
    let feedback = json!({ "poll_id": poll["poll_id"], "outcome_correct": correct });
    user.post("/api/feedback", &feedback).await.expect(201);
}

/// Asks every model of a panel, two of which vote for Alpha and one for Beta.
fn ask() -> Value {
    json!({ "preset": "generalist", "complete": true })
}

#[tokio::test]
async fn share_of_right_outcomes_needs_thirty_judged_polls() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::scripted(Script::divided_panel(3)).on(engine).seeded(5).boot().await;
        let (user, nobody) = (service.user().await, service.anonymous());
        let empty = nobody.get("/calibration").await.text;
        assert!(
            empty.contains("Nothing is shown until 30 polls") && empty.contains("/api/docs/submit_feedback")
        );

        let mut polls = Vec::new();
        for number in 0..29 {
            let poll = user.poll(ask()).await.expect(200);
            judge(&user, &poll, Some(number >= 6)).await;
            polls.push(poll);
        }
        // A poll of named models, a poll that may stop early, and a poll without judgement do not count.
        let named = json!({ "models": ["maker0/*", "maker1/*", "maker2/*"], "complete": true });
        for other in [named, json!({ "preset": "generalist", "confidence_threshold": 1 })] {
            judge(&user, &user.poll(other).await.expect(200), Some(true)).await;
        }
        polls.push(user.poll(ask()).await.expect(200));

        let few = calibrated(&service, [0, 29, 0]).await;
        let level = level_of(&few, "two_thirds");
        for name in ["right", "share", "interval"] {
            assert_eq!(level[name], Value::Null, "{name} of 29 polls");
        }
        assert!(nobody.get("/calibration").await.text.contains("Nothing is shown until 30 polls"));

        judge(&user, &polls[29], Some(true)).await;
        let enough = calibrated(&service, [0, 30, 0]).await;
        assert_eq!(
            (&enough["panels"][0]["panel"], &enough["minimum_judged"]),
            (&json!("generalist"), &json!(30))
        );
        let level = level_of(&enough, "two_thirds");
        assert_eq!((&level["right"], &level["share"]), (&json!(24), &json!(0.8)));
        assert_eq!(level["interval"], json!({ "low": 0.614_333, "high": 0.922_864 }));
        let page = nobody.get("/calibration").await.text;
        for expected in
            ["Generalist", "24 of 30", "80.0 %", "61.4 to 92.3 %", "self-selected", "0 judged: too few"]
        {
            assert!(page.contains(expected), "{expected} is not in {page}");
        }
        let markdown = nobody.get("/calibration.md").await.text;
        let row = "| Generalist | At least two thirds | 24 of 30 | 80.0 % | 61.4 to 92.3 % |";
        assert!(markdown.contains(row), "{markdown}");

        // A changed judgement moves the counts. Accounts that disagree leave no judgement.
        judge(&user, &polls[0], Some(true)).await;
        let second = service.user().await;
        judge(&second, &polls[1], Some(true)).await;
        let moved = calibrated(&service, [0, 29, 0]).await;
        assert_eq!(
            level_of(&moved, "two_thirds")["share"],
            Value::Null,
            "two accounts disagree about one poll"
        );
        judge(&second, &polls[1], None).await;
        let restored = calibrated(&service, [0, 30, 0]).await;
        assert_eq!(level_of(&restored, "two_thirds")["right"], 25);
        assert!(service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().is_clean());
    }
}

#[tokio::test]
async fn simulated_polls_are_not_calibrated() {
    let service = Setup::demo().seeded(6).boot().await;
    let user = service.user().await;
    let poll = user.poll(json!({ "preset": "trio", "complete": true })).await.expect(200);
    judge(&user, &poll, Some(true)).await;
    // The poll has been processed when its sums, which stay empty, can no longer change.
    service.app.ports.reputation.count_polls().await.unwrap();
    assert_eq!(calibrated(&service, [0; 3]).await["panels"], json!([]));
    let page = service.anonymous().get("/calibration").await.text;
    assert!(page.contains("Polls of simulated models do not count"));
}

#[tokio::test]
async fn page_is_cached_listed_and_linked() {
    let service = Setup::demo().boot().await;
    let nobody = service.anonymous();
    let page = nobody.get("/calibration").await;
    assert_eq!(page.header("cache-control"), "public, max-age=300");
    let request = nobody.request(Method::GET, "/calibration").header("accept", "text/markdown");
    assert_eq!(nobody.send(request).await.header("content-type"), "text/markdown; charset=utf-8");
    assert!(nobody.get("/sitemap.xml").await.text.contains("/calibration</loc>"));
    assert!(nobody.get("/how-sure").await.text.contains("href=\"/calibration\""));
}
