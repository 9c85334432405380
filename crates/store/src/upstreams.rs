//! The cache of upstream data between starts.

use async_trait::async_trait;
use ep_polling::{ModelId, Timestamp};

use crate::connection::Durability;
use crate::database::Database;
use crate::row::{Columns, FromRow, from_row};
use crate::store_error::Result;
use crate::value::values;

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
    async fn model_list(&self, upstream: &str) -> Result<Option<CachedModelList>>;

    /// Replaces the model list of this upstream.
    async fn save_model_list(&self, upstream: &str, list: &CachedModelList) -> Result<()>;

    /// Returns the fallback levels saved for this upstream, ordered by model. Models without one are at level
    /// 0.
    async fn fallback_levels(&self, upstream: &str) -> Result<Vec<SavedFallbackLevel>>;

    /// Saves a model's fallback level.
    async fn save_fallback_level(&self, upstream: &str, level: &SavedFallbackLevel) -> Result<()>;

    /// Removes the fallback levels of these models.
    async fn forget_fallback_levels(&self, upstream: &str, models: &[ModelId]) -> Result<()>;
}

from_row!(CachedModelList { fetched_at, body });

/// Decodes a level. A number that only a later release writes counts as zero.
impl FromRow for SavedFallbackLevel {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        let known = |number: i64| u8::try_from(number).unwrap_or_default();
        Ok(Self {
            model: columns.get()?,
            level: known(columns.get()?),
            unsupported_parameters: known(columns.get()?),
            needs: known(columns.get()?),
            saved_at: columns.get()?,
        })
    }
}

const MODEL_LIST: &str = "SELECT fetched_at, body FROM upstream_registries WHERE upstream = $1";
const SAVE_MODEL_LIST: &str = "INSERT INTO upstream_registries (upstream, fetched_at, body) \
     VALUES ($1, $2, $3) \
     ON CONFLICT (upstream) DO UPDATE SET fetched_at = excluded.fetched_at, body = excluded.body";
pub(crate) const FALLBACK_LEVELS: &str = "SELECT model, rung AS level, parameters, needs, saved_at FROM upstream_rungs WHERE upstream = $1 ORDER BY model";
const SAVE_FALLBACK_LEVEL: &str = "INSERT INTO upstream_rungs (upstream, model, rung, parameters, needs, saved_at) \
     VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (upstream, model) DO UPDATE SET rung = excluded.rung, parameters = excluded.parameters, \
         needs = excluded.needs, saved_at = excluded.saved_at";
const FORGET_FALLBACK_LEVEL: &str = "DELETE FROM upstream_rungs WHERE upstream = $1 AND model = $2";

#[async_trait]
impl UpstreamCache for Database {
    async fn model_list(&self, upstream: &str) -> Result<Option<CachedModelList>> {
        self.engine.fetch_optional(MODEL_LIST, values![upstream]).await
    }

    async fn save_model_list(&self, upstream: &str, list: &CachedModelList) -> Result<()> {
        let values = values![upstream, list.fetched_at, &*list.body];
        self.engine.execute(Durability::ProcessCrash, SAVE_MODEL_LIST, values).await.map(drop)
    }

    async fn fallback_levels(&self, upstream: &str) -> Result<Vec<SavedFallbackLevel>> {
        self.engine.fetch_all(FALLBACK_LEVELS, values![upstream]).await
    }

    async fn save_fallback_level(&self, upstream: &str, level: &SavedFallbackLevel) -> Result<()> {
        let (number, parameters) = (u32::from(level.level), u32::from(level.unsupported_parameters));
        let needs = u32::from(level.needs);
        let values = values![upstream, level.model.as_str(), number, parameters, needs, level.saved_at];
        self.engine.execute(Durability::ProcessCrash, SAVE_FALLBACK_LEVEL, values).await.map(drop)
    }

    async fn forget_fallback_levels(&self, upstream: &str, models: &[ModelId]) -> Result<()> {
        for model in models {
            let values = values![upstream, model.as_str()];
            self.engine.execute(Durability::ProcessCrash, FORGET_FALLBACK_LEVEL, values).await?;
        }
        Ok(())
    }
}
