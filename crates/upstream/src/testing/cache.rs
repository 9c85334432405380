//! An in-memory upstream cache.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use ep_polling::ModelId;
use ep_store::{CachedModelList, SavedFallbackLevel, StoreError, UpstreamCache};

/// Stores the cached data of upstreams in memory. Two upstreams that share it act as one before and after a
/// restart.
#[derive(Debug, Default)]
pub struct InMemoryCache {
    model_lists: Mutex<HashMap<String, CachedModelList>>,
    levels: Mutex<HashMap<(String, ModelId), SavedFallbackLevel>>,
}

#[async_trait]
impl UpstreamCache for InMemoryCache {
    async fn model_list(&self, upstream: &str) -> Result<Option<CachedModelList>, StoreError> {
        Ok(self.model_lists.lock().unwrap_or_else(PoisonError::into_inner).get(upstream).cloned())
    }

    async fn save_model_list(&self, upstream: &str, list: &CachedModelList) -> Result<(), StoreError> {
        let mut lists = self.model_lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.insert(upstream.to_owned(), list.clone());
        Ok(())
    }

    async fn fallback_levels(&self, upstream: &str) -> Result<Vec<SavedFallbackLevel>, StoreError> {
        let levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        let of_upstream = levels.iter().filter(|((of, _), _)| of == upstream);
        Ok(of_upstream.map(|(_, level)| level.clone()).collect())
    }

    async fn save_fallback_level(
        &self,
        upstream: &str,
        level: &SavedFallbackLevel,
    ) -> Result<(), StoreError> {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        levels.insert((upstream.to_owned(), level.model.clone()), level.clone());
        Ok(())
    }

    async fn forget_fallback_levels(&self, upstream: &str, models: &[ModelId]) -> Result<(), StoreError> {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        levels.retain(|(of, model), _| of != upstream || !models.contains(model));
        Ok(())
    }
}
