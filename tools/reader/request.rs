//! The request around a question: greetings, "please ask several models", and instructions for the response.

use std::sync::LazyLock;

use ep_polling::text::capitalized;
use regex::Regex;

use super::sentences::{compiled, lines_with_code, of_line, pattern};

pattern!(
    GREETING,
    r"(?i)^\s*(?:hi|hello|hey|hallo|hola|bonjour|salut|ciao|buongiorno|salve|oi|olá|ola|yo|good (?:morning|evening|afternoon|day)|guten (?:tag|morgen|abend)|moin|servus|goedemorgen|goedendag|merhaba|selam|cześć|hej|dzień dobry|привет|здравствуйте|добрый день|こんにちは|你好|您好|안녕하세요|안녕|ok|okay|so|quick question|quick one|question|genuine question|frage|question rapide|petite question|petit sondage|kurze frage|una pregunta|uma pergunta|una domanda|poll|new poll|sondage|umfrage|encuesta|enquete|sondaggio|peiling|ankieta|anket|опрос|投票|アンケート|투표|설문|请评价|请问|質問)(?:\s+(?:there|all|everyone|everybody|team|folks|guys|friends?|zusammen|leute|à tous|tutti|gente|pessoal|models|ais?|a todos|(?:an|in) die \w+|an (?:alle|euch)))?(?:\s+[A-Z]\w+)?\s*(?:[:;]-?[)(DP]|[!,.:：，。！、]+|\s[-–—]|[\u{1F300}-\u{1FAFF}])+\s*"
);
/// Those who vote.
const VOTERS: &str = r"(?:(?:\w+[ ]){0,4}?(?:models?|ais?|llms?|language models?|panel(?: of (?:\w+ ){0,2}(?:models|ais|llms))?|voters?|chatbots?|bots|agents|jury|council|crowd|ensemble|ki-modelle\w*|kis|modelle\w*|sprachmodelle\w*|ias?|modelos|modèles|modelli|modellen|modele|modeli|modellere|modeller\w*|модел\w+|нейросет\w+|ии)|(?:everyone|everybody|them|around))";
pattern!(VOTER, &format!(r"(?i)\b{VOTERS}\b|モデル|(?-i:\bAI)|模型|大模型|모델"));
pattern!(
    ASKS,
    r"(?i)\b(?:ask|asking|poll|polling|survey|consult|query|have|let|get|getting|gather|collect|run|conduct|start|open|create|put|take|hold|vote|votes|voting|decide|consensus|opinions?|majority|say|says|think|thinks|weigh in|second opinion|suggest|quiero saber|preg[uú]nt\w+|vot[aeo]\w*|consult\w+|encuest\w+|demand\w+|interrog\w+|sond\w+|frag\w*|befrag\w*|abstimm\w*|meinung\w*|lass\w*|chied\w+|sentir\w*|fai|faz\w*|pergunt\w+|vraag|laat|stem\w*|zapyta\w*|zagłosu\w*|głos\w*|sor|sorar\w*|oyla\w*|спрос\w+|опрос\w*|голос\w+)\b|聞いて|投票|意見|問|问|让|表决|물어|투표|의견"
);
/// A request before the question, up to the word that introduces it: at the start of a sentence, and in its middle.
static LEADS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    let polite = r"(?:(?:yo|hey|hi|hello|please|pls|kindly|can (?:you|u)|could (?:you|u)|would (?:you|u)|will (?:you|u)|i(?:'d| would) like (?:you )?to|i want (?:you )?to|i need (?:you )?to|i need|i want|i(?:'d| would) like|we need|we want|we(?:'d| would) like|let's|lets|go|now|just|then|if so,?|and|help me(?: to)?|bitte|por favor|s'il te plaît|per favore)[ ,]+)*";
    let verb = format!(
        r"(?:(?:ask|poll|survey|consult|query|check with|quiz)\s+{VOTERS}|(?:have|let|get|make)\s+{VOTERS}\s+(?:to\s+)?(?:vote|decide|choose|pick|judge|weigh in|answer|say|rate|tell|opine|settle|consider)|(?:run|conduct|start|open|create|take|hold|do|make|set up|launch|put together)\s+(?:a|an|one|this|the|another)?\s*(?:(?:quick|new|short|small|blind|straw|anonymous|little|multi-model)\s)?(?:poll|vote|survey|ballot)(?:\s+(?:among|across|with|between|by|of|over|amongst)\s+{VOTERS})?|(?:get|gather|collect|give me|obtain|tell me)\s+(?:a|an|the|some)?\s*(?:\w+\s)?(?:consensus|opinions?|votes?|second opinion|majority vote|verdict|views?)(?:\s+(?:of|from|by|among|across)\s+{VOTERS})?|(?:the\s+|a\s+)?(?:consensus|opinions?|view|verdict|second opinion)\s+(?:of|from)\s+{VOTERS}|put (?:this|it|the following)(?: question)? to {VOTERS}|(?:a )?(?:poll|vote|survey) (?:{VOTERS} )?|(?:run|do|answer|take|put) this one|vote on this(?: one)?|what (?:do|would) (?:the |your |most |other )?{VOTERS} (?:think|say))"
    );
    let link = r"\s*(?:(?:the following|this(?: one| question)?|it|these)\b\s*(?:question)?\s*)?(?:(?:about|on|over|regarding|concerning|for|to decide(?: on)?|to vote(?: on)?|between|this|with)\b\s*(?:the following|this(?: question)?|the question|which)?\s*)?[:.,–—-]?\s*";
    let start = compiled(&format!(r"(?i)^\s*{polite}{verb}{link}"));
    let middle = compiled(&format!(r"(?i)(?P<before>[,:;]\s+)(?:please|pls|kindly|bitte)\s+{verb}{link}"));
    [start, middle]
});
/// A request after the question in the same sentence.
static TRAIL: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&format!(
        r"(?i)[,;–—-]\s*(?:please|pls|plz|and|can you|could you|bitte)?\s*(?:ask|poll|survey|consult|let|have)\s+(?:u?r\s+)?{VOTERS}(?:\s+(?:vote|decide|choose))?(?:\s+(?:please|pls|plz|thx|thanks))?\s*[.!]*\s*$|,\s*vote\s+(?:please|pls|plz)\s*(?P<colon>[:.]?)\s*$"
    ))
});
pattern!(
    OUTPUT,
    r"(?i)^\W*(?:(?:please|then|finally|and|otherwise|bitte)[ ,]+)*(?:respond|reply|return|output|report|provide|give(?: me)?|send|format|summari[sz]e|post|write back|tell me|gib|antworte|geben sie|devuelve|responde|renvoie|réponds|restituisci|rispondi)\b.{0,40}\b(?:only|just|with|winning|winner|result|results|tally|counts?|json|number|numbers|percentages?|votes?|median|mean|confidence|link|outcome|summary|nur|auszählung|ergebnis|resultado|résultat|back)\b"
);
pattern!(
    THANKS,
    r"(?i)^\W*(?:thank(?:s| you)|thx|cheers|many thanks|thanks in advance|much appreciated|danke\w*|vielen dank|gracias|merci|obrigad[oa]|grazie|dank je|bedankt|dziękuję|dzięki|teşekkürler|спасибо|ありがとう|谢谢|감사)\b[^?]*$"
);
pattern!(
    INTRO,
    r"(?i)^\W*(?:(?:this is )?\w+ agent (?:speaking|here)|i am (?:an?|the) [\w -]{0,40}\bagent\b(?: and (?:i )?(?:need|want|would like).*)?|fact-check request from agent \S+|are you able to .*\?)\W*$"
);
pattern!(
    LISTED,
    r"(?i)\b(?:one of|options?|with|choose|either)\b[^:\n]*[:：]|\(a\)|\ba\)|\byes (?:or|/) no\b| or .*\?|\?$"
);

