//! Lists of options: lines with marks, marks in a line, tables, and lists after a word such as "options".

use regex::Regex;

use super::sentences::{lines_with_code, of_line, pattern};

pattern!(
    MARK,
    r"^\s*>?\s*(?:[*_]{2})?(?:\(?(\d{1,2})(?:[.)]|\s+[–-])|\(?(?:i{1,3}|iv|v|vi{1,3})[.)]|\(?([a-jA-J])[.):]|\[([A-Ja-j1-9])\]:?|(\d)\x{fe0f}?\x{20e3}|(?:[-*•–▪·‣]|\[\s?\]|\(\s?\)))(?:[*_]{2})?\s+(\S.*)$"
);
pattern!(
    OPTION_LINE,
    r"(?i)^\s*(?:[*_]{2})?(?:option|choice|answer|candidate|summary|response|variant|antwort|opción|opção|opzione|optie)\s+([a-j]|\d{1,2})(?:[*_]{2})?\s*[:.)–-](?:[*_]{2})?\s+(\S.*)$"
);
pattern!(
    LABEL,
    r"(?i)^\s*[#*_>]*\s*(?:the )?(?:my )?(?:options?(?: are)?|choices?|answers?|candidates?|alternatives?|possible answers|optionen|antwortmöglichkeiten|antworten|opciones|opções|opzioni|opties|opcje|seçenekler|варианты(?: ответа)?|選択肢|选项|선택지)\s*(?:are)?\s*[*_]*[::：]?[*_]*\s*$"
);
pattern!(YES_NO, r"(?i)^(?:is|are|do|does|did|can|could|will|would|should|has|have|was|were|may)\b");

/// The mark of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Number,
    Letter,
    Bullet,
    /// A noun with a number or a letter: "Reply A:".
    Name,
}

pattern!(
    NAMED_LINE,
    r"^\s*(?:[*_]{2})?([A-Z][\w]{2,15})\s+([A-J]|\d{1,2})(?:[*_]{2})?\s*[:)](?:[*_]{2})?\s+(\S.*)$"
);

pattern!(NUMBERED_NAME, r"(?i)^\s*(?:opt|option|choice|answer)_?\d{1,2}\s*[=:]\s*(\S.*)$");
pattern!(PICTURE, r"^\s*(?:[・◦●◆■▪]\s*|[\x{1F300}-\x{1FAFF}\x{2600}-\x{27BF}]\x{fe0f}?\s+)(\S.*)$");

/// True if a line begins with the mark of an item.
pub(super) fn is_item(line: &str) -> bool {
    item(line).is_some()
}

pattern!(RADIO, r"^\s*(?:\(\s?\)|○|◯|☐)\s+\S");

/// True if lines have the marks of a form, of which one is to be ticked.
pub(super) fn is_form(text: &str) -> bool {
    text.lines().filter(|line| RADIO.is_match(line)).count() >= 2
}

pattern!(
    SUBJECT,
    r"\b([Cc]andidate|[Rr]eply|[Rr]esponse|[Aa]nswer|[Aa]pplicant|[Pp]roposal|[Dd]raft|[Vv]ersion|[Hh]eadline|[Ss]ummary|[Pp]lan|[Tt]ranslation)\s+([A-D1-4])\s*:\s"
);

pattern!(
    ASIAN_SUBJECT,
    r"(?:^|\s)((?:回答|答案|方案|候选|版本|回复|译文|候補|翻訳|답변|번역)\s?[A-D1-4])\s*[：:]"
);

/// Returns the names of subjects that a text describes in sentences: "Candidate A: … Candidate B: … Which one …?"
pub(super) fn subjects(text: &str) -> Option<Vec<String>> {
    let asian: Vec<String> = all_of(&ASIAN_SUBJECT, text);
    if (2..=4).contains(&asian.len()) && asian.iter().skip(1).all(|name| *name != asian[0]) {
        return Some(asian);
    }
    let mut names: Vec<String> = Vec::new();
    let mut first = 0;
    for found in SUBJECT.captures_iter(text) {
        let mark = found[2].as_bytes()[0];
        match names.len() {
            0 if matches!(mark, b'A' | b'1') => first = mark,
            count if count > 0 && usize::from(mark - first.min(mark)) == count => {}
            _ => continue,
        }
        names.push(format!("{} {}", &found[1], &found[2]));
    }
    // Short texts are the options themselves.
    let is_long = |text: &str| text.chars().count() > 60;
    let texts: Vec<&str> = SUBJECT.split(text).skip(1).collect();
    (names.len() >= 2 && names.len() == texts.len() && texts.iter().any(|text| is_long(text)))
        .then_some(names)
}

