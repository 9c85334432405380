//! Texts about the service itself: help, balances, polls by their ids, effects, and drafts.

use super::Reading;
use super::sentences::{own, pattern, unquoted};

pattern!(POLL_ID, r"(?i)\bEP-\d{8}-[0-9A-Z]{10}\b");
pattern!(
    DRAFT,
    r"(?i)^\W*draft\s*[-–—:(]|(?:^|[.!?;:,\n]\s*|[-–—]\s+|\b(?:please|but|and|to|you must|you should|i do|i don'?t want you to|i do not want you to)\s+)(?:do not|don'?t|never|not|avoid|stop|without|no need to)\s+(?:\w+\s+){0,2}?(?:poll(?:ing)?|ask(?:ing)?|run(?:ning)?|start(?:ing)?|open(?:ing)?|submit(?:ting)?|send(?:ing)?|creat(?:e|ing)|vote|voting|call(?:ing)? (?:the|any) models?|put it to)\b|\b(?:just|only|still)\s+(?:a\s+)?draft(?:ing)?\b|\bdraft only\b|\bno (?:polls?|polling|votes?|voting|action)\b(?: please| pls| needed| yet| required|[.,]|$)|\bfyi only\b|\bnot (?:asking|looking) for (?:a )?(?:votes?|polls?)\b|\bhold off\b|\bi'?d rather you did ?n'?o?t\b|\bno need for a (?:poll|vote)\b|\bdon'?t (?:do anything|go ahead)\b|^\W*(?:not now|later|wait before|cancel that|forget it|ignore this)\b|\bi'?ll ask you (?:later|tomorrow)\b|\bfrag\w* (?:bitte )?(?:niemanden|keine\w*)\b|\bkeine (?:umfrage|abstimmung)\b|\bno hagas\b|\bpas de (?:sondage|vote)\b|\bnão inicie\b|\bnie uruchamiaj\b|\bне запускай\b|投票しないで|투표하지 마|不要投票|\bwait for (?:my|our) (?:ok|go|approval|confirmation)\b|\bnot (?:yet )?ready to (?:poll|ask|vote)\b|\b(?:nur|bloß) (?:ein )?entwurf\b|\b(?:noch )?nicht (?:abstimmen|fragen|befragen|umfragen|starten)\b|\bne (?:pas )?(?:lance|demande|interroge|vote)\w*|\bno (?:preguntes|votes|encuestes|lances)\b|\bnão (?:pergunte|vote|faça)\b|\bnon (?:chiedere|votare|avviare)\b|\bniet (?:stemmen|vragen)\b|\bnie (?:pytaj|głosuj)\w*|\bне (?:спрашивай|опрашивай|голосуй)\w*|\bsorma\b"
);
pattern!(
    REFUSAL,
    r"(?i)^\W*(?:(?:no|nope|hm+|sorry|stop|oh|well|ok|actually)\b[ ,.!]*)*(?:no,? thanks?(?: you)?|no thank you|never ?mind|forget (?:it|that)|cancel(?: (?:it|this|that))?|stop(?: (?:it|this))?|i(?:'ve| have)? changed my mind\b.*|not (?:now|yet|any ?more)|what do you mean|why do you ask|what\??|huh|nichts|egal|schon gut|laisse tomber|olvídalo|deixa|lascia stare|laat maar|nieważne|boşver|неважно)\W*$|^\W*(?:no|nope|sorry),? (?:thanks?|thank you|never ?mind|forget it)\b"
);
pattern!(
    ABOUT_YOU,
    r"(?i)^\W*(?:are|do|did|can|could|will|is there|is) (?:you|a free tier|an api)\b|^\W*is any(?:one|body) (?:there|here|home|listening|working)\b|^\W*have you (?:got )?(?:an?|any) (?:api|sdks?|free|plans?|docs|limits?)\b|^\W*(?:is|are|does|do|did|can|will|has|have) (?:your|my (?:last |latest |api |webhook |access )?(?:polls?|payments?|deposits?|keys?|account|webhooks?|batch(?:es)?|credits?)|this (?:service|api|bot|agent|poll)|the (?:service|api|results?)|results?|polls? )\b|^\W*can i (?:pay (?:by|with|in)|(?:delete|see|cancel|export|change|get|add) (?:my|your) (?:\w+ )?(?:polls?|votes|account|balance|credits?|keys?|card|data|webhooks?|batch(?:es)?|results?|invoices?|email)|use (?:this|it|your|the api))\b|^\W*do you (?:want me|speak|store|support|charge|offer|have)\b"
);
pattern!(
    ASKS_OPINION,
    r"(?i)^\W*(?:are|do|did|can|could|will|have) you (?:really |also |please |ever |all |both )?(?:prefer|think|agree|believe|like|consider|find|recommend|feel|help|please|ask|poll|let|get (?:the|me|us|some|several)|have|run|decide|pick|choose|vote|tell|know|rate|settle|take|put|check|trust|eat|drink|use|buy|hire|invite|merge|approve)\b"
);
pattern!(
    TEXT_WANTED,
    r"(?i)^\W*(?:please\s+)?(?:write|translate|explain|fix|summari[sz]e|compose|generate|implement|code (?:a|an|me|up|this)|debug|rewrite|paraphrase|refactor|proofread|dear [^?]*$|agenda|here is my|def |import |print\(|schreib\w*|übersetz\w*|erklär\w*|écris|traduis|escribe|traduce|escreva|scrivi|traduci)\b"
);
pattern!(
    EFFECT,
    r"(?i)^\W*(?:\w+:\s*)?(?:(?:hi|hello|hey|ok|please|pls|kindly|now|can you|could you|would you|you should|i want to|i'd like to|i need to|i need you to|go ahead and|just|also|immediately)[ ,!]+)*(?:cancel|delete|remove|erase|wipe|revoke|rotate|top[ -]?up|charge|pay|refund|withdraw|transfer|buy|deposit|add \S+ (?:to|of credit)|close|stop|abort|kill|unsubscribe|create (?:an? )?(?:api )?key|issue|change|reset|disable|annule[rz]?|supprime[rz]?|lösch\w*|storn\w*|brich|cancela\w*|elimina\w*|borra\w*|cancella\w*|annulla\w*|apag\w*|exclu\w*|annuleer|verwijder|anuluj|usuń|iptal|sil|отмени\w*|удали\w*)\b|キャンセル|取消|删除|취소|삭제"
);
pattern!(
    EFFECT_ON_ID,
    r"(?i)\b(?:please|pls|can you|could you|want to|need to|and|just|so)\s+(?:cancel|delete|remove|stop|abort|kill|erase)\b[^.?!\n]{0,24}\bEP-\d{8}"
);
pattern!(
    OURS,
    r"(?i)\b(?:polls?|votes?|account|balance|credits?|(?:api )?keys?|card|subscription|webhooks?|funds|batch(?:es)?|results?|feedback|wallet|email|profile|panel|session)\b|\$\s?\d|\bEP-\d{8}"
);
pattern!(
    ACTION_FIELD,
    r#"(?i)["']?(?:action|command|operation|tool|method|skill|op|function|intent)["']?\s*[:=]\s*["']?([\w.]+)"#
);
pattern!(
    EFFECT_WORD,
    r"(?i)^(?:cancel|delete|remove|erase|revoke|rotate|top_?up|charge|pay|refund|withdraw|transfer|create_(?:api_)?key|deposit|reset|purchase|add_(?:funds|credit))"
);
pattern!(BALANCE_WORD, r"(?i)^(?:get_?|check_?|show_?|read_?)?(?:account[_.]?)?(?:balance|credits?|funds)");
pattern!(
    BALANCE,
    r"(?i)\b(?:balance|credits?|funds|saldo|guthaben|solde|kontostand|bakiye|баланс|残高|余额|잔액)\b.{0,60}\b(?:left|remain\w*|have|account|available|api key|mein\w*|mon|mi|meu|konto|compte|cuenta|conta)\b|\b(?:my|our|remaining|current|account'?s?|available|mein\w*|unser\w*|mijn|moje|benim|mon|notre|mi|nuestro|meu|nosso|il mio|nostro|ons|nasz\w*)\s+(?:\w+\s+)?(?:balance|credits?|funds|saldo|guthaben|solde|kontostand)\b|\bwe (?:still )?have (?:any )?(?:credits?|funds|balance)\b|\bleft (?:on|in) (?:my|our)\b.{0,20}\baccount\b|\b(?:my|our)\b.{0,15}\baccount\b.{0,20}\b(?:hold|left|have|contain)\b|\b(?:what'?s|check|show|verify|get|read|tell me|return)\b.{0,20}\bbalance\b|^\W*balance\b|^\W*(?:get_?|check_?|show_?)?(?:account_?)?balance\s*\(|\b(?:money|funds|credits?) (?:left )?(?:on|in) (?:my|our) account\b|残高|余额|잔액|баланс|\bcombien\b.{0,20}\bmon compte\b|\bwie ?viel\b.{0,30}\b(?:mein|unser)\w* konto\b|\bcuánto\b.{0,20}\bmi cuenta\b|\bhow much (?:have|do) (?:i|we) (?:got |have )?(?:left|remaining)\b|\bsaldo (?:me |nos )?(?:queda|resta|rimane)\b|\b(?:cuánto|quanto|combien|wie ?viel|hoeveel|ile)\b.{0,20}\b(?:saldo|guthaben|solde|crédits?|credito|kredyt\w*|tegoed)\b"
);
pattern!(
    HELP,
    r"(?i)^\W*(?:hi+|hello|he+y+|hallo|hola|bonjour|salut|ciao|oi|olá|ola|yo|hiya|heya|sup|moin(?: moin)?|servus|grüezi|salve|buongiorno|goedendag|dzień dobry|selam|namaste|good (?:morning|evening|afternoon|day)|guten (?:tag|morgen|abend)|merhaba|cześć|hej|привет|здравствуйте|こんにちは|你好|안녕(?:하세요)?|help|help me|\?+)(?: there| all| everyone| team| zusammen)?\W*$|\bwhat (?:all )?(?:can|do) you (?:do|offer|support)\b|\bwhat (?:are|is) you(?:r (?:skills|capabilities|purpose|tasks?|pricing|prices|rates|fees?|limits?))?\b|\bhow (?:do(?:es)?|is|are|can i use) (?:this|it|the|your|you)\b.{0,20}\b(?:work|function|service|voting|poll|used?|bot|agent)\b|\bhow do i use (?:this|it|you)\b|\bwhat (?:does|do|would|will) (?:a|one|each|your|the|it|this) ?(?:single )?(?:polls?|votes?|question|service|run)?.{0,40}\bcosts?\b|\bhow much (?:does|do|is|are|would).{0,40}\b(?:polls?|votes?|costs?|charge)\b|\bhow do (?:i|we) (?:submit|send|ask|start|create|get)\b.{0,60}\b(?:you|polls?|api)\b|\bhow many models\b.{0,30}\b(?:answer|vote|respond|take part)\b|что (?:вы|ты) умее|как (?:вами|тобой) пользоваться|bu servis.{0,30}(?:ne yap|nasıl)|\bwhat does (?:this|the|your) (?:service|thing|bot|api|tool|agent|site)\b|\bcan i ask more than one\b|\bwhat is this (?:exactly|thing)\b|\bwhat can (?:it|this(?: \w+)?) do\b|\bwhat does it (?:even )?do\b|\bwhat is it\b.{0,20}\bwhat (?:am i|do i)\b|^\W*(?:hi|hello|hey)\W+any(?:one|body) (?:there|here)\b|\bhow do i tell you\b|co (?:umiesz|robisz)\b|\b(?:ile|wie ?viel|was|cuánto|quanto|combien|сколько|kaç)\b.{0,20}(?:kosztuje|kostet|cuesta|costa|coûte|стоит|tutar)\b.{0,30}\b(?:pytanie|głos\w*|anfrage|umfrage|abstimmung|consulta|encuesta|votación|sondaggio|sondage|enquete|опрос|вопрос|sorgu|anket)\b|\b(?:which|what) (?:requests|tasks|skills|models|methods|tools|options|features|input|formats?)\b.{0,40}\b(?:you|your|take part|participate|available|offer|support)\b|\byour (?:skills|capabilities|pricing|agent card|input format|features)\b|\b(?:list|describe|explain|show)\b.{0,20}\b(?:your )?(?:skills|capabilities|what you|how you|yourself)\b|\bdo i (?:have to )?pay\b|\b(?:going to )?costs? me\b|\bcost us\b.{0,10}\bwith you\b|\bwho (?:votes|is voting)\b(?: (?:here|in (?:this|your|the) polls?))?\W*$|\bhow (?:does|do) (?:that|this|it) work\b|\bcan i use this\b|\bwhat can i use (?:you|this) for\b|\bcould your service\b|\bhow (?:would|will) (?:it|this|that) work\b|\bwhat is this\b.{0,30}\bwhat do i do\b|\b(?:limit|maximum)\b.{0,30}\b(?:options|polls?|questions)\b.{0,20}\b(?:polls?|account|day|minute|question)\b|\bwho are you\b|\bwhat is this\b\W*$|comment ça (?:marche|fonctionne)|wie funktioniert (?:das|dieser|dein|ihr|es)|was kann(?:st du| man hier)|^\W*describe_?(?:service|yourself|skills)\b|\b(?:votes|models|results|prices)\b.{0,40}\b(?:in|of|for) (?:one of )?your polls?\b|was k[oö]nnen sie|qué puedes hacer|que puedes hacer|c[oó]mo funciona|o que (?:você|voce) faz|como funciona|cosa (?:puoi|sai) fare|come funziona|wat kun je|hoe werkt (?:dit|het|deze)|co potrafisz|jak to działa|ne yapabil|nasıl çalışıyor|что ты умеешь|как это работает|何ができ|使い方|你能做什么|怎么用|무엇을 할 수|어떻게 (?:사용|작동)"
);
pattern!(
    LIFE,
    r"(?i)work-life|life balance|credit (?:score|card)|savings account|balance sheet|bank account"
);
pattern!(UNFILLED, r"\{\{\s*\w+\s*\}\}|<(?:question|options|insert[^>]*)>\s*$|\[(?:insert|your)[^\]]*\]");
pattern!(
    ATTACHED,
    r"(?i)\b(?:attached|attachment|enclosed|we (?:talked|spoke) about|(?:we )?discussed (?:yesterday|earlier|before)|from (?:yesterday|earlier|before)|(?:above|below)-mentioned file)\b"
);
pattern!(
    /// "Which of these two looks better?" without the two.
    POINTS,
    r"(?i)\bwhich (?:one )?(?:of )?(?:these|those)\b|\bqual d[ao]s dois|\bqual das duas\b|\b(?:le)?quel(?:le)? des deux\b|\bwelche[rs]? (?:der|von den) beiden\b|\bcuál de (?:las|los) dos\b|\bquale (?:dei|delle) due\b|\bwelke van de twee\b|\bktór[ya] z tych dw\w+\b"
);
pattern!(EMPTY_END, r"(?s)[\w ]{1,30}:\s*$");
pattern!(
    RATE_NOTHING,
    r#"(?i)^\W*(?:please\s+)?(?:rate|judge|score|grade|classify|evaluate|review|rank|vote|label|poll|decide|compare)(?: on)?(?: this| that| it| these| them)?(?: pls| please| for me)?\W*$|(?i)^\W*(?:please\s+)?(?:rate|score|judge|grade)\s+(?:it|this|that)\b[^:"\n]{0,80}$|(?i)\bwhich (?:one )?of (?:them|these|those|the two) is better\b[^:"\n]{0,40}$|(?i)^\W*(?:hm+\W+|so\W+|ok\W+)?which (?:one )?is (?:better|best|nicer)\W*$|(?i)\b(?:choose|pick|select|vote (?:on|for))\b.{0,16}\bbest (?:one )?(?:of|among) (?:these|those|them)\b[^:"\n]{0,30}$|(?i)^\W*A or B\b[^:"\n]{0,40}$"#
);

