//! Texts with named parts: JSON and text close to it, tags, and labelled sections.

use super::document::{self, is_harmless};
use super::limits::has_limits;
use super::sentences::pattern;
use super::{Choices, Missing, ReadQuestion, Reading};

pattern!(CALL, r"(?i)^\W*\w+\(");
pattern!(TAG_LABEL, r"(?is)<(?:label|option|choice)>\s*(.*?)\s*</(?:label|option|choice)>");
pattern!(TAG_LABELS, r"(?is)<(labels|options|choices)>.*?</(?:labels|options|choices)>");
pattern!(STARTS_LIST, r#"^\[\s*[\[{"'\d]"#);
pattern!(OBJECT, r#"\{\s*["']?[A-Za-z_]\w*["']?\s*:"#);
pattern!(
    LIMIT_NAME,
    r"(?i)cost|budget|spend|price|usd|privat|visib|public|publish|share|secret|anonym|exclude|only|without|allow|deny|forbid|dry|threshold|models?$|_models|providers?|preset|panel|limit|max|voters|confiden|retention|llms?$|draft|profile$|pace$|unlisted|hidden|ceiling|^cap$|respondent|engine|audience|^access|constraint|^(?:n|num|count|size|samples?|k)$|^(?:n|num|min)_"
);
pattern!(
    KEY,
    r#"(?i)["']?\b(question|prompt|query|q|poll|topic|title|text|ask|frage|pregunta|pergunta|domanda|вопрос)\b["']?\s*[:=]\s*"#
);
pattern!(
    OPTIONS_KEY,
    r#"(?i)["']?\b(options|choices|answers|candidates|alternatives|labels|categories|o|answer_options|possible_answers|values|variants)\b["']?\s*[:=]\s*[\[{(]"#
);
pattern!(TAG_QUESTION, r"(?is)<(question|prompt|query|q)\b[^<>]*>(.*?)</(?:question|prompt|query|q)>");
pattern!(
    TAG_OPTION,
    r"(?is)<(?:option|choice|answer|candidate|o)\b[^>]*>(.*?)</(?:option|choice|answer|candidate|o)>"
);
pattern!(QUOTED_VALUE, r#""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.|'\w)*)'|`([^`]*)`"#);

pattern!(
    FIELD,
    r#"["']([^"'\n:{}\[\],]{1,60})["']\s*:|(?:^|[{,(\s])([\p{L}_][\w-]*)\s*[:=]|[,{]\s*([\p{L}_][\w-]*)\s*[,})]"#
);
pattern!(TAG, r"</?([A-Za-z_]\w*)([^<>]*)>");

pattern!(
    ATTRIBUTE_LIMIT,
    r"(?i)(?:cost|budget|spend|private|visib|public|publish|secret|exclude|only|dry|models?|preset|panel|limit|max)[\w-]*\s*="
);

/// Reads an object, a call or tags. One with another field than harmless ones is refused, because the field would be lost.
pub(super) fn read(text: &str) -> Option<Reading> {
    let text = text.trim();
    if TAG_QUESTION.is_match(text) || TAG_LABEL.find_iter(text).count() >= 2 {
        let limits = |found: regex::Captures<'_>| {
            LIMIT_NAME.is_match(&found[1]) || ATTRIBUTE_LIMIT.is_match(&found[2])
        };
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
        if let Some(reading) = around(&[&others], text) {
            return Some(reading);
        }
        return (options.len() >= 2).then(|| super::with_choices(&found[2], Choices::Options(options)));
    }
    let labels: Vec<String> = TAG_LABEL.captures_iter(text).map(|found| found[1].to_owned()).collect();
    if labels.len() >= 2 {
        let others = TAG.replace_all(&TAG_LABEL.replace_all(text, "\n"), "\n").into_owned();
        if has_limits(&others) {
            return Some(Reading::Incomplete(Missing::Json));
        }
        return Some(super::with_choices(&TAG_LABELS.replace(text, ""), Choices::Options(labels)));
    }
    object(text)
}

pattern!(KEYED_QUESTION, r#"(?i)\b(?:q|question|prompt|query)\s*=\s*"([^"\n]+)""#);
pattern!(KEYED_OPTIONS, r#"(?i)\b(?:opts|options|choices|answers|labels)\s*=\s*["\[]([^"\]\n]+)["\]]"#);

/// Reads `q="…" choices="a|b"`.
fn keyed(text: &str) -> Option<Reading> {
    let (question, options) = (KEYED_QUESTION.captures(text)?, KEYED_OPTIONS.captures(text)?);
    let options = super::lists::split(&options[1])?;
    let others = KEYED_OPTIONS.replace(text, "").into_owned();
    let others = KEYED_QUESTION.replace(&others, "").into_owned();
    let is_lost = |name: regex::Captures<'_>| LIMIT_NAME.is_match(&name[1]) || !is_harmless(&name[1]);
    if NAME.captures_iter(&others).any(is_lost) || has_limits(&others) {
        return Some(Reading::Incomplete(Missing::Json));
    }
    Some(super::with_choices(&question[1], Choices::Options(options)))
}

pattern!(NAME, r"([A-Za-z_]\w*)\s*=");

/// Reads a text whose words around an object or tags ask themselves: "Is this prompt safe or unsafe? {…}" The object is content.
fn around(words: &[&str], text: &str) -> Option<Reading> {
    let words = words.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    let words = words.collect::<Vec<_>>().join("\n").replace("```json", "").replace("```", "");
    let own = super::request::stripped(&words);
    let is_request =
        own == words.trim() && (super::request::is_request(&own) || super::request::is_talk(&own, 30));
    let asks = own.contains(['?', '？']) || super::alternatives::read(&own).options().is_some();
    if is_request || !asks || own.trim_end().ends_with('=') || CALL.is_match(text) {
        return None;
    }
    Some(match super::without_fields(&words) {
        Reading::Question(read) if read.choices != Choices::Open => {
            Reading::Question(ReadQuestion { question: text.to_owned(), ..read })
        }
        Reading::Incomplete(Missing::Limit) => Reading::Incomplete(Missing::Limit),
        _ => Reading::Incomplete(Missing::Json),
    })
}

pattern!(
    /// A field that names all models, and so limits nothing.
    ALL_VOTERS,
    r#"(?i),?\s*["']?(?:voters|models|panel)["']?\s*[:=]\s*["'](?:all|any|everyone|default|\*)["']"#
);

pattern!(
    OTHER_ACTION,
    r#"(?i)["']?\b(?:mode|action|operation|op|tool|kind|type|execute|simulate|status)["']?\s*[:=]\s*["']?\w*(?:dry|draft|estimat|validat|preview|simulat|false)"#
);

/// Reads text that looks like an object: JSON, also with single quotes, bare keys, or a missing end.
fn object(text: &str) -> Option<Reading> {
    let text = &*ALL_VOTERS.replace_all(text, "");
    let ends = text.find('{').zip(text.rfind('}')).filter(|(start, end)| start < end);
    let asked_around = || ends.and_then(|(start, end)| around(&[&text[..start], &text[end + 1..]], text));
    if let Some(reading) = document::read(text) {
        return asked_around().or(Some(reading));
    }
    if let Some(reading) = keyed(text) {
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
    if OTHER_ACTION.is_match(body) || super::service::declines(&body.replace(['"', '\''], " ")) {
        return Some(Reading::Incomplete(Missing::Json));
    }
    let mut names = FIELD.captures_iter(body).filter_map(|found| found.iter().skip(1).flatten().next());
    if names.any(|name| !is_harmless(name.as_str())) || has_limits(&text[..start]) {
        return Some(Reading::Incomplete(Missing::Json));
    }
    let key = KEY.find(body)?;
    if let Some(reading) = asked_around() {
        return Some(reading);
    }
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

pattern!(ALL, r"(?i)^\W*(?:all|any|every\w*|default|as many|diverse|several|many|the usual)\b");

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
    // "# Budget" would be lost.
    let limits = |section: &Section| {
        LIMIT_NAME.is_match(&section.label) && !ALL.is_match(&section.body) && !section.body.trim().is_empty()
    };
    if sections.iter().any(limits) {
        return Some(Reading::Incomplete(Missing::Limit));
    }
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