/// Returns the mark of a line and the text after it.
fn item(line: &str) -> Option<(Mark, String)> {
    if let Some(found) = NAMED_LINE.captures(line) {
        return Some((Mark::Name, found[3].trim().to_owned()));
    }
    if let Some(found) = OPTION_LINE.captures(line) {
        return Some((Mark::Name, found[2].trim().to_owned()));
    }
    if let Some(found) = NUMBERED_NAME.captures(line) {
        return Some((Mark::Name, found[1].trim().to_owned()));
    }
    if let Some(found) = PICTURE.captures(line) {
        return Some((Mark::Bullet, found[1].trim().to_owned()));
    }
    let found = MARK.captures(line)?;
    let is = |group: usize| found.get(group).is_some();
    let mark = match (is(1) || is(4), is(2) || is(3)) {
        (true, _) => Mark::Number,
        (_, true) => Mark::Letter,
        _ => Mark::Bullet,
    };
    Some((mark, found[5].trim().trim_end_matches([',', ';']).to_owned()))
}

pattern!(
    ANSWER_LABEL,
    r"(?i)^\s*(?:answer|response|verdict|output|label|your answer|antwort|thought|begin!?)\s*:?\s*$"
);

/// Returns the text without a list of lines with marks, and its options.
pub(super) fn block(text: &str) -> Option<(String, Vec<String>)> {
    if let Some(found) = table(text) {
        return Some(found);
    }
    let (lines, code): (Vec<&str>, Vec<bool>) =
        lines_with_code(text).filter(|(line, _)| !ANSWER_LABEL.is_match(line)).unzip();
    let mut best: Option<(usize, usize, Vec<String>)> = None;
    let mut at = 0;
    while at < lines.len() {
        let Some((mark, first)) = item(lines[at]).filter(|_| !code[at]) else {
            at += 1;
            continue;
        };
        let (from, mut options) = (at, vec![first]);
        at += 1;
        let mut blank = false;
        while at < lines.len() && !code[at] {
            match item(lines[at]) {
                Some((other, text)) if other == mark => options.push(text),
                None if lines[at].trim().is_empty() => {
                    // A blank line may stand between items.
                    if lines.get(at + 1).and_then(|next| item(next)).is_none_or(|(other, _)| other != mark) {
                        break;
                    }
                    blank = true;
                }
                None if !blank
                    && (lines[at].starts_with([' ', '\t'])
                        || (mark != Mark::Bullet && continues(&lines, at, mark))) =>
                {
                    let last = options.last_mut()?;
                    last.push('\n');
                    last.push_str(lines[at].trim());
                }
                _ => break,
            }
            at += 1;
        }
        if options.len() >= 2 && options.len() <= 20 {
            best = Some((from, at, options));
        }
    }
    let (from, to, options) = match best {
        Some(found) => found,
        None => unmarked_lines(&lines, &code)?,
    };
    let mut before: Vec<&str> = lines[..from].to_vec();
    while before.last().is_some_and(|line| line.trim().is_empty() || LABEL.is_match(line)) {
        before.pop();
    }
    let after: Vec<&str> = lines[to..].iter().copied().skip_while(|line| line.trim().is_empty()).collect();
    let last = after.iter().rev().find(|line| !line.trim().is_empty());
    let asks = |line: &&&str| line.trim_end().ends_with('?');
    if let Some(line) = last.filter(asks)
        && YES_NO.is_match(line.trim())
    {
        return None;
    }
    let mut question = before.join("\n").trim().to_owned();
    if !after.is_empty() {
        question = format!("{question}\n\n{}", after.join("\n"));
    }
    let options = options.into_iter().map(|option| unmarked(&option)).collect();
    Some((question.trim().to_owned(), options))
}

