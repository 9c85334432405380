//! JSON Schemas of this crate's types, for interfaces that describe their input and output (feature
//! `schema`).
//!
//! Enums derive their schemas where they are defined. All schemas are inlined, so their names do not appear.

use schemars::{Schema, json_schema};

use crate::budget::Budget;
use crate::explanation::ExplanationCount;
use crate::money::Usd;
use crate::options::{MIN_OPTIONS, OptionList};
use crate::poll_id::PollId;
use crate::question::QuestionText;
use crate::roster::ModelNames;
use crate::stopping::MAX_ROSTER;
use crate::tally::NamedTally;
use crate::time::Timestamp;

/// The characters forbidden in single-line text, as the inside of a character class (ECMA-262).
macro_rules! single_line_control_characters {
    () => {
        r"\u0000-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069\uFFFE\uFFFF"
    };
}
/// The characters forbidden in multi-line text: the same without tabs and line breaks.
macro_rules! multi_line_control_characters {
    () => {
        r"\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069\uFFFE\uFFFF"
    };
}

/// The pattern of single-line text: a visible character, no control characters, optional white space around
/// it.
const ONE_LINE: &str = concat!(
    r"^\s*[^\s",
    single_line_control_characters!(),
    "][^",
    single_line_control_characters!(),
    r"]*\s*$"
);
/// The pattern of a question: multi-line text, in which some of these characters are converted. Terminal sequences are, too, but a pattern
/// cannot tell them from other control characters.
const QUESTION: &str = concat!(
    r"^\s*[^\s",
    multi_line_control_characters!(),
    r"][^\u0000-\u0008\u000E-\u001F\u007F-\u0084\u0086-\u009F\uFFFE\uFFFF]*$"
);
/// The patterns of text. They are for programs; agents get the rule as an error message.
pub const TEXT_PATTERNS: [&str; 2] = [ONE_LINE, QUESTION];

/// Implements the JSON Schema of a type, which is written where the type is used. Its name does not appear.
///
/// ```
/// struct Share(f64);
///
/// ep_polling::inline_schema!(Share, { "type": "number", "minimum": 0, "maximum": 1 });
/// ```
#[macro_export]
macro_rules! inline_schema {
    ($type:ident, { $($schema:tt)* }) => {
        $crate::inline_schema!([] $type, stringify!($type), schemars::json_schema!({ $($schema)* }));
    };
    ([$($generics:tt)*] $type:ty, $name:expr, $schema:expr) => {
        impl<$($generics)*> schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
}

inline_schema!(Budget, { "type": "number", "exclusiveMinimum": 0 });
inline_schema!(ExplanationCount, {
    "type": "integer", "minimum": 1, "maximum": ExplanationCount::MAX
});
inline_schema!(PollId, { "type": "string", "pattern": PollId::PATTERN });
inline_schema!(Timestamp, { "type": "string", "format": "date-time" });
inline_schema!(Usd, { "type": "number", "minimum": 0, "description": "USD." });
inline_schema!(NamedTally, {
    "type": "object",
    "description": "Votes per option.",
    "additionalProperties": { "type": "integer", "minimum": 0 }
});
inline_schema!(
    [const MAX: usize, const CHARS: usize] OptionList<MAX, CHARS>,
    format!("Options_{MAX}_{CHARS}"),
    json_schema!({
        "type": "array",
        "minItems": MIN_OPTIONS,
        "maxItems": MAX,
        "uniqueItems": true,
        "items": { "type": "string", "minLength": 1, "maxLength": CHARS, "pattern": ONE_LINE }
    })
);
inline_schema!(ModelNames, {
    "type": "array",
    "maxItems": MAX_ROSTER,
    "items": { "type": "string", "pattern": ONE_LINE }
});
inline_schema!(
    [const MIN: usize, const MAX: usize] QuestionText<MIN, MAX>,
    format!("Question_{MIN}_{MAX}"),
    {
        let mut schema = json_schema!({ "type": "string", "minLength": MIN, "pattern": QUESTION });
        if MAX != usize::MAX {
            schema.insert("maxLength".into(), MAX.into());
        }
        schema
    }
);

pub(crate) fn describe_threshold(schema: &mut Schema) {
    schema.insert("type".into(), "number".into());
    schema.remove("format");
    schema.insert("minimum".into(), 0.into());
    schema.insert("maximum".into(), 1.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_state_the_limits_of_the_types() {
        let schema = |schema: Schema| serde_json::to_value(schema).unwrap();
        assert_eq!(schema(schemars::schema_for!(crate::question::FreeQuestion))["maxLength"], 1000);
        assert_eq!(schema(schemars::schema_for!(crate::options::Options))["maxItems"], 10);
        assert_eq!(schema(schemars::schema_for!(crate::threshold::Threshold))["maximum"], 1);
        assert!(schema(schemars::schema_for!(crate::stopping::Pace)).to_string().contains("\"fast\""));
    }
}
