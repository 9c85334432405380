//! JSON of other services with a question: its options, and the texts that it is about.
//!
//! Every field must be known. One that is not could limit the poll, or hold a secret, and is refused instead of lost or shown.

use serde_json::{Map, Value};

use super::limits::has_limits;
use super::sentences::pattern;
use super::{Choices, Missing, ReadQuestion, Reading, restricts};

/// The names of questions, the best first.
const QUESTIONS: &str = "question prompt query q ask poll topic title text content body message input statement frage pregunta pergunta \
    domanda вопрос 问题 質問 질문";
/// The names of lists of options.
const OPTIONS: &str = "options choices answers candidates alternatives labels categories classes intents o answer_options \
    possible_answers values variants opciones optionen 选项 選択肢 선택지";
/// The names of the text of an option, the best first.
const OPTION_TEXTS: &str = "text label name title option description value";
/// Other names of the fields of an option.
const OPTION_MARKS: &str = "id key letter index number";
/// The names of the ends of a scale.
const SCALES: &str = "scale range rating rating_scale score_range";
/// The names of texts that a question can be about.
const CONTENTS: &str = "text content body message input statement email mail subject document doc passage article paragraph snippet code \
    diff quote transcript conversation review comment ticket report claim premise hypothesis source context background facts situation \
    description answer response reply answer_a answer_b response_a response_b product item abstract summary headline tweet post story \
    scenario case evidence sentence title topic prompt query";
/// The names of objects and lists around a question.
const WRAPPERS: &str = "params arguments args input message messages payload data body content request task parts part poll question \
    items job query";

pattern!(
    /// The value of a field such as `mode` that asks for something else than a poll.
    OTHER_ACTION,
    r"(?i)dry|draft|estimat|validat|preview|simulat|cancel|delete|\bonly\b|\bhold\b|\bprice\b|private|confidential|internal|restricted"
);
pattern!(
    /// The name of a field with a secret, which nobody may read.
    SECRET,
    r"(?i)(?:api|access|secret|private)[_-]?key|token|password|passwd|secret|authori[sz]ation|^auth$|cookie|credential"
);
pattern!(RATES, r"(?i)rat|scor|scal|likert");
pattern!(MARK, r"(?i)^(?:option|choice|answer)?[_ -]?[a-z0-9]{1,2}$");

/// Fields of other services that limit nothing.
const HARMLESS: &str = "question prompt query q poll topic title text ask options choices answers candidates alternatives labels \
    categories o answer_options possible_answers values variants context background id request_id requestid task_id requester from to \
    sender task type kind intent action op format reply_format response_format output language lang name description key \
    source user agent timestamp time role content body message messages input jsonrpc method params arguments payload state node \
    thread_id next trace trace_id notes facts unit priority status tool meta metadata version \
    requested_by answer_type answertype request caller stage deadline timeout timeout_ms ttl 任务 来源 返回格式";

/// True if a field with this name limits nothing.
pub(super) fn is_harmless(name: &str) -> bool {
    name.ends_with("_id") || is_in(HARMLESS, name)
}

fn is_in(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|known| known.eq_ignore_ascii_case(name))
}

/// The question and the options of a document, at any depth.
#[derive(Default)]
struct Document {
    /// The text with the best name, with the place of the name in [`QUESTIONS`] and the name.
    question: Option<(usize, String, String)>,
    /// The other texts, which the question is about, with their names.
    contents: Vec<String>,
    options: Option<Vec<String>>,
    /// The ends of a scale.
    ends: Option<(i64, i64)>,
    /// The lower and the upper end, if they are fields of their own.
    single_ends: [Option<i64>; 2],
    /// A field would be lost, or there are several questions.
    is_lost: bool,
}

impl Document {
    /// Reads a value. The depth of JSON is bounded by its parser.
    fn read(&mut self, name: &str, value: &Value, is_content: bool) {
        match value {
            Value::Object(fields) if !is_content && is_in(OPTIONS, name) => {
                let texts: Option<Vec<String>> = fields.values().map(option_text).collect();
                self.list(texts.filter(|_| fields.keys().all(|key| MARK.is_match(key))));
            }
            Value::Array(items) if items.is_empty() => {}
            Value::Array(items) if !is_content && is_in(OPTIONS, name) => {
                self.list(items.iter().map(option_text).collect());
            }
            Value::Object(fields) => self.object(name, fields, is_content),
            Value::Array(items) => {
                if let [Value::Number(low), Value::Number(high)] = items.as_slice()
                    && !is_content
                    && is_in(SCALES, name)
                {
                    self.scale(low.as_i64().zip(high.as_i64()));
                    return;
                }
                for item in items {
                    self.read(name, item, is_content);
                }
            }
            Value::String(text) if text.trim().is_empty() => {}
            Value::String(text) => self.text(name, text, is_content),
            Value::Number(number) if !is_content => match name.to_lowercase().as_str() {
                "scale_min" | "min_score" => self.single_ends[0] = number.as_i64(),
                "scale_max" | "max_score" => self.single_ends[1] = number.as_i64(),
                _ => self.is_lost |= !is_harmless(name),
            },
            Value::Number(_) | Value::Bool(_) => self.is_lost |= !is_harmless(name),
            Value::Null => {}
        }
    }

