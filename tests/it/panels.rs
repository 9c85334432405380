//! Panels of accounts: stored in versions, used by polls and as models, and read by their owner alone.

use ep_polling::{MicroUsd, ModelId, OrderBasis, PanelDefinition};
use ep_upstream::testing::{Script, VoteFor};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Engine, Reply, Setup, question};

const FIRST: &str = "maker0/line-0";
const SECOND: &str = "maker1/line-1";

async fn delete(client: &Client, path: &str) -> Reply {
    client.send(client.request(Method::DELETE, path)).await
}

/// Returns two models that vote differently.
fn divided() -> Script {
    let votes = [(FIRST, "Beta"), (SECOND, "Alpha")].map(|(model, vote)| (model.to_owned(), vote.to_owned()));
    Script { votes_for: VoteFor::ByModel(votes.into()), ..Script::panel(2) }
}

#[tokio::test]
async fn a_panel_has_versions_that_its_owner_reads_and_deletes() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let setup =
            Setup::scripted(Script::panel(3)).on(engine).with("EP_OPENAI_ALIASES", "gpt-4o-mini=poll");
        let service = setup.boot().await;
        let (owner, other) = (service.user().await, service.user().await);
        let create = async |members: Value| {
            let mut panel = json!({ "name": "judges", "models": [FIRST, SECOND] });
            panel.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            owner.post("/api/panels", &panel).await
        };
        let first = create(json!({})).await.expect(200);
        assert_eq!(
            (&first["version"], &first["created"], &first["order"]),
            (&json!(1), &json!(true), &json!("given"))
        );
        assert_eq!(create(json!({})).await.expect(200)["created"], false);
        let second = create(json!({ "models": [SECOND, FIRST], "on_tie": "strongest" })).await.expect(200);
        assert_eq!((&second["version"], &second["models"]), (&json!(2), &json!([SECOND, FIRST])));

        let listed = owner.get("/api/panels").await.expect(200)["panels"].clone();
        assert_eq!(
            (&listed[0]["name"], &listed[0]["version"], &listed[0]["size"]),
            (&json!("judges"), &json!(2), &json!(2))
        );
        assert_eq!(owner.get("/api/panels/judges").await.expect(200)["on_tie"], "strongest");
        assert_eq!(
            owner.get("/api/panels/judges?version=1").await.expect(200)["models"],
            json!([FIRST, SECOND])
        );
        owner.get("/api/panels/judges?version=3").await.refused(404);
        assert_eq!(other.get("/api/panels").await.expect(200)["panels"], json!([]));
        other.get("/api/panels/judges").await.refused(404);
        delete(&other, "/api/panels/judges").await.refused(404);
        for name in ["trio", "poll", "free", "gpt-4o-mini"] {
            let refused = create(json!({ "name": name })).await.refused(400);
            assert!(refused.contains("choose another name"), "{refused}");
        }
        for name in ["Judges", "a@1", "", "a b"] {
            create(json!({ "name": name })).await.refused(400);
        }
        let export = owner.get("/api/account/export").await.expect(200)["panels"].clone();
        assert_eq!(export.as_array().unwrap().len(), 2, "{export}");
        assert_eq!(
            delete(&owner, "/api/panels/judges").await.expect(200),
            json!({ "name": "judges", "deleted": true })
        );
        delete(&owner, "/api/panels/judges").await.refused(404);
        owner.poll(json!({ "panel": "judges" })).await.refused(400);
    }
}

#[tokio::test]
async fn a_poll_asks_a_panel_by_its_rules_and_only_its_owner_reads_the_name() {
    let service = Setup::scripted(divided()).boot().await;
    let (user, owner) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    for models in [[SECOND, FIRST], [FIRST, SECOND]] {
        let panel = json!({ "name": "secret-judges", "models": models, "on_tie": "strongest" });
        owner.post("/api/panels", &panel).await.expect(200);
    }
    for (panel, version, decided) in [("secret-judges@1", 1, "Alpha"), ("secret-judges", 2, "Beta")] {
        let poll = owner.poll(json!({ "panel": panel })).await.expect(200);
        let version = json!({ "name": "secret-judges", "version": version });
        assert_eq!((&poll["panel"], &poll["preset"]), (&version, &Value::Null));
        assert_eq!(poll["decision"], json!({ "option": decided, "by": "tie_break" }));
        let result = format!("/api/results/{}", poll["poll_id"].as_str().unwrap());
        assert_eq!(owner.get(&format!("{result}?costs=true")).await.expect(200)["panel"], version);
        for client in [&owner, &service.anonymous()] {
            let public = client.get(&result).await.expect(200);
            assert_eq!(public["decision"]["option"], decided);
            assert!(!public.to_string().contains("secret"), "{public}");
        }
        let page = service.anonymous().get(&format!("/results/{}", poll["poll_id"].as_str().unwrap())).await;
        assert!(!page.text.contains("secret-judges"), "the name is the owner's");
    }
    let reported = owner.poll(json!({ "panel": "secret-judges", "on_tie": "report" })).await.expect(200);
    assert_eq!(reported.get("decision"), None, "a poll's own rule comes first");

    let other = service.user().await;
    for (client, members, problem) in [
        (&owner, json!({ "panel": "secret-judges", "preset": "budget" }), "panel replaces preset"),
        (&owner, json!({ "panel": "secret-judges", "models": [FIRST, SECOND] }), "panel replaces models"),
        (&owner, json!({ "panel": "secret-judges@3" }), "the versions of secret-judges are 1 to 2"),
        (&owner, json!({ "panel": "secret-juges" }), "this account has secret-judges"),
        (&other, json!({ "panel": "secret-judges" }), "this account has no panels"),
    ] {
        let refused = client.poll(members).await.refused(400);
        assert!(refused.contains(problem), "{problem} in {refused}");
    }
    // A model can leave the registry.
    let models = [FIRST, "gone/model"].map(ModelId::new).to_vec();
    let gone = PanelDefinition { models, order: OrderBasis::Given, on_tie: None, confidence_threshold: None };
    let (panels, now) = (&service.app.ports.store, service.app.ports.clock.now());
    panels.save_panel(user, &"old".parse().unwrap(), &gone, now).await.unwrap();
    let refused = owner.poll(json!({ "panel": "old" })).await.refused(400);
    assert!(
        refused.contains("old@1 has models that the registry no longer has: gone/model; store a new version"),
        "{refused}"
    );
    let estimate = owner.get("/api/poll/estimate?panel=secret-judges").await.expect(200);
    assert_eq!((&estimate["panel"]["version"], &estimate["models"]), (&json!(2), &json!(2)));
    let nobody = service.anonymous().get("/api/poll/estimate?panel=secret-judges").await.refused(400);
    assert!(nobody.contains("without an account"), "{nobody}");
}

