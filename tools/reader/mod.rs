//! Reads what people and agents write in plain words: a question with its options, or a request about the service.
//!
//! Options are parts of the text, or a yes and a no in its language. The request around a question is left out. Limits of the
//! poll in words count, and one that cannot be read is refused; where the reader is in doubt, it asks. It takes linear time,
//! and reads texts up to [`MAX_CHARS`].

mod alternatives;
mod fields;
mod forms;
mod limits;
mod lists;
mod named_models;
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
    if is_long(text) { Some((text.to_owned(), Terms::default())) } else { limits::split(&plain(text)) }
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
    fields::is_harmless(name)
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

fn plain(text: &str) -> String {
    text.trim().replace("\r\n", "\n").replace('\u{a0}', " ")
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
    if let Some(levels) = scale::read(text) {
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
mod tests {
    use serde::Deserialize;

    use super::*;

    /// A message, and what a careful reader finds in it.
    #[derive(Deserialize)]
    struct Message {
        text: String,
        #[serde(flatten)]
        wanted: Expected,
        /// Readings that are right, too.
        #[serde(default)]
        alternatives: Vec<Expected>,
        /// Words of the question.
        must_contain: Option<String>,
    }

    #[derive(Deserialize)]
    struct Expected {
        action: String,
        options: Option<Vec<String>>,
        scale: Option<[u32; 2]>,
        poll_id: Option<String>,
    }

    fn folded(options: &[String]) -> Vec<String> {
        options.iter().map(|option| option.trim_matches(['.', '!', '?', ' ']).to_lowercase()).collect()
    }

    fn fits(reading: &Reading, wanted: &Expected) -> bool {
        match (reading, wanted.action.as_str()) {
            (Reading::Question(ReadQuestion { choices: Choices::Open, .. }), action) => action == "propose",
            (
                Reading::Question(ReadQuestion {
                    choices: Choices::Options(read) | Choices::Scale(read),
                    ..
                }),
                "poll",
            ) => {
                let ends = |[low, high]: [u32; 2]| (low.to_string(), high.to_string());
                match wanted.scale.map(ends) {
                    Some((low, high)) => read.first() == Some(&low) && read.last() == Some(&high),
                    None => wanted.options.as_ref().is_some_and(|options| folded(options) == folded(read)),
                }
            }
            (Reading::Poll(id), "status") => wanted.poll_id.as_ref() == Some(id),
            (Reading::Incomplete(_) | Reading::OnlyOptions(_), action) => action == "ask" || action == "none",
            (Reading::Balance, action) => action == "balance",
            (Reading::Help, action) => action == "help" || action == "none",
            (Reading::Draft | Reading::Effect, action) => action == "none",
            _ => false,
        }
    }

    /// Returns the number of right readings, and the messages that open a poll although none is wanted.
    fn judged(set: &str) -> (usize, Vec<String>) {
        let set: Vec<Message> = serde_json::from_str(set).unwrap();
        let (mut right, mut harmful) = (0, Vec::new());
        for message in set {
            let reading = read(&message.text);
            let mut is_right = std::iter::once(&message.wanted)
                .chain(&message.alternatives)
                .any(|wanted| fits(&reading, wanted));
            if let (Reading::Question(asked), Some(words)) = (&reading, &message.must_contain) {
                is_right &= asked.question.to_lowercase().contains(&words.to_lowercase());
            }
            let opens = matches!(&reading, Reading::Question(asked) if asked.choices != Choices::Open);
            if opens && message.wanted.action != "poll" && !is_right {
                harmful.push(message.text.clone());
            }
            if !is_right && std::env::var_os("EP_SHOW_READINGS").is_some() {
                println!(
                    "--- {} {:?}\n{}\n => {reading:?}",
                    message.wanted.action, message.wanted.options, message.text
                );
            }
            right += usize::from(is_right);
        }
        (right, harmful)
    }

    /// Sets of a hundred messages, each by somebody who had not seen the reader. It was changed after all but the held-out set had
    /// been read. As first read, before those changes, it had 81 and 80 of the fifth and sixth set, and 64, 69, 65, 78 and 80 of
    /// the seventh to eleventh. Refusing limits that it cannot read costs one to three of a set.
    #[test]
    fn messages_of_people_and_agents_are_read() {
        let mut wrong = Vec::new();
        for (name, set, least, harmless) in [
            ("one", include_str!("../../tests/it/messages/one.json"), 96, true),
            ("two", include_str!("../../tests/it/messages/two.json"), 98, true),
            ("three", include_str!("../../tests/it/messages/three.json"), 91, true),
            ("four", include_str!("../../tests/it/messages/four.json"), 94, true),
            ("five", include_str!("../../tests/it/messages/five.json"), 96, true),
            ("six", include_str!("../../tests/it/messages/six.json"), 93, true),
            ("seven", include_str!("../../tests/it/messages/seven.json"), 96, true),
            ("eight", include_str!("../../tests/it/messages/eight.json"), 91, true),
            ("nine", include_str!("../../tests/it/messages/nine.json"), 87, true),
            ("ten", include_str!("../../tests/it/messages/ten.json"), 96, true),
            ("eleven", include_str!("../../tests/it/messages/eleven.json"), 92, false),
            ("held out", include_str!("../../tests/it/messages/held_out.json"), 86, false),
        ] {
            let (right, harmful) = judged(set);
            println!("{name}: {right} right, {} harmful", harmful.len());
            if right < least {
                wrong.push(format!("{name}: {right} right"));
            }
            if harmful.len() > usize::from(!harmless) {
                wrong.push(format!("{name}: {harmful:#?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn parts_of_messages_are_read() {
        for set in [
            include_str!("../../tests/it/messages/two.json"),
            include_str!("../../tests/it/messages/four.json"),
        ] {
            let set: Vec<Message> = serde_json::from_str(set).unwrap();
            for Message { text, .. } in &set {
                for (at, _) in text.char_indices().step_by(19) {
                    let (_, _) = (read(&text[..at]), read(&text[at..]));
                }
            }
        }
    }

    fn options(text: &str) -> Option<Vec<String>> {
        match read(text) {
            Reading::Question(ReadQuestion { choices: Choices::Options(options), .. }) => Some(options),
            _ => None,
        }
    }

    #[test]
    fn options_are_read_from_questions() {
        for (text, expected) in [
            ("Is a hot dog a sandwich?", &["Yes", "No"][..]),
            ("Tea or coffee?", &["Tea", "Coffee"]),
            ("Tabs vs spaces", &["Tabs", "Spaces"]),
            ("Should I use Rust or Go?", &["Rust", "Go"]),
            ("Which is better, Rust or Go?", &["Rust", "Go"]),
            ("Which is better, green tea or black coffee?", &["Green tea", "Black coffee"]),
            ("Pick one: red, green, or blue?", &["Red", "Green", "Blue"]),
            ("iPhone or android?", &["iPhone", "Android"]),
            ("Is it better to rent or buy a house in a big city?", &["Rent", "Buy a house in a big city"]),
            ("Should we rent or buy?", &["Rent", "Buy"]),
            ("Should I learn guitar or piano or violin?", &["Guitar", "Piano", "Violin"]),
            ("Should I rent a flat or buy a house?", &["Rent a flat", "Buy a house"]),
            ("Is water wet or not?", &["Yes", "No"]),
            ("Should I use Rust, Go, or C?", &["Rust", "Go", "C"]),
            ("Paris, Texas or Rome?", &["Paris, Texas", "Rome"]),
            ("Which name is best for a cat? A) Tom B) Misty C) Luna", &["Tom", "Misty", "Luna"]),
            ("Soll ich das E-Bike kaufen?", &["Ja", "Nein"]),
        ] {
            let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
            assert_eq!(options(text).map(|read| folded(&read)), Some(folded(&expected)), "{text}");
        }
        for text in ["What is the best pizza topping?", "or", "Write me a poem about autumn.", "Hello there!"]
        {
            assert_eq!(options(text), None, "{text}");
        }
    }

    /// Texts that open no poll: they have limits that cannot be read, decline, are about the service, or ask for no choice.
    #[test]
    fn texts_that_want_no_poll_open_none() {
        let texts: Vec<String> =
            serde_json::from_str(include_str!("../../tests/it/messages/no_poll.json")).unwrap();
        let opens = |text: &&String| {
            let opens = |reading| matches!(reading, Reading::Question(ReadQuestion { choices, .. }) if choices != Choices::Open);
            opens(read_question(text)) || opens(read(text))
        };
        let wrong: Vec<&String> = texts.iter().filter(opens).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn limits_in_plain_words_count() {
        let terms = |text: &str| match read_question(text) {
            Reading::Question(ReadQuestion { terms, .. }) => Some(terms),
            _ => None,
        };
        let both = Terms { max_cost_usd: Some(0.2), private: true, models: Vec::new() };
        for text in [
            "Is tea or coffee better? Keep the result private, and spend at most $0.20.",
            "Make it private please. Max cost: $0.20. Tea or coffee?",
            "Keep this poll confidential. Spend at most $0.20. Tea or coffee?",
            "{'prompt': 'Tea or coffee? Keep the result private, and spend at most $0.2.', 'requester': 'x'}",
        ] {
            assert_eq!(terms(text).as_ref(), Some(&both), "{text}");
        }
        for text in [
            "We have at most $20 for a gift. Tea or coffee?",
            "Is a private school or a public school better?",
        ] {
            assert_eq!(terms(text), Some(Terms::default()), "{text}");
        }
        let unreadable = "{'question': 'Which is best?', 'choices': ['A', 'B'], 'max_cost_usd': 0.01}";
        assert_eq!(read(unreadable), Reading::Incomplete(Missing::Json));
    }

    #[test]
    fn two_things_before_a_verb_or_a_comparison_are_options() {
        for (text, wanted) in [
            ("Ask the models whether tabs or spaces are better.", ["Tabs", "Spaces"]),
            ("Do cats or dogs make better pets for a small flat?", ["Cats", "Dogs"]),
            ("Does a heat pump or a gas boiler cost less to run?", ["A heat pump", "A gas boiler"]),
            ("Do you think Canon or Nikon has better lenses?", ["Canon", "Nikon"]),
            ("is postgres or mysql faster for writes", ["Postgres", "Mysql"]),
            ("do i need a suit or a blazer for a summer wedding", ["A suit", "A blazer"]),
        ] {
            assert_eq!(options(text).as_deref(), Some(&wanted.map(str::to_owned)[..]), "{text}");
        }
    }

    #[test]
    fn requests_to_named_models_are_read() {
        for (text, names, question, choices) in [
            (
                "Ask Claude and GPT: tea or coffee?",
                &["claude", "gpt"][..],
                "Tea or coffee?",
                &["Tea", "Coffee"],
            ),
            (
                "Can you ask Claude Opus 4.5, gpt-4o and ChatGPT: are tabs or spaces better?",
                &["claude opus 4.5", "gpt-4o", "gpt"],
                "Are tabs or spaces better?",
                &["Tabs", "Spaces"],
            ),
            (
                "Only ask Gemini/Grok. Which is better, tea or coffee?",
                &["gemini", "grok"],
                "Which is better, tea or coffee?",
                &["tea", "coffee"],
            ),
            (
                "Let Claude, Gemini and GPT-5 vote: tea or coffee?",
                &["claude", "gemini", "gpt-5"],
                "Tea or coffee?",
                &["Tea", "Coffee"],
            ),
        ] {
            let Reading::Question(read) = read(text) else { panic!("{text}") };
            assert_eq!(read.terms.models, names, "{text}");
            assert_eq!(read.question.to_lowercase(), question.to_lowercase(), "{text}");
            let options: Vec<String> = choices.iter().map(|option| (*option).to_owned()).collect();
            assert!(
                matches!(&read.choices, Choices::Options(found) if folded(found) == folded(&options)),
                "{read:?}"
            );
        }
        for text in [
            "Ask Claude and Bob: tea or coffee?",
            "Ask Claude or GPT: tea or coffee?",
            "Ask Claude whether tea or coffee is better",
        ] {
            assert_eq!(read(text), Reading::Incomplete(Missing::Limit), "{text}");
        }
        for text in [
            "What do Claude and GPT do better, coding or writing?",
            "Should I get Claude and GPT subscriptions, or one of the two?",
            "Which is better for code: Claude or GPT?",
        ] {
            let Reading::Question(read) = read(text) else { panic!("{text}") };
            assert!(read.terms.models.is_empty(), "{read:?}");
        }
    }

    #[test]
    fn reading_takes_linear_time() {
        // A quadratic step would take minutes for a text at the limit.
        for part in [
            "a or ",
            "1. x\n",
            "hi, ",
            "\"a ",
            "A) b ",
            "(a / ",
            "poll ",
            "Is it? ",
            "| a | b |\n",
            "“\"a\" ",
            "„\"a\" ",
            "«\"a\" ",
            "\".\" ",
            "\"a\". ",
            "Is it a for or for ",
            "e.g. ",
            "1. ",
            "word: x\n",
            "{\"question\":",
            "{'q': ",
            "? a, ",
            "between a and b ",
        ] {
            let text: String = part.repeat(MAX_CHARS / part.chars().count());
            let _ = read(&text);
            // Marks after a long run of spaces.
            let padded = format!(
                "\"x\n\"{}{}?",
                " ".repeat(MAX_CHARS / 2),
                part.repeat(MAX_CHARS / 2 / part.chars().count())
            );
            let _ = read(&padded);
        }
    }
}
