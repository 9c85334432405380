//! The stored request profiles of one upstream, read again every half minute.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ep_kernel::ports::{StoreError, UpstreamCache};
use ep_polling::roster::ModelId;
use ep_polling::time::Timestamp;
use tokio::sync::OnceCell;

use crate::request_profile::RequestProfile;

/// Time after which the profiles are read again. Other processes learn, and operators forget.
const READ_AGAIN: Duration = Duration::from_secs(30);
/// Maximum time that a vote waits for the profiles.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Time within which a change is stored.
const STORED_WITHIN: Duration = Duration::from_secs(10);

/// The stored request profiles of one upstream.
pub(crate) struct StoredProfiles {
    upstream: Arc<str>,
    cache: Arc<dyn UpstreamCache>,
    last: RwLock<Arc<Reading>>,
}

/// One reading of the profiles, which those who need them at the same time share.
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

    /// Returns true if a model with this profile was forgotten: its profile must have been stored, and is not.
    pub(crate) fn has_forgotten(&self, model: &ModelId, profile: RequestProfile) -> bool {
        let must_be_stored = |changed_at| self.begun_at.since(changed_at) >= STORED_WITHIN;
        profile.changed_at.is_some_and(must_be_stored)
            && self.profiles.get().is_some_and(|profiles| !profiles.contains_key(model))
    }
}

impl StoredProfiles {
    pub(crate) fn new(upstream: Arc<str>, cache: Arc<dyn UpstreamCache>) -> Self {
        Self { upstream, cache, last: RwLock::new(Reading::at(Timestamp::from_millis(0))) }
    }

    /// Returns the last reading. If the profiles cannot be read in time, the vote continues without them, and the next one
    /// tries again.
    pub(crate) async fn read(&self, now: Timestamp) -> Option<Arc<Reading>> {
        let reading = self.last_or_new(now);
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
        None
    }

    fn last_or_new(&self, now: Timestamp) -> Arc<Reading> {
        let is_old = |reading: &Reading| now.since(reading.begun_at) >= READ_AGAIN;
        let last = Arc::clone(&self.last.read().unwrap_or_else(PoisonError::into_inner));
        if !is_old(&last) {
            return last;
        }
        let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
        if is_old(&last) {
            *last = Reading::at(now);
        }
        Arc::clone(&last)
    }
}