#[tokio::test]
async fn a_panel_is_a_model_for_a_key_of_its_account() {
    let service = Setup::scripted(divided()).boot().await;
    let (owner, other) = (service.user().await, service.user().await);
    let panel = json!({ "name": "judges", "models": [FIRST, SECOND], "on_tie": "strongest" });
    owner.post("/api/panels", &panel).await.expect(200);
    let ids = async |client: &Client| {
        let list = client.get("/v1/models").await;
        assert_eq!(list.header("cache-control"), "no-store");
        let list = list.expect(200);
        list["data"].as_array().unwrap().iter().map(|model| model["id"].clone()).collect::<Vec<Value>>()
    };
    assert!(ids(&owner).await.contains(&json!("judges")));
    for client in [&other, &service.anonymous()] {
        assert!(!ids(client).await.contains(&json!("judges")));
        client.get("/v1/models/judges").await.expect(404);
    }
    owner.get("/v1/models/judges@2").await.expect(404);
    assert_eq!(owner.get("/v1/models/trio").await.expect(200)["id"], "trio");
    let schema = json!({ "type": "object", "properties": { "better": { "enum": ["Alpha", "Beta"] } }, "required": ["better"] });
    let ask = |model: &str| {
        json!({ "model": model, "messages": [{ "role": "user", "content": "Which of the two is the better one?" }],
            "response_format": { "type": "json_schema", "json_schema": { "name": "answer", "schema": schema } } })
    };
    for model in ["judges", "judges@1"] {
        assert_eq!(owner.get(&format!("/v1/models/{model}")).await.expect(200)["owned_by"], "account");
        let answer = owner.post("/v1/chat/completions", &ask(model)).await.expect(200);
        assert_eq!(answer["choices"][0]["message"]["content"], r#"{"better":"Beta"}"#, "{answer}");
        let evidence = &answer["poll"];
        assert_eq!(
            (&evidence["outcome"], &evidence["panel"], &evidence["confidence"]),
            (&json!("decided"), &json!(2), &Value::Null)
        );
    }
    for client in [&other, &owner] {
        let error = client.post("/v1/chat/completions", &ask("juges")).await.expect(404)["error"].clone();
        assert_eq!(
            (&error["code"], &error["param"]),
            (&json!("model_not_found"), &json!("model")),
            "{error}"
        );
    }
    // Agents have the operations and the argument, too.
    let done = owner.tool("poll_question", question(json!({ "panel": "judges" }))).await;
    assert_eq!(done["structuredContent"]["decision"]["option"], "Beta", "{done}");
}

#[tokio::test]
async fn a_winner_that_the_strongest_model_rejects_is_contested() {
    let mut script = divided();
    script.models = Script::panel(3).models;
    let VoteFor::ByModel(votes) = &mut script.votes_for else { panic!("the votes are by model") };
    votes.insert("maker2/line-2".to_owned(), "Alpha".to_owned());
    let service = Setup::scripted(script).boot().await;
    let owner = service.user().await;
    let panel = json!({ "name": "judges", "models": [FIRST, SECOND, "maker2/line-2"] });
    owner.post("/api/panels", &panel).await.expect(200);
    let complete = async |members: Value| {
        let mut members = members;
        members["complete"] = true.into();
        let poll = owner.poll(members).await.expect(200);
        assert_eq!((&poll["winning_option"], &poll["tally"]["Alpha"]), (&json!("Alpha"), &json!(2)));
        let id = poll["poll_id"].as_str().unwrap().to_owned();
        let result = service.anonymous().get(&format!("/api/results/{id}")).await.expect(200);
        assert_eq!(result["contested"], poll["contested"]);
        let page = service.anonymous().get(&format!("/results/{id}.md")).await.text;
        (
            poll["contested"].clone(),
            page.contains("Contested: The strongest model that voted chose another option."),
        )
    };
    assert_eq!(complete(json!({ "panel": "judges" })).await, (json!(true), true));
    // Two thirds are enough, and these models have no order.
    assert_eq!(complete(json!({ "models": panel["models"] })).await, (json!(false), false));
}
