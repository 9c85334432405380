//! What is remembered about upstreams.

use async_trait::async_trait;
use futures::FutureExt;

use ep_kernel::ports::{CachedModelList, StoreError, UpstreamCache};
use ep_polling::roster::ModelId;

use super::Sqlite;
use super::writer::Survives;
use crate::fault::refused;
use crate::{rows, statements as sql};

#[async_trait]
impl UpstreamCache for Sqlite {
    async fn model_list(&self, upstream: &str) -> Result<Option<CachedModelList>, StoreError> {
        let query = sqlx::query_as(sql::REGISTRY).bind(upstream.to_owned());
        let row = self.readers.read(|db| query.fetch_optional(db).boxed()).await?;
        Ok(row.map(rows::registry))
    }

    async fn save_model_list(&self, upstream: &str, registry: &CachedModelList) -> Result<(), StoreError> {
        let (upstream, CachedModelList { fetched_at, body }) = (upstream.to_owned(), registry.clone());
        self.writer
            .run(Survives::Crash, move |db| {
                sqlx::query(sql::KEEP_REGISTRY)
                    .bind(upstream)
                    .bind(fetched_at.millis())
                    .bind(body)
                    .execute(db)
                    .map(|kept| kept.map(|_| ()).map_err(refused))
                    .boxed()
            })
            .await
    }

    async fn fallback_levels(&self, upstream: &str) -> Result<Vec<(ModelId, u8)>, StoreError> {
        let query = sqlx::query_as(sql::RUNGS).bind(upstream.to_owned());
        let kept = self.readers.read(|db| query.fetch_all(db).boxed()).await?;
        Ok(kept.into_iter().map(rows::rung).collect())
    }

    async fn save_fallback_level(&self, upstream: &str, model: &ModelId, rung: u8) -> Result<(), StoreError> {
        let (upstream, model) = (upstream.to_owned(), model.as_str().to_owned());
        self.writer
            .run(Survives::Crash, move |db| {
                sqlx::query(sql::KEEP_RUNG)
                    .bind(upstream)
                    .bind(model)
                    .bind(i64::from(rung))
                    .execute(db)
                    .map(|kept| kept.map(|_| ()).map_err(refused))
                    .boxed()
            })
            .await
    }
}
