//! A list of models.

#![no_main]

use std::collections::HashSet;

use ep_upstream::testing::readers;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|document: &str| {
    let ids = readers::model_list(document).unwrap_or_default();
    assert!(ids.iter().all(|id| !id.is_empty() && id.trim() == id), "{ids:?}");
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "an id is listed twice");
});
