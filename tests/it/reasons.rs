//! Reasons of voters, requested after the vote.

use ep_upstream::testing::{Action, Script};
use serde_json::json;

use crate::harness::{Setup, question};

const HOSTILE: &str =
    "Because <script>alert(1)</script> | \u{202E}\"*it*\" [x](javascript:1) is &amp; better.";

#[tokio::test]
async fn voters_of_both_options_give_reasons_after_the_vote() {
    let service = Setup::scripted(Script::divided_panel(20)).boot().await;
    let client = service.user().await;
    let reply = client.post("/api/poll", &question(json!({ "reasons": 2 }))).await.expect(200);
    let reasons = reply["reasons"].as_array().unwrap();
    let options: Vec<&str> = reasons.iter().map(|given| given["chosen_option"].as_str().unwrap()).collect();
    assert!(
        options == ["Alpha", "Alpha", "Beta", "Beta"] || options == ["Beta", "Beta", "Alpha", "Alpha"],
        "{options:?}"
    );
    let votes = reply["votes"].as_array().unwrap();
    for given in reasons {
        assert_eq!(given["reason"], "Because it fits best.");
        let vote = votes.iter().find(|vote| vote["model_id"] == given["model_id"]).unwrap();
        assert_eq!(vote["chosen_option"], given["chosen_option"]);
    }
    // The explanations are charged with the votes.
    let spent: f64 = votes.iter().map(|vote| vote["estimated_cost"].as_f64().unwrap()).sum();
    assert!(reply["costs"]["total_estimated_cost"].as_f64().unwrap() > spent);

    let id = reply["poll_id"].as_str().unwrap();
    let result = service.anonymous().get(&format!("/api/results/{id}")).await.expect(200);
    assert_eq!(result["reasons"], reply["reasons"]);
    let page = service.anonymous().get(&format!("/results/{id}")).await.text;
    assert!(page.contains("Because it fits best.") && page.contains("Given after the vote"), "{page}");
    let export = client.get("/api/account/export").await.expect(200);
    assert_eq!(export["polls"][0]["reasons"], reply["reasons"]);
}

#[tokio::test]
async fn polls_have_no_reasons_unless_requested_and_free_polls_never() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let reply = client.post("/api/poll", &question(json!({}))).await.expect(200);
    assert!(reply.get("reasons").is_none());
    for wrong in [json!(0), json!(4), json!("two"), json!(1.5)] {
        let refused = client.post("/api/poll", &question(json!({ "reasons": wrong }))).await.refused(400);
        assert!(refused.contains("reasons"), "{refused}");
    }
    let free = service.anonymous().post("/api/poll", &question(json!({ "reasons": 2 }))).await.expect(200);
    assert!(free.to_string().contains("reasons"), "a notice names the ignored argument: {free}");
    let id = free["poll_id"].as_str().unwrap();
    let result = service.anonymous().get(&format!("/api/results/{id}")).await.expect(200);
    assert!(result.get("reasons").is_none());
}

#[tokio::test]
async fn reasons_are_escaped_everywhere() {
    let script = Script { explains: Action::Says(HOSTILE.to_owned()), ..Script::divided_panel(12) };
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let reply = client.post("/api/poll", &question(json!({ "reasons": 1 }))).await.expect(200);
    let reason = reply["reasons"][0]["reason"].as_str().unwrap();
    assert!(!reason.contains('\u{202E}') && reason.starts_with("Because <script>"), "{reason}");
    let id = reply["poll_id"].as_str().unwrap();
    let page = service.anonymous().get(&format!("/results/{id}")).await.text;
    assert!(!page.contains("<script>alert") && page.contains("&#60;script&#62;alert"), "{page}");
    let markdown = service.anonymous().get(&format!("/results/{id}.md")).await.text;
    assert!(markdown.contains(r"\<script\>") && markdown.contains(r"\[x\](javascript:1)"), "{markdown}");
}
