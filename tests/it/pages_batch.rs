//! The page of a batch: its review in a real browser (`tests/pages/batch.mjs`), and the operations behind it.

use ep_polling::MicroUsd;
use ep_store::UserId;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Service, Setup, example, until};
use crate::pages::walked_by;
use crate::pages_account::{Visitor, between};

const OPTIONS: [&str; 3] = ["Praise", "Complaint", "=Question"];

/// Creates a batch of questions, and returns its id.
async fn batch(client: &Client, rows: usize) -> String {
    let row = |number: usize| {
        let question = format!("What does the customer want? “Parcel {number} came late, but I like it.”");
        json!({ "id": format!("ticket-{number}"), "question": question, "options": OPTIONS })
    };
    let rows: Vec<Value> = (0..rows).map(row).collect();
    let request = json!({
        "rows": rows, "preset": "trio", "complete": true, "metadata": { "name": "Reviews of a shop" },
    });
    client.post("/api/batches", &request).await.expect(202)["batch_id"].as_str().unwrap().to_owned()
}

async fn ended(client: &Client, id: &str) -> Value {
    let read = async || client.get(&format!("/api/batches/{id}")).await.expect(200);
    until("the batch has ended", read, |batch| !batch["ended_at"].is_null()).await
}

async fn owner(service: &Service) -> (UserId, Client) {
    service.user_with(MicroUsd::new(50_000_000)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_and_evaluations_are_read_in_a_browser() {
    let service = Setup::demo().with("EP_BATCH_ROWS", "4").boot().await;
    let (user, client) = owner(&service).await;
    let done = batch(&client, 40).await;
    ended(&client, &done).await;
    let running = batch(&client, 1000).await;
    let report = example(ep_tools::find("create_evaluation").unwrap());
    let stored = client.post("/api/evaluations", &report).await.expect(201);
    let evaluation = format!("/evaluations/{}", stored["evaluation_id"].as_str().unwrap());
    let given = json!({
        "session": service.cookie(user).await,
        "ended": format!("/batches/{done}"),
        "open": format!("/batches/{running}"),
        "evaluation": evaluation,
        "screenshots": std::env::var("EP_SCREENSHOTS").ok(),
    });
    walked_by("batch.mjs", &service, given, |_| ()).await;
}

#[tokio::test]
async fn rows_in_most_doubt_come_first_and_a_choice_is_stored() {
    let service = Setup::demo().boot().await;
    let (user, client) = owner(&service).await;
    let (_, stranger) = owner(&service).await;
    let id = batch(&client, 30).await;
    ended(&client, &id).await;
    let path = format!("/api/batches/{id}/review");
    let all = client.get(&format!("{path}?limit=100")).await.expect(200);
    assert_eq!(
        (&all["title"], &all["status"], &all["shared"]),
        (&json!("Reviews of a shop"), &json!("completed"), &json!(false))
    );
    let queue = all["queue"].as_array().unwrap();
    assert_eq!(
        (queue.len(), &all["next_cursor"], all["answers"]["all"].as_u64()),
        (30, &Value::Null, Some(30))
    );
    // Trio has three models, so the votes for the answer are the agreement.
    let agreement = |row: &Value| {
        let votes = row["answer"].as_str().map(|answer| row["tally"][answer].as_u64().unwrap());
        let cast: u64 = OPTIONS.iter().map(|option| row["tally"][option].as_u64().unwrap()).sum();
        (votes.unwrap_or(0) * 1000).checked_div(cast).unwrap_or(0)
    };
    let undecided = queue.iter().filter(|row| row["answer"].is_null()).count();
    let unanimous = queue.iter().filter(|row| agreement(row) == 1000).count();
    assert_eq!(all["answers"]["undecided"], undecided);
    assert!(
        all["answers"]["unanimous"].as_u64().unwrap() as usize <= unanimous,
        "a model without a vote is no agreement"
    );
    assert!(queue[..undecided].iter().all(|row| row["answer"].is_null()), "{queue:?}");
    assert!(agreement(&queue[undecided]) <= agreement(&queue[29]));

    // Pages are the same queue.
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{path}?limit=7{cursor}")).await.expect(200);
        paged.extend(page["queue"].as_array().unwrap().iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(&paged, queue);
    client.get(&format!("{path}?cursor=7")).await.expect(400);

    let row = &queue[0];
    let review = |option: Value| json!({ "row": row["row"], "option": option });
    let reviewed = client.post(&path, &review(json!("=Question"))).await.expect(200);
    assert_eq!(reviewed, json!({ "batch_id": id, "row": row["row"], "reviewed": "=Question" }));
    let next = client.get(&format!("{path}?limit=1")).await.expect(200);
    assert_eq!((&next["queue"][0]["row"], &next["answers"]["reviewed"]), (&queue[1]["row"], &json!(1)));
    let wrong = client.post(&path, &review(json!("Other"))).await.expect(400);
    assert!(
        wrong["error"].as_str().unwrap().contains("must be one of Praise, Complaint, =Question"),
        "{wrong}"
    );
    client.post(&path, &json!({ "row": 31, "option": "Praise" })).await.expect(404);
    client.post(&path, &json!({ "row": 0, "option": "Praise" })).await.expect(404);
    stranger.post(&path, &review(json!("Praise"))).await.expect(404);
    stranger.get(&path).await.expect(404);

    // The file has the person's choice, and nothing that a spreadsheet runs.
    let csv = format!("/batches/{id}.csv");
    assert_eq!(service.anonymous().get(&csv).await.status, 303);
    let browser = service.anonymous();
    let cookie = service.cookie(user).await;
    let file = browser.send(browser.request(Method::GET, &csv).header("cookie", cookie)).await;
    assert_eq!((file.status, file.header("content-type")), (200, "text/csv; charset=utf-8"));
    let lines: Vec<&str> = file.text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (31, "row,id,label,answer,reviewed,contested"));
    let number = row["row"].as_u64().unwrap() as usize;
    assert!(
        lines[number].starts_with(&format!("{number},ticket-{},'=Question,", number - 1)),
        "{}",
        lines[number]
    );
    let removed = client.post(&path, &json!({ "row": row["row"] })).await.expect(200);
    assert_eq!(removed["reviewed"], Value::Null);
    assert_eq!(client.get(&path).await.expect(200)["answers"]["reviewed"], 0);

    // Everyone with the link reads a shared batch, and changes nothing.
    let shared =
        client.post(&format!("/api/batches/{id}/share"), &json!({ "shared": true })).await.expect(200);
    assert_eq!(
        (&shared["shared"], shared["page_url"].as_str().unwrap().ends_with(&format!("/batches/{id}"))),
        (&json!(true), true)
    );
    for reader in [&stranger, &service.anonymous()] {
        assert_eq!(reader.get(&path).await.expect(200)["queue"].as_array().unwrap().len(), 20);
    }
    stranger.post(&path, &review(json!("Praise"))).await.expect(404);
    stranger.post(&format!("/api/batches/{id}/share"), &json!({ "shared": false })).await.expect(404);
}

#[tokio::test]
async fn a_failed_batch_shows_its_error_and_no_figures() {
    let service = Setup::demo().boot().await;
    let (visitor, client) = Visitor::new(&service, 50).await;
    let row = json!({ "question": "Is this review positive?", "options": OPTIONS });
    let request = json!({ "rows": [row], "preset": "trio", "max_cost_usd": 0.000_001 });
    let created = client.post("/api/batches", &request).await.expect(202);
    let id = created["batch_id"].as_str().unwrap();
    assert_eq!(ended(&client, id).await["status"], "failed");
    let page = visitor.get(&format!("/batches/{id}")).await.text;
    assert!(
        page.contains("<h2>Nothing was asked</h2>") && !page.contains("Please fix these lines."),
        "{page}"
    );
    assert!(!page.contains("class=\"tiles\"") && !page.contains("id=\"review\""), "{page}");
    client.post(&format!("/api/batches/{id}/share"), &json!({ "shared": true })).await.expect(200);
    let shared = service.anonymous().get(&format!("/batches/{id}")).await.text;
    assert!(shared.contains("This batch did not run."), "{shared}");

    // A signed-in visitor is led to the batches and evaluations of the account.
    let (stranger, _) = Visitor::new(&service, 1).await;
    for (path, section) in [
        (format!("/batches/batch_{}", "0".repeat(32)), "batches"),
        (format!("/evaluations/eval_{}", "0".repeat(32)), "evaluations"),
    ] {
        let missing = stranger.get(&path).await;
        assert_eq!(missing.status, 404, "{path}");
        let link = format!("<a href=\"/dashboard#{section}\">See the {section} of your account.</a>");
        assert!(missing.text.contains(&link) && !missing.text.contains("if it is yours"), "{}", missing.text);
    }
}

#[tokio::test]
async fn the_account_page_leads_to_older_batches() {
    let service = Setup::demo().boot().await;
    let (visitor, client) = Visitor::new(&service, 50).await;
    let first = batch(&client, 1).await;
    for _ in 0..5 {
        batch(&client, 1).await;
    }
    let newest = visitor.page().await;
    assert!(!newest.contains(&first), "{newest}");
    let older = between(&newest, "<a href=\"/dashboard?batches=", "\"").replace("&amp;", "&");
    let older = visitor.get(&format!("/dashboard?batches={older}")).await.text;
    assert!(older.contains(&first) && older.contains(">Newest</a>"), "{older}");
    assert_eq!(older.matches("/batches/batch_").count(), 1, "{older}");
    assert!(!visitor.get("/dashboard?batches=wrong").await.text.contains(&first));
}

#[tokio::test]
async fn evaluations_are_stored_and_shared_and_wrong_ones_are_refused() {
    let service = Setup::demo().boot().await;
    let ((_, client), (_, stranger)) = (owner(&service).await, owner(&service).await);
    let mut input = example(ep_tools::find("create_evaluation").unwrap());
    let stored = client.post("/api/evaluations", &input).await.expect(201);
    let id = stored["evaluation_id"].as_str().unwrap();
    let path = format!("/api/evaluations/{id}");
    let read = client.get(&path).await.expect(200);
    let mut report = input["report"].clone();
    report["weighted"] = Value::Null;
    assert_eq!((&read["report"], &read["own"], &read["shared"]), (&report, &json!(true), &json!(false)));
    stranger.get(&path).await.expect(404);
    service.anonymous().get(&path).await.expect(404);
    stranger.post(&format!("{path}/share"), &json!({ "shared": true })).await.expect(404);
    client.post(&format!("{path}/share"), &json!({ "shared": true })).await.expect(200);
    assert_eq!(service.anonymous().get(&path).await.expect(200)["own"], false);
    assert_eq!(client.get("/api/evaluations").await.expect(200)["evaluations"].as_array().unwrap().len(), 1);
    assert_eq!(stranger.get("/api/evaluations").await.expect(200)["evaluations"], json!([]));
    for (pointer, wrong) in [
        ("/title", json!("")),
        ("/report/models", json!([])),
        ("/report/models/0/accuracy", json!(1.5)),
        ("/report/to_prove", json!(["another/model"])),
        ("/report/rows", json!(-1)),
        ("/report/constant/p_value", json!(0.01)),
        ("/report/constant/verdict", json!("worse")),
    ] {
        let right = input.pointer(pointer).unwrap().clone();
        *input.pointer_mut(pointer).unwrap() = wrong;
        client.post("/api/evaluations", &input).await.expect(400);
        *input.pointer_mut(pointer).unwrap() = right;
    }
    // The page compares the panel with the most frequent label alone. Reports of earlier releases lack this comparison.
    let page_of = async |stored: &Value| {
        let path = format!("/evaluations/{}", stored["evaluation_id"].as_str().unwrap());
        let shared = format!("/api{path}/share");
        client.post(&shared, &json!({ "shared": true })).await.expect(200);
        service.anonymous().get(&path).await.text
    };
    let compared = "The proposed labels are more often right than always saying “Refund” (40 % right): of the 30 rows on which \
                    only one of both is right, they win 28 (sign test, p &#60; 0.001).";
    let page = page_of(&stored).await;
    assert!(page.contains(compared), "{page}");
    input["report"].as_object_mut().unwrap().remove("constant");
    let older = client.post("/api/evaluations", &input).await.expect(201);
    let page = page_of(&older).await;
    assert!(page.contains("A guess, or the most frequent label alone, is right on 50 % of rows."), "{page}");
    let deleted = client.send(client.request(Method::DELETE, &path)).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text);
    client.get(&path).await.expect(404);
}
