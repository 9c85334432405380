//! What is remembered about upstreams.

use async_trait::async_trait;
use futures::FutureExt;

use ep_kernel::polling::roster::ModelId;
use ep_kernel::ports::{KeptRegistry, StoreError, UpstreamMemory};

use super::Sqlite;
use super::writer::Survives;
use crate::fault::refused;
use crate::{rows, statements as sql};

#[async_trait]
impl UpstreamMemory for Sqlite {
    async fn registry(&self, upstream: &str) -> Result<Option<KeptRegistry>, StoreError> {
        let query = sqlx::query_as(sql::REGISTRY).bind(upstream.to_owned());
        let row = self.readers.read(|db| query.fetch_optional(db).boxed()).await?;
        Ok(row.map(rows::registry))
    }

    async fn keep_registry(&self, upstream: &str, registry: &KeptRegistry) -> Result<(), StoreError> {
        let (upstream, KeptRegistry { fetched_at, body }) = (upstream.to_owned(), registry.clone());
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

    async fn rungs(&self, upstream: &str) -> Result<Vec<(ModelId, u8)>, StoreError> {
        let query = sqlx::query_as(sql::RUNGS).bind(upstream.to_owned());
        let kept = self.readers.read(|db| query.fetch_all(db).boxed()).await?;
        Ok(kept.into_iter().map(rows::rung).collect())
    }

    async fn keep_rung(&self, upstream: &str, model: &ModelId, rung: u8) -> Result<(), StoreError> {
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
