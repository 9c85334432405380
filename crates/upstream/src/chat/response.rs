//! The body of a response, borrowed from the received bytes. Every field may be missing, null, or of another
//! type than documented. An invalid field counts as missing.

use std::borrow::Cow;

use ep_polling::UsdFigure;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::parsing::ResponseContent;

type Raw<'a> = Option<&'a RawValue>;

/// A completion, or an error instead.
#[derive(Deserialize)]
pub(crate) struct Completion<'a> {
    #[serde(borrow)]
    model: Raw<'a>,
    choices: Raw<'a>,
    usage: Raw<'a>,
    error: Raw<'a>,
}

/// The first choice of a completion.
#[derive(Deserialize, Default)]
pub(crate) struct CompletionChoice<'a> {
    #[serde(borrow)]
    message: Option<Message<'a>>,
    /// The text of a completion that has no messages.
    text: Raw<'a>,
    finish_reason: Raw<'a>,
    error: Raw<'a>,
}

// Some gateways write an empty object as an empty list.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    content: Raw<'a>,
    refusal: Raw<'a>,
    tool_calls: Raw<'a>,
    /// The older form of tool calls.
    function_call: Raw<'a>,
    /// The reasoning text, as OpenRouter names it.
    reasoning: Raw<'a>,
    /// The reasoning text, as DeepSeek, vLLM and llama.cpp name it.
    reasoning_content: Raw<'a>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow)]
    function: Raw<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    arguments: Raw<'a>,
}

/// The tokens and cost of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) prompt_tokens: Option<u64>,
    pub(crate) completion_tokens: Option<u64>,
    /// The completion tokens used for reasoning.
    pub(crate) reasoning_tokens: Option<u64>,
    /// The total cost in USD.
    pub(crate) cost: Option<UsdFigure>,
}

#[derive(Deserialize)]
struct RawUsage<'a> {
    #[serde(borrow)]
    prompt_tokens: Raw<'a>,
    completion_tokens: Raw<'a>,
    input_tokens: Raw<'a>,
    output_tokens: Raw<'a>,
    total_input_tokens: Raw<'a>,
    total_output_tokens: Raw<'a>,
    cost: Raw<'a>,
    is_byok: Raw<'a>,
    cost_details: Raw<'a>,
    completion_tokens_details: Raw<'a>,
}

#[derive(Deserialize)]
struct RawTokenDetails<'a> {
    #[serde(borrow)]
    reasoning_tokens: Raw<'a>,
}

#[derive(Deserialize)]
struct RawCostDetails<'a> {
    #[serde(borrow)]
    upstream_inference_cost: Raw<'a>,
}

impl<'a> Completion<'a> {
    /// Parses a body; `None` if it is not a JSON object.
    pub(crate) fn read(body: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    /// Returns the first choice, because a vote request asks for only one.
    pub(crate) fn choice(&self) -> Option<CompletionChoice<'a>> {
        let raw = self.choices?;
        match serde_json::from_str::<[CompletionChoice<'a>; 1]>(raw.get()) {
            Ok([choice]) => Some(choice),
            Err(_) => serde_json::from_str::<Vec<CompletionChoice<'a>>>(raw.get()).ok()?.into_iter().next(),
        }
    }

    /// Returns the error object of the completion or of the choice.
    pub(crate) fn error(&self, choice: Option<&CompletionChoice<'a>>) -> Option<&'a RawValue> {
        self.error.or_else(|| choice.and_then(|choice| choice.error))
    }

    /// Returns the model that responded.
    pub(crate) fn model(&self) -> Option<Cow<'a, str>> {
        text(self.model)
    }

    /// Returns the tokens and cost.
    pub(crate) fn usage(&self) -> Option<Usage> {
        Usage::read(self.usage)
    }
}