/// True if a line before a further item belongs to the item above it.
fn continues(lines: &[&str], at: usize, mark: Mark) -> bool {
    /// Maximum number of further lines of an item.
    const LINES: usize = 20;
    let rest = lines[at..].iter().take(LINES).take_while(|line| !line.trim().is_empty());
    rest.skip(1).any(|line| item(line).is_some_and(|(other, _)| other == mark))
}

/// Returns a run of short lines without marks after a line that introduces them.
fn unmarked_lines(lines: &[&str], code: &[bool]) -> Option<(usize, usize, Vec<String>)> {
    /// Maximum number of runs that are looked at, from the end.
    const RUNS: usize = 8;
    let is_option = |at: usize| !code[at] && is_short(lines[at].trim());
    let asks = |line: &&str| line.trim_end().ends_with(['?', '？']);
    let first_question = lines.iter().position(asks);
    let mut to = lines.len();
    for _ in 0..RUNS {
        while to > 0 && !is_option(to - 1) {
            to -= 1;
        }
        let mut from = to;
        while from > 0 && is_option(from - 1) {
            from -= 1;
        }
        if from == 0 {
            return None;
        }
        if (2..=12).contains(&(to - from)) {
            let before = lines[..from].iter().rev().find(|line| !line.trim().is_empty())?;
            let has_codes = || lines[from..to].iter().all(|line| CODE.is_match(line));
            let follows_question = first_question
                .is_some_and(|at| at < from && (lines[from - 1].trim().is_empty() || has_codes()));
            if before.trim_end().ends_with(['?', ':', '？', '：']) || follows_question {
                return Some((from, to, lines[from..to].iter().map(|line| line.trim().to_owned()).collect()));
            }
        }
        to = from - 1;
    }
    None
}

pattern!(
    /// "P1 - drop everything"
    CODE,
    r"^\s*[A-Z]{1,5}-?\d{1,2}\b"
);

/// True if a line is short enough for an option, and is no sentence.
fn is_short(line: &str) -> bool {
    let is_part = |mark: &&str| line.contains(*mark);
    !line.is_empty()
        && line.chars().count() <= 60
        && line.split_whitespace().count() <= 8
        && !line.ends_with(['.', '?', '!', ':', ',', ';'])
        && !["--- ", "+++ ", "@@", "+", "-"].iter().any(|mark| line.starts_with(mark))
        && ![": ", "=", " / ", " | "].iter().any(is_part)
}

/// Returns an option without bold marks and quotation marks.
fn unmarked(option: &str) -> String {
    let option = option.trim();
    let bold = option.strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
    let option = bold.unwrap_or(option);
    let quoted =
        option.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|inner| !inner.contains('"'));
    quoted.unwrap_or(option).trim().to_owned()
}

