//! Scales in plain words: "from 1 to 5", "out of ten".

use super::sentences::{pattern, unquoted};

pattern!(
    RANGE,
    r"(?i)\b(?:rate|score|grade|judge|stars?)\b[^.?!\n]{0,80}?\b(\d)(?:\s?[-–]\s?| to )(\d{1,2})\b|(\d{1,2})\s*[（(][^）)\n]{1,40}[）)]\s*(?:から|到|至|부터)\s*(\d{1,2})|\b(?:(?:on|use|using|with|auf|sur|en|in|num|su|op)\s+)?(?:a|an|the|einer|une|una|uma|een)?\s*(?:scale|skala|échelle|escala|scala|schaal)\s*(?:of|from|von|de|da|van|between|:)?\s*(-?\d{1,2})\s*(?:to|through|and|bis|à|a|tot|-|–|—|\.\.+)\s*(\d{1,2})\b|\b(?:from|between|von|de|del|da|van|od|от)\s+(\d{1,2})\s+(?:to|and|through|bis|à|al?|até|tot|do|до)\s+(\d{1,3})\b|\b(\d)\s?[-–]\s?(\d{1,2})\s+(?:stars?|scale|points?|rating)\b|\(\s?(\d{1,2})\s?[-–]\s?(\d{1,2})\s?\)|\b(\d{1,2})\s*\([^()\n]{2,40}\)\s*(?:to|through|–|-|bis|до)\s*(\d{1,2})\b|\b(\d{1,2})\s*=\s*[^,;=\n]{2,60}[,;]\s*(?:and\s+)?(\d{1,2})\s*=|[,:]\s*(\d)\s+to\s+(\d{1,2})\b|[?.!,]\s+(\d)\s?[-–]\s?(\d{1,2})\s+(?:pls|please|plz)\b|\b(\d)\s+being\s+[^,;\n]{2,40}\s+and\s+(\d{1,2})\b|\b(\d)\s*ile\s*(\d{1,2})\s+aras|\b(\d)['’]?[dt][ae]n\s+(\d{1,2})['’]?\s?[yn]?[ea]\b|\b(\d)\s?(?:to|-|–|から|到|부터)\s?(\d{1,2})\s?(?:の|分|점)|(\d)\s?점[^0-9\n]{0,20}부터\s*(\d{1,2})|(\d)(?:から|到|부터)\s?(\d{1,2})|(\d{1,2})\s?[分点점][^0-9\n]{0,20}?(\d{1,3})\s?[分点점]|(?:échelle|escala|scala|schaal|skali|шкале)\s+(?:de|da|van|od|от)\s+(\d{1,2})\s*\([^()\n]{2,40}\)\s*(?:à|a|tot|do|до)\s+(\d{1,2})\b|(?:по шкале|шкала)\s+от\s+(\d)\s+до\s+(\d{1,2})"
);
pattern!(
    OUT_OF,
    r"(?i)\b(?:out of|von|sur|de|auf|su)\s+(ten|five|10|5|zehn|fünf|dix|cinq|diez|cinco|dieci)\b(?:\s+(?:stars?|points?|punkten?))?"
);
pattern!(
    RATES,
    r"(?i)\b(?:rate|rating|award|score|scale|grade|judge|how|stars?|points?|mark|estimate|likely|likelihood|relevance|confident|evaluate|rank|assess|bewert\w*|beurteil\w*|note[zr]?|évalue\w*|calific\w*|punt[uú]a\w*|valora\w*|avali\w*|d[êe] uma nota|valuta\w*|vota|beoordeel\w*|oce[nń]\w*|puanla\w*|оцен\w*|wie gut|ne kadar|formal|skala|échelle|escala)\b|評価|评分|打分|평가"
);

pattern!(LEVEL, r"(?m)^\s*(\d{1,2})\s*=\s*\S");

/// Returns the levels of lines such as "1 = strongly disagree".
fn likert(text: &str) -> Option<Vec<String>> {
    let levels: Vec<u32> = LEVEL.captures_iter(text).filter_map(|found| found[1].parse().ok()).collect();
    let (low, count) = (*levels.first()?, levels.len());
    let is_run = (0..).zip(&levels).all(|(place, level)| *level == low + place);
    (is_run && low <= 1 && (3..=11).contains(&count)).then(|| levels.iter().map(u32::to_string).collect())
}

/// Returns the levels of the scale that a text names.
pub(super) fn read(text: &str) -> Option<Vec<String>> {
    if let Some(levels) = likert(text) {
        return Some(levels);
    }
    let own = unquoted(text);
    if !RATES.is_match(&own) {
        return None;
    }
    let numbers = |found: &regex::Captures<'_>| -> Option<(i32, i32)> {
        let ends: Vec<i32> =
            found.iter().skip(1).flatten().filter_map(|end| end.as_str().parse().ok()).collect();
        (ends.len() == 2).then(|| (ends[0], ends[1]))
    };
    let range = RANGE.captures_iter(&own).find_map(|found| {
        numbers(&found).filter(|(low, high)| {
            low < high && (high - low <= 10 || (*low == 0 && *high == 100)) && *low <= 1
        })
    });
    let (low, high) = range.or_else(|| {
        let found = OUT_OF.captures(&own)?;
        let high = match found[1].to_lowercase().as_str() {
            "five" | "5" | "fünf" | "cinq" | "cinco" => 5,
            _ => 10,
        };
        Some((1, high))
    })?;
    let step = if high == 100 { 10 } else { 1 };
    Some((low..=high).step_by(step).map(|level| level.to_string()).collect())
}
