//! Reads what people and agents write in plain words: a question with its options, or a request about the service.
//!
//! Options are parts of the text, or a yes and a no in its language. The request around a question is left out. Limits of the
//! poll in words count, and one that cannot be read is refused; where the reader is in doubt, it asks. It takes linear time,
//! and reads texts up to [`MAX_CHARS`].

mod alternatives;
mod document;
mod fields;
mod forms;
mod limits;
mod lists;
mod named_models;
mod or_words;
mod phrases;
mod request;
mod scale;
mod sentences;
mod service;
mod word_lists;
mod yes_no;

use alternatives::Found;

/// Maximum number of characters that are read.
pub const MAX_CHARS: usize = 20_000;

/// The request of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// A question for the models.
    Question(ReadQuestion),
    /// The state or the result of the poll with this id.
    Poll(String),
    /// The balance of the account.
    Balance,
    /// An explanation of the service and its costs. Also for thanks and greetings.
    Help,
    /// Nothing: the text says that nobody is to be asked.
    Draft,
    /// A change, such as a cancellation or a payment, which plain words never make.
    Effect,
    /// Options without a question.
    OnlyOptions(Vec<String>),
    /// A poll, but this is missing.
    Incomplete(Missing),
}

/// A question for the models.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadQuestion {
    /// The question, without the request around it.
    pub question: String,
    /// Its choices.
    pub choices: Choices,
    /// The limits of the poll.
    pub terms: Terms,
}

/// The choices of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choices {
    /// None: the question is open.
    Open,
    /// The options.
    Options(Vec<String>),
    /// The levels of a scale, lowest first.
    Scale(Vec<String>),
}

/// The part of a poll that a text lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The question.
    Question,
    /// The options.
    Options,
    /// The text or the file that the question is about.
    Subject,
    /// Valid JSON: the text resembles JSON and has fields that would be lost.
    Json,
    /// A limit that can be read: the text seems to limit its cost, its readers or its models.
    Limit,
}

/// The limits of a poll in plain words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Terms {
    /// The maximum cost, in USD.
    pub max_cost_usd: Option<f64>,
    /// True if nobody else may read the result.
    pub private: bool,
    /// The names of the models to ask; empty if the text names none.
    pub models: Vec<String>,
}

/// Reads a text.
pub fn read(text: &str) -> Reading {
    if is_long(text) {
        return read_question(text);
    }
    service::read(&plain(text)).unwrap_or_else(|| read_question(text))
}

/// Reads a text for the models. A longer one than [`MAX_CHARS`] is a question without options.
pub fn read_question(text: &str) -> Reading {
    if is_long(text) {
        if long_limits(text) {
            return Reading::Incomplete(Missing::Limit);
        }
        let (question, terms) = (text.trim().to_owned(), Terms::default());
        return Reading::Question(ReadQuestion { question, choices: Choices::Open, terms });
    }
    let text = plain(text);
    if service::declines(&text) {
        return Reading::Draft;
    }
    fields::read(&text).unwrap_or_else(|| without_fields(&text))
}

/// Reads the text of a question. An object in it is no object with fields, however deep it is.
fn without_fields(text: &str) -> Reading {
    if service::declines(text) {
        return Reading::Draft;
    }
    let Some((text, terms)) = limits::split(text) else { return Reading::Incomplete(Missing::Limit) };
    let mut reading = fields::sections(&text).unwrap_or_else(|| question(&text));
    if let Reading::Question(read) = &mut reading {
        read.terms = terms;
    }
    reading
}

/// Returns a text without the sentences that limit its poll, and the limits; `None` if a sentence seems to have a limit that cannot
/// be read.
pub fn split_limits(text: &str) -> Option<(String, Terms)> {
    if !is_long(text) {
        return limits::split(&plain(text));
    }
    (!long_limits(text)).then(|| (text.to_owned(), Terms::default()))
}

/// True if a text limits a poll, or says that nobody is to be asked.
pub fn limits_poll(text: &str) -> bool {
    refuses(text) || if is_long(text) { long_limits(text) } else { limits::has_limits(&plain(text)) }
}

/// True if a text beside a question limits or declines its poll.
fn restricts(text: &str) -> bool {
    service::declines(text) || limits::has_limits(text)
}

/// True if a text has a word about who may read something.
pub fn asks_for_secrecy(text: &str) -> bool {
    !is_long(text) && limits::SECRECY.is_match(text)
}

/// True if a text answers a question of the service with a refusal: "no thanks", "never mind".
pub fn refuses(text: &str) -> bool {
    !is_long(text) && (service::declines(text) || service::refuses(text))
}

/// True if a field of another service's JSON limits nothing.
pub fn is_harmless_field(name: &str) -> bool {
    document::is_harmless(name)
}

/// Reads a question with known choices: its limits, and its words without them.
fn with_choices(question: &str, choices: Choices) -> Reading {
    match limits::split(question) {
        None => Reading::Incomplete(Missing::Limit),
        Some((question, _)) if question.trim().is_empty() => Reading::Incomplete(Missing::Question),
        Some((question, terms)) => {
            Reading::Question(ReadQuestion { question: question.trim().to_owned(), choices, terms })
        }
    }
}

