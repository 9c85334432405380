//! A memory without a database.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use ep_kernel::ports::{CachedModelList, StoreError, UpstreamCache};
use ep_polling::roster::ModelId;

/// Keeps what an upstream remembers for the life of the value. Shared between two upstreams it plays a
/// restart.
#[derive(Debug, Default)]
pub struct InMemory {
    registries: Mutex<HashMap<String, CachedModelList>>,
    rungs: Mutex<HashMap<(String, ModelId), u8>>,
}

#[async_trait]
impl UpstreamCache for InMemory {
    async fn model_list(&self, upstream: &str) -> Result<Option<CachedModelList>, StoreError> {
        Ok(self.registries.lock().unwrap_or_else(PoisonError::into_inner).get(upstream).cloned())
    }

    async fn save_model_list(&self, upstream: &str, registry: &CachedModelList) -> Result<(), StoreError> {
        let mut registries = self.registries.lock().unwrap_or_else(PoisonError::into_inner);
        registries.insert(upstream.to_owned(), registry.clone());
        Ok(())
    }

    async fn fallback_levels(&self, upstream: &str) -> Result<Vec<(ModelId, u8)>, StoreError> {
        let rungs = self.rungs.lock().unwrap_or_else(PoisonError::into_inner);
        let here = rungs.iter().filter(|((of, _), _)| of == upstream);
        Ok(here.map(|((_, model), rung)| (model.clone(), *rung)).collect())
    }

    async fn save_fallback_level(&self, upstream: &str, model: &ModelId, rung: u8) -> Result<(), StoreError> {
        let mut rungs = self.rungs.lock().unwrap_or_else(PoisonError::into_inner);
        rungs.insert((upstream.to_owned(), model.clone()), rung);
        Ok(())
    }
}
