//! What is remembered about upstreams between starts.

use async_trait::async_trait;

use super::StoreError;
use ep_polling::roster::ModelId;
use ep_polling::time::Timestamp;

/// A model list as it was last fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedModelList {
    /// When it was fetched.
    pub fetched_at: Timestamp,
    /// The upstream's own document.
    pub body: String,
}

/// Remembers, per upstream, its model list and how far each model obeys a forced tool call.
#[async_trait]
pub trait UpstreamCache: Send + Sync {
    /// The model list of this upstream, however old.
    async fn model_list(&self, upstream: &str) -> Result<Option<CachedModelList>, StoreError>;

    /// Replaces it.
    async fn save_model_list(&self, upstream: &str, registry: &CachedModelList) -> Result<(), StoreError>;

    /// The ladder rung of every model that was moved off the first one.
    async fn fallback_levels(&self, upstream: &str) -> Result<Vec<(ModelId, u8)>, StoreError>;

    /// Remembers a model's rung.
    async fn save_fallback_level(&self, upstream: &str, model: &ModelId, rung: u8) -> Result<(), StoreError>;
}
