//! Cached upstream data.

use ep_polling::ModelId;
use ep_store::{CachedModelList, SavedFallbackLevel};

use ep_store::testing::test_database::{TestDatabase, at};

on_both_engines!(the_last_model_list_is_cached, fallback_levels_are_cached_per_upstream);

async fn the_last_model_list_is_cached(db: TestDatabase) {
    assert_eq!(db.upstream_cache.model_list("a").await.unwrap(), None);
    for time in [1, 2] {
        let list = CachedModelList { fetched_at: at(time), body: format!("{{\"data\":[{time},\"🦀\"]}}") };
        db.upstream_cache.save_model_list("a", &list).await.unwrap();
        assert_eq!(db.upstream_cache.model_list("a").await.unwrap(), Some(list));
    }
    assert_eq!(db.upstream_cache.model_list("b").await.unwrap(), None);
}

async fn fallback_levels_are_cached_per_upstream(db: TestDatabase) {
    let (one, two) = (ModelId::new("maker/one"), ModelId::new("maker/two"));
    let saved = |model: &ModelId, level: u8, saved_at: i64| SavedFallbackLevel {
        model: model.clone(),
        level,
        unsupported_parameters: level / 2,
        needs: level / 3,
        saved_at: at(saved_at),
    };
    for (upstream, level) in [
        ("a", saved(&two, 255, 1)),
        ("a", saved(&one, 1, 2)),
        ("a", saved(&one, 2, 3)),
        ("b", saved(&one, 3, 4)),
    ] {
        db.upstream_cache.save_fallback_level(upstream, &level).await.unwrap();
    }
    let levels = async |upstream| db.upstream_cache.fallback_levels(upstream).await.unwrap();
    assert_eq!(levels("a").await, [saved(&one, 2, 3), saved(&two, 255, 1)]);
    assert_eq!(levels("b").await, [saved(&one, 3, 4)]);
    assert_eq!(db.upstream_cache.fallback_levels("c").await.unwrap(), []);
    db.upstream_cache.forget_fallback_levels("a", &[one.clone(), ModelId::new("maker/three")]).await.unwrap();
    assert_eq!(levels("a").await, [saved(&two, 255, 1)]);
    assert_eq!(levels("b").await, [saved(&one, 3, 4)]);
}
