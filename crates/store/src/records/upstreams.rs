//! The cache of upstream data between starts.

use async_trait::async_trait;
use ep_polling::roster::ModelId;
use ep_polling::time::Timestamp;

use super::StoreError;
use crate::row::from_row;

/// A model list as it was last fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedModelList {
    /// The time of the fetch.
    pub fetched_at: Timestamp,
    /// The upstream's response body, unchanged.
    pub body: String,
}

/// The request format that a model is known to support.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedFallbackLevel {
    /// The model.
    pub model: ModelId,
    /// The level, from 0.
    pub level: u8,
    /// The optional parameters that it does not support, as a set of bits.
    pub unsupported_parameters: u8,
    /// Further needs of its requests, as a set of bits.
    pub needs: u8,
    /// The time of saving.
    pub saved_at: Timestamp,
}

/// Stores the model list and the fallback levels of the models of each upstream. A power loss may undo the
/// last changes.
#[async_trait]
pub trait UpstreamCache: Send + Sync {
    /// Returns the model list of this upstream, regardless of its age.
    async fn model_list(&self, upstream: &str) -> Result<Option<CachedModelList>, StoreError>;

    /// Replaces the model list of this upstream.
    async fn save_model_list(&self, upstream: &str, list: &CachedModelList) -> Result<(), StoreError>;

    /// Returns the fallback levels saved for this upstream, ordered by model. Models without one are at level
    /// 0.
    async fn fallback_levels(&self, upstream: &str) -> Result<Vec<SavedFallbackLevel>, StoreError>;

    /// Saves a model's fallback level.
    async fn save_fallback_level(&self, upstream: &str, level: &SavedFallbackLevel)
    -> Result<(), StoreError>;

    /// Removes the fallback levels of these models.
    async fn forget_fallback_levels(&self, upstream: &str, models: &[ModelId]) -> Result<(), StoreError>;
}

from_row!(CachedModelList { fetched_at, body });
from_row!(SavedFallbackLevel { model, level, unsupported_parameters, needs, saved_at });
