//! The room for files: of accounts by their balance, and of the service.

use ep_kernel::testing::until;
use ep_polling::MicroUsd;
use reqwest::Method;
use serde_json::json;

use crate::batches::{CHAT, account, form, send_form, upload};
use crate::harness::{Client, Setup};

/// Returns lines of 1 KiB.
fn kibibytes(count: usize) -> String {
    let line = "x".repeat(1023) + "\n";
    line.repeat(count)
}

async fn delete(client: &Client, file: &str) {
    client.send(client.request(Method::DELETE, &format!("/v1/files/{file}"))).await.expect(200);
}

#[tokio::test]
async fn accounts_without_money_store_little() {
    let service = Setup::demo().boot().await;
    let (_, client) = service.user_with(MicroUsd::ZERO).await;
    let first = upload(&client, &kibibytes(5 << 10)).await;
    let refused = send_form(&client, form("batch", &kibibytes(4 << 10))).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    assert!(refused.text.contains("more than 8 MiB") && refused.text.contains("$5"), "{}", refused.text);
    assert_eq!(client.get("/v1/files").await.expect(200)["data"].as_array().unwrap().len(), 1);
    delete(&client, &first).await;
    upload(&client, &kibibytes(8 << 10)).await;
    let (_, rich) = service.user_with(MicroUsd::new(5_000_000)).await;
    upload(&rich, &kibibytes(9 << 10)).await;
}

#[tokio::test]
async fn a_service_without_room_refuses_files_and_batches() {
    let service = Setup::demo().with("EP_MAX_STORED_MIB", "1").boot().await;
    let client = account(&service).await;
    let file = upload(&client, &kibibytes(1024)).await;
    let refused = send_form(&client, form("batch", "{}")).await;
    assert_eq!(refused.status, 507, "{}", refused.text);
    assert_eq!(refused.headers["x-should-retry"], "false");
    assert!(refused.text.contains("storage_full"), "{}", refused.text);
    let batch = json!({ "input_file_id": file, "endpoint": CHAT, "completion_window": "24h" });
    assert_eq!(client.post("/v1/batches", &batch).await.status, 507);
    let rows = json!({ "rows": [{ "question": "Which is it, of both?", "options": ["a", "b"] }] });
    let problem =
        client.post_with("/api/batches", &rows, &[("accept", "application/problem+json")]).await.expect(507);
    assert_eq!(
        (&problem["code"], &problem["retryable"]),
        (&json!("storage_full"), &json!(false)),
        "{problem}"
    );
    delete(&client, &file).await;
    let send = async || send_form(&client, form("batch", "{}")).await;
    until("there is room after the deletion", send, |reply| reply.status != 507).await;
}
