//! Each way in which an upstream fails has its reason, its patience and its words.

use std::time::Duration;

use ep_kernel::ports::Models as _;
use ep_polling::ballot::Reason;
use ep_polling::money::SpendBasis;
use ep_upstream::UpstreamConfig;
use ep_upstream::testing::{Action, Behaviour, Forms, Script};
use serde_json::json;
use tokio::time::Instant;

use super::{FIRST, KEY, LONG, Rig, member, priced, reason, view, vote};

const GOOD: Action = Action::Obey(Forms::ALL);

fn failing(status: u16) -> Action {
    Action::Status(status, json!({ "error": { "message": "something is wrong" } }).to_string())
}

fn limited(status: u16, wait: &str) -> Action {
    Action::StatusWithHeader(status, "{}".to_owned(), ("retry-after", wait.to_owned()))
}

#[tokio::test]
async fn what_will_not_get_better_is_not_asked_again() {
    for status in [400, 401, 402, 403, 404, 413, 422] {
        let (reason, calls, detail) = reason([failing(status)]).await;
        assert_eq!((reason, calls), (Reason::Rejected, 1), "{status}");
        assert!(detail.contains(&status.to_string()), "{detail}");
    }
    for status in [301, 307, 418] {
        assert_eq!(reason([failing(status)]).await.1, 1, "{status}");
    }
}

#[tokio::test]
async fn what_may_get_better_is_asked_again() {
    for status in [429, 500, 502, 503, 504, 529] {
        let rig = Rig::acting([failing(status), GOOD]);
        assert_eq!(vote(&rig.upstream()).await.vote, Ok(FIRST), "{status}");
    }
    let (reason, calls, _) = reason([failing(503)]).await;
    assert_eq!((reason, calls), (Reason::UpstreamError, 3));
}

#[tokio::test]
async fn the_upstream_says_when_to_come_back() {
    let rig = Rig::acting([limited(429, "1"), GOOD]);
    let start = Instant::now();
    assert_eq!(vote(&rig.upstream()).await.vote, Ok(FIRST));
    assert!(start.elapsed() >= Duration::from_secs(1));
    // Half a minute after the clock's now.
    let rig = Rig::acting([limited(503, "Sat, 31 Jan 2026 00:00:30 GMT"), GOOD]);
    let start = Instant::now();
    let answer = vote(&rig.upstream()).await;
    assert_eq!(answer.vote.unwrap_err().reason, Reason::UpstreamError);
    assert!(start.elapsed() < Duration::from_secs(1), "it does not fit, so it is not waited for");
    let (reason, calls, _) = reason([limited(429, "3600")]).await;
    assert_eq!((reason, calls), (Reason::RateLimited, 1));
}

#[tokio::test]
async fn errors_inside_an_answer_are_errors() {
    let error = |code: serde_json::Value, kind: &str| json!({ "code": code, "message": "inside", "metadata": { "error_type": kind } });
    for (error, expected) in [
        (error(json!(429), "rate_limit_exceeded"), (Reason::RateLimited, 3)),
        (error(json!(null), "provider_overloaded"), (Reason::UpstreamError, 3)),
        (error(json!("x"), "payment_required"), (Reason::Rejected, 1)),
        (error(json!(402), ""), (Reason::Rejected, 1)),
        (error(json!(400), "content_policy_violation"), (Reason::Refused, 1)),
        (error(json!(400), "refusal"), (Reason::Refused, 1)),
        (error(json!(null), "context_length_exceeded"), (Reason::Rejected, 1)),
        (error(json!(null), "odd"), (Reason::UpstreamError, 1)),
        (json!("just text"), (Reason::UpstreamError, 1)),
        (
            json!({ "code": 503, "message": "gone", "availability": { "retryable": false } }),
            (Reason::Rejected, 1),
        ),
    ] {
        for act in [Action::TopLevelError(error.clone()), Action::ChoiceError(error.clone())] {
            let (reason, calls, _) = reason([act]).await;
            assert_eq!((reason, calls), expected, "{error}");
        }
    }
}

#[tokio::test]
async fn bodies_that_are_no_answer_are_not_paid_twice() {
    for act in [
        Action::Bytes(b"<html>Bad gateway</html>".to_vec()),
        Action::Bytes(Vec::new()),
        Action::Huge(4 << 20),
    ] {
        let (reason, calls, _) = reason([act]).await;
        assert_eq!((reason, calls), (Reason::UpstreamError, 1));
    }
    let (reason, calls, _) = reason([Action::BreakOff]).await;
    assert_eq!((reason, calls), (Reason::Unreachable, 1));
}