fn is_long(text: &str) -> bool {
    text.chars().nth(MAX_CHARS).is_some()
}

/// True if the beginning or the end of a long text limits its poll.
fn long_limits(text: &str) -> bool {
    /// The length of each, in characters.
    const LOOKED_AT: usize = 1000;
    let beginning: String = text.chars().take(LOOKED_AT).collect();
    let end = text.char_indices().rev().nth(LOOKED_AT).map_or(text, |(at, _)| &text[at..]);
    [&*beginning, end].into_iter().any(|part| restricts(&plain(part)))
}

fn plain(text: &str) -> String {
    // Invisible letters would hide a word from the patterns.
    let text = text.trim().replace("\r\n", "\n").replace('\u{a0}', " ");
    text.replace(['\u{200b}', '\u{2060}', '\u{feff}', '\u{ad}'], "")
}

/// Reads a text that is no request about the service.
fn question(text: &str) -> Reading {
    let whole = text;
    let text = request::stripped(text);
    let text = text.trim();
    let asked = |question: &str, choices| match question.trim() {
        "" => Reading::Incomplete(Missing::Question),
        question => {
            let (question, terms) = (question.to_owned(), Terms::default());
            Reading::Question(ReadQuestion { question, choices, terms })
        }
    };
    if sentences::unquoted(text).trim().is_empty() && text.starts_with("```") {
        return Reading::Incomplete(Missing::Question);
    }
    if service::is_about_service(text) {
        return Reading::Help;
    }
    if service::wants_a_text(whole) {
        return Reading::Incomplete(Missing::Options);
    }
    if service::is_unfilled(text) {
        return Reading::Incomplete(Missing::Question);
    }
    if sentences::is_log(text) {
        return Reading::Incomplete(Missing::Question);
    }
    if sentences::NO_OPTIONS.is_match(text) && sentences::asks_anything(text) {
        return asked(text, Choices::Open);
    }
    if service::rates_nothing(text) {
        return Reading::Incomplete(Missing::Subject);
    }
    if let Some(levels) = scale::read(text).or_else(|| scale::read(whole)) {
        return asked(text, Choices::Scale(levels));
    }
    // Names of texts win over the texts: "Response A, Response B or a tie".
    let introduced = lists::introduced(text);
    if introduced.is_none()
        && let Some(options) = yes_no::instructed(text)
    {
        return asked(text, Choices::Options(options));
    }
    let alternatives = if introduced.is_some() { Found::None } else { alternatives::read(text) };
    // "blue, sage green, or mustard"
    if let Found::Options(options) = &alternatives
        && options.len() > 2
        && !text.contains(['?', '？', ':'])
        && text.chars().count() <= options.iter().map(|option| option.chars().count() + 8).sum()
    {
        return Reading::OnlyOptions(options.clone());
    }
    let named = introduced.as_ref().or_else(|| alternatives.options());
    if let Some(options) = named.filter(|options| lists::are_names(options, text)) {
        return asked(text, Choices::Options(options.clone()));
    }
    if let Some(names) = lists::subjects(text).filter(|_| sentences::chooses(text)) {
        return asked(text, Choices::Options(names));
    }
    // "1. … 2. … What should we do: repair it, or wait?" The list is context.
    if let Found::Options(options) = &alternatives
        && alternatives::ends_with_list(text)
    {
        return asked(text, Choices::Options(options.clone()));
    }
    if let Some((rest, options)) = lists::block(text).or_else(|| lists::inline(text)) {
        if rest.trim().is_empty() {
            return Reading::OnlyOptions(options);
        }
        // A list that nobody is to choose from: an agenda, steps.
        let chooses =
            sentences::chooses(&rest) || request::is_talk(whole, usize::MAX) || lists::is_form(text);
        return if chooses {
            asked(&rest, Choices::Options(options))
        } else {
            Reading::Incomplete(Missing::Options)
        };
    }
    if let Some(options) = introduced {
        if lists::is_only_list(text) {
            return Reading::OnlyOptions(options);
        }
        return asked(text, Choices::Options(options));
    }
    if service::lacks_content(text) {
        return Reading::Incomplete(Missing::Subject);
    }
    if let Some(options) = yes_no::named(text) {
        return asked(text, Choices::Options(options));
    }
    match alternatives {
        Found::Options(options) => asked(text, Choices::Options(options)),
        Found::YesNo => {
            let options = yes_no::read(text).unwrap_or_else(|| yes_no::ENGLISH.map(str::to_owned).to_vec());
            asked(text, Choices::Options(options))
        }
        Found::Unclear => Reading::Incomplete(Missing::Options),
        Found::None => match yes_no::read(text) {
            Some(options) => asked(text, Choices::Options(options)),
            None if sentences::is_open(text) => asked(text, Choices::Open),
            // "My user asks: …"
            None => match sentences::quoted_question(text).map(question) {
                Some(Reading::Question(quoted)) => asked(text, quoted.choices),
                _ => match yes_no::indirect(whole) {
                    Some(options) => asked(text, Choices::Options(options)),
                    None => Reading::Incomplete(Missing::Options),
                },
            },
        },
    }
}

#[cfg(test)]
mod tests;
