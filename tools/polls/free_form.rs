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

/// A poll without an account: the question and its options, in one of three forms.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("anyOf" = [{ "required": ["question"] }, { "required": ["q"] }, { "required": ["poll"] }]))]
pub struct FreeRequest {
    /// The question.
    pub question: Option<FreeQuestion>,
    /// The options; if missing, they are derived from yes/no and "A or B" questions.
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

/// Returns the question and its options or scale. Options are derived from questions of a simple form.
pub fn read(request: FreeRequest) -> Result<(FreeQuestion, Choices), Fault> {
    let combined = request.poll.as_deref().map(combined).transpose()?;
    let (from_poll, poll_options) =
        combined.map_or((None, None), |(question, options)| (Some(question), options));
    let question = request.question.or(request.q).or(from_poll).ok_or_else(|| {
        Fault::invalid(
            "question",
            "question is missing: send {\"question\": \"…?\", \"options\": [\"…\", \"…\"]}",
        )
    })?;
    let options = match (request.options.or(request.o).or(poll_options), request.scale) {
        (options, Some(scale)) => choices(options, Some(scale.choices()))?,
        (Some(options), None) => options.into(),
        (None, None) => propose(question.as_str())
            .ok_or_else(|| {
                Fault::invalid(
                    "options",
                    "add 2 to 5 options, for example Rent and Buy: none could be read from the question",
                )
            })?
            .into(),
    };
    Ok((question, options))
}

/// Reads a poll request from an agent's message: its fields, `Question? [Option A, Option B]`, a question of
/// a simple form, or the options for a known question.
pub fn parse_input(known: &Map<String, Value>, parsed: MessageContent<'_>) -> ParsedInput {
    let members = match parsed {
        MessageContent::Fields(parsed) => with(known, parsed),
        MessageContent::Text(words) => match words_after(known, words) {
            Ok(parsed) => with(known, parsed),
            Err(fault) => {
                let ask = format!("{fault}. Write Question? [Option A, Option B], or send a data part.");
                return ParsedInput::Missing { known: known.clone(), ask };
            }
        },
    };
    let given = |name: &str| members.get(name).filter(|value| !schema::is_empty(value));
    let question = ["question", "prompt"].into_iter().find_map(given);
    let has_choices = given("options").or_else(|| given("scale")).is_some();
    match (question, has_choices) {
        (Some(question), false) => {
            let shown: String = question.as_str().unwrap_or_default().chars().take(200).collect();
            let ask = format!(
                "Options are missing: which can be chosen for “{shown}”? Write them like this: [Option A, Option B]; \
                 or send a data part with options."
            );
            ParsedInput::Missing { known: members, ask }
        }
        _ => ParsedInput::Input(members),
    }
}

/// Returns the fields in plain words, given the known fields.
fn words_after(known: &Map<String, Value>, words: &str) -> Result<Map<String, Value>, Fault> {
    if known.contains_key("question")
        && let Some(options) = listed(words)
    {
        return Ok(Map::from_iter([("options".to_owned(), json!(Vec::from(options)))]));
    }
    let (question, options) = combined(words)?;
    Question::new(question.as_str()).map_err(|rule| Fault::invalid("question", rule.to_string()))?;
    let options = options.or_else(|| propose(question.as_str()));
    if options.is_none() && known.contains_key("question") {
        return Err(Fault::invalid("options", "this text contains no options for the previous question"));
    }
    let options = options.map(|options| ("options".to_owned(), json!(Vec::from(options))));
    let question = ("question".to_owned(), json!(String::from(question)));
    Ok([question].into_iter().chain(options).collect())
}

/// Parses options without a question: `[Tea, Coffee]`, `Tea, Coffee`, `Tea or Coffee`, or one per line.
fn listed(words: &str) -> Option<FreeOptions> {
    let words = words.trim().trim_start_matches('[').trim_end_matches([']', '.', '?']);
    if words.contains('[') {
        return None;
    }
    let commas = words.replace(" or ", ",").replace('\n', ",");
    let options = commas.split(',').map(|option| option.trim().trim_start_matches(['-', '*', ' ']));
    let options: Vec<&str> = options.filter(|option| !option.is_empty()).collect();
    FreeOptions::new(&options).ok()
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

/// First words of yes/no questions.
const OPENINGS: &[&str] = &[
    "is", "are", "was", "were", "am", "do", "does", "did", "can", "could", "will", "would", "should", "has",
    "have", "had", "may", "might", "must", "shall",
];

/// First words of a list of options: "Which is better, tea or coffee?".
const LEADS: &[&str] = &["which", "what", "who", "pick", "choose", "where", "when"];

/// Derives the options of questions in a simple English form: "Is …?" and "… A or B?".
fn propose(question: &str) -> Option<FreeOptions> {
    let text = question.trim_end_matches(['?', ' ', '.']);
    let plain = text.strip_suffix(" or not").unwrap_or(text);
    if plain.contains(" or ") {
        let options: Vec<String> = alternatives(plain)?.iter().map(|option| capitalized(option)).collect();
        return FreeOptions::new(&options).ok();
    }
    starts_with(plain, OPENINGS).then(|| FreeOptions::new(&["Yes", "No"]).ok())?
}

/// True if the text starts with one of these words.
fn starts_with(text: &str, words: &[&str]) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    words.iter().any(|word| word.eq_ignore_ascii_case(first))
}

/// Returns an option with a capital letter. Names such as "iPhone" stay as they are.
fn capitalized(option: &str) -> String {
    let first = option.split_whitespace().next().unwrap_or_default();
    if first.chars().any(char::is_uppercase) {
        return option.to_owned();
    }
    let mut letters = option.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn alternatives(text: &str) -> Option<Vec<String>> {
    // "Pick one: red, green or blue"; "Which is better, tea or coffee".
    let named =
        text.rsplit_once(':').or_else(|| text.split_once(',').filter(|(head, _)| starts_with(head, LEADS)));
    if let Some(list) = named.map(|(_, list)| list).filter(|list| list.contains(" or ")) {
        let commas = list.replace(" or ", ", ");
        return Some(
            commas.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect(),
        );
    }
    if text.contains([',', ':']) {
        return None;
    }
    let parts: Vec<Vec<&str>> = text.split(" or ").map(|part| part.split_whitespace().collect()).collect();
    let (before, rest) = parts.split_first()?;
    match rest {
        [after] => verbs(before, after).or_else(|| ends(before, rest)),
        _ => ends(before, rest),
    }
}

/// Reads "Is it better to rent or buy a house" and "Should I rent or buy": two verbs that share the rest.
fn verbs(before: &[&str], after: &[&str]) -> Option<Vec<String>> {
    let (one, head) = before.split_last()?;
    let other = after.iter().find(|word| **word != "to")?;
    let compares = match head {
        [.., word, "to"] => word.ends_with("er") || *word == "best",
        [opening, _] => starts_with(opening, &["should", "shall"]),
        _ => false,
    };
    compares.then(|| vec![(*one).to_owned(), (*other).to_owned()])
}

/// Reads "Should I use Rust or Go": the same number of words before and after each "or". Longer questions need a list of
/// options.
fn ends(before: &[&str], rest: &[Vec<&str>]) -> Option<Vec<String>> {
    let words = rest.first()?.len();
    let left = before.get(before.len().checked_sub(words)?..)?.join(" ");
    let is_opening = starts_with(&left, OPENINGS) || starts_with(&left, LEADS);
    if is_opening || rest.iter().any(|part| part.len() != words) {
        return None;
    }
    Some(std::iter::once(left).chain(rest.iter().map(|part| part.join(" "))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(question: &str) -> Option<Vec<String>> {
        propose(question).map(Into::into)
    }

    #[test]
    fn options_are_derived_from_simple_forms_only() {
        let list = |options: &[&str]| Some(options.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(proposed("Is a hot dog a sandwich?"), list(&["Yes", "No"]));
        assert_eq!(proposed("Tea or coffee?"), list(&["Tea", "Coffee"]));
        assert_eq!(proposed("Should I use Rust or Go?"), list(&["Rust", "Go"]));
        assert_eq!(
            proposed("Which is better, green tea or black coffee?"),
            list(&["Green tea", "Black coffee"])
        );
        assert_eq!(proposed("Pick one: red, green, or blue?"), list(&["Red", "Green", "Blue"]));
        assert_eq!(proposed("iPhone or android?"), list(&["iPhone", "Android"]));
        for question in [
            "Is it better to rent or buy a house in a big city?",
            "Should we rent or buy?",
            "Is it cheaper to rent or to buy?",
        ] {
            assert_eq!(proposed(question), list(&["Rent", "Buy"]), "{question}");
        }
        let many = list(&["Guitar", "Piano", "Violin"]);
        assert_eq!(proposed("Should I learn guitar or piano or violin?"), many);
        assert_eq!(proposed("Should I learn guitar or piano or the violin?"), None);
        assert_eq!(proposed("Can I eat or drink in a library?"), None);
        assert_eq!(proposed("Should I rent a flat or buy a house?"), list(&["Rent a flat", "Buy a house"]));
        assert_eq!(proposed("What is the best pizza topping?"), None);
        assert_eq!(proposed("or"), None);
        assert_eq!(proposed("Is water wet or not?"), list(&["Yes", "No"]));
        assert_eq!(proposed("Should I use Rust, Go, or C?"), None);
        assert_eq!(proposed("Do you prefer tea or coffee in the morning?"), None);
    }

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
