//! Removes the reasoning that servers leave in the text of a response: between marks, or in the channels of gpt-oss.

use std::borrow::Cow;

/// The marks before and after reasoning, in any case. A server that parses none of them leaves them in the text.
const MARKS: [(&str, &str); 23] = [
    // DeepSeek, Qwen, GLM, Nemotron and most others.
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    // Prompts that ask for reasoning.
    ("<thoughts>", "</thoughts>"),
    ("<analysis>", "</analysis>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<reflection>", "</reflection>"),
    ("<cot>", "</cot>"),
    ("<deliberation>", "</deliberation>"),
    ("<inner_monologue>", "</inner_monologue>"),
    ("[REASONING]", "[/REASONING]"),
    ("[THINKING]", "[/THINKING]"),
    // Gemma and EXAONE, Seed, MiniMax, LongCat, Mistral, Kimi.
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    // OpenThinker, Command, Apertus, Gemma 4 and MedGemma.
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel>thought", "<channel|>"),
    ("<unused94>", "<unused95>"),
];

/// True if a text begins with this mark, in any case.
fn begins_with(text: &str, mark: &str) -> bool {
    text.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark))
}

/// Removes the model's reasoning from a text. The opening mark may be missing because of the chat template. Everything
/// after an opening mark that is never closed is reasoning. An opening mark in a quotation or in code is none.
pub(crate) fn without_reasoning(text: &str) -> Cow<'_, str> {
    match answer_channels(text) {
        Some(answer) => Cow::Owned(without_marks(&answer).into_owned()),
        None => without_marks(text),
    }
}

fn without_marks(text: &str) -> Cow<'_, str> {
    let mut visible = String::new();
    // The expected closing mark, and the start of the text after the last mark.
    let (mut reasoning, mut from, mut seen): (Option<&str>, usize, bool) = (None, 0, false);
    let mut quotes = Quotes { fenced: begins_fence(text), ..Quotes::default() };
    for (at, c) in text.char_indices() {
        if !matches!(c, '<' | '[' | '◁') {
            quotes.read(&text[at..], c);
            continue;
        }
        let rest = &text[at..];
        let mark = MARKS.iter().find(|(open, close)| begins_with(rest, open) || begins_with(rest, close));
        let Some((open, close)) = mark else { continue };
        match reasoning {
            // Reasoning ends only at its own closing mark.
            Some(expected) if begins_with(rest, expected) => {
                (reasoning, from) = (None, at + close.len());
                quotes = Quotes::default();
            }
            Some(_) => {}
            None if begins_with(rest, open) => {
                if quotes.is_open() {
                    continue;
                }
                visible.push_str(&text[from..at]);
                reasoning = Some(close);
            }
            None => {
                visible.clear();
                from = at + close.len();
                quotes = Quotes::default();
            }
        }
        seen = true;
    }
    if !seen {
        return Cow::Borrowed(text);
    }
    if reasoning.is_none() {
        visible.push_str(&text[from..]);
    }
    Cow::Owned(visible)
}

/// The quotations and the code that are open at a place in a text.
#[derive(Default)]
struct Quotes {
    /// Between two lines of backticks.
    fenced: bool,
    /// After an odd number of these marks in this line.
    straight: bool,
    backtick: bool,
    /// Between a pair of different marks.
    paired: bool,
    /// The last character was a backslash.
    escaped: bool,
    /// The last character was a letter or a digit.
    after_word: bool,
}

impl Quotes {
    /// Reads a character; `rest` begins with it.
    fn read(&mut self, rest: &str, c: char) {
        let escaped = std::mem::take(&mut self.escaped);
        match c {
            '\n' => {
                *self = Self { fenced: self.fenced ^ begins_fence(&rest[1..]), ..Self::default() };
            }
            '\\' => self.escaped = !escaped,
            // A sign of inches opens nothing.
            '"' if !escaped => self.straight = !self.straight && !self.after_word,
            '`' => self.backtick = !self.backtick,
            '“' | '„' | '«' | '「' | '『' => self.paired = true,
            '”' | '»' | '」' | '』' => self.paired = false,
            _ => {}
        }
        self.after_word = c.is_alphanumeric();
    }

    const fn is_open(&self) -> bool {
        self.fenced || self.straight || self.backtick || self.paired
    }
}

fn begins_fence(line: &str) -> bool {
    line.trim_start_matches([' ', '\t']).starts_with("```")
}

/// The marks in which gpt-oss writes its channels, as in `<|channel|>final<|message|>Mars<|return|>`
/// (<https://cookbook.openai.com/articles/openai-harmony>).
const CHANNEL: &str = "<|channel|>";
const MESSAGE: &str = "<|message|>";
const ENDS: [&str; 5] = ["<|end|>", "<|return|>", "<|call|>", "<|start|>", CHANNEL];
/// The channels as a server writes them that drops the marks but not the words.
const BARE_ANALYSIS: &str = "analysis";
const BARE_FINAL: &str = "assistantfinal";
const BARE_COMMENTARY: &str = "assistantcommentary";

