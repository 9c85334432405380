//! The model list: fetched, kept, refreshed, and there when the upstream is not.

use std::time::Duration;

use ep_kernel::fault::Kind;
use ep_kernel::ports::Models as _;
use ep_upstream::detect::servers_at;
use ep_upstream::testing::{Script, bare, priced};
use ep_upstream::{NotConfigured, Upstream};

use super::{NOW, Rig};

fn one(id: &str) -> Script {
    Script { models: vec![priced(id, "0.0000001", "0.0000002")], ..Script::default() }
}

async fn ids(upstream: &Upstream) -> Vec<String> {
    upstream.registry().await.unwrap().variants.into_iter().map(|variant| variant.id).collect()
}

#[tokio::test]
async fn a_list_is_fetched_once_an_hour() {
    let rig = Rig::new(one("a/one"));
    let upstream = rig.upstream();
    let registry = upstream.registry().await.unwrap();
    assert_eq!((registry.count, registry.model_count, registry.simulated), (1, Some(1), false));
    assert_eq!(registry.fetched_at, NOW);
    assert_eq!(registry.cache_expires_at, NOW.after(Duration::from_hours(1)));
    assert_eq!(registry.variants[0].pricing.as_ref().unwrap().completion, "0.0000002");
    rig.server.change(|script| script.models = vec![priced("a/two", "0", "0")]);
    rig.clock.advance(Duration::from_mins(59));
    assert_eq!(ids(&upstream).await, ["a/one"]);
    rig.clock.advance(Duration::from_mins(2));
    assert_eq!(ids(&upstream).await, ["a/one"], "stale while it is fetched again");
    rig.settle().await;
    assert_eq!(ids(&upstream).await, ["a/two"]);
    assert_eq!(rig.server.registry_calls(), 2);
}

#[tokio::test]
async fn many_first_callers_fetch_once() {
    let rig = Rig::new(one("a/one"));
    let upstream = rig.upstream();
    futures::future::join_all((0..20).map(|_| ids(&upstream))).await;
    assert_eq!(rig.server.registry_calls(), 1);
}

#[tokio::test]
async fn an_upstream_that_is_down_leaves_the_old_list() {
    let rig = Rig::new(one("a/one"));
    let upstream = rig.upstream();
    assert_eq!(ids(&upstream).await, ["a/one"]);
    rig.server.change(|script| script.registry_fails = Some((503, "{}".to_owned())));
    rig.clock.advance(Duration::from_hours(5));
    for _ in 0..3 {
        assert_eq!(ids(&upstream).await, ["a/one"]);
    }
    // After a restart too; the first list then comes from the database.
    let restarted = rig.upstream();
    assert_eq!(ids(&restarted).await, ["a/one"]);
    assert!(restarted.roster("fast_and_cheap").await.is_ok());
    // The failed refresh is tried again by itself.
    rig.server.change(|script| {
        script.registry_fails = None;
        script.models = vec![bare("two")];
    });
    rig.settle().await;
    assert_eq!(ids(&restarted).await, ["two"]);
}

#[tokio::test]
async fn a_refresh_ends_with_the_process() {
    let rig = Rig::new(one("a/one"));
    let upstream = rig.upstream();
    upstream.registry().await.unwrap();
    rig.server.change(|script| script.registry_fails = Some((500, String::new())));
    rig.clock.advance(Duration::from_hours(2));
    upstream.registry().await.unwrap();
    rig.stop.cancel();
    tokio::time::timeout(Duration::from_secs(1), rig.settle()).await.unwrap();
}

#[tokio::test]
async fn without_any_list_the_failure_says_what_to_do() {
    for (fails, word) in [
        ((503, String::new()), "try again"),
        ((401, String::new()), "EP_UPSTREAM_API_KEY"),
        ((404, String::new()), "EP_UPSTREAM_URL"),
        ((200, "<html>".to_owned()), "EP_UPSTREAM_URL"),
        ((200, r#"{"error":{"message":"no"}}"#.to_owned()), "no model list"),
    ] {
        let rig = Rig::new(Script { registry_fails: Some(fails), ..Script::default() });
        let upstream = rig.upstream();
        let fault = upstream.registry().await.unwrap_err();
        assert_eq!(fault.kind(), Kind::Unavailable);
        assert!(fault.message().contains(word), "{fault}");
        assert_eq!(upstream.roster("fast_and_cheap").await.unwrap_err().kind(), Kind::Unavailable);
        assert_eq!(rig.server.registry_calls(), 1, "a failure is not repeated for everybody who asks");
    }
    assert_eq!(NotConfigured.registry().await.unwrap_err().kind(), Kind::NotConfigured);
    assert_eq!(NotConfigured.roster("fast_and_cheap").await.unwrap_err().kind(), Kind::NotConfigured);
    assert_eq!(NotConfigured.roster("no").await.unwrap_err().kind(), Kind::InvalidPreset);
    assert_eq!(NotConfigured.presets()[0], "fast_and_cheap");
}

#[tokio::test]
async fn a_key_never_reaches_the_database_or_a_fault() {
    let rig = Rig::new(one("a/one"));
    let secret = rig.server.base_url().replace("http://", "http://me:secret@");
    let upstream = rig.upstream_with(|config| {
        config.base_url = secret;
        config.api_key = None;
    });
    upstream.registry().await.unwrap();
    assert!(!format!("{:?}", rig.memory).contains("secret"));
}

#[tokio::test]
async fn local_servers_are_found() {
    let rig = Rig::new(Script { models: vec![bare("one"), bare("nomic-embed-text")], ..Script::default() });
    let base_url = rig.server.base_url();
    let found = servers_at(&[("Nobody", "http://127.0.0.1:9/v1"), ("Somebody", &base_url)]).await;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].name, found[0].models, &found[0].base_url), ("Somebody", 1, &base_url));
}