    fn object(&mut self, name: &str, fields: &Map<String, Value>, is_content: bool) {
        let end = |name: &str| fields.get(name).and_then(Value::as_i64);
        let rates = ["type", "task", "kind"].iter().filter_map(|name| fields.get(*name)?.as_str());
        let is_scale =
            is_in(SCALES, name) || (name.is_empty() && rates.into_iter().any(|text| RATES.is_match(text)));
        let ends = end("min").zip(end("max")).filter(|_| is_scale && !is_content);
        if ends.is_some() {
            self.scale(ends);
        }
        let is_known = name.is_empty() || is_in(WRAPPERS, name) || (ends.is_some() && is_in(SCALES, name));
        self.is_lost |= !(is_known || is_content || is_in(CONTENTS, name) || is_harmless(name));
        for (field, value) in fields {
            if ends.is_none() || !["min", "max"].contains(&field.as_str()) {
                self.read(field, value, is_content || !is_known);
            }
        }
    }

    fn text(&mut self, name: &str, text: &str, is_content: bool) {
        self.is_lost |= SECRET.is_match(name);
        let rank = QUESTIONS.split_whitespace().position(|known| known.eq_ignore_ascii_case(name));
        match rank {
            Some(rank) if !is_content => self.ask(rank, name, text),
            _ if is_content || is_in(CONTENTS, name) || is_in(SCALES, name) => {
                self.content(name, text);
            }
            _ => self.is_lost |= !is_harmless(name) || OTHER_ACTION.is_match(text) || restricts(text),
        }
    }

    fn content(&mut self, name: &str, text: &str) {
        self.is_lost |= restricts(text);
        self.contents.push(format!("{name}: {}", text.trim()));
    }

    fn ask(&mut self, rank: usize, name: &str, text: &str) {
        let text = text.trim();
        match &self.question {
            Some((known, ..)) if *known == rank => self.is_lost = true,
            Some((known, ..)) if *known < rank => self.content(name, text),
            _ => {
                let worse = self.question.replace((rank, name.to_owned(), text.to_owned()));
                if let Some((_, name, text)) = worse {
                    self.content(&name, &text);
                }
            }
        }
    }

    fn list(&mut self, texts: Option<Vec<String>>) {
        match texts.filter(|texts| texts.len() >= 2) {
            Some(texts) => self.is_lost |= self.options.replace(texts).is_some(),
            None => self.is_lost = true,
        }
    }

    fn scale(&mut self, ends: Option<(i64, i64)>) {
        self.is_lost |= ends.is_none() || self.ends.is_some();
        self.ends = ends;
    }
}

/// Returns the text of an option. An option that is an object has only the fields of one.
fn option_text(item: &Value) -> Option<String> {
    match item {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(fields) => {
            let is_known = |name: &String| is_in(OPTION_TEXTS, name) || is_in(OPTION_MARKS, name);
            if !fields.keys().all(is_known) {
                return None;
            }
            OPTION_TEXTS.split_whitespace().find_map(|name| Some(fields.get(name)?.as_str()?.to_owned()))
        }
        _ => None,
    }
}

/// Returns the levels between two ends, if there are not too many.
fn levels(low: i64, high: i64) -> Option<Vec<String>> {
    let step = match (low, high) {
        (0, 100) => 10,
        _ if (0..=100).contains(&low) && (low + 1..=low + 10).contains(&high) => 1,
        _ => return None,
    };
    Some((low..=high).step_by(step).map(|level| level.to_string()).collect())
}

/// Reads JSON. `None` for another text, and for JSON without a question.
pub(super) fn read(text: &str) -> Option<Reading> {
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    let value: Value = serde_json::from_str(text.get(start..=end)?).ok()?;
    let mut document = Document::default();
    document.read("", &value, false);
    // A list of questions: only one of them would be asked.
    document.is_lost |= text[..start].trim_end().ends_with('[');
    let Document { question, contents, options, ends, single_ends: [low, high], is_lost } = document;
    let (_, _, question) = question?;
    let ends = ends.or(low.zip(high));
    let is_unclear = options.is_some() && ends.is_some();
    if is_lost || is_unclear || has_limits(&text[..start]) || has_limits(&text[end + 1..]) {
        return Some(Reading::Incomplete(Missing::Json));
    }
    if super::service::is_unfilled(&question) {
        return Some(Reading::Incomplete(Missing::Question));
    }
    if super::service::declines(&question) {
        return Some(Reading::Draft);
    }
    let reading = match (options, ends) {
        (Some(options), _) => super::with_choices(&question, Choices::Options(options)),
        (None, Some((low, high))) => match levels(low, high) {
            Some(levels) => super::with_choices(&question, Choices::Scale(levels)),
            None => return Some(Reading::Incomplete(Missing::Json)),
        },
        (None, None) => {
            // "scale": "1-5"
            let scale = contents.iter().find(|content| content.starts_with("scale: "));
            let scale = scale.and_then(|scale| super::scale::read(&format!("Rate on a {scale}")));
            match scale {
                Some(levels) => super::with_choices(&question, Choices::Scale(levels)),
                None => super::without_fields(&question),
            }
        }
    };
    Some(match reading {
        Reading::Question(read) if !contents.is_empty() => {
            let question = format!("{}\n\n{}", read.question, contents.join("\n\n"));
            Reading::Question(ReadQuestion { question, ..read })
        }
        reading => reading,
    })
}
