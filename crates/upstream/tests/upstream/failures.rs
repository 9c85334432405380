//! Retries and reports of each kind of upstream failure.

use std::time::Duration;

use ep_kernel::ports::Models as _;
use ep_polling::{Reason, SpendBasis};
use ep_upstream::UpstreamConfig;
use ep_upstream::testing::{Action, Behaviour, Forms, Script};
use serde_json::json;
use tokio::time::Instant;

use super::{FIRST, Fixture, KEY, LONG, member, priced, reason, view, vote};

const GOOD: Action = Action::Obey(Forms::ALL);

fn failing(status: u16) -> Action {
    Action::Status(status, json!({ "error": { "message": "something is wrong" } }).to_string())
}

fn limited(status: u16, wait: &str) -> Action {
    Action::StatusWithHeader(status, b"{}".to_vec(), ("retry-after", wait.to_owned()))
}

#[tokio::test]
async fn permanent_errors_are_not_retried() {
    for status in [400, 401, 402, 403, 404, 413, 422] {
        let (reason, calls, detail) = reason([failing(status)]).await;
        // A refusal without a reason is answered once by the plainest request.
        let most = if matches!(status, 400 | 422) { 2 } else { 1 };
        assert_eq!((reason, calls), (Reason::Rejected, most), "{status}");
        // The reasons of the operator's account are for the log.
        let is_ours = (401..=403).contains(&status);
        assert_eq!(detail == "the model is not available here", is_ours, "{detail}");
        assert!(is_ours || detail.contains(&status.to_string()), "{detail}");
    }
    for status in [301, 307, 418] {
        assert_eq!(reason([failing(status)]).await.1, 1, "{status}");
    }
}

#[tokio::test]
async fn temporary_errors_are_retried() {
    for status in [429, 500, 502, 503, 504, 529] {
        let fixture = Fixture::with_actions([failing(status), GOOD]);
        assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST), "{status}");
    }
    let (reason, calls, _) = reason([failing(500)]).await;
    assert_eq!((reason, calls), (Reason::UpstreamError, 3));
}

#[tokio::test]
async fn a_busy_upstream_is_awaited_longer_than_a_broken_one() {
    let fixture = Fixture::with_actions([failing(503), failing(429), failing(529), failing(503), GOOD]);
    assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST));
    assert_eq!(fixture.server.calls("m"), 5);
}

#[tokio::test]
async fn an_upstream_that_answers_nobody_is_not_awaited_to_the_end_of_the_poll() {
    // A time of zero is no reason to ask again at once.
    let busy = Behaviour::of([limited(503, "0")]);
    let fixture = Fixture::new(Script { default: busy, ..Script::default() });
    let upstream = fixture.upstream();
    let votes = (0..50).map(|n| {
        let (upstream, member) = (&upstream, member(&format!("m-{n}")));
        async move { upstream.vote(&member, &view(), LONG.into()).await.vote }
    });
    let votes = futures::future::join_all(votes).await;
    assert!(votes.iter().all(|vote| vote.as_ref().is_err_and(|no_vote| no_vote.reason == Reason::Busy)));
    let calls = fixture.server.total_calls();
    assert!(calls <= 50 * 8, "{calls} requests in ten seconds");
    fixture.server.change(|script| script.default = Behaviour::of([GOOD]));
    assert_eq!(vote(&upstream).await.vote, Ok(FIRST), "the next request tests it");
}

#[tokio::test]
async fn retry_after_is_respected_if_it_fits_the_deadline() {
    let fixture = Fixture::with_actions([limited(429, "1"), GOOD]);
    let start = Instant::now();
    assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST));
    assert!(start.elapsed() >= Duration::from_secs(1));
    // Half a minute after the clock's time.
    let fixture = Fixture::with_actions([limited(503, "Sat, 31 Jan 2026 00:00:30 GMT"), GOOD]);
    let answer = vote(&fixture.upstream()).await;
    assert_eq!(answer.vote.unwrap_err().reason, Reason::Busy);
    assert_eq!(fixture.server.calls("m"), 1, "too late for this vote");
    let (reason, calls, _) = reason([limited(429, "3600")]).await;
    assert_eq!((reason, calls), (Reason::RateLimited, 1));
}

