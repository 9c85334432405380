//! The level and the parameters of requests to one model.

use ep_polling::Timestamp;
use ep_store::SavedFallbackLevel;
use tokio::time::Instant;

use crate::fallback_level::FallbackLevel;

/// Completion tokens allowed for a vote of a model that reasons.
pub(crate) const REASONING_OUTPUT_TOKENS: u32 = 1024;

/// A feature that a server does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsupported {
    /// The `tool_choice` of the request.
    ToolChoice,
    /// Any `tool_choice` that forces a call.
    ForcedCall,
    /// Any tools.
    Tools,
    /// `response_format: json_schema`.
    ResponseFormat,
    /// An optional parameter.
    Parameter(OptionalParameter),
    /// A response that is not a stream.
    WholeResponse,
    /// `stream_options` in a request for a stream.
    StreamOptions,
}

/// The needs of requests to a model. The numbers are the bits of a stored set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Need {
    /// `stream: true`.
    Stream = 1,
    /// No `stream_options`.
    NoStreamOptions = 2,
    /// The plainest form: one user message and a limit of tokens.
    Plain = 4,
    /// Tokens for reasoning that the model list does not mention.
    Room = 8,
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
    pub(crate) ignored: u8,
    /// A set of levels: bit n stands for level n.
    unsupported_levels: u8,
    /// A set of [`OptionalParameter`]s.
    pub(crate) unsupported_parameters: u8,
    /// A set of [`Need`]s.
    pub(crate) needs: u8,
    /// The first of the last votes that needed the plainest form ended at this time.
    pub(crate) refused_at: Option<Instant>,
    /// Time of the last change to the level or the parameters.
    pub(crate) changed_at: Option<Timestamp>,
}

impl RequestProfile {
    pub(crate) fn starting_at(level: FallbackLevel) -> Self {
        Self {
            level,
            ignored: 0,
            unsupported_levels: 0,
            unsupported_parameters: 0,
            needs: 0,
            refused_at: None,
            changed_at: None,
        }
    }

    /// Converts a stored profile; `None` if its level is unknown.
    pub(crate) fn stored(saved: &SavedFallbackLevel) -> Option<Self> {
        Some(Self {
            unsupported_parameters: saved.unsupported_parameters,
            needs: saved.needs,
            changed_at: Some(saved.saved_at),
            ..Self::starting_at(FallbackLevel::from_number(saved.level)?)
        })
    }

    /// Returns true if both profiles lead to the same requests.
    pub(crate) fn sends_like(self, other: Self) -> bool {
        let sent = |profile: Self| (profile.level, profile.unsupported_parameters, profile.needs);
        sent(self) == sent(other)
    }

    /// Returns true if this profile changed after `other`, and leads to other requests.
    pub(crate) fn is_newer_than(self, other: Self) -> bool {
        self.changed_at > other.changed_at && !self.sends_like(other)
    }

    /// Returns what is known about the model, in words that follow its name.
    pub(crate) fn facts(self) -> Vec<&'static str> {
        use OptionalParameter as Optional;
        let level = match self.level {
            FallbackLevel::Required => None,
            FallbackLevel::Object => Some("gets tool_choice as an object"),
            FallbackLevel::Auto => Some("is offered the tool, and not forced to call it"),
            FallbackLevel::Schema => Some("gets a JSON schema in place of a tool"),
            FallbackLevel::Prose => Some("gets an instruction, without a tool or a schema"),
        };
        let parameters = [
            (Optional::ParallelToolCalls, "is asked without parallel_tool_calls"),
            (Optional::Strict, "is asked without strict"),
            (Optional::Reasoning, "is asked without reasoning"),
            (Optional::MaxTokens, "gets max_completion_tokens in place of max_tokens"),
            (Optional::Provider, "is asked without provider"),
            (Optional::System, "gets its instructions in the user message"),
            (Optional::TextValues, "gets letters in place of the options"),
            (Optional::DefaultEffort, "gets reasoning_effort none beside a tool"),
        ];
        let needs = [
            (Need::Stream, "answers as a stream"),
            (Need::NoStreamOptions, "is asked without stream_options"),
            (Need::Plain, "gets one message and a limit of tokens only"),
            (Need::Room, "reasons, so its votes get 1,024 tokens"),
        ];
        let parameters = parameters.into_iter().filter(|(parameter, _)| !self.sends(*parameter));
        let needs = needs.into_iter().filter(|(need, _)| self.needs(*need)).map(|(_, fact)| fact);
        level.into_iter().chain(parameters.map(|(_, fact)| fact)).chain(needs).collect()
    }

    /// Returns true if requests need this.
    pub(crate) fn needs(self, need: Need) -> bool {
        self.needs & need as u8 != 0
    }

    /// Returns the same without any parameter that a server may refuse. Option texts stay, because only a tool or a schema lists
    /// them.
    pub(crate) fn plainest(self) -> Self {
        let sent = OptionalParameter::MaxTokens as u8 | OptionalParameter::TextValues as u8;
        Self { unsupported_parameters: self.unsupported_parameters | !sent, ..self }
    }

    /// Returns true if requests send this parameter.
    pub(crate) fn sends(self, parameter: OptionalParameter) -> bool {
        self.unsupported_parameters & parameter as u8 == 0
    }

    fn is_supported(self, level: FallbackLevel) -> bool {
        self.unsupported_levels & (1 << level as u8) == 0
    }

    /// Returns the first level from `level` down that is not known to be unsupported. Prose always works.
    pub(crate) fn supported_from(self, level: FallbackLevel) -> FallbackLevel {
        let mut levels = FallbackLevel::ALL.into_iter();
        levels.find(|&lower| lower >= level && self.is_supported(lower)).unwrap_or(FallbackLevel::Prose)
    }

    /// Returns the level for a retry after an unusable response. It has no tool, because a model that ignored
    /// one tool call is likely to ignore the next.
    pub(crate) fn repair_level(self, at: FallbackLevel) -> FallbackLevel {
        self.supported_from(if at.has_tool() { FallbackLevel::Schema } else { FallbackLevel::Prose })
    }

    /// Records that a request at level `at` was rejected. Returns the level of the next request.
    pub(crate) fn note_unsupported(&mut self, at: FallbackLevel, what: Unsupported) -> FallbackLevel {
        use FallbackLevel::{Auto, Object, Required, Schema};
        let refused: &[FallbackLevel] = match what {
            Unsupported::Parameter(parameter) => {
                self.unsupported_parameters |= parameter as u8;
                return at;
            }
            // `auto` is the default, so a server that rejects it supports no tools.
            Unsupported::ToolChoice if at != Auto => &[at],
            Unsupported::ForcedCall if at != Auto => &[Required, Object],
            Unsupported::ToolChoice | Unsupported::ForcedCall | Unsupported::Tools => {
                &[Required, Object, Auto]
            }
            Unsupported::ResponseFormat => &[Schema],
            Unsupported::WholeResponse | Unsupported::StreamOptions => {
                let need =
                    if what == Unsupported::WholeResponse { Need::Stream } else { Need::NoStreamOptions };
                self.needs |= need as u8;
                return at;
            }
        };
        for &level in refused {
            self.unsupported_levels |= 1 << level as u8;
        }
        self.move_to(self.supported_from(self.level));
        self.supported_from(at)
    }

    pub(crate) fn move_to(&mut self, level: FallbackLevel) {
        if level != self.level {
            self.level = level;
            self.ignored = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fallback_level::FallbackLevel::{Auto, Object, Prose, Required, Schema};

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
