//! Options that models propose for open questions.

use std::collections::HashMap;

use ep_upstream::testing::{Action, Script, priced};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Service, Setup, until};

const QUESTION: &str = "What is the best first programming language?";
const MODELS: [&str; 4] = ["one/alpha", "two/beta", "three/gamma", "four/delta"];

/// Free models of four families. The first two that are drawn propose, so that each test gives options to all.
fn models(proposes: impl Fn(&str) -> Vec<Action>) -> Script {
    let models = MODELS.map(|id| priced(id, "0", "0")).to_vec();
    let proposes = MODELS.map(|id| (id.to_owned(), proposes(id)));
    Script { models, proposes: HashMap::from(proposes), ..Script::default() }
}

/// The bodies of all requests.
fn bodies(service: &Service) -> Vec<Value> {
    MODELS.iter().flat_map(|model| service.upstream().received(model)).map(|request| request.body).collect()
}

/// The number of requests for options.
fn asked(service: &Service) -> usize {
    let is_asked = |body: &&Value| body["messages"].to_string().contains("Propose short answers");
    bodies(service).iter().filter(is_asked).count()
}

#[tokio::test]
async fn a_free_poll_with_an_open_question_asks_with_proposed_options() {
    let script = models(|id| {
        vec![Action::proposes(&["Python", "1. Scratch", "vote for me", &format!("{id} script")])]
    });
    let service = Setup::scripted(script).boot().await;
    let client = service.anonymous();
    let poll = client.post("/api/poll", &json!({ "question": QUESTION })).await.expect(200);
    let options = poll["options"].as_array().unwrap();
    assert_eq!((&options[0], &options[1], options.len()), (&json!("Python"), &json!("Scratch"), 4), "{poll}");
    assert!(poll["notices"][0].as_str().unwrap().contains("these were proposed by"), "{poll}");
    assert_eq!((asked(&service), &poll["cost"]), (2, &json!(0)));
    // The same question gets the same options, however it is written.
    let again = json!({ "question": QUESTION.to_uppercase() });
    assert_eq!(client.post("/api/poll", &again).await.expect(200)["options"], poll["options"]);
    assert_eq!(asked(&service), 2);
    // A question with options of its own asks for none, and a dry run asks nobody.
    client.post("/api/poll", &json!({ "question": "Tea or coffee?" })).await.expect(200);
    let dry_run = json!({ "question": "What should the cat be called?", "dry_run": true });
    assert_eq!(client.post("/api/poll", &dry_run).await.expect(200)["valid"], true);
    assert_eq!(asked(&service), 2);
}

#[tokio::test]
async fn options_are_proposed_on_every_door() {
    let script = models(|_| vec![Action::Says("- Python\n- Scratch\n- Lua".to_owned())]);
    let service = Setup::scripted(script).boot().await;
    let input = json!({ "question": QUESTION });
    let by_rest = service.anonymous().post("/api/options", &input).await.expect(200);
    assert_eq!(by_rest["options"], json!(["Python", "Scratch", "Lua"]), "{by_rest}");
    let proposals = by_rest["proposals"].as_array().unwrap();
    assert!(proposals.len() == 2 && proposals[0]["model_id"] != proposals[1]["model_id"], "{by_rest}");
    let client = service.user().await;
    let by_tool = client.tool("propose_options", input.clone()).await;
    assert_eq!(by_tool["structuredContent"]["options"], by_rest["options"], "{by_tool}");
    let by_skill = client.skill("propose_options", &input).await;
    assert!(by_skill.to_string().contains("Scratch"), "{by_skill}");
    let refused = client.poll(json!({ "options": null })).await.refused(400);
    assert!(refused.contains("propose_options"), "{refused}");
}

#[tokio::test]
async fn a_model_that_proposes_nothing_is_replaced_and_too_few_options_are_a_fault() {
    let useless = Action::Says("I cannot help with that.".to_owned());
    let service = Setup::scripted(models(|_| vec![useless.clone()])).boot().await;
    let client = service.anonymous();
    let input = json!({ "question": QUESTION });
    let refused = client.post("/api/options", &input).await;
    let refused = refused.refused(422);
    assert!(refused.contains("the models proposed no options"), "{refused}");
    assert_eq!(asked(&service), 4, "all four are asked");
    client.post("/api/poll", &input).await.refused(422);

    // Only one of the four proposes something.
    let script = models(|id| {
        if id == "four/delta" { vec![Action::proposes(&["Python", "Lua"])] } else { vec![useless.clone()] }
    });
    service.upstream().change(|changed| *changed = script);
    let proposed = client.post("/api/options", &input).await.expect(200);
    assert_eq!(proposed["options"], json!(["Python", "Lua"]));
    assert_eq!(proposed["proposals"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_server_without_tools_is_asked_in_plain_words() {
    let refusal =
        Action::Status(400, json!({ "error": { "message": "tool_choice is not supported" } }).to_string());
    let script = models(|_| vec![refusal.clone(), Action::Says("Python\nScratch".to_owned())]);
    let service = Setup::scripted(script).boot().await;
    let proposed =
        service.anonymous().post("/api/options", &json!({ "question": QUESTION })).await.expect(200);
    assert_eq!(proposed["options"], json!(["Python", "Scratch"]));
}

#[tokio::test]
async fn the_start_page_shows_proposals_before_it_asks() {
    let service = Setup::scripted(models(|_| vec![Action::proposes(&["Python", "Scratch"])])).boot().await;
    let client = service.anonymous();
    let send = async |fields: &[(&str, &str)]| {
        let form = client.request(Method::POST, "/ask").header("sec-fetch-site", "same-origin").form(fields);
        client.send(form).await
    };
    let page = send(&[("question", QUESTION), ("nonce", "1")]).await;
    let html = &page.text;
    assert_eq!(page.status, 200, "{html}");
    assert!(html.contains("value=\"Python\"") && html.contains("value=\"Scratch\""), "{html}");
    assert!(html.contains("Proposed by "), "{html}");
    let opened =
        send(&[("question", QUESTION), ("option", "Python"), ("option", "Lua"), ("nonce", "1")]).await;
    assert_eq!(opened.status, 303);
    let private = [("question", QUESTION), ("private", "yes"), ("nonce", "2")];
    let before = asked(&service);
    assert_eq!(send(&private).await.status, 400);
    assert_eq!(asked(&service), before, "a private question is not sent to others");
    let votes = async || bodies(&service).iter().filter(|body| body.to_string().contains("Lua")).count();
    until("the changed options are voted on", votes, |votes| *votes > 0).await;
}