impl Usage {
    /// Parses a `usage` object. Decision APIs name its tokens otherwise than chat completions.
    pub(crate) fn read(usage: Raw<'_>) -> Option<Self> {
        let raw: RawUsage<'_> = serde_json::from_str(usage?.get()).ok()?;
        let figure = |raw: Raw<'_>| usd(raw?.get().trim());
        let details = object::<RawCostDetails<'_>>(raw.cost_details);
        let details = details.and_then(|details| figure(details.upstream_inference_cost));
        // With a caller's own key for the provider (BYOK), `cost` contains only OpenRouter's fee.
        let byok = raw.is_byok.is_some_and(|value| value.get() == "true");
        let cost = figure(raw.cost)
            .map(|cost| details.filter(|_| byok).map_or(cost, |provider| cost.plus(provider)));
        let tokens = |names: [Raw<'_>; 3]| names.into_iter().find_map(number).map(|tokens| tokens as u64);
        Some(Self {
            prompt_tokens: tokens([raw.prompt_tokens, raw.input_tokens, raw.total_input_tokens]),
            completion_tokens: tokens([raw.completion_tokens, raw.output_tokens, raw.total_output_tokens]),
            reasoning_tokens: object::<RawTokenDetails<'_>>(raw.completion_tokens_details)
                .and_then(|details| number(details.reasoning_tokens))
                .map(|tokens| tokens as u64),
            cost,
        })
    }
}

impl<'a> CompletionChoice<'a> {
    /// Returns the finish reason.
    pub(crate) fn finish_reason(&self) -> Option<Cow<'a, str>> {
        text(self.finish_reason)
    }

    /// Returns true if the response reached a limit of tokens, as OpenAI, Anthropic, Gemini and Mistral name it.
    pub(crate) fn is_cut_off(&self) -> bool {
        let names = ["length", "max_tokens", "max_output_tokens", "model_length"];
        self.finish_reason().is_some_and(|reason| names.iter().any(|name| reason.eq_ignore_ascii_case(name)))
    }

    /// Returns true if the model refused, or its provider filtered the response.
    pub(crate) fn declined(&self) -> bool {
        self.refused() || self.finish_reason().is_some_and(|reason| reason == "content_filter")
    }

    /// Returns true if the message contains a refusal.
    fn refused(&self) -> bool {
        let refusal = self.message.as_ref().and_then(|message| text(message.refusal));
        refusal.is_some_and(|refusal| !refusal.trim().is_empty())
    }

    /// Returns true if the model reasoned before this response, or `None` if unknown.
    pub(crate) fn reasoned(&self, usage: Option<Usage>, answer: Option<&str>) -> Option<bool> {
        let shown = |raw: Raw<'_>| text(raw).is_some_and(|text| !text.trim().is_empty());
        let thinks = answer.is_some_and(|text| crate::parsing::without_reasoning(text).len() < text.len());
        let message = self.message.as_ref();
        if thinks
            || message.is_some_and(|message| shown(message.reasoning) || shown(message.reasoning_content))
        {
            return Some(true);
        }
        usage.and_then(|usage| usage.reasoning_tokens).map(|tokens| tokens > 0)
    }

    /// Returns the parts that can contain a vote.
    pub(crate) fn content(&self) -> ResponseContent<'a> {
        let Some(message) = &self.message else {
            return ResponseContent { calls: Vec::new(), text: text(self.text) };
        };
        let mut calls = Vec::new();
        let mut call = |function: Function<'a>| {
            calls.extend(function.arguments.map(|raw| text(Some(raw)).unwrap_or(Cow::Borrowed(raw.get()))));
        };
        if let Some(raw) = message.tool_calls {
            let list = serde_json::from_str::<Vec<ToolCall<'a>>>(raw.get());
            let list = list.or_else(|_| serde_json::from_str::<ToolCall<'a>>(raw.get()).map(|one| vec![one]));
            list.unwrap_or_default()
                .into_iter()
                .filter_map(|tool_call| object(tool_call.function))
                .for_each(&mut call);
        }
        if let Some(raw) = message.function_call
            && let Some(function) = object(Some(raw))
        {
            call(function);
        }
        ResponseContent { calls, text: message.content.and_then(joined_text) }
    }
}

