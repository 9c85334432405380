//! What is remembered about upstreams between starts.

use async_trait::async_trait;

use super::StoreError;
use crate::polling::roster::ModelId;
use crate::time::Timestamp;

/// A model list as it was last fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRegistry {
    /// When it was fetched.
    pub fetched_at: Timestamp,
    /// The upstream's own document.
    pub body: String,
}

/// Remembers, per upstream, its model list and how far each model obeys a forced tool call.
#[async_trait]
pub trait UpstreamMemory: Send + Sync {
    /// The model list of this upstream, however old.
    async fn registry(&self, upstream: &str) -> Result<Option<KeptRegistry>, StoreError>;

    /// Replaces it.
    async fn keep_registry(&self, upstream: &str, registry: &KeptRegistry) -> Result<(), StoreError>;

    /// The ladder rung of every model that was moved off the first one.
    async fn rungs(&self, upstream: &str) -> Result<Vec<(ModelId, u8)>, StoreError>;

    /// Remembers a model's rung.
    async fn keep_rung(&self, upstream: &str, model: &ModelId, rung: u8) -> Result<(), StoreError>;
}
