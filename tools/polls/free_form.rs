//! The input of a free poll, in all its forms.

use ep_kernel::schema;
use ep_kernel::tool::with;
use ep_kernel::{Fault, MessageContent, ParsedInput};
use ep_polling::{Choices, FreeOptions, FreeQuestion, ModelNames, Question};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::draft::choices;
use super::scale::FreeScaleRequest;
use crate::reader::{self, Missing, ReadQuestion, Reading, Terms};

/// The preset of free polls.
pub const FREE_PRESET: &str = "free";

/// A poll without an account: the question and its options, in one of three forms.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("anyOf" = [{ "required": ["question"] }, { "required": ["q"] }, { "required": ["poll"] }]))]
pub struct FreeRequest {
    /// The question.
    pub question: Option<FreeQuestion>,
    /// The options; if missing, they are read from the question ("A or B", yes or no), or proposed by models.
    pub options: Option<FreeOptions>,
    /// Instead of options: levels, lowest first, and pass, the lowest that passes. Their median decides.
    pub scale: Option<FreeScaleRequest>,
    /// The same as question.
    pub q: Option<FreeQuestion>,
    /// The same as options.
    pub o: Option<FreeOptions>,
    /// Both in one: `Question? [Option A, Option B]`.
    pub poll: Option<String>,
    /// Use `free`; `free_search` is not available on this server.
    #[serde(default, deserialize_with = "schema::word")]
    pub theme: Option<Theme>,
    /// Validate and price it; ask no model.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub dry_run: bool,
    /// Must be false: results of free polls are public.
    #[serde(default)]
    #[schemars(extend("default" = false, "x-limit" = true))]
    pub private: bool,
    /// Must be left out: free polls ask the free models.
    pub models: Option<ModelNames>,
    /// Must be left out, likewise.
    pub exclude: Option<ModelNames>,
}

/// The theme of a free poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Theme {
    /// Open-weight models that charge nothing.
    Free,
    /// The same, with web search.
    FreeSearch,
}

/// Returns the question and its options or scale. Without them, they are read from the question; `None` for an open question.
pub fn read(request: FreeRequest) -> Result<(FreeQuestion, Option<Choices>), Fault> {
    let combined = request.poll.as_deref().map(combined).transpose()?;
    let (from_poll, poll_options) =
        combined.map_or((None, None), |(question, options)| (Some(question), options));
    let question = request.question.or(request.q).or(from_poll).ok_or_else(|| {
        Fault::invalid(
            "question",
            "question is missing: send {\"question\": \"…?\", \"options\": [\"…\", \"…\"]}",
        )
    })?;
    match (request.options.or(request.o).or(poll_options), request.scale) {
        (options, Some(scale)) => Ok((question, Some(choices(options, Some(scale.choices()))?))),
        (Some(options), None) => Ok((question, Some(options.into()))),
        (None, None) => read_question(question.as_str()),
    }
}

/// Reads a free question with its options, in the limits of free polls.
fn read_question(text: &str) -> Result<(FreeQuestion, Option<Choices>), Fault> {
    let unread = || {
        Fault::invalid(
            "options",
            "add 2 to 5 options, for example Rent and Buy: none could be read from the question",
        )
    };
    let read = match reader::read_question(text) {
        Reading::Question(read) => read,
        Reading::Incomplete(Missing::Limit | Missing::Json) => {
            return Err(Fault::invalid("question", UNREAD_LIMIT));
        }
        Reading::Draft => return Err(Fault::invalid("question", "says that no model is to be asked")),
        _ => return Err(unread()),
    };
    if read.terms.private {
        return Err(Fault::invalid(
            "question",
            "asks for a private poll, but results of free polls are public",
        ));
    }
    if !read.terms.models.is_empty() {
        return Err(Fault::invalid(
            "question",
            "names models, but free polls ask the free models only; send an API key to choose models",
        ));
    }
    let question =
        FreeQuestion::new(&read.question).map_err(|rule| Fault::invalid("question", rule.to_string()))?;
    let choices = match read.choices {
        reader::Choices::Open => return Ok((question, None)),
        reader::Choices::Options(options) => FreeOptions::new(&options).map_err(|_| unread())?.into(),
        reader::Choices::Scale(levels) => super::scale::choices(
            FreeOptions::new(&levels).map_err(|_| unread())?.into(),
            None,
            "scale.pass",
        )?,
    };
    Ok((question, Some(choices)))
}

/// The rule that a text breaks with a limit that cannot be read.
const UNREAD_LIMIT: &str =
    "has a limit that cannot be read from words; send it in a data part (max_cost_usd, private, models)";