/// True if a sentence only asks the service to ask its models.
pub(super) fn is_request(sentence: &str) -> bool {
    VOTER.is_match(sentence) && ASKS.is_match(sentence)
}

/// Returns a text without the request around its question.
pub(super) fn stripped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut text = MENTION.replace_all(text, "$before").into_owned();
    for _ in 0..3 {
        let Some(found) = GREETING.find(&text).filter(|found| found.end() < text.len()) else { break };
        text = text[found.end()..].to_owned();
    }
    let is_only = text.lines().filter(|line| !line.trim().is_empty()).count() == 1;
    let text = SIGNATURE.find(&text).map_or(&*text, |closing| &text[..closing.start()]).to_owned();
    for (line, is_code) in lines_with_code(&text) {
        if is_code || line.trim_start().starts_with(['>', '|', '+']) || super::lists::is_item(line) {
            lines.push(line.to_owned());
            continue;
        }
        let sentences = of_line(line);
        let mut parts: Vec<String> = Vec::new();
        for sentence in &sentences {
            if let Some(part) = without_request(sentence, is_only && sentences.len() == 1) {
                parts.push(part);
            }
        }
        let rest = parts.concat();
        if rest == line {
            lines.push(rest);
        } else if !rest.trim().is_empty() {
            lines.push(rest.trim().to_owned());
        }
    }
    let rest = lines.join("\n").trim().to_owned();
    let rest = BLANK_LINES.replace_all(&rest, "\n\n").into_owned();
    if rest.is_empty() { text.trim().to_owned() } else { rest }
}

