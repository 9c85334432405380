//! Fallback levels: the request format for each model.
//!
//! Models and servers support different kinds of tool calls. Each model starts at its stored level, or at the
//! strictest level that its registry entry supports. It falls back to a lower level when a request is
//! rejected or responses ignore the format, and stays there for a day. Optional parameters that a server
//! rejects are omitted for the same time. Other needs of a server are stored with them, per upstream and model. What another
//! process learns, and what `ep doctor --forget` removes, takes effect within a minute.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use crate::fallback_level::FallbackLevel;
use crate::pattern::Pattern;
use crate::request_profile::{Need, RequestProfile, Unsupported};
use crate::stored_profiles::{Reading, StoredProfiles};
use ep_kernel::Clock;
use ep_polling::{Member, ModelId};
use ep_store::{SavedFallbackLevel, StoreError, UpstreamCache};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// Number of consecutive responses without the requested format after which a model falls back to a lower
/// level.
const MAX_IGNORED: u8 = 2;
/// Time after which a model returns to its first level, because servers improve and a level can be lost by
/// accident.
const RECOVERY: Duration = Duration::from_hours(24);

/// The fallback levels of all models of one upstream.
pub(crate) struct FallbackLevels {
    upstream: Arc<str>,
    cache: Arc<dyn UpstreamCache>,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    stored: StoredProfiles,
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
        let stored = StoredProfiles::new(Arc::clone(&upstream), Arc::clone(&cache));
        Self { upstream, cache, clock, tasks, stored, profiles: RwLock::default() }
    }

    /// Returns the fallback level of this model: the stored one if it is less than a day old, else `start`.
    pub(crate) async fn of_model<'l>(
        &'l self,
        model: &'l ModelId,
        start: FallbackLevel,
    ) -> ModelFallback<'l> {
        let stored = self.stored.read(self.clock.now()).await;
        let first = RequestProfile::starting_at(start);
        let known = self.profiles.read().unwrap_or_else(PoisonError::into_inner).get(model).cloned();
        let profile = known.unwrap_or_else(|| {
            let mut profiles = self.profiles.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(profiles.entry(model.clone()).or_insert_with(|| Arc::new(Mutex::new(first))))
        });
        {
            let mut current = profile.lock().unwrap_or_else(PoisonError::into_inner);
            *current = self.known(model, Some(*current), stored.as_deref()).unwrap_or(first);
        }
        ModelFallback { levels: self, model, profile }
    }

    /// Returns what is known about a model: what this process has learnt, unless it was forgotten, or what is stored, if that is
    /// newer. A day after the last change, that is nothing.
    fn known(
        &self,
        model: &ModelId,
        learnt: Option<RequestProfile>,
        stored: Option<&Reading>,
    ) -> Option<RequestProfile> {
        let learnt =
            learnt.filter(|profile| !stored.is_some_and(|stored| stored.has_forgotten(model, *profile)));
        let saved = stored.and_then(|stored| stored.get(model));
        let newer = saved.filter(|saved| learnt.is_none_or(|learnt| saved.is_newer_than(learnt)));
        let now = self.clock.now();
        newer.or(learnt).filter(|profile| profile.changed_at.is_none_or(|at| now.since(at) < RECOVERY))
    }

    /// Returns what this process has learnt about a model.
    fn in_memory(&self, model: &ModelId) -> Option<RequestProfile> {
        let profiles = self.profiles.read().unwrap_or_else(PoisonError::into_inner);
        profiles.get(model).map(|profile| *profile.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn any_needs(&self, need: Need) -> bool {
        let profiles = self.profiles.read().unwrap_or_else(PoisonError::into_inner);
        profiles.values().any(|profile| profile.lock().unwrap_or_else(PoisonError::into_inner).needs(need))
    }

    /// Returns the models that need tokens for reasoning.
    pub(crate) async fn reasoning(&self, members: &[Member]) -> HashSet<ModelId> {
        let stored = self.stored.read(self.clock.now()).await;
        let stored = stored.as_deref();
        // Most servers have no such model.
        if !stored.is_some_and(|stored| stored.any_needs(Need::Room)) && !self.any_needs(Need::Room) {
            return HashSet::new();
        }
        let reasons = |model: &&ModelId| {
            let known = self.known(model, self.in_memory(model), stored);
            known.is_some_and(|profile| profile.needs(Need::Room))
        };
        members.iter().map(|member| &member.model).filter(reasons).cloned().collect()
    }

    /// Returns what is known about a model that this process has asked.
    pub(crate) fn learnt(&self, model: &ModelId) -> Vec<&'static str> {
        let known =
            self.known(model, self.in_memory(model), None).filter(|profile| profile.changed_at.is_some());
        known.map(RequestProfile::facts).unwrap_or_default()
    }

    /// Removes what is stored about the models of this pattern. Returns their number.
    pub(crate) async fn forget(&self, pattern: &Pattern) -> Result<usize, StoreError> {
        let stored = self.cache.fallback_levels(&self.upstream).await?;
        let models: Vec<ModelId> = stored
            .into_iter()
            .map(|saved| saved.model)
            .filter(|model| pattern.matches(model.as_str()))
            .collect();
        self.cache.forget_fallback_levels(&self.upstream, &models).await?;
        Ok(models.len())
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

    /// Records that the plainest request worked where the full one was refused without a reason, in a vote that has begun at this
    /// time. If that happens to two votes, one after the other, the model gets plain requests from then on.
    pub(crate) fn record_plain_response(&self, begun: Instant) {
        self.change(|profile| {
            if profile.refused_at.is_some_and(|refused_at| begun > refused_at) {
                profile.needs |= Need::Plain as u8;
            }
            profile.refused_at.get_or_insert_with(Instant::now);
        });
    }

    /// Records that the model reasons, so that its next votes need room for it.
    pub(crate) fn note_reasoning(&self) {
        self.change(|profile| profile.needs |= Need::Room as u8);
    }

    /// Records that a response at this level followed or ignored the requested format.
    pub(crate) fn record_response(&self, at: FallbackLevel, followed_form: bool) {
        self.change(|profile| {
            profile.refused_at = None;
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