pattern!(RATES, r"(?i)^\W*(?:please )?(?:rate|grade|score|judge|evaluate|assess)\b");
pattern!(BELOW, r"(?i)^\W*(?:please )?(?:rate|grade|score|judge|evaluate)\b.{0,40}\b(?:below|following)\b");
pattern!(
    RATE_MINE,
    r"(?i)^\W*(?:please |pls |can you |could you )*(?:rate|grade|score|judge|evaluate|review|assess)\s+(?:my|our|this|these|the following)\b"
);
pattern!(MINE, r"(?i)\b(?:my|our|all)\b");

pattern!(
    /// A new question that names an earlier poll.
    FOLLOWS_UP,
    r"(?i)\b(?:follow(?:ing)?[- ]?up|building on|related to|based on|continuing)\b[^?\n]{0,40}\bEP-\d{8}-"
);

/// Reads a text that is about the service; `None` for questions to its models.
pub(super) fn read(text: &str) -> Option<Reading> {
    let own_text = unquoted(text);
    if let Some(action) = ACTION_FIELD.captures(text).map(|found| found[1].to_owned())
        && text.trim_start().starts_with(['{', '`'])
    {
        if EFFECT_WORD.is_match(&action) {
            return Some(Reading::Effect);
        }
        if BALANCE_WORD.is_match(&action) {
            return Some(Reading::Balance);
        }
    }
    let sentences = own(&own_text);
    let acts = sentences.iter().any(|sentence| {
        EFFECT.is_match(sentence)
            && OURS.is_match(sentence)
            && !sentence.ends_with('?')
            && (!sentence.contains(" or ") || MINE.is_match(sentence))
    }) && !sentences.iter().any(|sentence| sentence.ends_with('?'));
    let asks_effect = EFFECT_ON_ID.is_match(&own_text)
        || sentences.iter().any(|sentence| EFFECT.is_match(sentence) && OURS.is_match(sentence));
    if FOLLOWS_UP.is_match(text) && super::alternatives::read(text).options().is_some() {
        return None;
    }
    if let Some(id) = POLL_ID.find(text) {
        return Some(if asks_effect { Reading::Effect } else { Reading::Poll(id.as_str().to_uppercase()) });
    }
    if AUTOMATIC.is_match(&own_text) {
        return Some(Reading::Help);
    }
    let has_list = super::lists::block(text).is_some();
    let is_short = own_text.split_whitespace().count() <= 20 && !has_list;
    if is_chat(&own_text)
        && is_short
        && !own_text.contains(['?', '/'])
        && !own_text.contains(" or ")
        && !own_text.contains(" vs")
    {
        return Some(Reading::Help);
    }
    if DRAFT.is_match(&own_text) {
        return Some(Reading::Draft);
    }
    if has_list {
        return None;
    }
    if acts {
        return Some(Reading::Effect);
    }
    if BALANCE.is_match(&own_text)
        && !LIFE.is_match(&own_text)
        && sentences.len() <= 3
        && !own_text.contains(" or ")
    {
        return Some(Reading::Balance);
    }
    HELP.is_match(&own_text).then_some(Reading::Help)
}