pattern!(
    /// The end of a letter: up to five short lines with a name.
    SIGNATURE,
    r"(?i)\n\s*(?:(?:best|kind|warm|many) )?(?:regards|wishes|thanks)(?: in advance)?[,.!]?\s*\n(?:[^\n?*•(\d\s-][^\n?]{0,59}\n?){1,5}$"
);
pattern!(
    /// The name of an agent that a line is for: "@poll_agent".
    MENTION,
    r"(?m)(?P<before>^|:\s)@[A-Za-z][\w-]*[,:]?\s+"
);
pattern!(BLANK_LINES, r"\n{3,}");
pattern!(
    TALK,
    r"(?i)\b(?:second opinions?|tie-?break(?:er)?s?|majority|consensus|votes?|voting|show of hands|jury|verdicts?|ruling|panel|crowds?|wisdom of|models?|ais?|llms?|judges?|ensemble|poll|polls|bots|robots|multi-model|opinions?|kis?|ki-modelle|modelle\w*|abstimm\w*|mehrheit\w*|meinung\w*|ias?|modelos|modèles|avis|sondage|vote[zr]?|voten|votación|votação|maioria|mayoría|opinión|modelli|parere|votazione|modellen|stemmen|modeli|modele|głos\w*|przegłos\w*|modeller\w*|yapay zek\w*|oyla\w*|çoğunluğu|нейросет\w*|модел\w*|мнени\w*|голос\w*)\b|モデル|(?-i:\bAI)|多数決|投票|模型|모델|투표"
);
pattern!(
    WISH,
    r"(?i)\b(?:need(?:ed|s)?|wants?|get|give|put|take|run|please|pls|plz|would like|i'd like|we'd like|requesting|requests?|requires?|collect|gather|let|ask|curious|settle|awaiting|hand|fan|canvass|use|good to have|appreciat\w*|interested|weigh in|decide|possible|accept|average|across|help|thanks|thank you|lol|hear|let me know|vote|voten|bitte|gern\w*|interess\w*|möchte|würde|aimerais|voudrais|merci|quiero|que voten|quero|vorrei|chiedi|fai|faz|laat|graag|aub|proszę|przegłos\w*|poproszę|merak|sor|lütfen|подскажите|пусть|спроси\w*|хочу|нужн\w*|each|every|with|from)\b|お願い|ください|して|请|让|帮|해\s?주|물어|부탁|시켜"
);
pattern!(PAST, r"(?i)\b(?:voted|polled|asked|said|says d|approved|decided|disagree[ds]?)\b");

/// True if a sentence is about the vote and not its subject.
pub(super) fn is_talk(sentence: &str, most: usize) -> bool {
    let count = sentence.split_whitespace().count();
    count <= most
        && TALK.is_match(sentence)
        && (WISH.is_match(sentence) || count <= 5)
        && !PAST.is_match(sentence)
        && !sentence.contains(['"', '“', '«', '`'])
}

pattern!(
    LIST_WORDS,
    r"(?i)\b(?:one of|options?|choices?|labels?|categories|classes|candidates?|answers?|verdicts?|ratings?|possible|allowed|keuze|antwort\w*|optionen)\b"
);
pattern!(PREFIX, r"^\s*([^:：\n]{3,90}?)\s*[:：]\s*(\S.*)$");
pattern!(
    TELL,
    r"(?i)^\s*(?:can|could|would|do) you (?:please )?(?:tell me|know|say)\s+|^\s*(?:please )?tell me\s+|^\s*i(?:'d| would)? (?:like to|want to) know\s+|^\s*what would .{0,30}(?:models|ais|llms) (?:say|think) is\s+"
);
pattern!(WH_REST, r"(?i)^(?:what|which|who|where|when|why|how)\b|^the\b");

