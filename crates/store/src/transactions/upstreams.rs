//! Cached upstream data.

use async_trait::async_trait;
use ep_polling::roster::ModelId;

use super::Database;
use crate::connection::Durability;
use crate::records::{CachedModelList, SavedFallbackLevel, StoreError, UpstreamCache};
use crate::statements as sql;
use crate::value::values;

#[async_trait]
impl UpstreamCache for Database {
    async fn model_list(&self, upstream: &str) -> Result<Option<CachedModelList>, StoreError> {
        self.engine.fetch_optional(sql::MODEL_LIST, values![upstream]).await
    }

    async fn save_model_list(&self, upstream: &str, list: &CachedModelList) -> Result<(), StoreError> {
        let values = values![upstream, list.fetched_at, &*list.body];
        self.engine.execute(Durability::ProcessCrash, sql::SAVE_MODEL_LIST, values).await.map(drop)
    }

    async fn fallback_levels(&self, upstream: &str) -> Result<Vec<SavedFallbackLevel>, StoreError> {
        self.engine.fetch_all(sql::FALLBACK_LEVELS, values![upstream]).await
    }

    async fn save_fallback_level(
        &self,
        upstream: &str,
        level: &SavedFallbackLevel,
    ) -> Result<(), StoreError> {
        let (number, parameters) = (u32::from(level.level), u32::from(level.unsupported_parameters));
        let needs = u32::from(level.needs);
        let values = values![upstream, level.model.as_str(), number, parameters, needs, level.saved_at];
        self.engine.execute(Durability::ProcessCrash, sql::SAVE_FALLBACK_LEVEL, values).await.map(drop)
    }

    async fn forget_fallback_levels(&self, upstream: &str, models: &[ModelId]) -> Result<(), StoreError> {
        for model in models {
            let values = values![upstream, model.as_str()];
            self.engine.execute(Durability::ProcessCrash, sql::FORGET_FALLBACK_LEVEL, values).await?;
        }
        Ok(())
    }
}
