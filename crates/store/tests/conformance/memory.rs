//! What is remembered about upstreams.

use ep_kernel::polling::roster::ModelId;
use ep_kernel::ports::KeptRegistry;

use crate::site::{Site, at};

on_both_engines!(remembers_the_last_registry, remembers_rungs_per_upstream);

async fn remembers_the_last_registry(site: Site) {
    assert_eq!(site.memory.registry("a").await.unwrap(), None);
    for time in [1, 2] {
        let registry = KeptRegistry { fetched_at: at(time), body: format!("{{\"data\":[{time},\"🦀\"]}}") };
        site.memory.keep_registry("a", &registry).await.unwrap();
        assert_eq!(site.memory.registry("a").await.unwrap(), Some(registry));
    }
    assert_eq!(site.memory.registry("b").await.unwrap(), None);
}

async fn remembers_rungs_per_upstream(site: Site) {
    let (one, two) = (ModelId::new("maker/one"), ModelId::new("maker/two"));
    site.memory.keep_rung("a", &two, 255).await.unwrap();
    site.memory.keep_rung("a", &one, 1).await.unwrap();
    site.memory.keep_rung("a", &one, 2).await.unwrap();
    site.memory.keep_rung("b", &one, 3).await.unwrap();
    assert_eq!(site.memory.rungs("a").await.unwrap(), [(one.clone(), 2), (two, 255)]);
    assert_eq!(site.memory.rungs("b").await.unwrap(), [(one, 3)]);
    assert_eq!(site.memory.rungs("c").await.unwrap(), []);
}
