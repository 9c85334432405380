//! The sentences of a text that its sender wrote to the service: neither quotations nor code.

use regex::Regex;

/// Declares a regular expression, which is compiled at its first use.
macro_rules! pattern {
    ($(#[$doc:meta])* $name:ident, $pattern:expr) => {
        $(#[$doc])*
        pub(super) static $name: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| $crate::reader::sentences::compiled($pattern));
    };
}
pub(super) use pattern;

/// Compiles a pattern of this program.
#[expect(clippy::expect_used, reason = "patterns are constants, and tests compile them")]
pub(super) fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

/// Splits a line at the ends of its sentences.
pub(super) fn of_line(line: &str) -> Vec<&str> {
    let mut quotations = QUOTED.find_iter(line).map(|found| found.range()).peekable();
    // A sentence can end with a quotation: `"…buttons." Sarcastic or sincere?`
    let ends_here = |from: usize, to: usize| {
        let rest = line[to..].trim_start();
        line[from..to].chars().all(|mark| CLOSING.contains(&mark))
            && rest.starts_with(|first: char| first.is_uppercase() || first == '"')
    };
    let mut is_quoted = |at: usize| {
        while quotations.next_if(|range| range.end <= at + 1).is_some() {}
        quotations.peek().is_some_and(|range| range.start < at && !ends_here(at, range.end))
    };
    let mut parts = Vec::new();
    // The sentence begins at `start`, its first letter stands at `first`.
    let (mut start, mut first) = (0, None);
    let mut letters = line.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if first.is_none() && !letter.is_whitespace() {
            first = Some(at);
        }
        let is_wide = matches!(letter, '。' | '？' | '！');
        if (!is_wide && !matches!(letter, '.' | '?' | '!')) || is_quoted(at) {
            continue;
        }
        while letters.peek().is_some_and(|(_, next)| CLOSING.contains(next)) {
            letters.next();
        }
        let Some(&(next, space)) = letters.peek() else { break };
        if !is_wide && !space.is_whitespace() {
            continue;
        }
        let last = line[start..next].rsplit(char::is_whitespace).next().unwrap_or_default();
        let is_number = letter == '.'
            && last.len() < 4
            && next - first.unwrap_or(start) == last.len()
            && last.trim_end_matches('.').ends_with(|digit: char| digit.is_ascii_digit());
        if !is_abbreviation(last) && !is_number {
            parts.push(&line[start..next]);
            (start, first) = (next, None);
        }
    }
    parts.push(&line[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Marks that close a sentence with its end.
const CLOSING: &[char] = &['.', '?', '!', '"', '”', ')', '»', '\'', '。', '？', '！'];

fn is_abbreviation(word: &str) -> bool {
    matches!(
        word.to_lowercase().as_str(),
        "vs."
            | "e.g."
            | "i.e."
            | "incl."
            | "etc."
            | "mr."
            | "mrs."
            | "dr."
            | "no."
            | "approx."
            | "z.b."
            | "bzw."
    )
}

/// Returns the lines of a text, each with true if it is code or the fence of code.
pub(super) fn lines_with_code(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut is_code = false;
    text.lines().map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (line, is_code || is_fence)
    })
}

/// Returns the sentences of a text outside of code, quotations and lists of options.
pub(super) fn own(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    for (line, is_code) in lines_with_code(text) {
        if !is_code && !line.trim_start().starts_with(['>', '|', '+', '@']) {
            let parts = of_line(line).into_iter().map(without_emoji);
            sentences.extend(parts.filter(|part| !part.is_empty() && !is_quoted(part)));
        }
    }
    sentences
}

/// Returns a sentence without the emoji around it.
fn without_emoji(part: &str) -> &str {
    let is_emoji = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, '\u{1F000}'..='\u{1FAFF}' | '\u{2600}'..='\u{27BF}' | '\u{FE0F}' | '\u{200D}')
    };
    part.trim_matches(is_emoji)
}

fn is_quoted(part: &str) -> bool {
    part.starts_with(['"', '“', '«', '„'])
}