/// Returns what remains of a sentence without its request; `None` if nothing does.
fn without_request(sentence: &str, is_only: bool) -> Option<String> {
    let plain = sentence.trim();
    if plain.is_empty() {
        return Some(sentence.to_owned());
    }
    if THANKS.is_match(plain) || INTRO.is_match(plain) {
        return None;
    }
    if OUTPUT.is_match(plain) && !LISTED.is_match(plain) && super::lists::introduced(plain).is_none() {
        return None;
    }
    let [lead, middle] = &*LEADS;
    let mut rest = sentence.to_owned();
    if let Some(found) = TRAIL.captures(&rest) {
        let start = found.get(0).map_or(rest.len(), |whole| whole.start());
        let colon = if found.name("colon").is_some_and(|colon| colon.as_str() == ":") { ":" } else { "" };
        rest = format!("{}{colon}", &rest[..start]);
    }
    rest = middle.replace(&rest, "$before").into_owned();
    if let Some(found) = lead.find(&rest) {
        let after = rest[found.end()..].trim().to_owned();
        let is_empty =
            after.trim_matches(['.', '!', ':', ' ', ',', '?']).is_empty() || TRAILING.is_match(&after);
        if is_empty {
            return None;
        }
        rest =
            if IS.is_match(&after) { format!(" What {after}") } else { format!(" {}", capitalized(&after)) };
    }
    if let Some(found) = PREFIX.captures(rest.clone().as_str())
        && is_talk(&found[1], 14)
        && found[2].contains(char::is_alphanumeric)
        && !found[1].contains(" or ")
        && !LIST_WORDS.is_match(&found[1])
    {
        rest = format!(" {}", capitalized(&found[2]));
    }
    if let Some(found) = TELL.find(&rest)
        && WH_REST.is_match(&rest[found.end()..])
    {
        rest = format!(" {}", capitalized(&rest[found.end()..]));
    }
    let plain = rest.trim();
    let is_list = super::lists::introduced(plain).is_some();
    let asks = plain.ends_with(['?', '？', ':']);
    let has_choice =
        LISTED.is_match(plain.trim_end_matches('?')) || plain.contains(" or ") || plain.contains(" vs");
    let has_choice = has_choice || is_list || LIST_WORDS.is_match(plain);
    if !is_only && !has_choice && !asks && (is_talk(plain, 20) || (is_request(plain) && is_talk(plain, 30))) {
        return None;
    }
    if !is_only
        && asks
        && !has_choice
        && is_talk(plain, 20)
        && (REFERS.is_match(plain) || CAN_YOU.is_match(plain))
    {
        return None;
    }
    if !is_only && FRAME.is_match(plain) && !asks && !has_choice {
        return None;
    }
    Some(rest)
}

pattern!(
    CAN_YOU,
    r"(?i)^\W*(?:can|could|would|will|are) you\b|^\W*(?:kannst|könnt|könnten|können|würden) (?:du|ihr|sie)\b|^\W*(?:peux-tu|pouvez-vous|pourriez-vous|puedes|podéis|podrías|pode|podes|puoi|potete|kun je|kunnen jullie|możesz|możecie)\b"
);
pattern!(
    FRAME,
    r"(?i)^\W*(?:(?:kind |best )?regards|cheers|sincerely|awaiting (?:your|the) \w+|begin!|thought:|you must return|current task:|this is (?:very )?important|automated request|fyi|thx|plz|pls|lol)\b.*$|^\W*(?:reply_format|handoff_to|role|reason|from|to|task_id|requester|min_votes|format)\s*[:=]\s*\S.*$"
);
pattern!(IS, r"(?i)^(?:is|are|was) the\b");
pattern!(
    REFERS,
    r"(?i)\b(?:this|it)\b.*\?$|^\W*(?:and )?what (?:do|does|would|will) (?:your|the|most|a|all|these|those)?\s?.{0,30}(?:say|think|pick|choose|vote|decide)\W*$"
);
pattern!(
    TRAILING,
    r"(?i)^(?:and|then)\s+(?:return|report|tell|send|give|respond|aggregate|summari[sz]e|let me know|vote)\b|^(?:please|pls|thanks|thx|about (?:this|it)|for me|vote|suggest and vote)\W*$"
);
