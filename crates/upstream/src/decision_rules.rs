//! The decision APIs, and the models that are asked through them.

use std::str::FromStr;

use serde::Deserialize;

use crate::pattern::Pattern;

/// A decision API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `POST /v1/decisions`: a list of questions.
    OpenAi,
    /// `POST /v1/systemone`: a map of questions. OpenRouter serves it at `/api/alpha/decisions`.
    SystemOne,
    /// `POST /v1beta/decisions`: System One's questions in Google's form.
    Gemini,
}

impl Dialect {
    const ALL: [(&'static str, Self); 3] =
        [("openai", Self::OpenAi), ("systemone", Self::SystemOne), ("gemini", Self::Gemini)];
}

/// A rule of the operator: models with matching ids are decision models. Written as `gpt-6-luna-decisions=openai`; `*` in
/// the id matches any text.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct DecisionRule {
    pattern: Pattern,
    dialect: Dialect,
}

/// The error of a text that is no [`DecisionRule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a decision model is a model id and openai, systemone or gemini: gpt-6-luna-decisions=openai, jev-*=systemone"
)]
pub struct DecisionRuleError;

impl FromStr for DecisionRule {
    type Err = DecisionRuleError;

    fn from_str(text: &str) -> Result<Self, DecisionRuleError> {
        let (pattern, name) = text.rsplit_once('=').ok_or(DecisionRuleError)?;
        let (pattern, name) = (pattern.trim(), name.trim());
        let dialect = Dialect::ALL.into_iter().find(|(known, _)| *known == name);
        match dialect.filter(|_| !pattern.is_empty()) {
            Some((_, dialect)) => Ok(Self { pattern: Pattern::from(pattern.to_owned()), dialect }),
            None => Err(DecisionRuleError),
        }
    }
}

ep_polling::checked!(DecisionRule: String, DecisionRuleError, |text| text.parse());

/// The decision models of an upstream: those that its list marks, and those of the operator's rules.
#[derive(Debug, Clone)]
pub(crate) struct DecisionModels {
    rules: Vec<DecisionRule>,
    /// The dialect of models that the list marks without naming one.
    listed: Dialect,
}

impl DecisionModels {
    /// Decision models that a list marks, in OpenAI's dialect.
    pub(crate) const LISTED: Self = Self { rules: Vec::new(), listed: Dialect::OpenAi };

    pub(crate) fn new(rules: Vec<DecisionRule>, is_openrouter: bool) -> Self {
        Self { rules, listed: if is_openrouter { Dialect::SystemOne } else { Dialect::OpenAi } }
    }

    /// Returns the dialect of the first rule that this id matches.
    pub(crate) fn by_rule(&self, id: &str) -> Option<Dialect> {
        self.rules.iter().find(|rule| rule.pattern.matches(id)).map(|rule| rule.dialect)
    }

    /// Returns the dialect of models that the list marks as decision models.
    pub(crate) const fn listed(&self) -> Dialect {
        self.listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_matching_rule_decides() {
        let rules = ["jev-*=systemone", "a=b = openai", "*decision*=gemini", "*=openai"];
        let rules = rules.iter().map(|text| text.parse().unwrap()).collect();
        let models = DecisionModels::new(rules, false);
        assert_eq!(models.by_rule("jev-1"), Some(Dialect::SystemOne));
        assert_eq!(models.by_rule("a=b"), Some(Dialect::OpenAi));
        assert_eq!(models.by_rule("models/gemini-decision-1"), Some(Dialect::Gemini));
        assert_eq!(models.by_rule("other"), Some(Dialect::OpenAi));
        for wrong in ["", "jev-1", "=openai", "jev-1=chat", "jev-1=", "jev-1=OpenAI"] {
            assert_eq!(wrong.parse::<DecisionRule>().unwrap_err(), DecisionRuleError, "{wrong}");
        }
    }
}
