//! What is cached about upstreams.

use ep_kernel::ports::CachedModelList;
use ep_polling::roster::ModelId;

use crate::test_database::{TestDatabase, at};

on_both_engines!(keeps_the_last_model_list, keeps_fallback_levels_per_upstream);

async fn keeps_the_last_model_list(db: TestDatabase) {
    assert_eq!(db.upstream_cache.model_list("a").await.unwrap(), None);
    for time in [1, 2] {
        let list = CachedModelList { fetched_at: at(time), body: format!("{{\"data\":[{time},\"🦀\"]}}") };
        db.upstream_cache.save_model_list("a", &list).await.unwrap();
        assert_eq!(db.upstream_cache.model_list("a").await.unwrap(), Some(list));
    }
    assert_eq!(db.upstream_cache.model_list("b").await.unwrap(), None);
}

async fn keeps_fallback_levels_per_upstream(db: TestDatabase) {
    let (one, two) = (ModelId::new("maker/one"), ModelId::new("maker/two"));
    db.upstream_cache.save_fallback_level("a", &two, 255).await.unwrap();
    db.upstream_cache.save_fallback_level("a", &one, 1).await.unwrap();
    db.upstream_cache.save_fallback_level("a", &one, 2).await.unwrap();
    db.upstream_cache.save_fallback_level("b", &one, 3).await.unwrap();
    assert_eq!(db.upstream_cache.fallback_levels("a").await.unwrap(), [(one.clone(), 2), (two, 255)]);
    assert_eq!(db.upstream_cache.fallback_levels("b").await.unwrap(), [(one, 3)]);
    assert_eq!(db.upstream_cache.fallback_levels("c").await.unwrap(), []);
}
