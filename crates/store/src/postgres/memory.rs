//! What is remembered about upstreams.

use async_trait::async_trait;

use ep_kernel::ports::{CachedModelList, StoreError, UpstreamCache};
use ep_polling::roster::ModelId;

use super::Postgres;
use crate::fault::refused;
use crate::{rows, statements as sql};

#[async_trait]
impl UpstreamCache for Postgres {
    async fn model_list(&self, upstream: &str) -> Result<Option<CachedModelList>, StoreError> {
        self.in_time(async {
            let row = sqlx::query_as(sql::REGISTRY).bind(upstream).fetch_optional(&self.pool).await;
            Ok(row.map_err(refused)?.map(rows::registry))
        })
        .await
    }

    async fn save_model_list(&self, upstream: &str, registry: &CachedModelList) -> Result<(), StoreError> {
        self.in_time(async {
            let kept = sqlx::query(sql::KEEP_REGISTRY)
                .bind(upstream)
                .bind(registry.fetched_at.millis())
                .bind(&registry.body)
                .execute(&self.pool)
                .await;
            kept.map(|_| ()).map_err(refused)
        })
        .await
    }

    async fn fallback_levels(&self, upstream: &str) -> Result<Vec<(ModelId, u8)>, StoreError> {
        self.in_time(async {
            let kept = sqlx::query_as(sql::RUNGS).bind(upstream).fetch_all(&self.pool).await;
            Ok(kept.map_err(refused)?.into_iter().map(rows::rung).collect())
        })
        .await
    }

    async fn save_fallback_level(&self, upstream: &str, model: &ModelId, rung: u8) -> Result<(), StoreError> {
        self.in_time(async {
            let kept = sqlx::query(sql::KEEP_RUNG)
                .bind(upstream)
                .bind(model.as_str())
                .bind(i64::from(rung))
                .execute(&self.pool)
                .await;
            kept.map(|_| ()).map_err(refused)
        })
        .await
    }
}