/// True if the text has the places of a template that nobody filled.
pub(super) fn is_unfilled(text: &str) -> bool {
    UNFILLED.is_match(text) || text.is_empty()
}

/// True if the text asks about something that it does not contain.
pub(super) fn lacks_content(text: &str) -> bool {
    let own_text = unquoted(text);
    let has_text = text.contains([':', '"', '“', '\n']) || own(&own_text).len() > 2;
    (ATTACHED.is_match(&own_text) && text.len() < 300)
        || (POINTS.is_match(&own_text) && !has_text && !own_text.contains(" or "))
        || EMPTY_END.is_match(text)
}

pattern!(
    CHAT,
    r"(?i)^\W*(?:lol|haha|ok|okay|great|perfect|nice|cool|thanks|thank you|thx|cheers|awesome)\b[^?]*$|\bout of (?:the )?office\b|\bno action (?:needed|required)\b|\bhave a (?:nice|good|great) (?:day|weekend|one)\b"
);

pattern!(
    TEXT_LABEL,
    r"(?i)^\s*(?:response|answer|text|reply|candidate|assistant|essay|summary|translation)(?: [A-D1-4])?\s*:\s*$"
);

/// True if the places of the texts to compare are empty.
fn has_empty_labels(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    let mut empty = 0;
    while let Some(line) = lines.next() {
        let is_label = |line: &&str| TEXT_LABEL.is_match(line);
        empty += usize::from(is_label(&line) && lines.peek().is_none_or(is_label));
    }
    empty >= 2
}