/// Returns the text without a table, and the cells of its last column.
fn table(text: &str) -> Option<(String, Vec<String>)> {
    let is_row =
        |line: &&str| line.trim().starts_with('|') && line.trim().ends_with('|') && line.trim().len() > 2;
    let rows: Vec<&str> = text.lines().filter(is_row).collect();
    let cells = |row: &str| -> Vec<String> {
        row.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rule =
        rows.iter().position(|row| row.chars().all(|letter| matches!(letter, '|' | '-' | ':' | ' ')))?;
    let options: Vec<String> = rows[rule + 1..]
        .iter()
        .filter_map(|row| {
            let cells = cells(row);
            let plain = |cell: &&String| cell.chars().any(char::is_alphabetic) && cell.len() > 1;
            cells.iter().find(plain).cloned()
        })
        .collect();
    let question: Vec<&str> = text.lines().filter(|line| !is_row(line)).collect();
    (options.len() >= 2).then(|| (question.join("\n").trim().to_owned(), options))
}

pattern!(INLINE, r"(?:^|[\s,;:?])[(\[]?([A-Ja-j1-9])[)\]]\s*|(?:^|[\s,;:?])([A-J1-9])[.:]\s+");
pattern!(TAIL, r"(?i)\s+(?:when|if)\b.*$");

/// Returns the text and the options with marks in one line: "A) Tom B) Misty".
pub(super) fn inline(text: &str) -> Option<(String, Vec<String>)> {
    for line in text.lines() {
        let marks: Vec<(usize, usize, String)> = INLINE
            .captures_iter(line)
            .filter_map(|found| {
                let whole = found.get(0)?;
                let mark = found.get(1).or_else(|| found.get(2))?;
                Some((whole.start(), whole.end(), mark.as_str().to_lowercase()))
            })
            .collect();
        let begins = marks.iter().position(|(_, _, mark)| mark == "a" || mark == "1");
        let Some(begins) = begins else { continue };
        let first = if marks[begins].2 == "a" { b'a' } else { b'1' };
        let run: Vec<&(usize, usize, String)> = marks[begins..]
            .iter()
            .enumerate()
            .take_while(|(at, (_, _, mark))| mark.as_bytes() == [first + *at as u8])
            .map(|(_, mark)| mark)
            .collect();
        if run.len() < 2 {
            continue;
        }
        let mut options = Vec::new();
        let mut list_end = line.len();
        for (at, (_, from, _)) in run.iter().enumerate() {
            let to = run.get(at + 1).map_or(line.len(), |next| next.0);
            let mut option = line[*from..to].trim();
            if at + 1 == run.len() {
                let sentence = of_line(option).first().copied().unwrap_or(option);
                list_end = from + line[*from..].find(sentence).unwrap_or(0) + sentence.len();
                option = sentence.trim_end_matches(['?', '!', '.', ' ']);
                option = TAIL.find(option).map_or(option, |tail| &option[..tail.start()]);
            }
            let option = option.trim_end_matches([',', ';', '.', ' ']);
            let option = ["or", "and", "oder", "ou", "o", "Option", "option", "Choice", "Answer"]
                .iter()
                .find_map(|word| option.strip_suffix(word).filter(|rest| rest.ends_with([' ', ','])))
                .unwrap_or(option);
            options.push(option.trim_end_matches([',', ';', '.', ' ']).to_owned());
        }
        if options.iter().any(String::is_empty) {
            continue;
        }
        let (from, to) = (run[0].0, list_end);
        let head = line[..from].trim();
        let has_own_question = text.len() > line.len() || head.ends_with(['?', ':', '.']);
        let is_last = run.last().is_some_and(|mark| !line[mark.1..].contains('?'));
        let question = if has_own_question && is_last && !(head.is_empty() && text.len() == line.len()) {
            text.replacen(&line[from..to], "", 1).trim().trim_end_matches(':').to_owned()
        } else if head.is_empty() && text.trim() == line.trim() {
            String::new()
        } else {
            text.to_owned()
        };
        return Some((question, options));
    }
    None
}

pattern!(
    INTRODUCED,
    r"(?im)\b(?:one of(?: the following)?|options(?: are)?|choices(?: are)?|choix|réponses|respuestas|risposte|respostas|escolhas|odpowiedzi|labels|categories|classes|intents|levels|values|tags|buckets|statuses|grades|sentiments|werte|kategorien|klassen|stufen|catégories|étiquettes|valeurs|categorías|etiquetas|valores|categorie|valori|categorias|kategorie|категории|candidates|answers|answer with|respond with|reply with|choose(?: one| between| from)?|pick(?: one)?|select(?: one)?|verdicts?|antwortmöglichkeiten|antworten|optionen|auswahl|keuze uit|keuzes|possible[ _]\w+|allowed[ _]\w+|candidate \w+|ratings|opciones|opções|opzioni|opties|opcje|seçenekler|варианты(?: ответа)?|選択肢|选项|선택지)\b(?: \w[\w-]*){0,5}\s*(?:\([^)\n]*\))?\s*[:：=]\s*([^\n]+?)\s*$"
);
pattern!(
    /// "exactly one label: billing, login"
    ONE_LABEL,
    r"(?im)\b(?:one|single|jedn\w+|eine[rmn]?|une|una|uma|één|een)\s+(?:\w+\s+)?(?:category|label|class|tag|type|kategori\w*|etykiet\w*|klasse|catégorie|étiquette|categor[ií]a|etiqueta|etichetta|categorie)\s*[:：]\s*([^\n]+?)\s*$"
);
pattern!(
    /// "Rome, Lisbon, Athens. Which of these is cheapest?"
    BEFORE_THESE,
    r"(?i)(?:^|[.!?:\n]\s*)([^.?!:\n,]{1,40}(?:, ?[^.?!:\n,]{1,40}){1,9})\s*[.:;\n–-]\s*(?:so |now )?(?:which|what)\b[^.?!\n]{0,30}\bof (?:these|them|those)\b"
);
pattern!(ONE_OF, r"(?i)\bone of\s+([^.?!:\n]+(?:, [^.?!:\n]+)+)");
pattern!(OPTIONS_ARE, r"(?i)\b(?:options|choices|candidates|alternatives|picks) are:?\s+([^.?!\n]+)");
pattern!(BRACKET, r"\[([^\[\]\n]+)\]|\{([^{}\n]+)\}");
pattern!(PIPES, r"(?m)(?:^|[:?]\s*)([^|\n:?]{1,60}(?:\s\|\s[^|\n]{1,60}){1,11})$");
pattern!(PARENTHESES, r"\(([^()\n/]{1,40}(?:\s?/\s?[^()\n/]{1,40}){1,11})\)");
pattern!(NAMED, r"(?i)\boption (one|two|three|four|five|1|2|3|4|5|a|b|c|d)(?: is(?: to)?|:)\s+([^.\n;]+)");
pattern!(
    SLASHES,
    r"(?m)(?:^|[?.:!>]\s+|\()((?:[^\s/?.:!()>](?:[^/?.:!()\n]{0,40}[^\s/?.:!()])?\s+/\s+)+[^/?.:!()\n]{1,40}?)\s*(?:[)?.!]*\s*$|[.!?]\s+(?:which|what|who|welche\w*|quel\w*|cu[aá]l\w*)\b)"
);

pattern!(
    ANSWER_WITH,
    r"(?im)(?:^|[.!?:]\s+)(?:please )?(?:answer|respond|reply|responda|responde|antworte\w*|réponds?|répondez|rispondi)\s+(?:only |just |strictly )?(?:with|com|con|mit|par|avec)\s+(?:only |just |one of |either )*([^.?!:\n,]{1,40}(?:(?:,| or | ou | oder | o )[^.?!:\n,]{1,40}){1,9})[.!]?\s*$"
);
pattern!(
    /// The verdicts of a judge: `"[[A]]" if assistant A is better`.
    VERDICT,
    r#"["'“]\[\[([A-Z])\]\]["'”]"#
);
pattern!(
    QUOTED_ANSWERS,
    r#"(?i)\b(?:answers|labels|options|choices|values|categories)\s*(?:are|is|:)\s*((?:["“][^"”\n]{1,40}["”][,;]?\s*(?:and\s+|or\s+)?){2,10})"#
);
pattern!(IN_MARKS, r#"["“]([^"”\n]{1,40})["”]"#);
pattern!(QUOTED_LIST, r#"[\[{(]\s*("[^"\n\]]{1,60}"(?:\s*,\s*"[^"\n\]]{1,60}"){1,11})\s*[\])}]"#);
pattern!(
    LABELLED_PAIR,
    r#"(?i)\b(?:one|first|1|a)\s*[:)]\s*["“]([^"”\n]{1,200})["”]\s*,?;?\s*(?:and |or )?(?:two|second|2|b)\s*[:)]\s*["“]([^"”\n]{1,200})["”]"#
);
pattern!(AFTER_QUESTION, r"[?？]\s*([^?？.!:\n]{1,40}(?:[,、，·•|/]\s*[^,、，·•|/?？.!:\n]{1,40}){1,9})$");
pattern!(HAS_OR, r"(?i)\b(?:or|oder|ou|o|czy|of|vs|veya|yoksa|или|oppure)\b|还是|それとも|아니면");
pattern!(
    /// The end of a letter.
    CLOSES,
    r"(?i)\b(?:regards|thanks|thank you|thx|cheers|love|grüße|gruß|danke|saludos|gracias|cordialement|merci|saluti|grazie|obrigad[oa]|groet\w*|bedankt|pozdrawiam|спасибо)\b"
);
pattern!(
    IN_PARENTHESES,
    r"(?im)\b(?:label|class|category|answer|verdict|rating|choose|options?)\s*\(([^()\n]{1,40}(?:,[^()\n,]{1,40}){1,9})\)\s*:?\s*$"
);
pattern!(
    /// "S1 = outage, S2 = data loss", or a line for each.
    CODES,
    r"(?m)(?:^|[:,;(]\s*)([A-Z]{1,4}\d{1,2})\s*=\s*[^,;=\n]{2,60}|^\s*([A-Z]{1,3}\d{1,2})\s*[:–-]\s+\S"
);
pattern!(CHINESE_LIST, r"(?:哪一?类|类别|哪一?[个种项]|分类为|类型)[：:]\s*([^\n。：:]{2,120})");
pattern!(CORNERED, r"(?:「[^」\n]{1,40}」\s*[、,・]?\s*(?:と|か|または|もしくは)?\s*){2,12}");
pattern!(CORNER, r"「([^」\n]{1,40})」");

/// Returns the options of the first list that a pattern captures.
fn listed(pattern: &Regex, text: &str) -> Option<Vec<String>> {
    pattern.captures(text).and_then(|found| split(&found[1]))
}

/// Returns all texts that a pattern captures.
fn all_of(pattern: &Regex, text: &str) -> Vec<String> {
    let first = |found: regex::Captures<'_>| Some(found.iter().skip(1).flatten().next()?.as_str().to_owned());
    pattern.captures_iter(text).filter_map(first).collect()
}

/// Returns the options of a Japanese list in corner brackets of which one is to be chosen.
fn cornered(text: &str) -> Option<Vec<String>> {
    let found = CORNERED.find(text)?;
    let rest: String = text[found.end()..].chars().take(16).collect();
    let chooses = ["いずれか", "どれか", "どちら", "どれ", "のどれ"].iter().any(|word| rest.contains(word));
    chooses.then(|| all_of(&CORNER, found.as_str()))
}

/// Returns the options after a word that introduces them.
pub(super) fn introduced(text: &str) -> Option<Vec<String>> {
    if let Some(options) = listed(&ANSWER_WITH, text) {
        return Some(options);
    }
    let verdicts = all_of(&VERDICT, text);
    if (2..=5).contains(&verdicts.len()) {
        return Some(verdicts);
    }
    let codes = all_of(&CODES, text);
    if codes.len() >= 3 {
        return Some(codes);
    }
    if let Some(options) = listed(&IN_PARENTHESES, text).or_else(|| listed(&CHINESE_LIST, text)) {
        return Some(options);
    }
    if let Some(options) = cornered(text) {
        return Some(options);
    }
    if let Some(found) = QUOTED_ANSWERS.captures(text) {
        return Some(all_of(&IN_MARKS, &found[1]));
    }
    if let Some(found) = QUOTED_LIST.captures(text) {
        return split(&found[1]);
    }
    if let Some(found) = LABELLED_PAIR.captures(text) {
        return Some(vec![found[1].trim().to_owned(), found[2].trim().to_owned()]);
    }
    if let Some(found) = AFTER_QUESTION.captures(text.trim_end())
        && !HAS_OR.is_match(&text[..found.get(1).map_or(0, |list| list.start())])
        && !CLOSES.is_match(&found[1])
        && let Some(options) = split(found[1].replace(['·', '•'], ",").trim().trim_matches(['(', ')']))
        && options.iter().all(|option| option.split_whitespace().count() <= 3)
    {
        return Some(options);
    }
    let text_without_code = super::sentences::QUOTED.replace_all(text, "");
    if let Some(found) = SLASHES.captures(&text_without_code) {
        let options: Vec<String> = found[1].split(" / ").map(|part| part.trim().to_owned()).collect();
        return Some(options);
    }
    for found in INTRODUCED.captures_iter(text) {
        // The list ends with its sentence.
        if let Some(options) = of_line(&found[1]).first().and_then(|list| split(list)) {
            return Some(options);
        }
    }
    let one_label =
        ONE_LABEL.captures(text).and_then(|found| of_line(&found[1]).first().and_then(|list| split(list)));
    if let Some(options) = one_label
        .or_else(|| listed(&BEFORE_THESE, text))
        .or_else(|| listed(&ONE_OF, text))
        .or_else(|| listed(&OPTIONS_ARE, text))
    {
        return Some(options);
    }
    if let Some(found) = PIPES.captures(text) {
        let list = found[1].trim().trim_start_matches(['[', '{', '(']).trim_end_matches([']', '}', ')']);
        return Some(list.split('|').map(|part| part.trim().to_owned()).collect());
    }
    if let Some(found) = PARENTHESES.captures(text) {
        return Some(found[1].split('/').map(|part| part.trim().to_owned()).collect());
    }
    let named: Vec<String> = NAMED.captures_iter(text).map(|found| found[2].trim().to_owned()).collect();
    if named.len() >= 2 {
        return Some(named);
    }
    let brackets = BRACKET.captures_iter(&text_without_code).filter(|found| {
        let before = found.get(0).map_or("", |whole| text_without_code[..whole.start()].trim_end());
        // Code: "print([a, b])", "return [x, y]", "f(x) = {a, b}".
        !before.ends_with(['(', '=']) && !before.ends_with("return")
    });
    brackets.filter_map(|found| split(found.iter().skip(1).flatten().next()?.as_str())).last()
}

pattern!(
    ONLY_LIST,
    r"(?i)^\W*(?:the |my |possible )?(?:options?|choices|answers|candidates|alternatives|optionen|opciones|opções|opzioni|opties|opcje|seçenekler|варианты|選択肢|选项|선택지)\s*(?:are)?\s*[:=：][^\n?]+$"
);

/// True for options without a question: "Options: red, green".
pub(super) fn is_only_list(text: &str) -> bool {
    ONLY_LIST.is_match(text.trim())
}

pattern!(LAST_OR, r"(?i)\s*,?\s+(?:or|oder|ou|of|lub|veya|или)\s+");

pattern!(LAST_AND, r"(?i),\s+(?:and|und|et|y|e|i|en|ve|и)\s+");

/// Splits a list of at least two short options.
pub(super) fn split(list: &str) -> Option<Vec<String>> {
    let list = list.trim().trim_end_matches(['.', '?', '!']);
    let inner = |open: char, close: char| list.strip_prefix(open)?.strip_suffix(close);
    let list = inner('[', ']').or_else(|| inner('{', '}')).unwrap_or(list);
    let parts: Vec<String> = if list.contains('|') {
        list.split('|').map(str::to_owned).collect()
    } else if list.contains(';') {
        list.split(';').map(str::to_owned).collect()
    } else if list.contains(['、', '，', '،']) {
        list.split(['、', '，', '،']).map(str::to_owned).collect()
    } else if list.contains(',') {
        let list = LAST_OR.replace_all(list, ", ");
        let list = LAST_AND.replace_all(&list, ", ");
        list.split(',').filter(|part| !part.trim().is_empty()).map(str::to_owned).collect()
    } else if list.contains('/') {
        list.split('/').map(str::to_owned).collect()
    } else {
        LAST_OR.split(list).map(str::to_owned).collect()
    };
    let mut parts: Vec<String> =
        parts.iter().map(|part| unmarked(part.trim().trim_matches(['\'', '`', ':']))).collect();
    // "P1, P2, P3 (P1 = most urgent)"
    let is_noted = parts.iter().filter(|part| part.contains('(')).count() == 1;
    if is_noted
        && let Some(last) = parts.last_mut()
        && let Some((option, _)) = last.split_once(" (")
    {
        *last = option.to_owned();
    }
    let fits = parts.len() >= 2
        && parts.len() <= 12
        && parts.iter().all(|part| !part.is_empty() && part.chars().count() <= 80);
    fits.then_some(parts)
}

pattern!(
    NAMES,
    r"(?i)^(?:(?:response|answer|reply|summary|assistant|candidate|option|text|translation|version|headline|model|output|draft)\s+)?(?:[A-Da-d]|[1-9]|\([ivx]+\))$|(?i)^(?:(?:a )?tie|both|neither|equal(?:ly good)?|draw|none|unsure|about the same|same|no difference)$"
);

/// True if the options name texts of the message: "A, B or tie".
pub(super) fn are_names(options: &[String], text: &str) -> bool {
    let is_short = |option: &String| option.split_whitespace().count() <= 2;
    text.len() > 80 && options.iter().all(|option| NAMES.is_match(option)) && options.iter().any(is_short)
}
