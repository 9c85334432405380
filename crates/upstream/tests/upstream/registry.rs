//! The model list: fetched, stored, refreshed, and used while the upstream is unreachable.

use std::time::Duration;

use ep_kernel::Kind;
use ep_kernel::ports::Models as _;
use ep_kernel::testing::until;
use ep_polling::ModelChoice;
use ep_upstream::detect::servers_at;
use ep_upstream::testing::{Action, Behaviour, Script, bare, priced};
use ep_upstream::{NotConfigured, Upstream};

use super::{Fixture, LONG, NOW, member, view};

fn one(id: &str) -> Script {
    Script { models: vec![priced(id, "0.0000001", "0.0000002")], ..Script::default() }
}

async fn ids(upstream: &Upstream) -> Vec<String> {
    upstream.registry().await.unwrap().variants.into_iter().map(|variant| variant.id).collect()
}

#[tokio::test]
async fn a_list_is_fetched_once_an_hour() {
    let fixture = Fixture::new(one("a/one"));
    let upstream = fixture.upstream();
    let registry = upstream.registry().await.unwrap();
    assert_eq!((registry.count, registry.model_count, registry.simulated), (1, Some(1), false));
    assert_eq!(registry.fetched_at, NOW);
    assert_eq!(registry.cache_expires_at, NOW.after(Duration::from_hours(1)));
    assert_eq!(registry.variants[0].pricing.as_ref().unwrap().completion, "0.0000002");
    fixture.server.change(|script| script.models = vec![priced("a/two", "0", "0")]);
    fixture.clock.advance(Duration::from_mins(59));
    assert_eq!(ids(&upstream).await, ["a/one"]);
    fixture.clock.advance(Duration::from_mins(2));
    assert_eq!(ids(&upstream).await, ["a/one"], "outdated, while a new list is fetched");
    fixture.settle().await;
    assert_eq!(ids(&upstream).await, ["a/two"]);
    assert_eq!(fixture.server.registry_calls(), 2);
}

#[tokio::test]
async fn concurrent_first_callers_fetch_once() {
    let fixture = Fixture::new(one("a/one"));
    let upstream = fixture.upstream();
    futures::future::join_all((0..20).map(|_| ids(&upstream))).await;
    assert_eq!(fixture.server.registry_calls(), 1);
}

#[tokio::test]
async fn while_the_upstream_is_down_the_old_list_stays_in_use() {
    let fixture = Fixture::new(one("a/one"));
    let upstream = fixture.upstream();
    assert_eq!(ids(&upstream).await, ["a/one"]);
    fixture.server.change(|script| script.registry_fails = Some((503, "{}".to_owned())));
    fixture.clock.advance(Duration::from_hours(5));
    for _ in 0..3 {
        assert_eq!(ids(&upstream).await, ["a/one"]);
    }
    // The same happens after a restart, when the first list comes from the database.
    let restarted = fixture.upstream();
    assert_eq!(ids(&restarted).await, ["a/one"]);
    assert!(restarted.roster(&ModelChoice::preset("fast_and_cheap")).await.is_ok());
    // A failed refresh is retried in the background, without a request from a client.
    fixture.server.change(|script| {
        script.registry_fails = None;
        script.models = vec![bare("two")];
    });
    fixture.settle().await;
    assert_eq!(ids(&restarted).await, ["two"]);
}

/// Returns responses of `/models` without a model that can vote.
fn bad_lists() -> Vec<String> {
    let nested = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    vec![
        "[]".to_owned(),
        r#"{"data":[]}"#.to_owned(),
        r#"{"data":null}"#.to_owned(),
        "null".to_owned(),
        r#"{"data":[{"id":5},{"object":"model"},"x",{"id":"nomic-embed-text"}]}"#.to_owned(),
        nested,
        format!("[{}]", " ".repeat(17 << 20)),
    ]
}

#[tokio::test]
async fn a_list_without_models_replaces_nothing_and_is_not_stored() {
    let each = bad_lists().into_iter().map(async |bad| {
        let fixture = Fixture::new(one("a/one"));
        let upstream = fixture.upstream();
        assert_eq!(ids(&upstream).await, ["a/one"]);
        fixture.server.change(|script| script.registry_fails = Some((200, bad.clone())));
        fixture.clock.advance(Duration::from_hours(2));
        let calls = fixture.server.registry_calls();
        assert_eq!(ids(&upstream).await, ["a/one"]);
        let fetched = async || fixture.server.registry_calls();
        until("the list is fetched twice", fetched, |fetched| *fetched >= calls + 2).await;
        assert_eq!(ids(&upstream).await, ["a/one"], "after {}", &bad[..bad.len().min(50)]);
        assert!(upstream.roster(&ModelChoice::preset("fast_and_cheap")).await.is_ok());
        assert_eq!(ids(&fixture.upstream()).await, ["a/one"], "after a restart");
        // The list is fetched again until it is usable.
        fixture.server.change(|script| {
            script.registry_fails = None;
            script.models = vec![bare("two")];
        });
        until("the usable list is used", async || ids(&upstream).await, |ids| *ids == ["two"]).await;
        fixture.stop.cancel();
    });
    futures::future::join_all(each).await;
}

