//! The choices of a ballot: options, or the levels of a scale.

use serde::{Deserialize, Serialize};

use crate::options::{FreeOptions, Options};
use crate::scale::{PassMark, Scale};

/// The choices of a ballot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choices {
    /// Options.
    Options(Options),
    /// A scale.
    Scale(Scale),
}

/// The kind of the choices of a ballot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceKind {
    /// Options without an order.
    #[default]
    Options,
    /// The levels of a scale, in ascending order. Their median decides.
    Levels,
    /// The levels of a scale with a pass mark. Their median decides, and the poll stops once it surely passes or fails.
    PassMark(PassMark),
}

impl ChoiceKind {
    /// True for the levels of a scale.
    pub const fn is_scale(self) -> bool {
        !matches!(self, Self::Options)
    }

    /// Returns the pass mark of a scale that has one.
    pub const fn pass_mark(self) -> Option<PassMark> {
        match self {
            Self::PassMark(mark) => Some(mark),
            Self::Options | Self::Levels => None,
        }
    }
}

impl Choices {
    /// Returns the kind.
    pub fn kind(&self) -> ChoiceKind {
        match self {
            Self::Options(_) => ChoiceKind::Options,
            Self::Scale(scale) => scale.mark().map_or(ChoiceKind::Levels, ChoiceKind::PassMark),
        }
    }
}

impl From<Options> for Choices {
    fn from(options: Options) -> Self {
        Self::Options(options)
    }
}

impl From<Scale> for Choices {
    fn from(scale: Scale) -> Self {
        Self::Scale(scale)
    }
}

impl From<FreeOptions> for Choices {
    fn from(options: FreeOptions) -> Self {
        Self::Options(options.into())
    }
}

impl From<Choices> for Vec<String> {
    fn from(choices: Choices) -> Self {
        match choices {
            Choices::Options(options) => options.into(),
            Choices::Scale(scale) => scale.into(),
        }
    }
}
