//! What is remembered about upstreams.

use ep_kernel::ports::CachedModelList;
use ep_polling::roster::ModelId;

use crate::site::{Site, at};

on_both_engines!(remembers_the_last_registry, remembers_rungs_per_upstream);

async fn remembers_the_last_registry(site: Site) {
    assert_eq!(site.memory.model_list("a").await.unwrap(), None);
    for time in [1, 2] {
        let registry =
            CachedModelList { fetched_at: at(time), body: format!("{{\"data\":[{time},\"🦀\"]}}") };
        site.memory.save_model_list("a", &registry).await.unwrap();
        assert_eq!(site.memory.model_list("a").await.unwrap(), Some(registry));
    }
    assert_eq!(site.memory.model_list("b").await.unwrap(), None);
}

async fn remembers_rungs_per_upstream(site: Site) {
    let (one, two) = (ModelId::new("maker/one"), ModelId::new("maker/two"));
    site.memory.save_fallback_level("a", &two, 255).await.unwrap();
    site.memory.save_fallback_level("a", &one, 1).await.unwrap();
    site.memory.save_fallback_level("a", &one, 2).await.unwrap();
    site.memory.save_fallback_level("b", &one, 3).await.unwrap();
    assert_eq!(site.memory.fallback_levels("a").await.unwrap(), [(one.clone(), 2), (two, 255)]);
    assert_eq!(site.memory.fallback_levels("b").await.unwrap(), [(one, 3)]);
    assert_eq!(site.memory.fallback_levels("c").await.unwrap(), []);
}
