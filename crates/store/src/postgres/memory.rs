//! What is remembered about upstreams.

use async_trait::async_trait;

use ep_kernel::polling::roster::ModelId;
use ep_kernel::ports::{KeptRegistry, StoreError, UpstreamMemory};

use super::Postgres;
use crate::fault::refused;
use crate::{rows, statements as sql};

#[async_trait]
impl UpstreamMemory for Postgres {
    async fn registry(&self, upstream: &str) -> Result<Option<KeptRegistry>, StoreError> {
        self.in_time(async {
            let row = sqlx::query_as(sql::REGISTRY).bind(upstream).fetch_optional(&self.pool).await;
            Ok(row.map_err(refused)?.map(rows::registry))
        })
        .await
    }

    async fn keep_registry(&self, upstream: &str, registry: &KeptRegistry) -> Result<(), StoreError> {
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

    async fn rungs(&self, upstream: &str) -> Result<Vec<(ModelId, u8)>, StoreError> {
        self.in_time(async {
            let kept = sqlx::query_as(sql::RUNGS).bind(upstream).fetch_all(&self.pool).await;
            Ok(kept.map_err(refused)?.into_iter().map(rows::rung).collect())
        })
        .await
    }

    async fn keep_rung(&self, upstream: &str, model: &ModelId, rung: u8) -> Result<(), StoreError> {
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