#[tokio::test]
async fn silence_ends_at_the_models_time_or_the_polls() {
    for act in [Action::Hang, Action::HalfOpen, Action::Slow(Duration::from_millis(100))] {
        let rig = Rig::acting([act]);
        let upstream = rig.upstream_with(|config| config.model_timeout = Duration::from_millis(300));
        let start = Instant::now();
        let answer = upstream.vote(&priced("m"), &view(), LONG).await;
        let no_vote = answer.vote.unwrap_err();
        assert_eq!((no_vote.reason, no_vote.detail.as_str()), (Reason::Timeout, "no answer within 0.3 s"));
        assert_eq!(answer.spend.basis, SpendBasis::Unknown, "it may have been charged");
        let answer = upstream.vote(&member("m"), &view(), Duration::from_millis(100)).await;
        assert_eq!(answer.vote.unwrap_err().reason, Reason::Deadline);
        assert!(start.elapsed() < Duration::from_millis(700));
    }
    let rig = Rig::acting([GOOD]);
    let answer = rig.upstream().vote(&member("m"), &view(), Duration::ZERO).await;
    assert_eq!(answer.vote.unwrap_err().reason, Reason::Deadline);
    assert_eq!(rig.server.calls("m"), 0);
}

#[tokio::test]
async fn a_slow_answer_in_time_counts() {
    let rig = Rig::acting([Action::Slow(Duration::from_millis(5))]);
    assert_eq!(vote(&rig.upstream()).await.vote, Ok(FIRST));
}

#[tokio::test]
async fn an_upstream_that_is_gone_fails_fast() {
    let rig = Rig::new(Script::default());
    let base_url = {
        let gone = ep_upstream::testing::ScriptedUpstream::start(Script::default()).unwrap();
        gone.base_url()
    };
    let upstream = rig.upstream_with(|config: &mut UpstreamConfig| config.base_url = base_url);
    let start = Instant::now();
    for _ in 0..50 {
        let no_vote = vote(&upstream).await.vote.unwrap_err();
        assert_eq!(
            (no_vote.reason, no_vote.detail.as_str()),
            (Reason::Unreachable, "the upstream could not be reached")
        );
    }
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn details_tell_no_secrets() {
    let telling = format!(
        "Incorrect API key provided: {KEY}. Visit http://user:pass@127.0.0.1/keys (org-abcdef123456)"
    );
    for status in [400, 401, 403, 404, 429, 500] {
        let act = Action::Status(status, json!({ "error": { "message": telling } }).to_string());
        let (_, _, detail) = reason([act]).await;
        for secret in [KEY, "user:pass", "org-abc", "sk-"] {
            assert!(!detail.contains(secret), "{detail}");
        }
        assert!(detail.chars().count() <= 200);
    }
}

#[tokio::test]
async fn the_key_is_sent_and_nothing_else_is_told() {
    let rig = Rig::new(Script { key: Some(KEY.to_owned()), ..Script::default() });
    assert_eq!(vote(&rig.upstream()).await.vote, Ok(FIRST));
    let seen = rig.server.received("m");
    assert!(seen[0].headers.get("http-referer").is_none(), "only OpenRouter is told who asks");
    let wrong = rig.upstream_with(|config| config.api_key = None);
    assert_eq!(vote(&wrong).await.vote.unwrap_err().detail, "the upstream refused the service's key (401)");
}

#[tokio::test]
async fn a_mixed_panel_is_asked_at_once() {
    let parts = ["good", "prose", "flaky", "down", "nonsense", "refusal", "garbage", "no_tools", "truncated"];
    let rig = Rig::new(Script { default: Behaviour::default(), ..Script::default() });
    let upstream = rig.upstream();
    let members: Vec<_> =
        (0..90).map(|n| member(&format!("maker/line-{n}@{}", parts[n % parts.len()]))).collect();
    let view = view();
    let votes = members.iter().map(|member| upstream.vote(member, &view, LONG));
    let answers = futures::future::join_all(votes).await;
    assert_eq!(answers.iter().filter(|answer| answer.vote == Ok(FIRST)).count(), 40);
}

#[tokio::test]
async fn absurd_times_do_no_harm() {
    for wait in ["99999999999999999999", "1e300", "NaN", "-1"] {
        let rig = Rig::acting([limited(503, wait), GOOD]);
        let answer = rig.upstream().vote(&member("m"), &view(), Duration::MAX).await;
        assert!(answer.vote == Ok(FIRST) || answer.vote.unwrap_err().reason == Reason::UpstreamError);
    }
}
