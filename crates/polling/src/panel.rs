//! Panels of accounts: named, versioned lists of models, the strongest first.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::roster::ModelId;
use crate::threshold::Threshold;
use crate::tie_rule::TieRule;

/// The maximum length of a panel's name, in characters.
pub const MAX_NAME: usize = 64;

/// The name of a panel: 1 to [`MAX_NAME`] lower-case letters, digits, `-` and `_`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(inline, with = "String", extend("pattern" = PanelName::PATTERN))
)]
pub struct PanelName(String);

/// A text that is no name of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to {MAX_NAME} lower-case letters, digits, - and _, for example support-tickets")]
pub struct InvalidPanelName;

impl PanelName {
    /// Pattern of a name (ECMA-262).
    pub const PATTERN: &str = "^[a-z0-9_-]{1,64}$";

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PanelName {
    type Err = InvalidPanelName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(fits) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidPanelName)
        }
    }
}

crate::checked!(PanelName: String, InvalidPanelName, |text| text.parse(), |name| name.0);

impl fmt::Display for PanelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One version of a panel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct PanelVersion {
    /// The panel's name.
    pub name: PanelName,
    /// The version, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub version: u32,
}

impl fmt::Display for PanelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// A reference to a panel: `name` for its newest version, `name@3` for version 3. The name can be that of a preset, which
/// can have capital letters.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(inline, with = "String", extend("pattern" = PanelRef::PATTERN))
)]
pub struct PanelRef {
    name: String,
    version: Option<u32>,
}

/// A text that refers to no panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be the name of a panel or of a preset, such as trio, or a panel's name with its version, such as support@3"
)]
pub struct InvalidPanelRef;

impl PanelRef {
    /// Pattern of a reference (ECMA-262).
    pub const PATTERN: &str = "^[A-Za-z0-9_-]{1,64}(@[1-9][0-9]{0,8})?$";

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the version; `None` for the newest.
    pub const fn version(&self) -> Option<u32> {
        self.version
    }
}

impl FromStr for PanelRef {
    type Err = InvalidPanelRef;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, version) =
            text.split_once('@').map_or((text, None), |(name, version)| (name, Some(version)));
        let version = match version {
            None => None,
            Some(digits) => {
                let is_plain = digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit());
                let number = digits.parse().ok().filter(|_| is_plain && !digits.starts_with('0'));
                Some(number.ok_or(InvalidPanelRef)?)
            }
        };
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(fits) {
            Ok(Self { name: name.to_owned(), version })
        } else {
            Err(InvalidPanelRef)
        }
    }
}

crate::checked!(PanelRef: String, InvalidPanelRef, |text| text.parse());

impl fmt::Display for PanelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(version) => write!(f, "{}@{version}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The basis of the order of a panel's models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum OrderBasis {
    /// The caller listed the models in this order.
    Given,
    /// The price, the highest first: the models were not judged.
    Price,
    /// Labelled rows on which the operator judged the models of a preset.
    Evidence,
}

/// A panel of an account, as a poll uses it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenPanel {
    /// The version.
    pub version: PanelVersion,
    /// The basis of the order of its models.
    pub order: OrderBasis,
}

/// The models and rules of one version of a panel. They never change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PanelDefinition {
    /// The models, the strongest first.
    pub models: Vec<ModelId>,
    /// The basis of their order.
    pub order: OrderBasis,
    /// The rule for a tie; `None` for the default of polls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_tie: Option<TieRule>,
    /// The confidence at which a poll may stop early; `None` for the default of polls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence_threshold: Option<Threshold>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_lower_case_letters_digits_and_two_signs() {
        for name in ["a", "support-tickets_2", &"x".repeat(64)] {
            assert_eq!(name.parse::<PanelName>().unwrap().as_str(), name);
        }
        for wrong in ["", "Support", "a b", "a@1", "ü", "a/b", &"x".repeat(65)] {
            assert_eq!(wrong.parse::<PanelName>(), Err(InvalidPanelName), "{wrong}");
        }
    }

    #[test]
    fn references_have_a_name_and_can_have_a_version() {
        for (text, name, version) in
            [("trio", "trio", None), ("Best", "Best", None), ("a-b@12", "a-b", Some(12))]
        {
            let reference: PanelRef = text.parse().unwrap();
            assert_eq!((reference.name(), reference.version()), (name, version));
            assert_eq!(reference.to_string(), text);
        }
        for wrong in ["", "@1", "a@", "a@0", "a@+1", "a@01", "a@1@2", "a@9999999999", "a/b", "gpt-4.1", "a b"]
        {
            assert_eq!(wrong.parse::<PanelRef>(), Err(InvalidPanelRef), "{wrong}");
        }
    }

    #[test]
    fn a_stored_definition_omits_what_it_does_not_set() {
        let models = ["a/x", "b/y"].map(ModelId::new).to_vec();
        let plain =
            PanelDefinition { models, order: OrderBasis::Given, on_tie: None, confidence_threshold: None };
        let json = r#"{"models":["a/x","b/y"],"order":"given"}"#;
        assert_eq!(serde_json::to_string(&plain).unwrap(), json);
        assert_eq!(serde_json::from_str::<PanelDefinition>(json).unwrap(), plain);
    }
}
