//! The limits of a poll in plain words: its cost, its readers and its models. A limit that cannot be read is refused, never lost.

use std::borrow::Cow;

use ep_polling::Budget;

use super::Terms;
use super::named_models::{self, asks_some};
use super::sentences::{lines_with_code, of_line, pattern, unquoted};

pattern!(
    /// Words of the cost of a poll, in a request.
    COST,
    r"(?i)\b(?:spend(?:ing)?|costs?|price|pay|usd|dollars?|cents?|euros?)\b|\b(?:budget|max(?:imum)?|limit)\b.{0,20}(?:[$€£]|\d\.\d)|[$€£]\s?\d|\d\s?[$€£]"
);
pattern!(
    /// A limit of the cost that can be read.
    MOST,
    r"(?i)^\W*(?:(?:please|and|but)[ ,]+)*(?:spend|(?:pay|use|cost) (?:at most|no more than|not more than|max(?:imum)?|up to)|(?:the )?(?:max(?:imum)? cost|budget|cost limit|limit)(?: is| of)?)\s*[:=]?\s*(?:at most|no more than|not more than|max(?:imum)?|up to)?\s*(?:us)?\$\s?(\d{1,4}(?:\.\d{1,6})?)(?:\s*(?:usd|in total|for (?:it|this)|on (?:it|this)))?\W*$"
);
pattern!(
    /// Words that ask for a private poll.
    SECRECY,
    r"(?i)\b(?:private(?:ly)?|confidential(?:ly)?|secret(?:ly)?|visibility|public(?:ly)?|publish\w*|privat|vertraulich|geheim|öffentlich|priv[ée]e?|confidentiel\w*|privad[oa]|confidencial|privato|riservat\w*|privé|vertrouwelijk|prywatn\w*|gizli|приватн\w*|секретн\w*)\b|非公開|秘密|保密|비공개|비밀"
);
pattern!(
    /// A request for a private poll that can be read.
    PRIVATE,
    r"(?i)^\W*(?:(?:please|and|but)[ ,]+)*(?:(?:keep|make|treat|hold) (?:it|this|the (?:poll|results?|votes?)|this poll|my poll) (?:private|confidential|secret)|(?:the (?:poll|results?|votes?)|it|this) (?:must|should) (?:be|stay|remain) (?:private|confidential|secret)|(?:do not|don't) (?:publish|share) (?:it|this|the (?:poll|results?|votes?))|private(?: poll)?)(?: please| pls)?\W*$"
);
pattern!(
    /// Words that choose models, or another kind of poll.
    CHOICE_OF_MODELS,
    r"(?i)(?:^|\s)(?:only|just|exclude|excluding|except|without|no|not|skip|avoid|at most|up to|no more than)\b[^.?!\n;:]{0,30}\b(?:models?|llms?|claude|gpt\S*|openai|anthropic|gemini|llama|mistral|grok|qwen|deepseek|providers?|preset|panel)\b|\b(?:models?|preset|panel|providers?|voters)\s*[:=]"
);
pattern!(
    /// Words of a poll that is not to be opened, or is only priced.
    DRY,
    r"(?i)\bdry[ -]?run\b|\b(?:estimate|price|quote)\b[^.?!\n]{0,20}\b(?:poll|vote|it|this)\b|\bhow much would (?:it|this)\b");

/// Returns a text without the sentences that limit its poll, and the limits; `None` if a sentence seems to have a limit that cannot
/// be read.
pub(super) fn split(text: &str) -> Option<(String, Terms)> {
    let mut terms = Terms::default();
    let mut lines = Vec::new();
    for (line, is_code) in lines_with_code(text) {
        if is_code || line.trim_start().starts_with(['>', '|', '`']) || super::lists::is_item(line) {
            let bare = line.trim_start_matches(|mark: char| !mark.is_alphabetic());
            let limits = [&*MOST, &*PRIVATE, &*STARTS_LIMIT, &*COMMANDS_SECRECY];
            if !bare.trim_end().ends_with('?') && limits.iter().any(|pattern| pattern.is_match(bare)) {
                return None;
            }
            lines.push(line.to_owned());
            continue;
        }
        let mut rest = String::new();
        for sentence in of_line(line) {
            let asked = named_models::split(sentence);
            let sentence = match asked {
                Some((asked, names)) if terms.models.is_empty() => {
                    terms.models = names;
                    Cow::Owned(asked)
                }
                Some(_) => return None,
                None => Cow::Borrowed(sentence),
            };
            let own = YES_NO.replace_all(&unquoted(&sentence), "").into_owned();
            // "Keep it private, and spend at most $0.20."
            let parts: Vec<&str> =
                own.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()).collect();
            let read = |part: &&str| MOST.is_match(part) || PRIVATE.is_match(part);
            if !parts.is_empty() && parts.iter().all(read) {
                for part in parts {
                    terms.private |= PRIVATE.is_match(part);
                    // A text can hold other people's words, so it never raises the cost.
                    let most = MOST.captures(part).and_then(|found| found[1].parse().ok());
                    let most = most.map(|most| f64::min(most, Budget::DEFAULT.amount().as_usd()));
                    // The lowest of several counts.
                    terms.max_cost_usd = match (terms.max_cost_usd, most) {
                        (Some(one), Some(other)) => Some(f64::min(one, other)),
                        (one, other) => one.or(other),
                    };
                }
                continue;
            }
            if is_unread(&own) {
                return None;
            }
            rest.push_str(&sentence);
        }
        if rest == line || !rest.trim().is_empty() {
            lines.push(rest);
        }
    }
    if terms.max_cost_usd == Some(0.0) {
        return None;
    }
    Some((lines.join("\n"), terms))
}

