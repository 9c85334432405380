//! Texts about the service itself: help, balances, polls by their ids, effects, and drafts.

use super::Reading;
use super::sentences::{own, pattern, unquoted};

pattern!(POLL_ID, r"(?i)\bEP-\d{8}-[0-9A-Z]{10}\b");
pattern!(
    DRAFT,
    r"(?i)\b(?:do not|don'?t|never|without)\s+(?:actually\s+)?(?:poll(?:ing)?|ask(?:ing)?|run(?:ning)?|start(?:ing)?|open(?:ing)?|submit(?:ting)?|send(?:ing)?|spend(?:ing)?|vote|put|call(?:ing)?)\b(?:\s+(?:it|this|that|any(?:one|body|thing)?|a|the|any|models?|polls?|to))?|\b(?:just|only|still)\s+(?:a\s+)?draft(?:ing)?\b|\bdraft only\b|\bno (?:polls?|polling|votes?|voting|action)\b(?: please| pls| needed| yet| required|[.,]|$)|\bfyi only\b|\bnot (?:asking|looking) for (?:a )?(?:votes?|polls?)\b"
);
pattern!(
    EFFECT,
    r"(?i)^\W*(?:\w+:\s*)?(?:(?:hi|hello|hey|ok|please|pls|kindly|now|can you|could you|would you|you should|i want to|i'd like to|i need to|i need you to|go ahead and|just|also|immediately)[ ,!]+)*(?:cancel|delete|remove|erase|wipe|revoke|rotate|top[ -]?up|charge|pay|refund|withdraw|transfer|buy|deposit|add \S+ (?:to|of credit)|close|stop|abort|kill|unsubscribe|create (?:an? )?(?:api )?key|issue|change|reset|disable)\b"
);
pattern!(
    OURS,
    r"(?i)\b(?:polls?|votes?|account|balance|credits?|(?:api )?keys?|card|subscription|webhooks?|funds|batch(?:es)?|results?|feedback|wallet|email|profile|panel|session)\b|\$\s?\d|\bEP-\d{8}"
);
pattern!(
    ACTION_FIELD,
    r#"(?i)["']?(?:action|command|operation|tool|method|skill|op|function|intent)["']?\s*[:=]\s*["']?(\w+)"#
);
pattern!(
    EFFECT_WORD,
    r"(?i)^(?:cancel|delete|remove|erase|revoke|rotate|top_?up|charge|pay|refund|withdraw|transfer|create_(?:api_)?key|deposit|reset|purchase|add_(?:funds|credit))"
);
pattern!(BALANCE_WORD, r"(?i)^(?:get_?|check_?|show_?|read_?)?(?:account_?)?(?:balance|credits?|funds)");
pattern!(
    BALANCE,
    r"(?i)\b(?:balance|credits?|funds|money|budget|saldo|guthaben|solde|kontostand|bakiye|баланс|残高|余额|잔액)\b.{0,60}\b(?:left|remain\w*|have|account|available|api key|my|our|mein\w*|mon|mi|meu|konto|compte|cuenta|conta)\b|\b(?:my|our|remaining|current|account'?s?|available|mein\w*|mon|mi|meu|il mio)\s+(?:\w+\s+)?(?:balance|credits?|funds|saldo|guthaben|solde|kontostand)\b|\bwe (?:still )?have (?:any )?(?:credits?|funds|balance)\b|\bleft (?:on|in) (?:my|our)\b.{0,20}\baccount\b|\b(?:my|our)\b.{0,15}\baccount\b.{0,20}\b(?:hold|left|have|contain)\b|\b(?:what'?s|check|show|verify|get|read|tell me|return)\b.{0,20}\bbalance\b|^\W*balance\b|残高|余额|잔액|баланс"
);
pattern!(
    HELP,
    r"(?i)^\W*(?:hi|hello|he+y+|hallo|hola|bonjour|salut|ciao|oi|olá|ola|yo|hiya|heya|sup|good (?:morning|evening|afternoon|day)|guten (?:tag|morgen|abend)|merhaba|cześć|hej|привет|здравствуйте|こんにちは|你好|안녕(?:하세요)?|help|help me|\?+)(?: there| all| everyone| team| zusammen)?\W*$|\bwhat (?:all )?(?:can|do) you (?:do|offer|support)\b|\bwhat (?:are|is) you(?:r (?:skills|capabilities|purpose|tasks?|pricing|prices|rates|fees?|limits?))?\b|\bhow (?:do(?:es)?|is|are|can i use) (?:this|it|the|your|you)\b.{0,20}\b(?:work|function|service|voting|poll|used?|bot|agent)\b|\bhow do i use (?:this|it|you)\b|\bwhat (?:does|do|would|will) (?:a|one|each|your|the|it|this) ?(?:single )?(?:polls?|votes?|question|service|run)?.{0,40}\bcosts?\b|\bhow much (?:does|do|is|are|would).{0,40}\b(?:polls?|votes?|costs?|charge)\b|\bwhich (?:tasks|skills|models|methods|tools|options|features|input|formats?)\b.{0,40}\b(?:you|your|take part|participate|available|offer|support)\b|\byour (?:skills|capabilities|pricing|agent card|input format|features)\b|\b(?:list|describe|explain|show)\b.{0,20}\b(?:your )?(?:skills|capabilities|what you|how you|yourself)\b|\bdo i (?:have to )?pay\b|\b(?:going to )?costs? me\b|\bwho (?:votes|is voting)\b|\bhow (?:does|do) (?:that|this|it) work\b|\bcan i use this\b|\bwhat can i use (?:you|this) for\b|\bcould your service\b|\bhow (?:would|will) (?:it|this|that) work\b|\bwhat is this\b.{0,30}\bwhat do i do\b|\b(?:limit|maximum)\b.{0,30}\b(?:options|polls?|questions)\b.{0,20}\b(?:polls?|account|day|minute|question)\b|\bwho are you\b|\bwhat is this\b\W*$|comment ça (?:marche|fonctionne)|wie funktioniert (?:das|dieser|dein|ihr|es)|was kannst du|was k[oö]nnen sie|qué puedes hacer|que puedes hacer|c[oó]mo funciona|o que (?:você|voce) faz|como funciona|cosa (?:puoi|sai) fare|come funziona|wat kun je|hoe werkt (?:dit|het|deze)|co potrafisz|jak to działa|ne yapabil|nasıl çalışıyor|что ты умеешь|как это работает|何ができ|使い方|你能做什么|怎么用|무엇을 할 수|어떻게 (?:사용|작동)"
);
pattern!(UNFILLED, r"\{\{\s*\w+\s*\}\}|<(?:question|options|insert[^>]*)>\s*$|\[(?:insert|your)[^\]]*\]");
pattern!(
    ATTACHED,
    r"(?i)\b(?:attached|attachment|enclosed|we (?:talked|spoke) about|(?:we )?discussed (?:yesterday|earlier|before)|from (?:yesterday|earlier|before)|(?:above|below)-mentioned file)\b"
);
pattern!(EMPTY_END, r"(?s)[\w ]{1,30}:\s*$");
pattern!(
    RATE_NOTHING,
    r#"(?i)^\W*(?:please\s+)?(?:rate|judge|score|grade|classify|evaluate|review|rank|vote|label|poll|decide|compare)(?: on)?(?: this| that| it| these| them)?(?: pls| please| for me)?\W*$|(?i)^\W*(?:please\s+)?(?:rate|score|judge|grade)\s+(?:it|this|that)\b[^:"\n]{0,80}$|(?i)\bwhich (?:one )?of (?:them|these|those|the two) is better\b[^:"\n]{0,40}$|(?i)^\W*A or B\b[^:"\n]{0,40}$"#
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
    let acts = sentences
        .iter()
        .any(|sentence| EFFECT.is_match(sentence) && OURS.is_match(sentence) && !sentence.ends_with('?'));
    let asks_effect = sentences.iter().any(|sentence| EFFECT.is_match(sentence) && OURS.is_match(sentence));
    if let Some(id) = POLL_ID.find(text) {
        return Some(if asks_effect { Reading::Effect } else { Reading::Poll(id.as_str().to_uppercase()) });
    }
    if is_chat(&own_text) && !own_text.contains('?') {
        return Some(Reading::Help);
    }
    if DRAFT.is_match(&own_text) {
        return Some(Reading::Draft);
    }
    let has_list = super::lists::block(text).is_some();
    if has_list {
        return None;
    }
    if acts {
        return Some(Reading::Effect);
    }
    if BALANCE.is_match(&own_text) && sentences.len() <= 3 && !own_text.contains(" or ") {
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
    (ATTACHED.is_match(&own_text) && text.len() < 300)
        || EMPTY_END.is_match(text)
        || RATE_NOTHING.is_match(text)
}

pattern!(
    CHAT,
    r"(?i)^\W*(?:lol|haha|ok|okay|great|perfect|nice|cool|thanks|thank you|thx|cheers|awesome)\b[^?]*$|\bout of office\b|\bno action (?:needed|required)\b|\bhave a (?:nice|good|great) (?:day|weekend|one)\b"
);

/// True for thanks, automatic replies and the like.
pub(super) fn is_chat(text: &str) -> bool {
    CHAT.is_match(text)
}

/// True if the text asks to rate something that it does not contain.
pub(super) fn rates_nothing(text: &str) -> bool {
    RATE_NOTHING.is_match(text)
}
