//! Fallback levels: the request format for each model.
//!
//! Models and servers support different kinds of tool calls. Each model starts at its stored level, or at the
//! strictest level that its registry entry supports. It falls back to a lower level when a request is
//! rejected or responses ignore the format, and stays there for a day. Optional parameters that a server
//! rejects are omitted for the same time. Both are stored per upstream and model.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use crate::fallback_level::FallbackLevel;
use crate::request_profile::Unsupported;
use crate::request_profile::{Need, RequestProfile};
use ep_kernel::ports::{Clock, SavedFallbackLevel, UpstreamCache};
use ep_polling::roster::ModelId;
use ep_polling::time::Timestamp;
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;

/// Number of consecutive responses without the requested format after which a model falls back to a lower
/// level.
const MAX_IGNORED: u8 = 2;
/// Time after which a model returns to its first level, because servers improve and a level can be lost by
/// accident.
const RECOVERY: Duration = Duration::from_hours(24);
/// Maximum time that a vote waits for the stored levels.
const LOAD_TIMEOUT: Duration = Duration::from_secs(2);

/// The fallback levels of all models of one upstream.
pub(crate) struct FallbackLevels {
    upstream: Arc<str>,
    cache: Arc<dyn UpstreamCache>,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    stored: OnceCell<HashMap<ModelId, RequestProfile>>,
    profiles: RwLock<HashMap<ModelId, Arc<Mutex<RequestProfile>>>>,
}

/// The fallback level of one model.
pub(crate) struct ModelFallback<'l> {
    levels: &'l FallbackLevels,
    model: &'l ModelId,
    profile: Arc<Mutex<RequestProfile>>,
}

impl FallbackLevels {
    pub(crate) fn new(
        upstream: Arc<str>,
        cache: Arc<dyn UpstreamCache>,
        clock: Arc<dyn Clock>,
        tasks: TaskTracker,
    ) -> Self {
        Self { upstream, cache, clock, tasks, stored: OnceCell::new(), profiles: RwLock::default() }
    }

    /// Returns the fallback level of this model: the stored one if it is less than a day old, else `start`.
    pub(crate) async fn of_model<'l>(
        &'l self,
        model: &'l ModelId,
        start: FallbackLevel,
    ) -> ModelFallback<'l> {
        let known = self.profiles.read().unwrap_or_else(PoisonError::into_inner).get(model).cloned();
        let recovers = |changed_at: Timestamp| self.clock.now().since(changed_at) >= RECOVERY;
        let profile = if let Some(profile) = known {
            profile
        } else {
            let stored = self.stored_profile(model).await;
            let new = stored.unwrap_or_else(|| RequestProfile::starting_at(start));
            let mut profiles = self.profiles.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(profiles.entry(model.clone()).or_insert_with(|| Arc::new(Mutex::new(new))))
        };
        {
            let mut current = profile.lock().unwrap_or_else(PoisonError::into_inner);
            if current.changed_at.is_some_and(recovers) {
                *current = RequestProfile::starting_at(start);
            }
        }
        ModelFallback { levels: self, model, profile }
    }

    /// Returns the stored profile. If it cannot be read in time, the vote continues without it, and the next
    /// model without a profile tries again.
    async fn stored_profile(&self, model: &ModelId) -> Option<RequestProfile> {
        let load = self.stored.get_or_try_init(|| async {
            let stored = self.cache.fallback_levels(&self.upstream).await?;
            let known = |saved: SavedFallbackLevel| {
                RequestProfile::stored(&saved).map(|profile| (saved.model, profile))
            };
            Ok::<_, ep_kernel::ports::StoreError>(stored.into_iter().filter_map(known).collect())
        });
        match tokio::time::timeout(LOAD_TIMEOUT, load).await {
            Ok(Ok(profiles)) => profiles.get(model).copied(),
            Ok(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "failed to read the stored fallback levels");
                None
            }
            Err(_) => {
                tracing::warn!("timed out reading the stored fallback levels");
                None
            }
        }
    }
}

impl ModelFallback<'_> {
    /// Returns the current profile.
    pub(crate) fn profile(&self) -> RequestProfile {
        *self.profile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the server rejected a request at this level. Returns the level of the next request.
    pub(crate) fn note_unsupported(&self, at: FallbackLevel, what: Unsupported) -> FallbackLevel {
        self.change(|profile| profile.note_unsupported(at, what))
    }

    /// Records that the plainest request worked where the full one was refused without a reason. If that happens twice in a row, the
    /// model gets plain requests from then on.
    pub(crate) fn record_plain_response(&self) {
        self.change(|profile| {
            if profile.refused_once {
                profile.needs |= Need::Plain as u8;
            }
            profile.refused_once = true;
        });
    }

    /// Records that a response at this level followed or ignored the requested format.
    pub(crate) fn record_response(&self, at: FallbackLevel, followed_form: bool) {
        self.change(|profile| {
            profile.refused_once = false;
            if profile.level != at || at == FallbackLevel::Prose {
                return;
            }
            profile.ignored = if followed_form { 0 } else { profile.ignored + 1 };
            if profile.ignored >= MAX_IGNORED
                && let Some(lower) = FallbackLevel::from_number(at as u8 + 1)
            {
                profile.move_to(profile.supported_from(lower));
            }
        });
    }

    fn change<T>(&self, change: impl FnOnce(&mut RequestProfile) -> T) -> T {
        let mut profile = self.profile.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *profile;
        let result = change(&mut profile);
        let changed = !profile.sends_like(before);
        if changed {
            profile.changed_at = Some(self.levels.clock.now());
        }
        let after = *profile;
        drop(profile);
        if before.level != after.level {
            tracing::info!(model = %self.model, fallback_level = after.level.as_str(), "model moved to a lower fallback level");
        }
        if changed {
            self.store();
        }
        result
    }

    /// Stores a changed profile in the background.
    fn store(&self) {
        let (cache, upstream) = (Arc::clone(&self.levels.cache), Arc::clone(&self.levels.upstream));
        let (model, profile) = (self.model.clone(), Arc::clone(&self.profile));
        let saved_at = self.levels.clock.now();
        self.levels.tasks.spawn(async move {
            // Read the profile here, so that two concurrent writes never store an outdated one.
            let current = *profile.lock().unwrap_or_else(PoisonError::into_inner);
            let saved = SavedFallbackLevel {
                model,
                level: current.level as u8,
                unsupported_parameters: current.unsupported_parameters,
                needs: current.needs,
                saved_at,
            };
            if let Err(error) = cache.save_fallback_level(&upstream, &saved).await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(model = %saved.model, error, "failed to store a fallback level");
            }
        });
    }
}
