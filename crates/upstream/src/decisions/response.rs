//! The body of a response of a decision API. As with chat completions, an invalid field counts as missing.

use std::borrow::Cow;
use std::fmt;

use ep_polling::{BallotView, Probabilities, ProbabilitiesError};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::request::{QUESTION, values};
use crate::chat::response::{Usage, text};
use crate::decision_rules::Dialect;

type Raw<'a> = Option<&'a RawValue>;

/// A response with answers, or with an error or a refusal instead.
#[derive(Deserialize)]
pub(crate) struct Response<'a> {
    #[serde(borrow)]
    model: Raw<'a>,
    answers: Raw<'a>,
    usage: Raw<'a>,
    error: Raw<'a>,
    /// Gemini's refusal.
    prompt_feedback: Raw<'a>,
}

/// A response without a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unusable {
    /// The model or its provider refused to answer.
    #[error("the model or its provider declined to answer")]
    Refused,
    /// There is no answer to the question.
    #[error("the response has no answer to the question")]
    Missing,
    /// The options differ from those of the question.
    #[error("the response does not have a probability for each option, once")]
    Options,
    /// The numbers are no probabilities.
    #[error("the response cannot be read: {0}")]
    Numbers(#[from] ProbabilitiesError),
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    probabilities: Raw<'a>,
}

#[derive(Deserialize)]
struct Weighted<'a> {
    #[serde(borrow)]
    value: Cow<'a, str>,
    probability: f64,
}

impl<'a> Response<'a> {
    /// Parses a body; `None` if it is not a JSON object.
    pub(crate) fn read(body: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    /// Returns the tokens and cost.
    pub(crate) fn usage(&self) -> Option<Usage> {
        Usage::read(self.usage)
    }

    /// Returns the model that responded.
    pub(crate) fn model(&self) -> Option<Cow<'a, str>> {
        text(self.model)
    }

    /// Returns the error in a response with status 200.
    pub(crate) const fn error(&self) -> Option<&'a RawValue> {
        self.error
    }

    /// Returns the probabilities of the options shown, in the caller's order.
    pub(crate) fn probabilities(
        &self,
        dialect: Dialect,
        view: &BallotView,
    ) -> Result<Probabilities, Unusable> {
        if dialect == Dialect::Gemini && self.is_blocked() {
            return Err(Unusable::Refused);
        }
        let answer = match dialect {
            Dialect::OpenAi => self.first(),
            Dialect::SystemOne | Dialect::Gemini => self.named(),
        };
        let answer = answer.ok_or(Unusable::Missing)?;
        if dialect == Dialect::OpenAi && text(answer.kind).as_deref() == Some("refusal") {
            return Err(Unusable::Refused);
        }
        let given = answer.probabilities.and_then(|raw| match dialect {
            Dialect::OpenAi => weights(raw),
            Dialect::SystemOne | Dialect::Gemini => serde_json::from_str(raw.get()).ok(),
        });
        let Entries(given) = given.ok_or(Unusable::Missing)?;
        Ok(Probabilities::new(&in_order_of_options(view, &given).ok_or(Unusable::Options)?)?)
    }

    /// Returns the first answer of a list, because a request has one question.
    fn first(&self) -> Option<Answer<'a>> {
        let answers: Vec<&RawValue> = serde_json::from_str(self.answers?.get()).ok()?;
        serde_json::from_str(answers.first()?.get()).ok()
    }

    /// Returns the answer with the question's name.
    fn named(&self) -> Option<Answer<'a>> {
        let Entries(answers) = serde_json::from_str::<Entries<'a, &RawValue>>(self.answers?.get()).ok()?;
        let (_, answer) = answers.into_iter().find(|(name, _)| name == QUESTION)?;
        serde_json::from_str(answer.get()).ok()
    }

    fn is_blocked(&self) -> bool {
        #[derive(Deserialize)]
        struct Feedback<'a> {
            #[serde(borrow)]
            block_reason: Raw<'a>,
        }
        let feedback =
            self.prompt_feedback.and_then(|raw| serde_json::from_str::<Feedback<'_>>(raw.get()).ok());
        feedback.is_some_and(|feedback| text(feedback.block_reason).is_some())
    }
}

/// Reads a list of values with their probabilities.
fn weights(raw: &RawValue) -> Option<Entries<'_, f64>> {
    let list: Vec<Weighted<'_>> = serde_json::from_str(raw.get()).ok()?;
    Some(Entries(list.into_iter().map(|given| (given.value, given.probability)).collect()))
}

/// Sorts the probabilities by the caller's order of the options. `None` unless each option has one.
fn in_order_of_options(view: &BallotView, given: &[(Cow<'_, str>, f64)]) -> Option<Vec<f64>> {
    let values = values(view);
    let mut sorted = vec![None; values.len()];
    for (value, probability) in given {
        let index = values.iter().position(|known| known == value)?;
        let place = sorted.get_mut(view.choices[index].option)?;
        if place.replace(*probability).is_some() {
            return None;
        }
    }
    sorted.into_iter().collect()
}

/// The members of a JSON object in their order. Unlike a map, it has repeated names, too.
struct Entries<'a, T>(Vec<(Cow<'a, str>, T)>);

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Entries<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Vec<(Cow<'de, str>, T)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Members(std::marker::PhantomData)).map(Self)
    }
}

/// A name, borrowed if it contains no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