/// True if words around the question and its options limit the poll.
pub(super) fn has_limits(words: &str) -> bool {
    split(words).is_none_or(|(_, terms)| terms != Terms::default())
}

/// True if a sentence, or the request before its question, seems to limit the poll.
fn is_unread(sentence: &str) -> bool {
    let asks = sentence.trim_end().ends_with(['?', '？']);
    let request = match sentence.split_once([':', '：']) {
        Some((request, _)) => request,
        None if asks => return REQUEST_LIMIT.is_match(sentence) || asks_some(sentence),
        None => sentence,
    };
    let is_label = request.split_whitespace().count() <= 3 && SETTINGS.is_match(request);
    if is_label && sentence.len() > request.len() {
        return true;
    }
    let rest = &sentence[request.len()..];
    let rest_limits =
        [&*COST, &*SECRECY, &*CHOICE_OF_MODELS, &*NEGATES].iter().any(|words| words.is_match(rest));
    if rest_limits && NOTES.is_match(request) && !rest.is_empty() {
        return true;
    }
    let is_request = super::request::is_talk(request, 30) || super::request::is_request(request);
    let limits = COST.is_match(request) || SECRECY.is_match(request) || CHOICE_OF_MODELS.is_match(request);
    DRY.is_match(request)
        || asks_some(sentence)
        || (is_request && (limits || NEGATES.is_match(request)))
        || ((!asks || request.len() < sentence.len()) && STARTS_LIMIT.is_match(request))
        || (!asks && STARTS_LIMIT.is_match(sentence))
        || (!asks && COMMANDS_SECRECY.is_match(sentence))
}

pattern!(
    /// The answers of a question, which negate nothing.
    YES_NO,
    r"(?i)\byes(?:,? or|/|,| and)\s?no\b");