#[tokio::test]
async fn errors_inside_a_response_are_errors() {
    let error = |code: serde_json::Value, kind: &str| json!({ "code": code, "message": "inside", "metadata": { "error_type": kind, "retry_after": 3600 } });
    for (error, expected) in [
        (error(json!(429), "rate_limit_exceeded"), (Reason::RateLimited, 1)),
        (error(json!(null), "provider_overloaded"), (Reason::Busy, 1)),
        (error(json!(null), "provider_unavailable"), (Reason::UpstreamError, 1)),
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
async fn unreadable_responses_are_not_retried() {
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
async fn a_silent_upstream_ends_at_the_model_timeout_or_the_poll_deadline() {
    for act in [Action::Hang, Action::HalfOpen, Action::Slow(Duration::from_millis(100))] {
        let fixture = Fixture::with_actions([act]);
        let upstream = fixture.upstream_with(|config| config.model_timeout = Duration::from_millis(300));
        let answer = upstream.vote(&priced("m"), &view(), LONG.into()).await;
        let no_vote = answer.vote.unwrap_err();
        assert_eq!((no_vote.reason, no_vote.detail.as_str()), (Reason::Timeout, "no response within 0.3 s"));
        assert_eq!(answer.spend.basis, SpendBasis::Unknown, "it may have been charged");
        let answer = upstream.vote(&member("m"), &view(), Duration::from_millis(100).into()).await;
        assert_eq!(answer.vote.unwrap_err().reason, Reason::Deadline);
    }
    let fixture = Fixture::with_actions([GOOD]);
    let answer = fixture.upstream().vote(&member("m"), &view(), Duration::ZERO.into()).await;
    assert_eq!(answer.vote.unwrap_err().reason, Reason::Deadline);
    assert_eq!(fixture.server.calls("m"), 0);
}

#[tokio::test]
async fn a_slow_response_before_the_deadline_counts() {
    let fixture = Fixture::with_actions([Action::Slow(Duration::from_millis(5))]);
    assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST));
}

#[tokio::test]
async fn a_stopped_upstream_is_unreachable() {
    let fixture = Fixture::new(Script::default());
    let base_url = {
        let gone = ep_upstream::testing::ScriptedUpstream::start(Script::default()).unwrap();
        gone.base_url()
    };
    let upstream = fixture.upstream_with(|config: &mut UpstreamConfig| config.base_url = base_url);
    for _ in 0..50 {
        let no_vote = vote(&upstream).await.vote.unwrap_err();
        assert_eq!(
            (no_vote.reason, no_vote.detail.as_str()),
            (Reason::Unreachable, "the upstream could not be reached")
        );
    }
}

#[tokio::test]
async fn details_contain_no_secrets() {
    let message = format!(
        "Incorrect API key provided: {KEY}. Visit http://user:pass@127.0.0.1/keys (org-abcdef123456)"
    );
    for status in [400, 401, 403, 404, 429, 500] {
        let body = json!({ "error": { "message": message } }).to_string().into_bytes();
        // Too late for a second request.
        let act = Action::StatusWithHeader(status, body, ("retry-after", "3600".to_owned()));
        let (_, _, detail) = reason([act]).await;
        for secret in [KEY, "user:pass", "org-abc", "sk-"] {
            assert!(!detail.contains(secret), "{detail}");
        }
        assert!(detail.chars().count() <= 200);
    }
}

#[tokio::test]
async fn the_key_is_sent_without_attribution() {
    let fixture = Fixture::new(Script { key: Some(KEY.to_owned()), ..Script::default() });
    assert_eq!(vote(&fixture.upstream()).await.vote, Ok(FIRST));
    let received = fixture.server.received("m");
    assert!(received[0].headers.get("http-referer").is_none(), "only OpenRouter gets attribution headers");
    let wrong = fixture.upstream_with(|config| config.api_key = None);
    assert_eq!(vote(&wrong).await.vote.unwrap_err().detail, "the model is not available here");
}

#[tokio::test]
async fn models_with_different_behaviours_are_asked_at_once() {
    let behaviours =
        ["good", "prose", "flaky", "down", "nonsense", "refusal", "garbage", "no_tools", "truncated"];
    let fixture = Fixture::new(Script { default: Behaviour::default(), ..Script::default() });
    let upstream = fixture.upstream();
    let members: Vec<_> =
        (0..90).map(|n| member(&format!("maker/line-{n}@{}", behaviours[n % behaviours.len()]))).collect();
    let view = view();
    let votes = members.iter().map(|member| upstream.vote(member, &view, LONG.into()));
    let answers = futures::future::join_all(votes).await;
    assert_eq!(answers.iter().filter(|answer| answer.vote == Ok(FIRST)).count(), 40);
}

#[tokio::test]
async fn absurd_retry_after_values_are_harmless() {
    for wait in ["99999999999999999999", "1e300", "NaN", "-1"] {
        let fixture = Fixture::with_actions([limited(503, wait), GOOD]);
        let answer = fixture.upstream().vote(&member("m"), &view(), Duration::MAX.into()).await;
        assert!(answer.vote == Ok(FIRST) || answer.vote.unwrap_err().reason == Reason::UpstreamError);
    }
}
