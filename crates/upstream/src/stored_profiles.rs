//! The stored request profiles of one upstream, read again every half minute.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ep_polling::{ModelId, Timestamp};
use ep_store::{StoreError, UpstreamCache};
use tokio::sync::OnceCell;

use crate::request_profile::{Need, RequestProfile};

/// Age at which the profiles are read again, to see the changes of other processes and of operators.
const READ_AGAIN: Duration = Duration::from_secs(30);
/// Maximum time that a vote waits for the profiles.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Time within which a change is stored.
const STORED_WITHIN: Duration = Duration::from_secs(10);

/// The stored request profiles of one upstream.
pub(crate) struct StoredProfiles {
    upstream: Arc<str>,
    cache: Arc<dyn UpstreamCache>,
    last: RwLock<Last>,
}

struct Last {
    reading: Arc<Reading>,
    /// The time at which the profiles were last read, or could not be.
    tried_at: Timestamp,
    /// The last reading that was loaded, while this one is not.
    before: Option<Arc<Reading>>,
}

/// One reading of the profiles, which all concurrent votes share.
pub(crate) struct Reading {
    begun_at: Timestamp,
    profiles: OnceCell<HashMap<ModelId, RequestProfile>>,
}

impl Reading {
    fn at(begun_at: Timestamp) -> Arc<Self> {
        Arc::new(Self { begun_at, profiles: OnceCell::new() })
    }

    /// Returns the stored profile of a model.
    pub(crate) fn get(&self, model: &ModelId) -> Option<RequestProfile> {
        self.profiles.get()?.get(model).copied()
    }

    /// Returns true if a model needs this.
    pub(crate) fn any_needs(&self, need: Need) -> bool {
        self.profiles.get().is_some_and(|profiles| profiles.values().any(|profile| profile.needs(need)))
    }

    /// Returns true if a model with this profile was forgotten: its profile must have been stored, and is not.
    pub(crate) fn has_forgotten(&self, model: &ModelId, profile: RequestProfile) -> bool {
        let must_be_stored = |changed_at| self.begun_at.since(changed_at) >= STORED_WITHIN;
        profile.changed_at.is_some_and(must_be_stored)
            && self.profiles.get().is_some_and(|profiles| !profiles.contains_key(model))
    }
}

impl StoredProfiles {
    pub(crate) fn new(upstream: Arc<str>, cache: Arc<dyn UpstreamCache>) -> Self {
        let never = Timestamp::from_millis(0);
        let last = Last { reading: Reading::at(never), tried_at: never, before: None };
        Self { upstream, cache, last: RwLock::new(last) }
    }

    /// Returns the profiles as they were read in the last half minute. If they cannot be read in time, the last reading counts for
    /// that long; without one, the next vote tries again.
    pub(crate) async fn read(&self, now: Timestamp) -> Option<Arc<Reading>> {
        let (reading, before) = self.last_or_new(now);
        let load = reading.profiles.get_or_try_init(|| async {
            let stored = self.cache.fallback_levels(&self.upstream).await?;
            let profiles = stored
                .into_iter()
                .filter_map(|saved| Some((saved.model.clone(), RequestProfile::stored(&saved)?)));
            Ok::<_, StoreError>(profiles.collect())
        });
        match tokio::time::timeout(TIMEOUT, load).await {
            Ok(Ok(_)) => return Some(reading),
            Ok(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "failed to read the stored fallback levels");
            }
            Err(_) => tracing::warn!("timed out reading the stored fallback levels"),
        }
        let before = before?;
        let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&last.reading, &reading) {
            *last = Last { reading: Arc::clone(&before), tried_at: now, before: None };
        }
        Some(before)
    }

    /// Returns the last reading, or a new one if that is old; and the one before it, if it was loaded.
    fn last_or_new(&self, now: Timestamp) -> (Arc<Reading>, Option<Arc<Reading>>) {
        let is_old = |last: &Last| now.since(last.tried_at) >= READ_AGAIN;
        {
            let last = self.last.read().unwrap_or_else(PoisonError::into_inner);
            if !is_old(&last) {
                return (Arc::clone(&last.reading), last.before.clone());
            }
        }
        let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
        if is_old(&last) {
            let earlier = Some(Arc::clone(&last.reading)).filter(|reading| reading.profiles.initialized());
            let before = earlier.or_else(|| last.before.take());
            *last = Last { reading: Reading::at(now), tried_at: now, before };
        }
        (Arc::clone(&last.reading), last.before.clone())
    }
}