#[tokio::test]
async fn without_a_usable_list_the_error_names_the_reason_and_is_temporary() {
    for bad in bad_lists() {
        let fixture = Fixture::new(Script { registry_fails: Some((200, bad.clone())), ..one("a/one") });
        let fault = fixture.upstream().registry().await.unwrap_err();
        assert_eq!(fault.kind(), Kind::Unavailable);
        let word = if bad.len() > 16 << 20 { "16 MiB" } else { "list" };
        assert!(fault.message().contains(word), "{fault}");
        assert!(fault.wait().is_some());
        fixture.server.change(|script| script.registry_fails = None);
        assert_eq!(ids(&fixture.upstream()).await, ["a/one"], "nothing bad was stored");
    }
}

#[tokio::test]
async fn a_refresh_ends_with_the_process() {
    let fixture = Fixture::new(one("a/one"));
    let upstream = fixture.upstream();
    upstream.registry().await.unwrap();
    fixture.server.change(|script| script.registry_fails = Some((500, String::new())));
    fixture.clock.advance(Duration::from_hours(2));
    upstream.registry().await.unwrap();
    fixture.stop.cancel();
    tokio::time::timeout(Duration::from_secs(10), fixture.settle()).await.unwrap();
}

#[tokio::test]
async fn without_any_list_the_error_names_the_remedy() {
    for (fails, word) in [
        ((503, String::new()), "try again"),
        ((401, String::new()), "EP_UPSTREAM_API_KEY"),
        ((404, String::new()), "EP_UPSTREAM_URL"),
        ((200, "<html>".to_owned()), "EP_UPSTREAM_URL"),
        ((200, r#"{"error":{"message":"no"}}"#.to_owned()), "no model list"),
    ] {
        let fixture = Fixture::new(Script { registry_fails: Some(fails), ..Script::default() });
        let upstream = fixture.upstream();
        let fault = upstream.registry().await.unwrap_err();
        assert_eq!(fault.kind(), Kind::Unavailable);
        assert!(fault.message().contains(word), "{fault}");
        assert_eq!(
            upstream.roster(&ModelChoice::preset("fast_and_cheap")).await.unwrap_err().kind(),
            Kind::Unavailable
        );
        assert_eq!(
            fixture.server.registry_calls(),
            1,
            "later callers get the same failure, without another request"
        );
    }
    assert_eq!(NotConfigured.registry().await.unwrap_err().kind(), Kind::NotConfigured);
    assert_eq!(
        NotConfigured.roster(&ModelChoice::preset("fast_and_cheap")).await.unwrap_err().kind(),
        Kind::NotConfigured
    );
    assert_eq!(
        NotConfigured.roster(&ModelChoice::preset("no")).await.unwrap_err().kind(),
        Kind::InvalidPreset
    );
    assert_eq!(NotConfigured.presets()[0], "fast_and_cheap");
}

#[tokio::test]
async fn a_key_never_reaches_the_database_or_a_fault() {
    let fixture = Fixture::new(one("a/one"));
    let secret = fixture.server.base_url().replace("http://", "http://me:secret@");
    let upstream = fixture.upstream_with(|config| {
        config.base_url = secret;
        config.api_key = None;
    });
    upstream.registry().await.unwrap();
    assert!(!format!("{:?}", fixture.cache).contains("secret"));
}

#[tokio::test]
async fn local_servers_are_found() {
    let fixture =
        Fixture::new(Script { models: vec![bare("one"), bare("nomic-embed-text")], ..Script::default() });
    let base_url = fixture.server.base_url();
    let found = servers_at(&[("Closed", "http://127.0.0.1:9/v1"), ("Open", &base_url)]).await;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].name, found[0].models, &found[0].base_url), ("Open", 1, &base_url));
}

#[tokio::test]
async fn an_unknown_model_means_that_the_list_is_outdated() {
    let gone = Action::Status(404, r#"{"error":{"message":"The model `a/one` does not exist"}}"#.into());
    let fixture = Fixture::new(one("a/one").with("a/one", Behaviour::of([gone])));
    let upstream = fixture.upstream();
    assert_eq!(ids(&upstream).await, ["a/one"]);
    fixture.server.change(|script| script.models = vec![bare("a/two")]);
    let vote = async || upstream.vote(&member("a/one"), &view(), LONG.into()).await.vote.unwrap_err();
    vote().await;
    assert_eq!(fixture.server.registry_calls(), 1, "the list is younger than a minute");
    fixture.clock.advance(Duration::from_mins(2));
    vote().await;
    until("the new list is used", async || ids(&upstream).await, |ids| *ids == ["a/two"]).await;
}