/// Returns the final channel and the calls of tools of a text in the channels of gpt-oss; `None` if it has no channels.
fn answer_channels(text: &str) -> Option<String> {
    if !text.contains(MESSAGE) {
        return bare_channels(text);
    }
    let mut answer = String::new();
    let mut messages = text.split(MESSAGE);
    let mut header = messages.next().unwrap_or_default();
    for message in messages {
        let end = ENDS.iter().filter_map(|end| message.find(end)).min().unwrap_or(message.len());
        // The header stands behind the last end of the message before it.
        if is_answer(header) {
            answer.push_str(&message[..end]);
            answer.push('\n');
        }
        header = &message[end..];
    }
    Some(answer)
}

/// True if a message with this header is the answer or a call: `<|channel|>final`, `commentary to=functions.vote`.
fn is_answer(header: &str) -> bool {
    let header = header.trim();
    let channel = header.rsplit(CHANNEL).next().unwrap_or(header).trim_start();
    channel.starts_with("final")
        || (!channel.starts_with(BARE_ANALYSIS) && header.contains("to=") && header.contains("vote"))
}

fn bare_channels(text: &str) -> Option<String> {
    if !text.trim_start().starts_with(BARE_ANALYSIS) {
        return None;
    }
    let after = |word: &str| text.rfind(word).map(|at| &text[at + word.len()..]);
    let answer = after(BARE_FINAL).or_else(|| after(BARE_COMMENTARY));
    // Without an answer, `analysisThe user …` is reasoning, and `analysis of …` is not.
    let is_joined = || text.trim_start()[BARE_ANALYSIS.len()..].starts_with(char::is_uppercase);
    answer.or_else(|| is_joined().then_some("")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_of_every_family_goes() {
        for (open, close) in MARKS {
            for (open, close) in
                [(open.to_owned(), close.to_owned()), (open.to_uppercase(), close.to_lowercase())]
            {
                assert_eq!(
                    without_reasoning(&format!("a{open}Earth it is.{close} Mars")),
                    "a Mars",
                    "{open}"
                );
                assert_eq!(without_reasoning(&format!("Earth it is.{close}\nMars")), "\nMars", "{close}");
                assert_eq!(without_reasoning(&format!("{open}Earth is blue, and so")), "", "{open}");
            }
        }
        assert_eq!(without_reasoning("[Mars] ◁ <b>"), "[Mars] ◁ <b>", "other brackets stay");
        assert_eq!(without_reasoning("<think>one <reasoning>Earth</reasoning> two</think>Mars"), "Mars");
    }

    #[test]
    fn marks_in_quotations_and_code_stay() {
        for text in [
            r#"{"option": "Mars", "reason": "the <think> mark"}"#,
            "The `<think>` mark and the “[THINK]” mark.",
            "```\n<think>\n```\nMars",
            r#"It says "\"<think>" twice."#,
        ] {
            assert_eq!(without_reasoning(text), text);
        }
        assert_eq!(without_reasoning("A 5\" disk.\n<think>Earth</think>Mars"), "A 5\" disk.\nMars");
        assert_eq!(without_reasoning("```\nx\n```\n<think>Earth</think>Mars"), "```\nx\n```\nMars");
    }

    #[test]
    fn only_answers_of_channels_stay() {
        let analysis = "<|channel|>analysis<|message|>Earth is blue.<|end|><|start|>assistant";
        for (channel, answer) in [
            ("<|channel|>final<|message|>Mars", "Mars\n"),
            ("<|channel|>final <|constrain|>json<|message|>{}<|return|>", "{}\n"),
            ("<|channel|>commentary to=functions.vote <|constrain|>json<|message|>{}<|call|>", "{}\n"),
            (" to=functions.vote<|channel|>commentary json<|message|>{}<|call|>", "{}\n"),
            ("<|channel|>commentary<|message|>I will vote.<|end|>", ""),
            ("<|channel|>analysis<|message|>Or Earth?", ""),
        ] {
            assert_eq!(without_reasoning(&format!("{analysis}{channel}")), answer, "{channel}");
        }
        assert_eq!(
            without_reasoning("analysis<|message|>Earth<|end|>"),
            "",
            "the template has begun the channel"
        );
        assert_eq!(without_reasoning("analysisEarth is blue.assistantfinalMars"), "Mars");
        let call = "analysisEarth.assistantcommentary to=functions.vote json{\"option\":\"Mars\"}";
        assert_eq!(without_reasoning(call), " to=functions.vote json{\"option\":\"Mars\"}");
        let plain = "analysis of Mars";
        assert_eq!(without_reasoning(plain), plain);
    }
}
