//! The request formats, strictest first.

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

    pub(crate) fn from_number(number: u8) -> Option<Self> {
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
