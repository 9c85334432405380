//! Fallback levels: the request format for each model.
//!
//! Models and servers support different kinds of tool calls. Each model starts at its stored level, or at the
//! strictest level that its registry entry supports. It falls back to a lower level when a request is
//! rejected or responses ignore the format, and stays there for a day. Optional parameters that a server
//! rejects are omitted for the same time. Both are stored per upstream and model.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use ep_kernel::ports::{Clock, SavedFallbackLevel, UpstreamCache};
use ep_polling::roster::ModelId;
use ep_polling::time::Timestamp;
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;

/// The request formats, strictest first. The numbers are stored in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum FallbackLevel {
    /// One tool and `tool_choice: "required"`.
    Required = 0,
    /// One tool and `tool_choice: {"type": "function", …}`.
    Object = 1,
    /// One tool, `tool_choice: "auto"` and an instruction.
    Auto = 2,
    /// No tool, `response_format: json_schema` with an enum.
    Schema = 3,
    /// Only an instruction.
    Prose = 4,
}

impl FallbackLevel {
    pub(crate) const ALL: [Self; 5] = [Self::Required, Self::Object, Self::Auto, Self::Schema, Self::Prose];

    fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Returns true if the vote is a tool call.
    pub(crate) const fn has_tool(self) -> bool {
        matches!(self, Self::Required | Self::Object | Self::Auto)
    }

    /// Returns the stable name for metrics and traces.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Object => "object",
            Self::Auto => "auto",
            Self::Schema => "json_schema",
            Self::Prose => "prose",
        }
    }
}

/// A feature that a server does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsupported {
    /// The `tool_choice` of the request.
    ToolChoice,
    /// Any tools.
    Tools,
    /// `response_format: json_schema`.
    ResponseFormat,
    /// An optional parameter.
    Parameter(OptionalParameter),
}

/// Optional parameters of a vote request. The numbers are the bits of a stored set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum OptionalParameter {
    /// `parallel_tool_calls`.
    ParallelToolCalls = 1,
    /// `strict` in the tool or the schema.
    Strict = 2,
    /// `reasoning`.
    Reasoning = 4,
    /// `max_tokens`; if unsupported, `max_completion_tokens` is sent.
    MaxTokens = 8,
    /// `provider`.
    Provider = 16,
    /// A system message; if unsupported, its text starts the user message.
    System = 32,
    /// The option texts as enum values; if unsupported, letters are sent.
    TextValues = 64,
    /// The model's default reasoning effort beside a tool; if unsupported, `reasoning_effort: "none"` is
    /// sent.
    DefaultEffort = 128,
}

/// The level and parameters of requests to one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestProfile {
    /// The level of the first request of a vote.
    pub(crate) level: FallbackLevel,
    /// Number of consecutive responses that ignored the format of this level.
    ignored: u8,
    /// A set of levels: bit n stands for level n.
    unsupported_levels: u8,
    /// A set of [`OptionalParameter`]s.
    unsupported_parameters: u8,
    /// Time of the last change to the level or the parameters.
    changed_at: Option<Timestamp>,
}

impl RequestProfile {
    fn starting_at(level: FallbackLevel) -> Self {
        Self { level, ignored: 0, unsupported_levels: 0, unsupported_parameters: 0, changed_at: None }
    }

    /// Converts a stored profile; `None` if its level is unknown.
    fn stored(saved: &SavedFallbackLevel) -> Option<Self> {
        Some(Self {
            unsupported_parameters: saved.unsupported_parameters,
            changed_at: Some(saved.saved_at),
            ..Self::starting_at(FallbackLevel::from_number(saved.level)?)
        })
    }

    /// Returns true if both profiles lead to the same requests.
    fn sends_like(self, other: Self) -> bool {
        (self.level, self.unsupported_parameters) == (other.level, other.unsupported_parameters)
    }

    /// Returns true if requests send this parameter.
    pub(crate) fn sends(self, parameter: OptionalParameter) -> bool {
        self.unsupported_parameters & parameter as u8 == 0
    }

    fn is_supported(self, level: FallbackLevel) -> bool {
        self.unsupported_levels & (1 << level as u8) == 0
    }

    /// Returns the first level from `level` down that is not known to be unsupported. Prose always works.
    fn supported_from(self, level: FallbackLevel) -> FallbackLevel {
        let mut levels = FallbackLevel::ALL.into_iter();
        levels.find(|&lower| lower >= level && self.is_supported(lower)).unwrap_or(FallbackLevel::Prose)
    }

    /// Returns the level for a retry after an unusable response. It has no tool, because a model that ignored
    /// one tool call is likely to ignore the next.
    pub(crate) fn repair_level(self, at: FallbackLevel) -> FallbackLevel {
        self.supported_from(if at.has_tool() { FallbackLevel::Schema } else { FallbackLevel::Prose })
    }

    /// Records that a request at level `at` was rejected. Returns the level of the next request.
    fn note_unsupported(&mut self, at: FallbackLevel, what: Unsupported) -> FallbackLevel {
        use FallbackLevel::{Auto, Object, Required, Schema};
        let refused: &[FallbackLevel] = match what {
            Unsupported::Parameter(parameter) => {
                self.unsupported_parameters |= parameter as u8;
                return at;
            }
            // `auto` is the default, so a server that rejects it supports no tools.
            Unsupported::ToolChoice if at != Auto => &[at],
            Unsupported::ToolChoice | Unsupported::Tools => &[Required, Object, Auto],
            Unsupported::ResponseFormat => &[Schema],
        };
        for &level in refused {
            self.unsupported_levels |= 1 << level as u8;
        }
        self.move_to(self.supported_from(self.level));
        self.supported_from(at)
    }

    fn move_to(&mut self, level: FallbackLevel) {
        if level != self.level {
            self.level = level;
            self.ignored = 0;
        }
    }
}

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

    /// Records that a response at this level followed or ignored the requested format.
    pub(crate) fn record_response(&self, at: FallbackLevel, followed_form: bool) {
        self.change(|profile| {
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
                saved_at,
            };
            if let Err(error) = cache.save_fallback_level(&upstream, &saved).await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(model = %saved.model, error, "failed to store a fallback level");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::FallbackLevel::{Auto, Object, Prose, Required, Schema};
    use super::*;

    #[test]
    fn rejections_end_at_prose() {
        let mut profile = RequestProfile::starting_at(Required);
        let strict = Unsupported::Parameter(OptionalParameter::Strict);
        assert_eq!(profile.note_unsupported(Required, strict), Required);
        assert!(!profile.sends(OptionalParameter::Strict) && profile.sends(OptionalParameter::Reasoning));
        assert_eq!(profile.note_unsupported(Required, Unsupported::ToolChoice), Object);
        assert_eq!(profile.note_unsupported(Object, Unsupported::ToolChoice), Auto);
        assert_eq!(profile.note_unsupported(Auto, Unsupported::ToolChoice), Schema);
        assert_eq!(profile.note_unsupported(Schema, Unsupported::ResponseFormat), Prose);
        assert_eq!(profile.level, Prose);
    }

    #[test]
    fn a_rejected_repair_does_not_change_the_level() {
        let mut profile = RequestProfile::starting_at(Required);
        assert_eq!(profile.repair_level(Required), Schema);
        assert_eq!(profile.note_unsupported(Schema, Unsupported::ResponseFormat), Prose);
        assert_eq!(profile.level, Required);
        assert_eq!(profile.repair_level(Required), Prose);
        assert_eq!(profile.note_unsupported(Required, Unsupported::Tools), Prose);
        assert_eq!(profile.level, Prose);
    }
}
