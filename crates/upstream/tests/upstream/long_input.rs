//! Upstream data is parsed in linear time. A quadratic parser would need hours for a repeated unit of text up
//! to the maximum length of a body.

use ep_polling::ChoiceForm;
use ep_upstream::testing::readers;
use proptest::prelude::*;
use serde_json::json;

const LONGEST: usize = 1024 * 1024;
const OPTIONS: [&str; 4] = ["Earth", "Mars", "Earthrise now", "No"];

fn vote(body: &str) {
    for form in [ChoiceForm::Text, ChoiceForm::Letter] {
        readers::vote(body.as_bytes(), "Which planet?", &OPTIONS, form);
    }
    readers::decisions(body.as_bytes(), &OPTIONS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn of_an_answer(
        unit in r#"([{}\[\]"'`:=,<>\\ \n(]|option|vote:|answer=|A|Earth|Mars|not |<think>|</think>|</reasoning>|\\u00|“|é|<question-a>|</options-a>|<\|message\|>|<\|channel\|>final|assistantfinal){1,6}"#
    ) {
        let text = unit.repeat(LONGEST / 8 / unit.len());
        vote(&json!({ "choices": [{ "message": { "content": text } }] }).to_string());
        vote(&json!({ "choices": [{ "message": { "reasoning": text, "content": "Mars" } }] }).to_string());
        let call = json!({ "function": { "name": "vote", "arguments": text } });
        vote(&json!({ "choices": [{ "message": { "tool_calls": [call] } }] }).to_string());
        readers::error_text(400, json!({ "error": { "message": text } }).to_string().as_bytes());
    }

    #[test]
    fn of_a_body_that_is_almost_json(
        unit in r#"([{}\[\]":,\\ \n]|"choices":|"message":|"tool_calls":|"function":|"error":|"detail":|null|1e9|\\u00|é|NaN|data: |: ){1,6}"#,
        start in prop::sample::select(vec!["", "data: {\"choices\":[]}\n", "{\"choices\":", "{\"choices\":[{\"message\":{\"tool_calls\":[", "{\"error\":", "{\"error\":{\"metadata\":"]),
    ) {
        let body = format!("{start}{}", unit.repeat(LONGEST / unit.len()));
        vote(&body);
        readers::error_text(500, body.as_bytes());
    }

    #[test]
    fn of_a_decision(
        unit in r#"([{}\[\]":,\\ \n]|"vote":|"probabilities":|"Earth":|"Mars":|"value":|0\.5|null|1e9|\\u00|é){1,6}"#,
        start in prop::sample::select(vec![
            "{\"answers\":", "{\"answers\":{\"vote\":{\"probabilities\":{", "{\"answers\":[{\"probabilities\":[",
        ]),
    ) {
        let body = format!("{start}{}", unit.repeat(LONGEST / unit.len()));
        readers::decisions(body.as_bytes(), &OPTIONS);
        let options: Vec<_> = (0..20_000).map(|number| (format!("{unit}{number}"), json!(0.1))).collect();
        let map: serde_json::Map<String, serde_json::Value> = options.into_iter().collect();
        let body = json!({ "answers": { "vote": { "probabilities": map } } }).to_string();
        prop_assert_eq!(readers::decisions(body.as_bytes(), &OPTIONS), [None, None, None]);
    }

    #[test]
    fn of_a_model_list(
        unit in r#"([{}\[\]":,\\ \n]|"id":|"data":|"pricing":|"architecture":|"a/b:free"|-|/|~|null|1e9|é){1,6}"#,
        start in prop::sample::select(vec!["", "[", "{\"data\":[", "{\"data\":[{\"id\":\"", "[{\"id\":\"a\",\"architecture\":{\"modality\":\""]),
    ) {
        readers::model_list(&format!("{start}{}", unit.repeat(LONGEST / unit.len())));
        let text = unit.repeat(LONGEST / 8 / unit.len());
        let entry = json!({ "id": text, "name": text, "expiration_date": text, "architecture": { "modality": text } });
        readers::model_list(&json!({ "data": [entry] }).to_string());
        let many: Vec<_> = (0..10_000).map(|number| json!({ "id": format!("{unit}{number}") })).collect();
        readers::model_list(&json!(many).to_string());
    }
}