pattern!(
    /// A request in a question that limits the poll.
    REQUEST_LIMIT,
    r"(?i)\b(?:ask|poll|survey|let)\b[^?]{0,40}\b(?:privately|confidentially|secretly|only)\b|\bhave (?:only|just)\b[^?]{0,30}\b(?:vote|answer|decide)\b|\b(?:privately|confidentially)\b|\bkeep (?:it|this) (?:private|secret|confidential)\b|^\W*private (?:poll|vote)\b|[(\[]private[)\]]|^\W*/?\w*\s*private\b[^?]{0,4}$|\bdry[ _-]?run\b|\b(?:spend|pay)\b[^?]{0,24}\$|[,(]\s*(?:max|under|at most)\b[^?]{0,8}[$\d]|\bfor under \$|\bkeep this private\b"
);
pattern!(
    /// A sentence that begins as a limit.
    STARTS_LIMIT,
    r"(?i)^\W*(?:(?:please|and|but|use|with)[ ,]+)*(?:spend|don'?t spend|do not spend|i (?:don'?t|do not) want to spend|validate only|no more than|max(?:imum)?\.?\s*(?:cost|budget|spend\w*|price|models?|voters?|usd|[$€£]|\d*\.\d|\d+\s*(?:[$€£]|usd|cents?|dollars?|euros?|models?|voters?))|budget\s*[:=]|the budget|cost limit|exclude|only (?:ask|use)|models?\s*[:=]|preset\s*[:=]|voters\s*[:=]|visibility\s*[:=]|private\s*[:=]|[\w-]*(?:cost|budget|usd|private|exclude|dry_?run|preset|models?|threshold|visibility|voters)[\w-]*\s*[:=]|keep (?:it|this) under|under \d+ ?cents?|cap (?:it|this|the cost)|my ceiling|not a penny|nothing over|limit (?:the )?(?:spending|cost)|hide (?:it|this|the result)|unlisted|make it unlisted|just between us|for my eyes|nobody else|no one else|don'?t let any|leave out|but not|not more than|don'?t exceed|do not exceed|stay (?:below|under)|budget \d|[$€£]\s?\d[\d.,]*\s*(?:max|tops|at most)|\d+ cents? (?:tops|max)|--?max|(?:this is |it is |strictly )?confidential\b\W*(?:please|pls)?\W*$|privately\b[^.?!]{0,12}$|private,? (?:please|pls)|not for publication|(?:do not|don'?t) make the results?|(?:bitte )?nicht veröffentlichen|(?:do not|don'?t) do it yet|just checking|only tell me|(?:test|preview) only|cheap models|(?:just|only|use) (?:claude|gpt|gemini|llama|mistral|grok|qwen|deepseek|openai|anthropic|google|chatgpt|sonnet|opus|haiku)\b|(?:claude|gpt\S*|openai|anthropic|gemini|google|llama|meta|mistral|grok|qwen|deepseek|private|free|open|local|european|chinese|american)(?: and \S+)? only\W*$|use \S+(?: and \S+)? only|only (?:open|free|local|european)|just validate|test run|simulate|nur |ohne |höchstens|maximal|gib höchstens|nicht veröff\w*|das ergebnis (?:soll|darf)|probelauf|solo |sólo |sin |m[aá]ximo|no gastes|que sea privad\w*|no lo publi\w*|simulacro|ne publie\w*|reste confid\w*|ne dépense\w*|sans |uniquement|non pubblic\w*|spendi|senza |não publi\w*|gaste|apenas|alleen |zonder |nie publikuj|wydaj|tylko |bez |не публикуй|потрать|только |без |sonucu yay\w*|sadece )"
);
pattern!(
    /// A command about who may read something.
    COMMANDS_SECRECY,
    r"(?i)^\W*(?:(?:please|and|but|bitte|por favor)[ ,]+)*(?:keep|make|treat|hold|don'?t|do not|halte\w*|behandle\w*|garde\w*|mant[eé]n\w*|mantenha|tieni|houd)\b[^.?!\n]{0,40}\b(?:private|confidential(?:ly)?|secret|public|publish|share|privat|vertraulich|geheim|priv[ée]e?|confidentiel\w*|privad[oa]|confidencial|privato|privé)\b|\b(?:poll|results?|votes?)\b[^.?!\n]{0,20}\b(?:must|should|has to)\b[^.?!\n]{0,20}\b(?:private|confidential|secret)\b"
);
pattern!(
    /// The label of settings: "Settings: private".
    SETTINGS,
    r"(?i)^\W*(?:settings?|limits?|cap|privacy|privately|confidential(?:,? internal only)?|private,? please|max\. \d+ cents?|only \S+ and \S+|public|private|in private|visibility|terms|config\w*|parameters|keep it private)\W*$"
);
pattern!(
    /// The label of notes, which can have settings.
    NOTES,
    r"(?i)^\W*(?:(?:\w+ )?instructions?|notes?(?: to .{1,30})?|constraints?|remarks?|requirements?)\W*$"
);
pattern!(
    /// A negation in a request that is about models, money or readers.
    NEGATES,
    r"(?i)\b(?:not|never|no|don'?t|doesn'?t|without|except|nicht|kein\w*|ohne|pas|ne|jamais|sans|sin|nunca|não|sem|non|senza|niet|geen|nie|żadn\w*|не|ни)\b[^.?!\n,;]{0,30}\b(?:models?|llms?|ais?|providers?|claude|gpt\S*|openai|anthropic|gemini|google|llama|meta|mistral|grok|qwen|deepseek|chinese|american|small\w*|big\w*|large\w*|cheap\w*|expensive|costly|premium|paid|free|money|cents?|penny|dollars?|euros?|cost\w*|charg\w*|spend\w*|pay\w*|publish\w*|shar\w*|show\w*|public\w*|link|page|log|logs|logged|stor\w*|sav\w*|reveal\w*|leak\w*|anyone|anybody|others?|else|people|outside\w*|poll\w*|vote|ask\w*|run|start|send|submit|modell\w*|modelos?|modèles?|modelli|modellen|kosten|kost\w*|geld|argent|dinero|soldi|dinheiro|veröff\w*|öffentl\w*|teil\w*|zeig\w*|publi\w*|partag\w*|compart\w*|pubblic\w*|publik\w*|модел\w*|публик\w*|показ\w*|денег|деньг\w*)\b|\b(?:nobody|no one|niemand\w*|personne|nadie|ninguém|nessuno|никто\w*|никому)\b|ないで|不要|别|지 마"
);
