//! Explanations: the request, and the reading of responses.

use ep_kernel::ports::Models as _;
use ep_polling::{Spend, SpendBasis};
use ep_upstream::testing::{Action, Behaviour, Billing, Script};
use serde_json::json;

use super::{Fixture, LONG, priced, view};

/// Returns the text and the cost of an explanation by this action.
async fn explained(action: Action) -> (Option<String>, Spend) {
    let behaviour = Behaviour::default().billed(Billing::Cost(100, 10, 0.000_123_4));
    let script = Script { explains: action, ..Script::default().with("m", behaviour) };
    let fixture = Fixture::new(script);
    let response = fixture.upstream().explain(&priced("m"), &view(), 1, LONG.into()).await;
    (response.text.map(|text| text.as_str().to_owned()), response.spend)
}

#[tokio::test]
async fn a_sentence_is_read_and_everything_else_is_no_explanation() {
    let says = |text: &str| Action::Says(text.to_owned());
    let (text, spend) = explained(says("<think>Hm.</think> \"Because it\nis blue.\"")).await;
    assert_eq!(text.as_deref(), Some("Because it is blue."));
    assert_eq!((spend.amount.micro(), spend.basis), (124, SpendBasis::Reported));
    let refusal = json!({ "role": "assistant", "content": "No.", "refusal": "I will not." });
    for action in [
        says(" \u{200B}\n"),
        Action::Ends("Because".to_owned(), "content_filter"),
        Action::Message(refusal, "stop"),
        Action::Status(503, "{}".to_owned()),
        Action::ChoiceError(json!({ "message": "overloaded" })),
        Action::Bytes(b"<html>".to_vec()),
        Action::BreakOff,
    ] {
        assert_eq!(explained(action.clone()).await.0, None, "{action:?}");
    }
}

#[tokio::test]
async fn the_request_has_the_ballot_and_the_vote_and_no_tool() {
    let fixture = Fixture::new(Script::default());
    let upstream = fixture.upstream();
    upstream.explain(&priced("m"), &view(), 1, LONG.into()).await;
    let sent = fixture.server.received("m").remove(0).body;
    let voted = view().choices.into_iter().find(|choice| choice.option == 1).unwrap().text;
    assert!(sent.get("tools").is_none() && sent.get("response_format").is_none(), "{sent}");
    let messages = sent["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!(messages[2]["content"], voted);
}