/// Returns the text of a string, or of a list of parts.
fn joined_text(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Part<'a> {
        #[serde(borrow)]
        text: Raw<'a>,
        #[serde(rename = "type")]
        kind: Raw<'a>,
    }
    if let Some(text) = text(Some(raw)) {
        return Some(text);
    }
    let parts: Vec<Part<'_>> = serde_json::from_str(raw.get()).ok()?;
    let is_reasoning =
        |kind: Raw<'_>| text(kind).is_some_and(|kind| matches!(&*kind, "reasoning" | "thinking"));
    let answers = parts.into_iter().filter(|part| !is_reasoning(part.kind));
    Some(Cow::Owned(answers.filter_map(|part| text(part.text)).collect::<Vec<_>>().join("\n")))
}

/// Parses an object; `None` for any other value.
fn object<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// Parses a JSON string, borrowed if it contains no escapes.
pub(crate) fn text(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let json = raw?.get();
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(json).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// Parses a non-negative amount in USD, written as a number or as a string.
pub(crate) fn usd(text: &str) -> Option<UsdFigure> {
    text.trim_matches('"').parse().ok().filter(|figure: &UsdFigure| !figure.is_negative())
}

/// Parses a finite, non-negative number, written as a number or as a string.
pub(crate) fn number(raw: Raw<'_>) -> Option<f64> {
    let number: f64 = raw?.get().trim_matches('"').trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_unexpected_types_count_as_missing() {
        let body = br#"{"model":7,"choices":[{"message":{"content":[{"type":"text","text":"BC"}],"tool_calls":
            {"function":{"arguments":{"option":"BC"}}}},"finish_reason":null}],"usage":{"cost":"0.01","prompt_tokens":-3}}"#;
        let completion = Completion::read(body).unwrap();
        let choice = completion.choice().unwrap();
        assert_eq!(completion.model(), None);
        assert_eq!(choice.finish_reason(), None);
        assert_eq!(choice.content().calls, [r#"{"option":"BC"}"#]);
        assert_eq!(choice.content().text.as_deref(), Some("BC"));
        let usage = completion.usage().unwrap();
        assert_eq!((usage.cost, usage.prompt_tokens), ("0.01".parse().ok(), None));
        assert!(Completion::read(b"<html>").is_none());
        assert!(Completion::read(b"{}").unwrap().choice().is_none());
    }

    #[test]
    fn empty_lists_in_place_of_objects_lose_nothing_else() {
        let body = br#"{"choices":[{"message":[],"finish_reason":"stop","error":{"code":1}}],
            "usage":{"prompt_tokens":9,"cost":0.01,"cost_details":"x","completion_tokens_details":[]}}"#;
        let completion = Completion::read(body).unwrap();
        let usage = completion.usage().unwrap();
        assert_eq!((usage.prompt_tokens, usage.cost), (Some(9), "0.01".parse().ok()));
        assert!(completion.choice().unwrap().error.is_some());
        let body = br#"{"choices":[{"message":{"content":[[],{"text":"B"}],"tool_calls":[{"function":[]},
            {"function":{"arguments":"{}"}}]}}]}"#;
        let content = Completion::read(body).unwrap().choice().unwrap().content();
        assert_eq!((content.calls.len(), content.text.as_deref()), (1, Some("B")));
    }

    #[test]
    fn the_fee_and_the_provider_cost_are_added_for_own_keys() {
        let body =
            br#"{"usage":{"cost":0.001,"is_byok":true,"cost_details":{"upstream_inference_cost":0.02}}}"#;
        assert_eq!(Completion::read(body).unwrap().usage().unwrap().cost, "0.021".parse().ok());
    }
}
