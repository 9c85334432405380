//! Lists of polls leave out the rows of batches, which a filter lists.

use serde_json::{Value, json};

use crate::batches::{account, create, ended, rows, upload};
use crate::harness::Setup;

#[tokio::test]
async fn rows_are_left_out_of_lists_of_polls_and_listed_by_their_batch() {
    let service = Setup::demo().boot().await;
    let (client, stranger) = (account(&service).await, account(&service).await);
    let asked = client.poll(json!({ "preset": "trio" })).await.expect(200)["poll_id"].clone();
    let file = upload(&client, &rows(5)).await;
    let id = create(&client, &file).await;
    assert_eq!(ended(&client, &id).await["status"], "completed");
    let of = |list: &Value, name: &str| -> Vec<Value> {
        list.as_array().unwrap().iter().map(|poll| poll[name].clone()).collect()
    };
    let listed = client.get("/api/polls").await.expect(200);
    assert_eq!(of(&listed["polls"], "poll_id"), std::slice::from_ref(&asked));
    for path in ["/api/results", "/api/results?search=e", "/api/results/recent"] {
        assert_eq!(
            of(&client.get(path).await.expect(200), "resultId"),
            std::slice::from_ref(&asked),
            "{path}"
        );
    }
    // Clients count the polls of a batch by the filter, page by page.
    let mut counted = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = client.get(&format!("/api/polls?batch_id={id}&limit=2{cursor}")).await.expect(200);
        counted.extend(of(&page["polls"], "poll_id"));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(counted.len(), 5);
    let found = client.get(&format!("/api/results?batch_id={id}&search=grade")).await.expect(200);
    assert_eq!(of(&found, "resultId"), counted);
    for path in ["/api/polls", "/api/results"] {
        let others = stranger.get(&format!("{path}?batch_id={id}")).await.expect(200);
        let others = others.as_array().or_else(|| others["polls"].as_array()).unwrap().clone();
        assert!(others.is_empty(), "{path}");
        let refused = client.get(&format!("{path}?batch_id=5")).await.refused(400);
        assert!(refused.contains("batch_id"), "{refused}");
    }
    let days = client.get("/api/spending").await.expect(200)["days"].clone();
    let sum =
        |name: &str| -> u64 { days.as_array().unwrap().iter().map(|day| day[name].as_u64().unwrap()).sum() };
    assert_eq!((sum("polls"), sum("batch_rows")), (1, 5));
    let export = client.get("/api/account/export?limit=100").await;
    assert!(counted.iter().all(|poll| export.text.contains(poll.as_str().unwrap())), "{}", export.text);
}