pattern!(
    AUTOMATIC,
    r"(?i)^\W*(?:automatic reply|auto-?reply|automatische antwort|réponse automatique|respuesta automática|abwesenheitsnotiz)\b|\bi(?:'m| am) (?:currently )?out of (?:the )?office\b"
);

/// True for thanks, automatic replies and the like.
pub(super) fn is_chat(text: &str) -> bool {
    CHAT.is_match(text) || AUTOMATIC.is_match(text)
}

/// True if the text asks to rate something that it does not contain.
pub(super) fn rates_nothing(text: &str) -> bool {
    let is_lone = !text.contains([':', '"', '“', '\n']) && own(text).len() == 1;
    ((RATE_MINE.is_match(text) || BELOW.is_match(text)) && is_lone)
        || has_empty_labels(text)
        || (EMPTY_END.is_match(text) && RATES.is_match(text))
        || RATE_NOTHING.is_match(text)
        || (ATTACHED.is_match(text) && text.len() < 300 && !text.contains(['\n', '"']))
}

/// True if the text says that nobody is to be asked.
pub(super) fn declines(text: &str) -> bool {
    DRAFT.is_match(&unquoted(text))
}

/// True if the text refuses to answer a question of the service.
pub(super) fn refuses(text: &str) -> bool {
    REFUSAL.is_match(text.trim())
}

/// True for a single question about this service.
pub(super) fn is_about_service(text: &str) -> bool {
    let own_text = unquoted(text);
    own(&own_text).len() == 1
        && own_text.len() < 160
        && ABOUT_YOU.is_match(&own_text)
        && !ASKS_OPINION.is_match(&own_text)
}

/// True if the text wants a text, and no vote.
pub(super) fn wants_a_text(text: &str) -> bool {
    TEXT_WANTED.is_match(text) && !super::request::is_talk(&unquoted(text), usize::MAX)
}