/// Reads a poll request from an agent's message: its fields, plain words, or the options for a known question.
pub fn parse_input(known: &Map<String, Value>, parsed: MessageContent<'_>) -> ParsedInput {
    let is_text = matches!(parsed, MessageContent::Text(_));
    let members = match parsed {
        MessageContent::Fields(parsed) => with(known, parsed),
        MessageContent::Text(words) => {
            let read = reader::split_limits(words).ok_or_else(|| Fault::invalid("text", UNREAD_LIMIT));
            let (known, read) = match read {
                Ok((rest, terms)) => {
                    let known = with(known, fields_of(terms));
                    let read = words_after(&known, words, &rest);
                    (known, read)
                }
                // The next message must not open a public poll instead.
                Err(fault) => {
                    let private = Terms { private: reader::asks_for_secrecy(words), ..Terms::default() };
                    (with(known, fields_of(private)), Err(fault))
                }
            };
            match read {
                Ok(parsed) => with(&known, parsed),
                Err(fault) => {
                    let ask = format!("{fault}. Write Question? [Option A, Option B], or send a data part.");
                    return ParsedInput::Missing { known, ask };
                }
            }
        }
    };
    let given = |name: &str| members.get(name).filter(|value| !schema::is_empty(value));
    let question = ["question", "prompt"].into_iter().find_map(given);
    let has_choices = given("options").or_else(|| given("scale")).is_some();
    match (question, has_choices) {
        (Some(question), false) => {
            let shown: String = question.as_str().unwrap_or_default().chars().take(200).collect();
            let ask = format!(
                "Options are missing: which can be chosen for “{shown}”? Write them like this: [Option A, Option B]; \
                 or send a data part with options. The skill propose_options proposes some."
            );
            ParsedInput::Missing { known: members, ask }
        }
        (None, true) if is_text => {
            let ask = "The question is missing: what do the models choose among these options?".to_owned();
            ParsedInput::Missing { known: members, ask }
        }
        _ => ParsedInput::Input(members),
    }
}

