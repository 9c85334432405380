//! Options in forms without an "or": "Lisbon? Prague?", "between A and B", and those of Asian languages and Turkish.

use super::sentences::pattern;
use super::word_lists::{clean, words};

pattern!(SLASH, r"(?:^|\s)([\w'’-]+(?:/[\w'’-]+)+)(?:\s|$)");
/// Returns the options of "tea/coffee".
pub(super) fn slash(sentence: &str) -> Option<Vec<String>> {
    let found = SLASH.captures(sentence)?;
    let parts: Vec<String> = found[1].split('/').map(str::to_owned).collect();
    let fits = parts
        .iter()
        .all(|part| part.chars().count() > 1 && !part.chars().all(|letter| letter.is_ascii_digit()))
        && !found[1].eq_ignore_ascii_case("and/or");
    fits.then_some(parts)
}

pattern!(ONE_WORD, r"(?:^|[.:!–—-]\s+|,\s+)((?:[^?.:!,\n]{1,40}\?\s*){2,8})");
pattern!(
    NO_OPTION,
    r"(?i)^\W*(?:right|ok|okay|really|why|how|what|who|when|where|which|is|are|do|does|can|should|thoughts|ideas|any|anyone|help|please|yes|no|huh|and)\b"
);

/// Returns the options of "Lisbon? Prague? Valencia?".
pub(super) fn several_questions(text: &str) -> Option<Vec<String>> {
    let found = ONE_WORD.captures(text)?;
    let options: Vec<String> = found[1].split('?').map(clean).filter(|option| !option.is_empty()).collect();
    let is_option = |option: &String| words(option).len() <= 4 && !NO_OPTION.is_match(option);
    (options.len() >= 2 && options.iter().all(is_option)).then_some(options)
}

pattern!(
    BETWEEN,
    r"(?i)\b(?:between\s+[^.?!;\n]{2,80}?\s+(?:and|or)|zwischen\s+[^.?!;\n]{2,80}?\s+(?:und|oder)|entre\s+[^.?!;\n]{2,80}?\s+(?:et|ou|y|o|e)|(?:tra|fra)\s+[^.?!;\n]{2,80}?\s+(?:e|o)|między\s+[^.?!;\n]{2,80}?\s+a|между\s+[^.?!;\n]{2,80}?\s+и|tussen\s+[^.?!;\n]{2,80}?\s+(?:en|of))\s+([^.?!;,\n]{2,60}?)(?:\s+(?:for|in|at|on|as|if|when|because|to)\b.*|\s+[–-].*|[,.;?!].*|$)"
);

pattern!(
    NO_NAME,
    r"(?i)^(?:the (?:two|three|four|following|options|drafts)|these|those|both|them|return|report|give|send|tell|let)\b"
);
pattern!(GERMAN_ARTICLE, r"(?i)^(?:eine[rmn]?|ein|dem|den|der)\s+");

/// Returns the options of "choose between a dryer and a line".
pub(super) fn between(sentences: &[&str]) -> Option<Vec<String>> {
    let has_choice = |sentence: &&&str| super::sentences::chooses(sentence);
    let found = sentences.iter().filter(has_choice).find_map(|sentence| BETWEEN.captures(sentence))?;
    // The words between "between" and "and".
    let head = &found[0][..found.get(1)?.start() - found.get(0)?.start()];
    let head = head.split_once(char::is_whitespace)?.1.trim_end();
    let head = head.rsplit_once(char::is_whitespace)?.0;
    let bare = |option: &str| clean(&GERMAN_ARTICLE.replace(option.trim(), ""));
    let mut depth = 0_i32;
    // A comma in parentheses separates nothing.
    let parts = head.split(|letter: char| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        letter == ',' && depth == 0
    });
    let options: Vec<String> = parts.chain([&found[1]]).map(bare).collect();
    let is_no_option =
        |option: &String| option.chars().all(|letter| letter.is_ascii_digit()) || NO_NAME.is_match(option);
    (!options.iter().any(is_no_option)).then_some(options)
}

pattern!(
    JAPANESE,
    r"([^。、？?：:\s]{1,20}?[^はがでは])?(?:[はがで、：:])?([^。、？?はが\s]{1,20}?)と([^。、？?\s]{1,20}?)(?:なら|だったら)?(?:の|、|で|は|って)?\s*(?:どっち|どちら|どれ)"
);
pattern!(CHINESE, r"([^，,。？?！：:\s]{1,30})还是([^，,。？?！：:\s]{1,20})");
pattern!(
    KOREAN,
    r"((?:[^\s,.?]{1,20},\s*)*[^\s,.?]{1,20}?)(?:이랑|랑|와|과|하고|,)?\s+(?:아니면\s+)?([^\s,.?]{1,20}?)(?:\s*중(?:에서?)?|,)?\s*(?:뭐가|어느|어떤|무엇이|어디가)"
);
pattern!(
    /// "사실인가요, 의견인가요?"
    KOREAN_PAIR,
    r"([^\s,.?]{1,20}?)(?:인가요|일까요|입니까|인지)\s*[,?]?\s+(?:아니면\s+)?([^\s,.?]{1,20}?)(?:인가요|일까요|입니까|인지)"
);
pattern!(CHINESE_TAIL, r"(?:更?(?:合适|好|适合|划算|健康|重要|安全|靠谱)|比较好|好呢|好).*$");

/// Reads the forms of Japanese, Chinese and Korean.
pub(super) fn asian(text: &str) -> Option<Vec<String>> {
    if let Some(found) = JAPANESE.captures(text) {
        return Some(vec![found[2].to_owned(), found[3].to_owned()]);
    }
    if let Some(found) = CHINESE.captures_iter(text).last() {
        let before = found[1]
            .trim_start_matches("应该")
            .trim_start_matches(['用', '选', '买', '是', '去', '喝', '吃']);
        let mut parts: Vec<String> = before.split('、').map(str::to_owned).collect();
        let right = found[2].trim_start_matches('是');
        parts.push(CHINESE_TAIL.replace(right, "").into_owned());
        return Some(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>())
            .filter(|parts| parts.len() > 1);
    }
    if let Some(found) = KOREAN_PAIR.captures(text) {
        return Some(vec![found[1].to_owned(), found[2].to_owned()]);
    }
    let found = KOREAN.captures(text)?;
    let is_list =
        [",", "랑", "와 ", "과 ", "하고", "아니면", " 중"].iter().any(|mark| found[0].contains(mark));
    if !is_list {
        return None;
    }
    let mut parts: Vec<String> = found[1].split(',').map(|part| part.trim().to_owned()).collect();
    parts.extend(Some(found[2].to_owned()).filter(|last| !last.starts_with('중')));
    (parts.len() > 1).then_some(parts)
}

pattern!(TURKISH, r"(?i)(\S+(?:\s+\S+)?)\s+m[iıuü]\s*,?\s+(?:yoksa\s+)?(\S+(?:\s+\S+)?)\s+m[iıuü]\b");
/// Reads the Turkish form: "kedi mi köpek mi".
pub(super) fn turkish(text: &str) -> Option<Vec<String>> {
    let found = TURKISH.captures(text)?;
    let (one, other) = (words(found.get(1)?.as_str()), words(found.get(2)?.as_str()));
    // "Ev için kedi mi köpek mi": a postposition ends the head.
    let start =
        if other.len() == 1 || one.first().is_some_and(|word| ["için", "ile", "olarak"].contains(word)) {
            one.len() - 1
        } else {
            0
        };
    Some(vec![one[start..].join(" "), other.join(" ")])
}
