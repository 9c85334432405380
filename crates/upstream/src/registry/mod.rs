//! The models of an upstream.

mod cache;
pub(crate) mod family;
pub(crate) mod listing;
mod modalities;
mod prices;
mod raw_entry;
pub(crate) mod weights;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ep_kernel::{Fault, Registry};
use ep_polling::{ModelId, Roster, Timestamp};

pub(crate) use cache::{CacheState, FETCH_RESULTS, ModelListCache};
use listing::ListedModel;

/// A model list at one point in time, and the rosters selected from it.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) fetched_at: Timestamp,
    /// The models, in the upstream's order.
    pub(crate) models: Vec<ListedModel>,
    by_id: HashMap<ModelId, usize>,
    rosters: Mutex<HashMap<String, Arc<Roster>>>,
}

impl Snapshot {
    pub(crate) fn new(fetched_at: Timestamp, models: Vec<ListedModel>) -> Self {
        let by_id = models
            .iter()
            .enumerate()
            .map(|(index, model)| (ModelId::new(&*model.variant.id), index))
            .collect();
        Self { fetched_at, models, by_id, rosters: Mutex::default() }
    }

    pub(crate) fn get(&self, model: &ModelId) -> Option<&ListedModel> {
        self.by_id.get(model).and_then(|&index| self.models.get(index))
    }

    /// Returns the roster of this preset, computed once per snapshot.
    pub(crate) fn roster(
        &self,
        preset: &str,
        compute: impl FnOnce() -> Result<Roster, Fault>,
    ) -> Result<Arc<Roster>, Fault> {
        let mut rosters = self.rosters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(roster) = rosters.get(preset) {
            return Ok(Arc::clone(roster));
        }
        let roster = Arc::new(compute()?);
        rosters.insert(preset.to_owned(), Arc::clone(&roster));
        Ok(roster)
    }

    /// Returns the list shown to clients.
    pub(crate) fn registry(&self, ttl: Duration, simulated: bool) -> Registry {
        let variants: Vec<_> = self.models.iter().map(|model| model.variant.clone()).collect();
        Registry {
            fetched_at: self.fetched_at,
            cache_expires_at: self.fetched_at.after(ttl),
            count: variants.len(),
            model_count: Some(variants.len()),
            simulated,
            variants,
            panels: Vec::new(),
        }
    }
}