/// Returns the limits of a poll as fields.
fn fields_of(terms: Terms) -> Map<String, Value> {
    let Terms { max_cost_usd, private, models } = terms;
    let given = [
        ("max_cost_usd", max_cost_usd.map(Value::from)),
        ("private", private.then_some(Value::Bool(true))),
        ("models", (!models.is_empty()).then(|| json!(models))),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Returns the fields in plain words, given the known fields. `rest` are the words without the limits of the poll.
fn words_after(known: &Map<String, Value>, words: &str, rest: &str) -> Result<Map<String, Value>, Fault> {
    let waits_for_options = known.contains_key("question");
    let has_options = !waits_for_options && known.contains_key("options");
    if reader::refuses(words) {
        return Err(Fault::invalid("text", "says that no model is to be asked"));
    }
    if waits_for_options && let Some(options) = listed(rest) {
        return Ok(Map::from_iter([("options".to_owned(), json!(Vec::from(options)))]));
    }
    let read = reader::read_question(words);
    if rest.trim_end().ends_with(']')
        && matches!(read, Reading::Question(_))
        && let Ok((question, Some(options))) = combined(rest)
    {
        let mut fields = question_of(question.as_str())?;
        fields.insert("options".to_owned(), json!(Vec::from(options)));
        return Ok(fields);
    }
    let is_question = |text: &str| text.trim_end().ends_with(['?', '？']);
    let read = match read {
        Reading::Question(read) if has_options && read.choices == reader::Choices::Open => {
            return question_of(&read.question);
        }
        Reading::Question(read) => read,
        Reading::OnlyOptions(options) => return Ok(Map::from_iter([("options".to_owned(), json!(options))])),
        Reading::Incomplete(Missing::Json | Missing::Limit) => {
            return Err(Fault::invalid("text", UNREAD_LIMIT));
        }
        Reading::Incomplete(Missing::Options) if has_options && is_question(rest) => {
            return question_of(rest);
        }
        _ if waits_for_options => {
            return Err(Fault::invalid("options", "for the previous question are missing in this text"));
        }
        Reading::Incomplete(Missing::Subject) => {
            return Err(Fault::invalid(
                "text",
                "is about a text or a file that is missing; send it together with the question",
            ));
        }
        Reading::Incomplete(Missing::Options) => ReadQuestion {
            question: rest.trim().to_owned(),
            choices: reader::Choices::Open,
            terms: Terms::default(),
        },
        _ => return Err(Fault::invalid("question", "is missing in this text")),
    };
    if waits_for_options && read.choices == reader::Choices::Open {
        return Err(Fault::invalid("options", "for the previous question are missing in this text"));
    }
    let choices = match read.choices {
        reader::Choices::Open => None,
        reader::Choices::Options(options) => Some(("options".to_owned(), json!(options))),
        reader::Choices::Scale(levels) => Some(("scale".to_owned(), json!({ "levels": levels }))),
    };
    let mut fields = question_of(&read.question)?;
    fields.extend(fields_of(read.terms));
    fields.extend(choices);
    Ok(fields)
}

/// Returns a question as a field.
fn question_of(text: &str) -> Result<Map<String, Value>, Fault> {
    let question = Question::new(text).map_err(|rule| Fault::invalid("question", rule.to_string()))?;
    Ok(Map::from_iter([("question".to_owned(), json!(String::from(question)))]))
}

/// Parses options without a question: `[Tea, Coffee]`, `Tea, Coffee`, `Tea or Coffee`, or one per line. A part that is no option, as in
/// "I don't know, you decide", makes it none.
fn listed(words: &str) -> Option<FreeOptions> {
    /// Words of the sender and not of options.
    const OTHERS: &str = "i you it me we my your please thank thanks sorry yes no hello hi hey ok okay know think choose decide mind \
        whatever surprise idea maybe private max most spend only do can could would should is are what why how this that not \
        stop cancel abort danke nein ja weiß merci oui non gracias sí";
    let words = words.trim().trim_start_matches('[').trim_end_matches([']', '.', '?']);
    if words.contains(['[', '$', '€']) || words.contains("://") || words.contains(':') {
        return None;
    }
    let commas = words.replace(" or ", ",").replace('\n', ",");
    let bare = |option: &'_ str| {
        let option = option.trim().trim_start_matches(['-', '*', '•', ' ']);
        let number = option.trim_start_matches(|mark: char| mark.is_ascii_digit());
        let option = if number.len() < option.len() {
            number.strip_prefix(['.', ')']).unwrap_or(option)
        } else {
            option
        };
        option.trim().trim_matches('"').to_owned()
    };
    let options: Vec<String> = commas.split(',').map(bare).filter(|option| !option.is_empty()).collect();
    let is_other = |word: &str| {
        let word = word.trim_matches(|mark: char| !mark.is_alphanumeric()).to_lowercase();
        word.contains(['\'', '’']) || OTHERS.split_whitespace().any(|other| other == word)
    };
    let is_option =
        |option: &String| option.split_whitespace().count() <= 6 && !option.split_whitespace().any(is_other);
    if options.iter().all(is_option) { FreeOptions::new(&options).ok() } else { None }
}

/// Parses `Question? [Option A, Option B]`.
fn combined(poll: &str) -> Result<(FreeQuestion, Option<FreeOptions>), Fault> {
    let invalid = |detail: String| Fault::invalid("poll", detail);
    let (question, rest) = poll.rsplit_once('[').unwrap_or((poll, ""));
    let question =
        FreeQuestion::new(question).map_err(|fault| invalid(format!("poll: the question {fault}")))?;
    if !poll.contains('[') {
        return Ok((question, None));
    }
    let list = rest
        .trim_end()
        .strip_suffix(']')
        .ok_or_else(|| invalid("poll must look like: Question? [Option A, Option B]".into()))?;
    let options: Vec<&str> = list.split([',', '،', '、', '，']).collect();
    let options = FreeOptions::new(&options).map_err(|fault| invalid(format!("poll: {fault}")))?;
    Ok((question, Some(options)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_combined_form_is_parsed() {
        let (question, options) = combined("Best drink? [Tea, Coffee]").unwrap();
        assert_eq!(question.as_str(), "Best drink?");
        assert_eq!(Vec::from(options.unwrap()), ["Tea", "Coffee"]);
        assert_eq!(combined("What about a[0]? [Yes, No]").unwrap().0.as_str(), "What about a[0]?");
        assert!(combined("Best drink? [Tea, Coffee").is_err());
        assert!(combined("Best drink? [Tea]").is_err());
    }

    fn parsed(known: &Value, words: &str) -> ParsedInput {
        parse_input(known.as_object().unwrap(), MessageContent::Text(words))
    }

    #[test]
    fn plain_words_are_parsed_and_missing_fields_requested() {
        let input = |value: Value| ParsedInput::Input(value.as_object().unwrap().clone());
        let both = json!({ "question": "Which is better, Rust or Go?", "options": ["Rust", "Go"] });
        assert_eq!(parsed(&json!({}), "Which is better, Rust or Go?"), input(both));
        let question = json!({ "question": "What is the best pizza topping?" });
        let ParsedInput::Missing { known, ask } = parsed(&json!({}), "What is the best pizza topping?")
        else {
            panic!("options are missing")
        };
        assert_eq!(Value::Object(known), question);
        assert!(ask.contains("[Option A, Option B]"), "{ask}");
        let answered =
            json!({ "question": "What is the best pizza topping?", "options": ["Basil", "Olives"] });
        for words in ["Basil, Olives", "[Basil, Olives]", "Basil or Olives?", "- Basil\n- Olives"] {
            assert_eq!(parsed(&question, words), input(answered.clone()), "{words}");
        }
        let other = json!({ "question": "Best drink of all?", "options": ["Tea", "Coffee"] });
        assert_eq!(parsed(&question, "Best drink of all? [Tea, Coffee]"), input(other));
        for words in ["hi", "Best drink of all? [Tea"] {
            assert!(matches!(parsed(&json!({}), words), ParsedInput::Missing { .. }), "{words}");
        }
    }
}