pattern!(QUOTED, r#"(?s)"[^"\n]*"|“[^”“\n]{0,400}”|„[^“”„\n]{0,400}[“”]|«[^»«\n]{0,400}»|```.*?```"#);

pattern!(QUOTED_QUESTION, r#"["“„«]([^"”“„«»\n]{10,400}[?？])["”“»]"#);

/// Returns the question in quotation marks, if there is only one.
pub(super) fn quoted_question(text: &str) -> Option<&str> {
    let mut found = QUOTED_QUESTION.captures_iter(text);
    let one = found.next()?.get(1)?.as_str();
    if found.next().is_none() { Some(one) } else { None }
}

/// Returns a text without its quotations and code.
pub(super) fn unquoted(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('>')).collect();
    QUOTED.replace_all(&lines.join("\n"), " ").into_owned()
}

pattern!(
    WH,
    r"(?i)^\W*(?:(?:choose|pick|find|select|determine|decide(?: on)?)\s+)?the\s+(?:single |one |very )?(?:best|most|biggest|worst|main|greatest|single|\w{3,}est)\b|^\W*(?:and |so |but |ok,? |then |in one word:? |in short:? |[\w ]{0,30}, )?(?:what|whats|what's|which|who|whose|whom|where|when|why|how|thoughts on|any (?:ideas|suggestions|thoughts)|suggest|recommend|name (?:a|an|one|some|the|ideas)|was|welche\w*|wer|wie|wo|wann|warum|wieso|qu[eé]|cu[aá]l(?:es)?|qui[eé]n|d[oó]nde|cu[aá]ndo|c[oó]mo|quel(?:le)?s?|qui|où|comment|pourquoi|quando|quale|quali|cosa|chi|dove|come|perch[eé]|qual|quais|quem|onde|wat|welke?|wie|waar|hoe|jaki\w*|kt[oó]r\w*|gdzie|kiedy|dlaczego|hangi\w*|ne|kim|nerede|neden|nas[ıi]l|как\w*|что|кто|где|когда|почему)\b"
);
pattern!(
    WH_ANYWHERE,
    r"(?i)\b(?:what|which|who|where|when|why|how|welche\w*|quel(?:le)?s?|cu[aá]l(?:es)?|hangi\w*|kt[oó]r\w*|jaki\w*|как(?:ой|ая|ое|ие))\b|什么|哪|谁|怎么|为什么|何|どれ|どの|だれ|誰|なぜ|무엇|뭐|어떤|어떻게|누가|어디|왜"
);
pattern!(
    WH_ASIAN,
    r"什么|哪|谁|怎么|何|どれ|どの|どこ|だれ|誰|なぜ|무엇|뭐|어떤|어떻게|누가|누구|어디|왜|언제"
);
pattern!(IDEAS, r"(?i)\b(?:ideas?|suggestions?|recommendations?|thoughts)\b");

/// True if a text has a word that asks.
pub(super) fn asks_anything(text: &str) -> bool {
    text.contains(['?', '？']) || WH_ANYWHERE.is_match(text)
}

/// True if the text asks an open question.
pub(super) fn is_open(text: &str) -> bool {
    let is = |sentence: &&str| {
        WH.is_match(sentence)
            || sentence.rsplit_once(": ").is_some_and(|(head, part)| {
                WH.is_match(part) && (part.ends_with('?') || head.split_whitespace().count() <= 3)
            })
            || NAME_IT.is_match(sentence)
            || BEST.is_match(sentence)
            || (WH_ASIAN.is_match(sentence) && sentence.trim_end_matches('。').ends_with('か'))
            || (sentence.ends_with(['?', '？'])
                && (WH_ANYWHERE.is_match(sentence) || IDEAS.is_match(sentence)))
    };
    own(text).iter().any(is)
}

pattern!(
    BEST,
    r"(?i)^\W*(?:most|least|best|worst|favou?rite|greatest|funniest|coolest|nicest|biggest)\b[^?]*\?"
);
pattern!(
    NAME_IT,
    r"(?i)\bfind out (?:what|which|who)\b|\band (?:name|suggest|propose|identify|state|give) (?:the|a|an|one|its)\b"
);
pattern!(
    /// The text says that it has no options.
    NO_OPTIONS,
    r"(?i)\b(?:no|without|not any|any) (?:(?:fixed|given|predefined|ready|set|specific|particular|candidate) )?(?:options|choices|alternatives|candidate answers|taxonomy|labels|candidates)\b|\bnot predefined\b|\bcome up with (?:the |some )?(?:options|choices|answers|candidates)\b|\b(?:models|you) (?:may|can|should|could) (?:suggest|propose)\b|\bgather suggestions\b"
);
pattern!(
    LOG,
    r"(?m)^\s*[\[(]?\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*\s+\S*\b(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE|FATAL)\b"
);

/// True for lines of a log.
pub(super) fn is_log(text: &str) -> bool {
    LOG.find_iter(text).count() >= 2 && !text.contains(['?', '？'])
}

pattern!(
    CHOOSES,
    r"(?i)[?？]|\bvs\b|\b(?:versus|grade|which|what|who|best|better|prefer\w*|pick|choose|choice|select|vote|rank|classify|clasifi\w*|classifi\w*|klassifi\w*|categori\w*|decision|label|rate|decide|should|most|route|assign|determine|judge|options?|verdict|whether|either|between|torn|zwischen|entre|fra|między|между|tussen|favou?rite|am [a-z]+|welche\w*|beste\w*|lieber|soll\w*|quel\w*|meilleur\w*|cu[aá]l|mejor|qual\w*|melhor|miglior\w*|quale|welke?|beste|kt[oó]r\w*|lepsz\w*|hangi\w*|какой|какая|лучше)\b|どれ|どの|哪|어느|어떤"
);

/// True if a text asks for a choice.
pub(super) fn chooses(text: &str) -> bool {
    CHOOSES.is_match(text)
}
