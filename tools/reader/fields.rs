//! Texts with named parts: JSON and text close to it, tags, and labelled sections.

use serde_json::Value;

use super::sentences::pattern;
use super::{Choices, Missing, ReadQuestion, Reading};

pattern!(CALL, r"(?i)^\W*\w+\(");
pattern!(TAG_LABEL, r"(?is)<(?:label|option|choice)>\s*(.*?)\s*</(?:label|option|choice)>");
pattern!(TAG_LABELS, r"(?is)<(labels|options|choices)>.*?</(?:labels|options|choices)>");
pattern!(STARTS_LIST, r#"^\[\s*[\[{"'\d]"#);
pattern!(OBJECT, r#"\{\s*["']?[A-Za-z_]\w*["']?\s*:"#);
pattern!(
    LIMIT_NAME,
    r"(?i)cost|budget|spend|price|usd|privat|visib|public|publish|share|secret|anonym|exclude|only|without|allow|deny|forbid|dry|threshold|models?$|_models|providers?|preset|panel|limit|max|voters|confiden|retention|^(?:n|num|count|size|samples?|k)$|^(?:n|num|min)_"
);
pattern!(
    KEY,
    r#"(?i)["']?\b(question|prompt|query|q|poll|topic|title|text|ask|frage|pregunta|pergunta|domanda|вопрос)\b["']?\s*[:=]\s*"#
);
pattern!(
    OPTIONS_KEY,
    r#"(?i)["']?\b(options|choices|answers|candidates|alternatives|labels|categories|o|answer_options|possible_answers|values|variants)\b["']?\s*[:=]\s*[\[{(]"#
);
pattern!(TAG_QUESTION, r"(?is)<(question|prompt|query|q)>(.*?)</(?:question|prompt|query|q)>");
pattern!(
    TAG_OPTION,
    r"(?is)<(?:option|choice|answer|candidate|o)\b[^>]*>(.*?)</(?:option|choice|answer|candidate|o)>"
);
pattern!(QUOTED_VALUE, r#""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.|'\w)*)'|`([^`]*)`"#);

/// Fields of other services that limit nothing.
const HARMLESS: &str = "question prompt query q poll topic title text ask options choices answers candidates alternatives labels \
    categories o answer_options possible_answers values variants context background id request_id requestid task_id requester from to \
    sender task type kind intent action op format reply_format response_format output language lang name description key \
    source user agent timestamp time role content body message messages input jsonrpc method params arguments payload state node \
    thread_id next trace trace_id notes facts unit priority status tool meta metadata version";

/// True if a field with this name limits nothing.
pub(super) fn is_harmless(name: &str) -> bool {
    name.ends_with("_id") || HARMLESS.split_whitespace().any(|harmless| harmless.eq_ignore_ascii_case(name))
}

pattern!(
    FIELD,
    r#"["']([A-Za-z_]\w*)["']\s*:|(?:^|[{,(\s])([A-Za-z_]\w*)\s*[:=]|[,{]\s*([A-Za-z_]\w*)\s*[,})]"#
);
pattern!(TAG, r"</?([A-Za-z_]\w*)[^<>]*>");

/// Reads an object, a call or tags. One with another field than harmless ones is refused, because the field would be lost.
pub(super) fn read(text: &str) -> Option<Reading> {
    let text = text.trim();
    if TAG_QUESTION.is_match(text) || TAG_LABEL.find_iter(text).count() >= 2 {
        let limits = |found: regex::Captures<'_>| LIMIT_NAME.is_match(&found[1]);
        if TAG.captures_iter(text).any(limits) {
            return Some(Reading::Incomplete(Missing::Json));
        }
    }
    if let Some(found) = TAG_QUESTION.captures(text) {
        let options: Vec<String> =
            TAG_OPTION.captures_iter(text).map(|found| found[1].trim().to_owned()).collect();
        let others = TAG_QUESTION.replace(text, "\n").into_owned();
        let others = TAG.replace_all(&TAG_OPTION.replace_all(&others, "\n"), "\n").into_owned();
        if has_limits(&others) {
            return Some(Reading::Incomplete(Missing::Json));
        }
        return (options.len() >= 2).then(|| super::with_choices(&found[2], Choices::Options(options)));
    }
    let labels: Vec<String> = TAG_LABEL.captures_iter(text).map(|found| found[1].to_owned()).collect();
    if labels.len() >= 2 {
        return Some(super::with_choices(&TAG_LABELS.replace(text, ""), Choices::Options(labels)));
    }
    object(text)
}

/// The names of questions, the best first.
const QUESTIONS: [&str; 19] = [
    "question",
    "prompt",
    "query",
    "q",
    "ask",
    "poll",
    "topic",
    "title",
    "text",
    "content",
    "body",
    "message",
    "input",
    "statement",
    "frage",
    "pregunta",
    "pergunta",
    "domanda",
    "вопрос",
];
/// The names of lists of options.
const OPTIONS: [&str; 16] = [
    "options",
    "choices",
    "answers",
    "candidates",
    "alternatives",
    "labels",
    "categories",
    "classes",
    "intents",
    "o",
    "answer_options",
    "possible_answers",
    "values",
    "variants",
    "opciones",
    "optionen",
];
/// The names of the text of an option.
const OPTION_TEXTS: [&str; 5] = ["text", "label", "name", "value", "title"];

/// The names of objects and lists that hold a question, and of which nothing is a part of it.
const WRAPPERS: &str = "params arguments args input message messages payload data body content request task parts part metadata poll \
    question state context item items job query";
pattern!(
    /// The names of texts that are about the request and no part of the question.
    ABOUT_REQUEST,
    r"(?i)^(?:id|type|kind|intent|action|op|operation|tool|task|method|jsonrpc|format|output|lang|language|locale|key|source|user|agent|role|node|next|trace|unit|priority|status|state|version|from|to|sender|requester|requested_by|time|timestamp|date|deadline|created|name|title|topic|poll|channel|notes|metadata|instructions?|callback|url|model|session|mode|purpose)$|(?:^|_)(?:id|format|at|by|type|token|url|version)$|[a-z](?:Id|Format|Url|Type)$"
);

pattern!(FORM_OF_REPLY, r"(?i)format|output|instruct|mode|role|action|task|intent|callback|notes?$|purpose");

/// The question and the options of JSON of another service, at any depth.
#[derive(Default)]
struct Document {
    /// The text with the best name, and the place of the name in [`QUESTIONS`].
    question: Option<(usize, String)>,
    /// The other texts, which the question is about, with their names.
    contents: Vec<String>,
    options: Option<Vec<String>>,
    /// The ends of a scale.
    ends: [Option<i64>; 2],
    /// A field limits the poll, or there are several questions.
    is_lost: bool,
}

impl Document {
    /// Reads a value. The depth of JSON is bounded by its parser.
    fn read(&mut self, name: &str, value: &Value, is_content: bool) {
        match value {
            Value::Object(fields) => {
                let texts: Vec<String> = fields.values().filter_map(option_text).collect();
                if texts.len() == fields.len() && texts.len() >= 2 && is_in(&OPTIONS, name) {
                    self.is_lost |= self.options.replace(texts).is_some();
                    return;
                }
                let end = |name: &str| fields.get(name).and_then(Value::as_i64);
                let ends = end("min").zip(end("max")).filter(|(low, high)| low < high);
                if let Some((low, high)) = ends {
                    self.ends = [Some(low), Some(high)];
                }
                let is_content = is_content
                    || !(name.is_empty()
                        || WRAPPERS.split_whitespace().any(|known| known.eq_ignore_ascii_case(name)));
                for (name, value) in fields {
                    if ends.is_none() || !["min", "max"].contains(&name.as_str()) {
                        self.read(name, value, is_content);
                    }
                }
            }
            Value::Array(items) => {
                let texts: Vec<String> = items.iter().filter_map(option_text).collect();
                if texts.len() == items.len() && texts.len() >= 2 && is_in(&OPTIONS, name) {
                    self.is_lost |= self.options.replace(texts).is_some();
                    return;
                }
                if let [Value::Number(low), Value::Number(high)] = items.as_slice()
                    && is_in(&["scale", "range", "rating_scale"], name)
                {
                    self.ends = [low.as_i64(), high.as_i64()];
                    return;
                }
                for item in items {
                    self.read(name, item, is_content);
                }
            }
            Value::String(text) if text.trim().is_empty() => {}
            Value::String(text) => {
                match QUESTIONS.iter().position(|known| known.eq_ignore_ascii_case(name)) {
                    Some(rank) if !is_content => self.ask(rank, name, text),
                    _ => {
                        self.is_lost |= LIMIT_NAME.is_match(name) || has_limits(text);
                        self.add(name, text, is_content);
                    }
                }
            }
            Value::Number(number) => match name.to_lowercase().as_str() {
                "scale_min" | "min_score" => self.ends[0] = number.as_i64(),
                "scale_max" | "max_score" => self.ends[1] = number.as_i64(),
                _ => self.is_lost |= LIMIT_NAME.is_match(name),
            },
            Value::Bool(_) => self.is_lost |= LIMIT_NAME.is_match(name),
            Value::Null => {}
        }
    }

    fn ask(&mut self, rank: usize, name: &str, text: &str) {
        match &self.question {
            Some((known, _)) if *known == rank => self.is_lost = true,
            Some((known, _)) if *known < rank => self.add(name, text, false),
            _ => {
                if let Some((worse, text)) = self.question.replace((rank, text.to_owned())) {
                    self.add(QUESTIONS[worse], &text, false);
                }
            }
        }
    }

    fn add(&mut self, name: &str, text: &str, is_content: bool) {
        // A long text is a text, whatever its name.
        let is_text = text.split_whitespace().nth(5).is_some() && !FORM_OF_REPLY.is_match(name);
        if is_content || is_text || !ABOUT_REQUEST.is_match(name) {
            self.contents.push(format!("{name}: {}", text.trim()));
        }
    }
}

fn is_in(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns the text of an option, which can be an object.
fn option_text(item: &Value) -> Option<String> {
    match item {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(fields) => {
            OPTION_TEXTS.iter().find_map(|name| Some(fields.get(*name)?.as_str()?.to_owned()))
        }
        _ => None,
    }
}

/// Reads JSON. `None` for another text, and for JSON without a question.
fn document(text: &str) -> Option<Reading> {
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    let value: Value = serde_json::from_str(text.get(start..=end)?).ok()?;
    let mut document = Document::default();
    document.read("", &value, false);
    // A list of questions: only one of them would be asked.
    document.is_lost |= text[..start].trim_end().ends_with('[');
    let Document { question, contents, options, ends, is_lost } = document;
    let (_, question) = question?;
    let contents = if contents.is_empty() { String::new() } else { format!("\n\n{}", contents.join("\n\n")) };
    let whole = format!("{question}{contents}");
    if is_lost || has_limits(&text[..start]) || has_limits(&text[end + 1..]) {
        return Some(Reading::Incomplete(Missing::Json));
    }
    if super::service::is_unfilled(&question) {
        return Some(Reading::Incomplete(Missing::Question));
    }
    match (options, ends) {
        (Some(options), _) => Some(super::with_choices(&whole, Choices::Options(options))),
        (None, [Some(low), Some(high)]) if low < high && (high - low <= 10 || (low, high) == (0, 100)) => {
            let step = if high - low > 10 { 10 } else { 1 };
            let levels = (low..=high).step_by(step).map(|level| level.to_string()).collect();
            Some(super::with_choices(&whole, Choices::Scale(levels)))
        }
        _ => Some(with_contents(super::without_fields(&question), &contents, &whole)),
    }
}

/// Adds the other texts of a document to its question. If that has no options, they may stand in the other texts.
fn with_contents(reading: Reading, contents: &str, whole: &str) -> Reading {
    match (reading, super::without_fields(whole)) {
        (_, Reading::Question(read)) if matches!(read.choices, Choices::Scale(_)) => Reading::Question(read),
        (Reading::Question(read), _) if read.choices != Choices::Open => {
            Reading::Question(ReadQuestion { question: format!("{}{contents}", read.question), ..read })
        }
        (_, whole) => whole,
    }
}

pattern!(KEYED_QUESTION, r#"(?i)\b(?:q|question|prompt|query)\s*=\s*"([^"\n]+)""#);
pattern!(KEYED_OPTIONS, r#"(?i)\b(?:opts|options|choices|answers|labels)\s*=\s*["\[]([^"\]\n]+)["\]]"#);

/// Reads `q="…" choices="a|b"`.
fn keyed(text: &str) -> Option<Reading> {
    let (question, options) = (KEYED_QUESTION.captures(text)?, KEYED_OPTIONS.captures(text)?);
    let options = super::lists::split(&options[1])?;
    let others = KEYED_OPTIONS.replace(text, "").into_owned();
    let others = KEYED_QUESTION.replace(&others, "").into_owned();
    let limits = |name: regex::Captures<'_>| LIMIT_NAME.is_match(&name[1]);
    if NAME.captures_iter(&others).any(limits) || has_limits(&others) {
        return Some(Reading::Incomplete(Missing::Json));
    }
    Some(super::with_choices(&question[1], Choices::Options(options)))
}

pattern!(NAME, r"([A-Za-z_]\w*)\s*=");

pattern!(
    /// A field that names all models, and so limits nothing.
    ALL_VOTERS,
    r#"(?i),?\s*["']?(?:voters|models|panel)["']?\s*[:=]\s*["'](?:all|any|everyone|default|\*)["']"#
);

/// Reads text that looks like an object: JSON, also with single quotes, bare keys, or a missing end.
fn object(text: &str) -> Option<Reading> {
    let text = &*ALL_VOTERS.replace_all(text, "");
    if let Some(reading) = document(text).or_else(|| keyed(text)) {
        return Some(reading);
    }
    let fenced =
        text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).unwrap_or(text).trim_start();
    let start = if fenced.starts_with('{') || STARTS_LIST.is_match(fenced) {
        text.len() - fenced.len()
    } else if let Some(call) = CALL.find(text) {
        call.end() - 1
    } else {
        // Words before an object: "Please poll: {…}".
        OBJECT.find(text)?.start()
    };
    let body = &text[start..];
    if body.starts_with("{{") {
        return None;
    }
    let mut names = FIELD.captures_iter(body).filter_map(|found| found.iter().skip(1).flatten().next());
    if names.any(|name| !is_harmless(name.as_str())) || has_limits(&text[..start]) {
        return Some(Reading::Incomplete(Missing::Json));
    }
    let key = KEY.find(body)?;
    // A list of questions: only one of them would be asked.
    if body.starts_with('[') && body.contains('{') {
        return Some(Reading::Incomplete(Missing::Json));
    }
    let question = value(&body[key.end()..])?;
    // The values of other fields are not read: one with a limit is refused.
    let values =
        body.replace(&question, "").replace(['"', '\'', '{', '}', '[', ']', '(', ')', ',', ':', '='], "\n");
    if has_limits(&values) {
        return Some(Reading::Incomplete(Missing::Json));
    }
    let options = OPTIONS_KEY.find(body).map(|key| {
        let list = &body[key.end()..];
        let end = list.find([']', ')', '}']).unwrap_or(list.len());
        let quoted: Vec<String> = QUOTED_VALUE
            .captures_iter(&list[..end])
            .filter_map(|found| found.iter().skip(1).flatten().next().map(|part| part.as_str().to_owned()))
            .collect();
        if quoted.is_empty() {
            list[..end]
                .split(',')
                .map(|part| part.trim().to_owned())
                .filter(|part| !part.is_empty())
                .collect()
        } else {
            quoted
        }
    });
    if question.is_empty() || super::service::is_unfilled(&question) {
        return Some(Reading::Incomplete(Missing::Question));
    }
    match options {
        Some(options) if options.len() >= 2 => {
            Some(super::with_choices(&question, Choices::Options(options)))
        }
        _ => Some(super::without_fields(&question)),
    }
}

/// True if words around the question and its options limit the poll.
fn has_limits(words: &str) -> bool {
    super::limits::split(words).is_none_or(|(_, terms)| terms != super::Terms::default())
}

fn value(text: &str) -> Option<String> {
    let text = text.trim_start();
    if let Some(found) =
        QUOTED_VALUE.captures(text).filter(|found| found.get(0).is_some_and(|whole| whole.start() == 0))
    {
        return found
            .iter()
            .skip(1)
            .flatten()
            .next()
            .map(|part| part.as_str().replace("\\\"", "\"").replace("\\n", "\n"));
    }
    let end = text.find([',', '\n', '}']).unwrap_or(text.len());
    Some(text[..end].trim().to_owned())
}

pattern!(
    QUESTION_LABEL,
    r"(?im)^[\s#*_>-]*(?:the )?(question|prompt|query|frage|pregunta|pergunta|domanda|consulta|demande|anfrage|vraag|pytanie|soru|вопрос|質問|问题|질문)\s*[*_]*(?:[:：][*_]*[ \t]*(\S.*)?|\s*)$"
);
pattern!(
    OPTIONS_LABEL,
    r"(?im)^[\s#*_>-]*(?:the )?(?:possible |answer |available |allowed )?(?:options|choices|answers|candidates|alternatives|labels|categories|classes|optionen|antwortmöglichkeiten|antworten|opciones|opções|opzioni|opties|opcje|seçenekler|варианты(?: ответа)?|選択肢|选项|선택지)\s*(?:\([^)\n]*\))?\s*[*_]*(?:[:：][*_]*[ \t]*(\S.*)?|\s*)$"
);
pattern!(ANY_LABEL, r"(?m)^[\s#*_>-]*([A-Za-zÀ-ÿ][\w -]{1,30})[*_]*[:：][*_]*(?:\s|$)|^#+\s+(\S.*)$");
pattern!(
    DROPPED_LABEL,
    r"(?i)^(?:output|format|output format|response format|instructions?|return|respond|voters|min_votes|max_cost|budget|requester|deadline|timeout|models?|settings?|notes? to (?:the )?agent|from|to|sender|expected output|ausgabe)$"
);
pattern!(
    CONTEXT_LABEL,
    r"(?i)^(?:context|background|situation|details|facts|kontext|hintergrund|contexte|contexto|scenario)$"
);

pattern!(
    TASK_LABEL,
    r"(?i)^(?:task|request|goal|auftrag|aufgabe|tarea|tâche|tarefa|compito|zadanie|görev|задача)$"
);

pattern!(
    NONE,
    r"(?i)^\W*(?:none|not (?:yet|defined)|tbd|open|ninguna|keine|aucune|nessuna|nenhuma|geen|brak|yok|нет)\b|^\W*(?:なし|无|없음)"
);

/// A labelled section.
struct Section {
    label: String,
    body: String,
}

/// Reads a text with the sections "question" and "options".
pub(super) fn sections(text: &str) -> Option<Reading> {
    if !QUESTION_LABEL.is_match(text) || !OPTIONS_LABEL.is_match(text) {
        return None;
    }
    let mut sections: Vec<Section> = vec![Section { label: String::new(), body: String::new() }];
    for line in text.lines() {
        let found = ANY_LABEL.captures(line).and_then(|found| {
            let label = found.get(1).or_else(|| found.get(2))?;
            let label = label.as_str().trim().trim_end_matches(':').trim_end_matches('*').to_owned();
            let rest = line[found.get(0)?.end()..].trim().to_owned();
            Some((label, rest))
        });
        match found {
            Some((label, body)) if label.split_whitespace().count() <= 3 => {
                sections.push(Section { label, body });
            }
            _ => {
                let last = sections.last_mut()?;
                if !last.body.is_empty() {
                    last.body.push('\n');
                }
                last.body.push_str(line);
            }
        }
    }
    let is = |pattern: &regex::Regex, label: &str| pattern.is_match(&format!("{label}:"));
    let question = sections.iter().position(|section| is(&QUESTION_LABEL, &section.label))?;
    let options = sections.iter().position(|section| is(&OPTIONS_LABEL, &section.label))?;
    // What follows the options after a blank line is no part of the list.
    let list = sections[options].body.trim().to_owned();
    if NONE.is_match(&list) {
        let question = sections[question].body.trim().to_owned();
        let (choices, terms) = (Choices::Open, super::Terms::default());
        return Some(Reading::Question(ReadQuestion { question, choices, terms }));
    }
    let first = list.lines().next().unwrap_or_default();
    let list = if list.contains('\n') && !super::lists::is_item(first) && first.contains([',', ';', '|']) {
        first.to_owned()
    } else {
        list
    };
    let list = if list.contains("\n\n") && !list.starts_with(['-', '*', '1', 'A', 'a']) {
        list.split("\n\n").next()?.to_owned()
    } else {
        list
    };
    let options_read = super::lists::block(&format!("?\n{list}"))
        .map(|(_, options)| options)
        .or_else(|| super::lists::split(&list))
        .or_else(|| super::lists::inline(&list).map(|(_, options)| options))
        .or_else(|| {
            let lines: Vec<String> = list
                .lines()
                .map(|line| line.trim().trim_matches('"').to_owned())
                .filter(|line| !line.is_empty())
                .collect();
            (lines.len() >= 2).then_some(lines)
        });
    if super::service::is_unfilled(&sections[question].body) {
        return Some(Reading::Incomplete(Missing::Question));
    }
    let mut asked = String::new();
    for (at, section) in sections.iter().enumerate() {
        let dropped = DROPPED_LABEL.is_match(&section.label) || at == options;
        let body = section.body.trim();
        if dropped || body.is_empty() {
            continue;
        }
        let body = if section.label.is_empty() { super::request::stripped(body) } else { body.to_owned() };
        let body = body.trim();
        if body.is_empty() || (TASK_LABEL.is_match(&section.label) && super::request::is_request(body)) {
            continue;
        }
        if !asked.is_empty() {
            asked.push_str("\n\n");
        }
        if at != question && !section.label.is_empty() && !CONTEXT_LABEL.is_match(&section.label) {
            asked.push_str(&section.label);
            asked.push_str(": ");
        }
        asked.push_str(body);
    }
    let asked = asked.trim().to_owned();
    match options_read {
        Some(options) if options.len() >= 2 => Some(Reading::Question(ReadQuestion {
            question: asked,
            choices: Choices::Options(options),
            terms: super::Terms::default(),
        })),
        _ => Some(super::question(&asked)),
    }
}
